//! `sluice app` and `sluice identity` against a running server: settings are shown, changed and
//! refused.

use crate::support;

use support::{Server, sluice, text};

/// Runs a command against the server: its exit code, stdout and stderr.
fn run(server: &Server, arguments: &[&str]) -> (i32, String, String) {
    let mut command = sluice();
    command.args(arguments);
    command.env("SLUICE_SERVER", &server.base).env("SLUICE_TOKEN", server.token().unwrap());
    let output = command.output().unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The id of the demo app.
fn app_of(server: &Server) -> String {
    let (_, listed, _) = run(server, &["app", "list"]);
    listed.split("  ").next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_an_app_are_shown_and_changed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let app = app_of(&server);
    let (code, shown, _) = run(&server, &["app", "show", &app]);
    assert_eq!(code, 0);
    assert!(shown.starts_with(&format!("{app}  pk_")), "{shown}");
    assert!(shown.contains("\n  retentionDays  default\n"), "{shown}");

    let set = |more: &[&str]| run(&server, &[&["app", "set", &app], more].concat());
    let all = ["--name", "Shop", "--retention-days", "365", "--grace-window-seconds", "0"];
    let (code, shown, output_text) =
        set(&[&all[..], &["--allowed-origin", "https://a.example"]].concat());
    assert_eq!(code, 0, "{output_text}");
    let expected = [
        "Shop",
        "\n  retentionDays  365",
        "\n  graceWindowSeconds  0",
        "\n  allowedOrigins  [\"https://a.example\"]",
    ];
    assert!(expected.iter().all(|part| shown.contains(part)), "{shown}");
    let (_, shown, _) = set(&["--retention-days", "default", "--allowed-origin", "any"]);
    assert!(shown.contains("\n  retentionDays  default"), "{shown}");
    assert!(shown.contains("\n  allowedOrigins  []"), "{shown}");

    let (code, shown, output_text) =
        set(&["--calls-per-second", "100", "--bytes-per-day", "5000000000"]);
    assert_eq!(code, 0, "{output_text}");
    let limits = "\n  limits  {\"bytesPerDay\":5000000000,\"callsPerSecond\":100}";
    assert!(shown.contains(limits), "{shown}");
    let (_, shown, _) = set(&["--calls-per-second", "default"]);
    assert!(shown.contains("{\"bytesPerDay\":5000000000,\"callsPerSecond\":null}"), "{shown}");

    let logo = folder.path().join("logo.svg");
    std::fs::write(&logo, "<svg/>").unwrap();
    let (code, shown, output_text) =
        set(&["--accent-color", "#fc0", "--logo", logo.to_str().unwrap()]);
    assert_eq!(code, 0, "{output_text}");
    assert!(
        shown.contains("#ffcc00") && shown.contains("data:image/svg+xml;base64, about"),
        "{shown}"
    );
    let (_, shown, _) = set(&["--logo", "default", "--spam-protection", "false"]);
    assert!(
        shown.contains("\"logo\":null") && shown.contains("\"spamProtection\":false"),
        "{shown}"
    );

    assert_eq!(set(&[]).0, 2, "a call without settings must be refused");
    assert_eq!(set(&["--retention-days", "soon"]).0, 2);
    let (code, _, output_text) = set(&["--identity-verification", "enforce"]);
    assert_eq!(code, 1);
    assert!(output_text.contains("no active identity key"), "{output_text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_keys_are_created_listed_and_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let app = app_of(&server);
    let (code, made, output_text) = run(&server, &["identity", "add", &app]);
    assert_eq!(code, 0, "{output_text}");
    let lines: Vec<&str> = made.lines().collect();
    let kid = lines[0].split("  ").next().unwrap();
    assert!(lines[0].ends_with("  hs256  active  HS256"), "{made}");
    assert!(lines[1].starts_with("idsec_"), "{made}");

    let mode = ["app", "set", &app, "--identity-verification", "enforce"];
    assert_eq!(run(&server, &mode).0, 0);
    let (_, counts, _) = run(&server, &["identity", "counts", &app]);
    assert!(counts.contains("\"identityVerification\": \"enforce\""), "{counts}");

    assert_eq!(run(&server, &["identity", "revoke", &app, kid]).0, 0);
    let (_, listed, _) = run(&server, &["identity", "list", &app]);
    assert!(listed.starts_with(&format!("{kid}  hs256  revoked ")), "{listed}");
    assert!(!listed.contains("idsec_"), "a secret must be shown only once");

    let missing = folder.path().join("none.pem");
    let wrong = ["identity", "add", &app, "--pem", missing.to_str().unwrap()];
    let (code, _, output_text) = run(&server, &wrong);
    assert_eq!(code, 1);
    assert!(output_text.contains("cannot read"), "{output_text}");
}
