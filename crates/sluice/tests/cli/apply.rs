//! Flows as code: files are applied to a server, compared with it, and written from it.

use crate::{meanwhile, support};

use std::process::Output;

use serde_json::{Value, json};
use support::author::Author;
use support::{assert_complains, text};

const LUNCH: &str = "\
flow:
  key: lunch
  labels: [food]
title: Lunch
questions:
  - { id: taste, type: rating, prompt: How was lunch? }
  - { id: why, type: longText, prompt: Why? }
";

impl Author {
    async fn versions(&self, key: &str) -> Vec<Value> {
        let flow = self.flow(key).await;
        let path = format!("/flows/{}/versions", flow["flowId"].as_str().unwrap());
        self.server.admin(&self.token, &path).await.1["items"].as_array().unwrap().clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_created_updated_and_then_left_alone() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    let planned = author.prints(2, &["flow", "apply", "lunch.yaml", "--dry-run"]);
    let created =
        "lunch.yaml: lunch: new flow\n  New survey “Lunch” with 2 questions\n  New label “food”\n";
    assert_eq!(planned, format!("{created}1 file: 1 would change, 0 unchanged\n"));
    assert!(author.flow("lunch").await.is_null(), "a dry run changes nothing");

    let applied = author.prints(0, &["flow", "apply", "lunch.yaml"]);
    assert!(applied.starts_with(created) && applied.contains("published version 1"), "{applied}");
    let flow = author.flow("lunch").await;
    assert_eq!((&flow["name"], &flow["labels"]), (&json!("Lunch"), &json!(["food"])));
    assert!(author.prints(0, &["flow", "list"]).contains("version 1   Lunch  key=lunch"));

    let again = author.prints(0, &["flow", "apply", "lunch.yaml"]);
    assert_eq!(again, "lunch.yaml: lunch: no changes\n1 file: 0 changed, 1 unchanged\n");
    assert_eq!(
        author.prints(0, &["flow", "diff", "lunch.yaml"]),
        again.replace("changed,", "would change,")
    );
    assert_eq!(author.versions("lunch").await.len(), 1);

    let changed = LUNCH
        .replace("labels: [food]", "labels: [food, Q4]\n  closeAfter: 100")
        .replace("How was lunch?", "How was your lunch?")
        .replace("  - { id: why, type: longText, prompt: Why? }\n", "");
    author.write("lunch.yaml", &changed);
    let difference = "\
lunch.yaml: lunch: 4 changes
  New label “Q4”
  It now closes after 100 responses
  “How was lunch?” now reads “How was your lunch?”
  “Why?” was removed
    Its answers stay in the results, up to the last version that asked it.
";
    let planned = author.prints(2, &["flow", "diff", "lunch.yaml"]);
    assert_eq!(planned, format!("{difference}1 file: 1 would change, 0 unchanged\n"));
    let applied = author.prints(0, &["flow", "apply", "lunch.yaml"]);
    assert!(
        applied.starts_with(difference) && applied.contains("published version 2"),
        "{applied}"
    );

    // Settings alone need no new version.
    author.write("lunch.yaml", &changed.replace("closeAfter: 100", "closeAfter: null"));
    let applied = author.prints(0, &["flow", "apply", "lunch.yaml"]);
    assert!(
        applied.contains("no longer closes") && applied.contains("settings saved"),
        "{applied}"
    );
    assert_eq!(author.versions("lunch").await.len(), 2);
    assert!(author.prints(0, &["flow", "apply", "lunch.yaml"]).contains("no changes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_files_are_checked_before_anything_is_written() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.write("same.json", r#"{"flow": {"key": "lunch"}, "title": "Other", "questions": []}"#);
    author.write("keyless.yaml", "title: t\nquestions:\n- {id: a, type: yesNo, prompt: p}\n");
    author.write(
        "bad.yaml",
        "flow: {key: bad, labels: 1}\ntitle: t\nquestions:\n- {id: a, type: npx, prompt: p}\n",
    );
    author.write("broken.yaml", "flow:\n  key: [\n");
    let files = ["lunch.yaml", "same.json", "keyless.yaml", "bad.yaml", "broken.yaml"];
    let output = author.run(&[&["flow", "apply"], &files[..]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let printed = text(&output.stdout);
    for part in [
        "same.json: /questions: ",
        "keyless.yaml: /flow/key: is required",
        "bad.yaml: /questions/0/type: unknown type; did you mean nps?",
        "bad.yaml: /flow/labels: must be a list of texts",
        "broken.yaml: is not YAML: ",
    ] {
        assert!(printed.contains(part), "{part:?} is not in {printed}");
    }
    assert!(printed.contains("at line 3"), "{printed}");
    assert!(text(&output.stderr).contains("nothing was changed"), "{output:?}");
    assert!(author.flow("lunch").await.is_null());

    author.write(
        "same.json",
        r#"{"flow": {"key": "lunch"}, "title": "Other", "description": "d", "questions": []}"#,
    );
    let twice = author.prints(3, &["flow", "apply", "lunch.yaml", "same.json"]);
    assert_eq!(twice, "same.json: /flow/key: lunch.yaml has the same key, lunch\n");
    let absent = author.run(&["flow", "apply", "lunch.yaml", "absent.yaml"]);
    assert_complains(&absent, 1, &["absent.yaml", "JSON or YAML"]);
    // What only the server knows is checked first as well.
    author.prints(0, &["flow", "apply", "lunch.yaml"]);
    author.write("new.yaml", &LUNCH.replace("key: lunch", "key: new"));
    author.write("lunch.yaml", &LUNCH.replace("key: lunch", "key: lunch\n  kind: form"));
    let other_kind = author.run(&["flow", "apply", "new.yaml", "lunch.yaml"]);
    assert_complains(
        &other_kind,
        3,
        &["lunch.yaml: the flow with the key lunch is a survey", "kind"],
    );
    assert!(author.flow("new").await.is_null());
    author.write("lunch.yaml", LUNCH);
    author.prints(0, &["flow", "archive", "lunch"]);
    let archived = author.run(&["flow", "apply", "new.yaml", "lunch.yaml"]);
    assert_complains(&archived, 1, &["lunch.yaml: ", "is archived", "--restore"]);
    assert!(author.flow("new").await.is_null());
    author.prints(0, &["flow", "archive", "lunch", "--restore"]);
    let both = author.prints(0, &["flow", "apply", "new.yaml", "lunch.yaml"]);
    assert!(both.ends_with("2 files: 1 changed, 1 unchanged\n"), "{both}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_with_other_changes_is_not_replaced() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.prints(0, &["flow", "apply", "lunch.yaml"]);
    let question = |prompt: &str| json!({"id": "taste", "type": "rating", "prompt": prompt});
    let edited = json!({"title": "Brunch", "questions": [question("How was lunch?")]});
    author.put_draft("lunch", &edited).await;

    // The published version is as in the file: the draft stays, and stays unpublished.
    let same = author.run(&["flow", "apply", "lunch.yaml"]);
    assert!(text(&same.stdout).contains("no changes"), "{same:?}");
    assert!(text(&same.stderr).contains("a draft with other changes, which stays"), "{same:?}");
    author.write("lunch.yaml", &LUNCH.replace("Why?", "Why so?"));
    let refused = author.run(&["flow", "apply", "lunch.yaml"]);
    assert_eq!(refused.status.code(), Some(1));
    let printed = text(&refused.stderr);
    for part in
        ["changes that are not in the file", "“Brunch”", "“Why?” was removed", "--overwrite-draft"]
    {
        assert!(printed.contains(part), "{part:?} is not in {printed}");
    }
    assert_eq!(author.versions("lunch").await.len(), 1);
    let difference = author.prints(1, &["flow", "diff", "lunch.yaml"]);
    assert!(difference.contains("“Why?” now reads “Why so?”"), "{difference}");
    let replaced = author.prints(0, &["flow", "apply", "lunch.yaml", "--overwrite-draft"]);
    assert!(replaced.contains("published version 2"), "{replaced}");
    assert!(author.prints(0, &["flow", "apply", "lunch.yaml"]).contains("no changes"));
    // A draft that is as in the file is published as it is.
    let third = json!({"title": "Lunch", "questions": [question("Third?")]});
    author.put_draft("lunch", &third).await;
    author.write(
        "third.json",
        &json!({"flow": {"key": "lunch"}, "title": "Lunch", "questions": [question("Third?")]})
            .to_string(),
    );
    let third = author.prints(0, &["flow", "apply", "third.json"]);
    assert!(third.contains("published version 3"), "{third}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_apply_at_once_none_is_lost() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.prints(0, &["flow", "apply", "lunch.yaml"]);
    let mut published = 1;
    for round in 0..3 {
        let names: Vec<String> = (0..3).map(|it| format!("{round}-{it}")).collect();
        let children: Vec<_> = names
            .iter()
            .map(|name| {
                let file = format!("{name}.yaml");
                author.write(&file, &LUNCH.replace("Why?", &format!("Why {name}?")));
                let mut command = author.command(&["flow", "apply", &file]);
                command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        let outputs: Vec<Output> =
            children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let (done, refused): (Vec<_>, Vec<_>) =
            outputs.iter().partition(|output| output.status.success());
        assert!(!done.is_empty(), "{outputs:?}");
        for output in refused {
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let printed = text(&output.stderr);
            let is_known =
                ["meanwhile", "not in the file", "no draft"].iter().any(|it| printed.contains(it));
            assert!(is_known, "{printed}");
        }
        // Every one that succeeded is a version; none was skipped.
        published += done.len();
        let versions = author.versions("lunch").await;
        assert_eq!(versions.len(), published);
        // A refused save may have left its draft.
        author.write("lunch.yaml", &LUNCH.replace("Why?", &format!("Why {round}?")));
        author.prints(0, &["flow", "apply", "lunch.yaml", "--overwrite-draft"]);
        published += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_is_pulled_into_a_file_that_apply_leaves_unchanged() {
    let author = Author::new();
    let demo = author.server.id("fl_");
    let keyless = author.run(&["flow", "pull", &demo]);
    assert_complains(&keyless, 2, &["no key", "--key"]);
    let wrong = author.run(&["flow", "pull", &demo, "--key", "My Key"]);
    assert_complains(&wrong, 2, &["--key must have 1 to 64 letters", "another"]);
    author.prints(0, &["flow", "pull", &demo, "--key", "demo", "--out", "demo.yaml"]);
    let settings = LUNCH.replace(
        "labels: [food]",
        "name: 'Lunch: the name'\n  labels: [food]\n  liveWindow: {startsAt: 2026-01-01T00:00:00Z}\n  graceWindowSeconds: 60\n  \
         closeAfter: 9\n  quotas: [{id: bad, when: {question: taste, lessThan: 3}, limit: 2}]",
    );
    author.write("lunch.yaml", &settings);
    author.prints(0, &["flow", "apply", "lunch.yaml"]);
    author.prints(0, &["flow", "pull", "lunch", "--out", "pulled.yaml"]);
    author.prints(0, &["flow", "pull", "demo", "--out", "demo.json"]);
    for files in
        [&["demo.yaml", "pulled.yaml", "lunch.yaml"][..1], &["pulled.yaml"], &["demo.json"]]
    {
        let output = author.prints(0, &[&["flow", "apply"], files].concat());
        assert!(output.contains("no changes"), "{output}");
    }
    let pulled = author.read("pulled.yaml");
    assert!(
        pulled.starts_with("flow:\n  key: lunch\n  name: \"Lunch: the name\"\n  kind: survey\n"),
        "{pulled}"
    );
    assert!(pulled.contains("\nquestions:\n  - id: taste\n    type: rating\n"), "{pulled}");
    // The same flow in another app.
    let app = author.prints(0, &["app", "create", "Second"]);
    let app = app.split_whitespace().next().unwrap();
    author.prints(0, &["flow", "apply", "pulled.yaml", "--app", app]);
    let several = author.run(&["flow", "pull", "lunch"]);
    assert_eq!(several.status.code(), Some(2));
    assert!(text(&several.stderr).contains(&format!("--app {app}")), "{several:?}");
    let copy = author.prints(0, &["flow", "pull", "lunch", "--app", app]);
    assert_eq!(copy, pulled);
    author.put_draft("demo", &json!({"title": "Later", "questions": []})).await;
    let draft = author.prints(0, &["flow", "pull", "demo", "--draft", "--format", "json"]);
    let draft: Value = serde_json::from_str(&draft).unwrap();
    assert_eq!((&draft["title"], &draft["flow"]["key"]), (&json!("Later"), &json!("demo")));
    assert_complains(
        &author.run(&["flow", "pull", "absent"]),
        1,
        &["no flow with the key absent", "flow list"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_is_closed_retired_and_archived_by_its_key() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.prints(0, &["flow", "apply", "lunch.yaml"]);
    let window = ["flow", "window", "lunch"];
    let set =
        [&window[..], &["--opens", "2026-01-01T00:00:00Z", "--closes", "2099-01-01T00:00:00Z"]]
            .concat();
    let shown = author.prints(0, &set);
    assert_eq!(shown, "opens   2026-01-01T00:00:00.000Z\ncloses  2099-01-01T00:00:00.000Z\n");
    let shown = author.prints(0, &[&window[..], &["--opens", "any"]].concat());
    assert_eq!(shown, "opens   any time\ncloses  2099-01-01T00:00:00.000Z\n");
    let closed = author.prints(0, &[&window[..], &["--closes", "now"]].concat());
    assert!(closed.starts_with("opens   any time\ncloses  2"), "{closed}");
    assert!(!closed.contains("2099"), "{closed}");
    assert_eq!(
        author.prints(0, &[&window[..], &["--closes", "never"]].concat()),
        "opens   any time\ncloses  never\n"
    );
    author.prints(2, &window);

    author.write("lunch.yaml", &LUNCH.replace("Why?", "Why so?"));
    author.prints(0, &["flow", "apply", "lunch.yaml"]);
    let retired = author.prints(0, &["flow", "retire", "lunch", "--version", "1"]);
    assert!(retired.starts_with("retired version 1 (fv_"), "{retired}");
    let unknown = author.run(&["flow", "retire", "lunch", "--version", "7"]);
    assert_complains(&unknown, 1, &["no version 7", "2 published versions"]);
    assert!(author.prints(0, &["flow", "retire", "lunch"]).starts_with("retired version 2"));
    assert_complains(
        &author.run(&["flow", "retire", "lunch"]),
        1,
        &["no published version", "--version"],
    );
    // Nothing is published any more: the file publishes it again.
    let again = author.prints(0, &["flow", "apply", "lunch.yaml"]);
    assert!(again.contains("  Published again, with 2 questions\n"), "{again}");
    assert!(again.contains("published version 3") && !again.contains("First"), "{again}");
    let listed = author.prints(0, &["flow", "versions", "lunch"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    for (line, start) in lines.iter().zip(["3  open  ", "2  retired  ", "1  retired  "]) {
        assert!(line.starts_with(start) && line.contains("  fv_"), "{listed}");
    }

    author.prints(0, &["flow", "archive", "lunch"]);
    assert!(author.prints(0, &["flow", "list"]).contains("archived    Lunch  key=lunch"));
    author.prints(0, &["flow", "archive", "lunch", "--restore"]);
    assert!(author.prints(0, &["flow", "list"]).contains("version 3   Lunch  key=lunch"));
}

/// Applies a file while a colleague changes the flow just before the request that starts so.
async fn apply_meanwhile(
    author: &Author,
    file: &str,
    before: &'static str,
    colleague: &Value,
) -> Output {
    let flow = author.flow("lunch").await;
    let id = flow["flowId"].as_str().unwrap();
    let url = format!("{}/api/admin/v1/flows/{id}", author.server.base);
    let change = author.server.http.patch(url).bearer_auth(&author.token).json(colleague);
    let proxy = meanwhile::proxy(&author.server.base, before, change).await;
    let mut command = author.command(&["flow", "apply", file]);
    command.env("SLUICE_SERVER", proxy);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_a_colleague_changed_meanwhile_are_not_overwritten() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.prints(0, &["flow", "apply", "lunch.yaml"]);
    author.write("settings.yaml", &LUNCH.replace("[food]", "[food, weekly]"));
    let with_draft = LUNCH.replace("[food]", "[food, weekly]").replace("Why?", "Why so?");
    author.write("both.yaml", &with_draft);
    let cases = [
        // Between the comparison and the first request of the change; and just before the change.
        ("settings.yaml", "GET /api/admin/v1/flows/", json!({"labels": ["food", "monday"]})),
        ("settings.yaml", "PATCH ", json!({"labels": ["food", "tuesday"]})),
        ("settings.yaml", "PATCH ", json!({"graceWindowSeconds": 60})),
        ("both.yaml", "GET /api/admin/v1/flows/", json!({"labels": ["food", "wednesday"]})),
        ("both.yaml", "PATCH ", json!({"labels": ["food", "thursday"]})),
    ];
    for (file, before, colleague) in cases {
        let output = apply_meanwhile(&author, file, before, &colleague).await;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let printed = text(&output.stderr);
        assert!(printed.contains("were changed meanwhile"), "{printed}");
        assert!(printed.contains("run the command again"), "{printed}");
        let flow = author.flow("lunch").await;
        for (name, value) in colleague.as_object().unwrap() {
            assert_eq!(&flow[name], value, "{before}");
            if let Some(label) = value[1].as_str() {
                assert!(printed.contains(label), "the change in words: {printed}");
            }
        }
        assert_eq!(author.versions("lunch").await.len(), 1, "nothing was published");
    }
    let again = author.prints(0, &["flow", "apply", "both.yaml"]);
    assert!(again.contains("published version 2"), "{again}");
    assert_eq!(author.flow("lunch").await["labels"], json!(["food", "weekly"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_a_colleague_saved_meanwhile_does_not_prevent_settings() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.prints(0, &["flow", "apply", "lunch.yaml"]);
    author.write("settings.yaml", &LUNCH.replace("[food]", "[food, weekly]"));
    let flow = author.flow("lunch").await;
    let id = flow["flowId"].as_str().unwrap();
    let url = format!("{}/api/admin/v1/flows/{id}/draft", author.server.base);
    let other = json!({"title": "Lunch", "questions": [{"id": "taste", "type": "rating", "prompt": "Good?"}]});
    let change = author.server.http.put(url).bearer_auth(&author.token).json(&other);
    let proxy = meanwhile::proxy(&author.server.base, "PATCH ", change).await;
    let mut command = author.command(&["flow", "apply", "settings.yaml"]);
    command.env("SLUICE_SERVER", proxy);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let flow = author.flow("lunch").await;
    assert_eq!(flow["labels"], json!(["food", "weekly"]));
    assert!(flow["draft"].is_object(), "the colleague's draft stays: {flow}");
}
