//! What a dry run of `flow apply` and a `flow diff` report: both the same, with exit codes that
//! have one meaning each.

use crate::support;

use std::process::Output;

use serde_json::json;
use support::author::Author;
use support::text;

const LUNCH: &str = "\
flow: { key: lunch }
title: Lunch
questions: [{ id: why, type: longText, prompt: Why? }]
";

impl Author {
    /// What both commands print, which must be the same.
    #[track_caller]
    fn compared(&self, code: i32, files: &[&str]) -> (String, String) {
        let diff = self.ends(code, &[&["flow", "diff"], files].concat());
        let dry_run = self.ends(code, &[&["flow", "apply", "--dry-run"], files].concat());
        assert_eq!(diff, dry_run);
        (text(&diff.stdout), text(&diff.stderr))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_code_2_means_only_that_something_would_change() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.compared(2, &["lunch.yaml"]);
    for command in [&["flow", "diff"][..], &["flow", "apply", "--dry-run"], &["flow", "apply"]] {
        let fails = |output: Output, part: &str| {
            assert_eq!(output.status.code(), Some(1), "{command:?}: {output:?}");
            assert!(output.stdout.is_empty(), "{output:?}");
            assert!(text(&output.stderr).contains(part), "{part:?}: {output:?}");
        };
        let with = |more: &[&'static str]| [command, more].concat();
        let tokenless =
            author.command(&with(&["lunch.yaml"])).env_remove("SLUICE_TOKEN").output().unwrap();
        fails(tokenless, "an admin token is needed");
        fails(author.run(&with(&["lunch.yaml", "--profile", "absent"])), "profile");
        fails(author.run(&with(&["lunch.yaml", "--server", "nowhere"])), "server's address");
        fails(author.run(&with(&["lunch.yaml", "--app", "Lunch"])), "invalid value");
        fails(author.run(&with(&["lunch.yaml", "--wrong"])), "--wrong");
        fails(author.run(command), "FILE");
        assert_eq!(author.run(&with(&["--help"])).status.code(), Some(0));
    }
    author.ends(0, &["app", "create", "Second"]);
    for command in [&["flow", "diff"][..], &["flow", "apply", "--dry-run"], &["flow", "apply"]] {
        let output = author.ends(1, &[command, &["lunch.yaml"]].concat());
        assert!(text(&output.stderr).contains("there are several apps"), "{output:?}");
    }
    // Other commands keep 2 for an invalid command line.
    author.ends(2, &["flow", "list", "--wrong"]);
    let tokenless = author.command(&["flow", "list"]).env_remove("SLUICE_TOKEN").output().unwrap();
    assert_eq!(tokenless.status.code(), Some(2), "{tokenless:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_is_a_dry_run_also_beside_a_draft_of_someone_else() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.write("visit.yaml", &LUNCH.replace("lunch", "visit"));
    author.ends(0, &["flow", "apply", "lunch.yaml", "visit.yaml"]);
    let (same, _) = author.compared(0, &["lunch.yaml"]);
    assert!(same.ends_with("1 file: 0 would change, 1 unchanged\n"), "{same}");

    let questions = json!([{"id": "why", "type": "longText", "prompt": "Why not?"}]);
    author.put_draft("lunch", &json!({"title": "Lunch", "questions": questions})).await;
    // The published version is as in the file: the draft is in nobody's way.
    let (_, notes) = author.compared(0, &["lunch.yaml"]);
    assert!(notes.contains("a draft with other changes, which stays"), "{notes}");

    author.write("lunch.yaml", &LUNCH.replace("Why?", "Why so?"));
    author.write("visit.yaml", &LUNCH.replace("lunch", "visit").replace("Why?", "Why so?"));
    let (difference, conflict) = author.compared(1, &["lunch.yaml", "visit.yaml"]);
    let change = "  “Why?” now reads “Why so?”\n";
    assert_eq!(
        difference,
        format!(
            "lunch.yaml: lunch: 1 change\n{change}visit.yaml: visit: 1 change\n{change}\
             2 files: 1 would change, 0 unchanged, 1 stopped by a draft\n"
        )
    );
    for part in ["lunch.yaml: the flow has a draft", "“Why not?”", "--overwrite-draft"] {
        assert!(conflict.contains(part), "{part:?} is not in {conflict}");
    }
    let applied = author.ends(1, &["flow", "apply", "lunch.yaml", "visit.yaml"]);
    assert_eq!(text(&applied.stderr), conflict, "an apply stops for the same reason");
    assert!(applied.stdout.is_empty(), "before it changes anything: {applied:?}");
    let (replaced, _) = author.compared(2, &["lunch.yaml", "visit.yaml", "--overwrite-draft"]);
    assert!(replaced.ends_with("2 files: 2 would change, 0 unchanged\n"), "{replaced}");
}
