//! A flow is named by its id or its key, in every command.

use crate::support;

use std::path::Path;

use support::author::Author;
use support::{assert_complains, http, submit, text};

const LUNCH: &str = "\
flow: { key: lunch }
title: Lunch
questions:
  - { id: nps, type: nps, prompt: How was lunch? }
  - { id: why, type: longText, prompt: Why? }
";

impl Author {
    /// With the published flow `lunch`, which has one response.
    async fn with_lunch() -> Self {
        let author = Self::new();
        author.write("lunch.yaml", LUNCH);
        author.write("rows.csv", "nps,why\n3,slow\n");
        author.write("people.csv", "userId\n1\n");
        author.done(&["flow", "apply", "lunch.yaml"]);
        let version = author.done(&["flow", "list", "--json"]);
        let version = version.lines().find(|line| line.contains("\"lunch\"")).unwrap();
        let version: serde_json::Value = serde_json::from_str(version).unwrap();
        let version = version["published"]["flowVersionId"].as_str().unwrap();
        let url = author.server.submit_url(&author.server.id("pk_"));
        let body = support::submission(version, "good");
        submit(&http(), &url, "first", &body).await.unwrap();
        author
    }

    fn lunch_id(&self) -> String {
        let listed = self.done(&["flow", "list"]);
        let line = listed.lines().find(|line| line.ends_with("key=lunch")).unwrap();
        line.split(' ').next().unwrap().to_owned()
    }
}

/// A flow definition of another tool.
fn typeform() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures");
    folder.join("typeform/simple.json").to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_that_takes_a_flow_takes_its_key() {
    let author = Author::with_lunch().await;
    let id = author.lunch_id();

    let tail = ["responses", "tail", "lunch", "--since", "all", "--limit", "1"];
    assert!(author.done(&tail).contains("why=good"));
    author.done(&["responses", "export", "lunch", "--out", "out.csv"]);
    assert!(author.read("out.csv").contains(",good"));
    author.done(&["responses", "codebook", "lunch", "--out", "codebook.csv"]);
    assert!(author.read("codebook.csv").contains("How was lunch?"));
    // The folder of a followed export keeps the id, so both names continue it.
    author.done(&["responses", "export", "lunch", "--follow", "followed", "--once"]);
    author.done(&["responses", "export", &id, "--follow", "followed", "--once"]);
    assert!(author.read("followed/position.json").contains(&id));

    let added = author.done(&["invite", "add", "lunch", "--user-id", "4711"]);
    author.done(&["invite", "import", "lunch", "people.csv", "--out", "links.csv"]);
    let listed = author.done(&["invite", "list", "lunch"]);
    assert!(listed.contains(added.split(' ').next().unwrap()), "{listed}");
    assert_eq!(listed, author.done(&["invite", "list", &id]));

    let imported = author.done(&["import", "responses", "rows.csv", "--flow", "lunch"]);
    assert!(imported.contains("1 row: 1 imported"), "{imported}");
    assert_eq!(author.done(&["types", "lunch"]), author.done(&["types", &id]));
    author.write("lunch.yaml", &LUNCH.replace("Why?", "Why so?"));
    let pushed = author.done(&["flow", "push", "lunch.yaml", "--flow", "lunch"]);
    assert!(pushed.contains(&format!("flowId         {id}\n")), "{pushed}");
    assert!(author.done(&["flow", "publish", "lunch"]).starts_with("published version 2"));
    let drafted = author.done(&["import", "typeform", &typeform(), "--flow", "lunch"]);
    assert!(drafted.contains(&format!("flowId      {id}\n")), "{drafted}");
    assert!(author.done(&["flow", "publish", &id]).starts_with("published version 3"));
    assert!(author.done(&["flow", "archive", "lunch"]).contains(&id));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_several_apps_use_needs_the_app() {
    let author = Author::with_lunch().await;
    let id = author.lunch_id();
    let made = author.done(&["app", "create", "Second"]);
    let second = made.split_whitespace().next().unwrap();
    author.done(&["flow", "apply", "lunch.yaml", "--app", second]);
    for command in [
        &["responses", "tail", "lunch"][..],
        &["responses", "export", "lunch", "--out", "out.csv"],
        &["invite", "list", "lunch"],
        &["flow", "push", "lunch.yaml", "--flow", "lunch"],
        &["import", "responses", "rows.csv", "--flow", "lunch"],
    ] {
        let several = author.run(command);
        assert_eq!(several.status.code(), Some(2), "{several:?}");
        let printed = text(&several.stderr);
        assert!(printed.contains("several apps") && printed.contains(second), "{printed}");
    }
    let pushed = author.done(&["flow", "push", "lunch.yaml", "--flow", "lunch", "--app", second]);
    assert!(!pushed.contains(&id), "{pushed}");
    author.done(&["invite", "list", "lunch", "--app", second]);
    let other = author.run(&["flow", "publish", &id, "--app", second]);
    assert_complains(&other, 2, &["is not a flow of", "leave out --app"]);
    assert_complains(
        &author.run(&["responses", "tail", "absent"]),
        1,
        &["no flow with the key absent", "flow list"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_rebuilt_by_the_key_of_a_flow() {
    let author = Author::with_lunch().await;
    let folder = author.folder.path().to_owned();
    let store = crate::database::of_folder(&folder);
    let of_store: Vec<&str> = store.iter().flat_map(|url| ["--store", url]).collect();
    let recount = |key: &str| author.run(&[&["recount", "--flow", key], &of_store[..]].concat());
    let done = recount("lunch");
    assert_eq!(text(&done.stdout), "1 response of 1 flow counted\n", "{done:?}");
    let absent = recount("absent");
    assert_eq!(absent.status.code(), Some(1), "{absent:?}");
    assert!(text(&absent.stderr).contains("no flow with the key absent"), "{absent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_preferred_to_a_key_of_the_same_name() {
    let author = Author::with_lunch().await;
    author.write("lunch", "title: Of the file\nquestions: [{id: a, type: yesNo, prompt: A}]\n");
    let module = author.done(&["types", "lunch"]);
    assert!(module.contains("OfTheFileAnswers") && !module.contains("FlowId"), "{module}");
    let missing = author.run(&["types", "absent.yaml"]);
    assert_complains(&missing, 1, &["absent.yaml", "key of a flow"]);
}
