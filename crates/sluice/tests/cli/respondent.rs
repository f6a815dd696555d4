//! `sluice respondent` against a running server: a respondent is found, shown, exported and erased,
//! with and without their answers.

use crate::support;

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use support::{Server, assert_complains, http, sluice, submission, submit, text};

/// Runs `respondent` against the server, with a token.
fn respondent(server: &Server, folder: &Path, token: &str, arguments: &[&str]) -> Output {
    let mut command = sluice();
    command.current_dir(folder).arg("respondent").args(arguments);
    command.env("SLUICE_SERVER", &server.base).env("SLUICE_TOKEN", token);
    command.output().unwrap()
}

/// The output of a command that must succeed.
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Stores an admitted answer, and returns its id.
async fn answer(server: &Server, user: &str, email: &str, why: &str) -> String {
    let mut body = submission(&server.id("fv_"), why);
    body["respondentAnalyticsAdmission"] = json!("admitted");
    body["identities"] =
        json!([{"type": "userId", "value": user}, {"type": "traits.email", "value": email}]);
    submit(&http(), &server.submit_url(&server.id("pk_")), why, &body).await.unwrap()
}

async fn token_of(server: &Server, scopes: &[&str]) -> String {
    let url = format!("{}/api/admin/v1/tokens", server.base);
    let body = json!({"name": "narrow", "scopes": scopes});
    let request = http().post(url).bearer_auth(server.token().unwrap()).json(&body);
    let made: Value = request.send().await.unwrap().json().await.unwrap();
    made["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_respondent_is_found_shown_and_exported_with_permission() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let admin = server.token().unwrap();
    let (_, apps) = server.admin(&admin, "/apps").await;
    let app = apps["items"][0]["appId"].as_str().unwrap();
    let first = answer(&server, "u-ann", "Ann@mail.example", "first").await;
    let second = answer(&server, "u-ann", "Ann@mail.example", "second").await;
    answer(&server, "u-bob", "bob@mail.example", "of bob").await;
    let run = |arguments: &[&str]| respondent(&server, folder.path(), &admin, arguments);

    let shown = printed(&run(&["show", "--app", app, "--email", "ann@MAIL.example"]));
    assert_eq!(shown, printed(&run(&["show", "--app", app, "--user-id", "u-ann"])));
    let id = shown.split("  ").next().unwrap();
    assert!(id.starts_with("rp_"), "{shown}");
    assert_eq!(shown, printed(&run(&["show", id])));
    let flow = format!("{}  2 responses", server.id("fl_"));
    for part in ["userId  u-ann", "traits.email  ann@mail.example", &flow, &first, &second] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    // Not just the name: ids are random and may contain it.
    let has_bob = |text: &str| ["u-bob", "bob@", "of bob"].iter().any(|part| text.contains(part));
    assert!(!has_bob(&shown), "{shown}");
    let whole: Value = serde_json::from_str(&printed(&run(&["export", id]))).unwrap();
    let whys: Vec<&Value> =
        whole["responses"].as_array().unwrap().iter().map(|it| &it["answers"]["why"]).collect();
    assert_eq!(whys, ["first", "second"], "{whole}");
    assert!(!has_bob(&whole.to_string()), "{whole}");

    let listed = printed(&run(&["list", app]));
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let known = |line: &str| line.starts_with(id) && line.ends_with("  u-ann  ann@mail.example");
    assert!(listed.lines().any(known), "{listed}");
    let responses = printed(&run(&["responses", id]));
    let ids: Vec<Value> = responses.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let ids: Vec<&Value> = ids.iter().map(|it| &it["responseId"]).collect();
    assert_eq!(ids, [&json!(first), &json!(second)]);

    let nobody = run(&["show", "--app", app, "--email", "eve@mail.example"]);
    assert_complains(&nobody, 1, &["no respondent in this app has this traits.email"]);
    for usage in [&["show"] as &[&str], &["show", "--email", "x@mail.example"], &["erase", id]] {
        assert_eq!(run(usage).status.code(), Some(2), "{usage:?}");
    }
    let reader = token_of(&server, &["read"]).await;
    let by_reader = |arguments: &[&str]| respondent(&server, folder.path(), &reader, arguments);
    assert_eq!(printed(&by_reader(&["show", id])), shown);
    assert_complains(&by_reader(&["export", id]), 1, &["export"]);
    assert_complains(&by_reader(&["erase", id, "--answers", "delete"]), 1, &["erase"]);
    assert_eq!(printed(&run(&["show", id])), shown, "nothing may be erased");
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_keeps_the_answers_without_the_person_or_deletes_them() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let admin = server.token().unwrap();
    let (_, apps) = server.admin(&admin, "/apps").await;
    let app = apps["items"][0]["appId"].as_str().unwrap();
    let eraser = token_of(&server, &["read", "erase"]).await;
    let run = |arguments: &[&str]| respondent(&server, folder.path(), &eraser, arguments);
    for (answers, is_kept) in [("keep", true), ("delete", false)] {
        let (user, email) = (format!("u-{answers}"), format!("{answers}@mail.example"));
        let words = [1, 2].map(|count| format!("{answers} {count}"));
        let ids = [
            answer(&server, &user, &email, &words[0]).await,
            answer(&server, &user, &email, &words[1]).await,
        ];
        let bystander = answer(&server, "u-bob", "bob@mail.example", answers).await;
        let shown = printed(&run(&["show", "--app", app, "--user-id", &user]));
        let id = shown.split("  ").next().unwrap();
        let who = ["--app", app, "--email", &email];
        let erased = run(&[&["erase"], &who as &[&str], &["--answers", answers]].concat());
        assert_eq!(printed(&erased), format!("{id}  2 responses  0 invitations\n"));

        assert_complains(
            &run(&[&["show"], &who as &[&str]].concat()),
            1,
            &["no respondent in this app"],
        );
        for unknown in [
            &["show", id] as &[&str],
            &["responses", id],
            &["erase", id, "--answers", answers],
            [&["erase"], &who as &[&str], &["--answers", answers]].concat().as_slice(),
        ] {
            assert_complains(&run(unknown), 1, &["sluice respondent list APP_ID"]);
        }
        let listed = format!("/flows/{}/responses?limit=1000", server.id("fl_"));
        let (_, list) = server.admin(&admin, &listed).await;
        let of = |id: &str| {
            let items = list["items"].as_array().unwrap();
            items.iter().find(|item| item["responseId"] == id).cloned()
        };
        for (id, word) in ids.iter().zip(&words) {
            assert_eq!(
                of(id).map(|it| it["answers"]["why"] == json!(word)),
                is_kept.then_some(true)
            );
        }
        assert!(!list.to_string().contains(&user) && !list.to_string().contains(&email), "{list}");
        assert_eq!(
            of(&bystander).unwrap()["identities"][0]["value"],
            "u-bob",
            "no other respondent may change"
        );
        let (_, audit) = server.admin(&admin, "/audit").await;
        assert!(audit.to_string().contains("respondent.erased"), "{audit}");
        assert!(audit.to_string().contains(id), "{audit}");
        assert!(!audit.to_string().contains(&user), "{audit}");
    }
    let (_, people) = server.admin(&admin, &format!("/respondents?appId={app}")).await;
    assert_eq!(people["items"].as_array().unwrap().len(), 1, "bob is still there: {people}");
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitee_without_a_profile_is_exported_and_erased() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let admin = server.token().unwrap();
    let mut invite = sluice();
    invite.current_dir(folder.path()).args(["invite", "add", &server.id("fl_")]);
    invite.args(["--email", "Ada@mail.example"]);
    invite.env("SLUICE_SERVER", &server.base).env("SLUICE_TOKEN", &admin);
    printed(&invite.output().unwrap());
    let (_, apps) = server.admin(&admin, "/apps").await;
    let app = apps["items"][0]["appId"].as_str().unwrap();
    let who = ["--app", app, "--email", "ada@mail.example"];
    let of = |command: &str, more: &[&str]| {
        let arguments = [&[command] as &[&str], &who, more].concat();
        respondent(&server, folder.path(), &admin, &arguments)
    };
    assert_complains(
        &of("show", &[]),
        1,
        &["no respondent in this app", "an invitee without a profile"],
    );
    let exported: Value = serde_json::from_str(&printed(&of("export", &[]))).unwrap();
    assert_eq!(exported["respondent"], Value::Null);
    assert_eq!(exported["invitations"][0]["identities"][0]["value"], "Ada@mail.example");
    let erased = printed(&of("erase", &["--answers", "keep"]));
    assert_eq!(erased, "no profile  0 responses  1 invitation\n");
    assert_complains(&of("erase", &["--answers", "keep"]), 1, &["respondent"]);
    assert_eq!(server.stop(), Some(0));
}
