//! Definitions and responses of other tools, imported into a server of either store.

use crate::cluster::Cluster;
use crate::support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use support::{Server, assert_complains, run, sluice, text};

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures");
    folder.join(name).to_str().unwrap().to_owned()
}

/// A server, and commands that call it.
struct Importer {
    folder: tempfile::TempDir,
    server: Server,
    token: String,
    /// Dropped last.
    _cluster: Option<Cluster>,
}

impl Importer {
    /// One on each store.
    fn on_both_stores() -> [Self; 2] {
        let cluster = Cluster::start(&[]);
        let url = cluster.url(&cluster.create_database());
        let folder = tempfile::tempdir().unwrap();
        let postgres =
            Server::start_with(folder.path(), "127.0.0.1:0", |it| it.args(["--store", &url]));
        [Self::new(), Self::with(folder, postgres, Some(cluster))]
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path());
        Self::with(folder, server, None)
    }

    fn with(folder: tempfile::TempDir, server: Server, cluster: Option<Cluster>) -> Self {
        let token = server.token().unwrap();
        Self { folder, server, token, _cluster: cluster }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = sluice();
        command.current_dir(self.folder.path()).args(arguments);
        command.env("SLUICE_SERVER", &self.server.base).env("SLUICE_TOKEN", &self.token);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        text(&output.stdout)
    }

    /// The JSON that a command prints, and its exit code.
    fn json(&self, arguments: &[&str]) -> (Value, Option<i32>) {
        let output = self.run(arguments);
        let value = serde_json::from_slice(&output.stdout);
        (value.unwrap_or_else(|_| panic!("{arguments:?}: {output:?}")), output.status.code())
    }

    /// Pushes a flow and publishes it.
    fn publish(&self, definition: &str) -> String {
        self.write("flow.yaml", definition);
        let pushed = self.done(&["flow", "push", "flow.yaml", "--publish"]);
        word(&pushed, "fl_")
    }

    /// The responses of a flow, as exported.
    fn exported(&self, flow: &str) -> Vec<Value> {
        let out = ["responses", "export", flow, "--format", "jsonl", "--out", "out.jsonl"];
        self.done(&out);
        let lines = std::fs::read_to_string(self.path("out.jsonl")).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn word(text: &str, start: &str) -> String {
    text.split_whitespace().find(|word| word.starts_with(start)).unwrap().to_owned()
}

const SAMPLES: [(&str, &str); 5] = [
    ("typeform", "typeform/logic.json"),
    ("formbricks", "formbricks/logic-blocks.json"),
    ("surveyjs", "surveyjs/logic.json"),
    ("google-forms", "google-forms/logic-quiz.json"),
    ("xlsform", "xlsform/logic.xlsx"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_becomes_a_draft_that_can_be_published() {
    for importer in Importer::on_both_stores() {
        for (format, file) in SAMPLES {
            let (made, code) = importer.json(&["import", format, &fixture(file), "--json"]);
            assert_eq!(code, Some(0), "{format}");
            let flow = made["flowId"].as_str().unwrap();
            let (_, row) = importer.server.admin(&importer.token, &format!("/flows/{flow}")).await;
            assert!(row["published"].is_null(), "an import never publishes: {row}");
            assert_eq!(row["name"], made["definition"]["title"]);
            let path = format!("/flows/{flow}/draft");
            let (_, draft) = importer.server.admin(&importer.token, &path).await;
            assert_eq!(draft["definition"], made["definition"], "{format}");
            importer.done(&["flow", "publish", flow]);
        }
        // The draft of an existing flow is replaced.
        let flow = importer.publish("title: Old\nquestions:\n- {id: a, type: yesNo, prompt: A?}\n");
        let file = fixture("typeform/simple.json");
        importer.done(&["import", "typeform", &file, "--flow", &flow]);
        let path = format!("/flows/{flow}/draft");
        let (_, draft) = importer.server.admin(&importer.token, &path).await;
        assert_eq!(draft["definition"]["title"], "Library visit");
    }
}

#[test]
fn a_dry_run_lists_every_element_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let file = fixture("typeform/logic.json");
    let output = run(here, &["import", "typeform", &file, "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let printed = text(&output.stdout);
    for part in [
        "mapped      /fields/0  question “Is the bicycle of order {{hidden:order}} repaired?” (yes_no) = solved",
        "changed     /fields/5  question “How was the service?” (opinion_scale) = rate",
        "runs from 1 to 5 instead of from 0",
        "not mapped  /logic/1/actions/1",
        "it leads back, and jumps of Sluice only lead forward",
        "not mapped\n",
    ] {
        assert!(printed.contains(part), "{part:?} is not in {printed}");
    }
    assert!(text(&output.stderr).contains("nothing was written"));
    assert_eq!(std::fs::read_dir(here).unwrap().count(), 0);
    let listed = run(here, &["import", "typeform", &file, "--dry-run", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let count = |name: &str| listed[name].as_u64().unwrap() as usize;
    let elements = listed["elements"].as_array().unwrap();
    assert_eq!(count("mapped") + count("changed") + count("notMapped"), elements.len());
    assert_eq!(listed["flowId"], Value::Null);
    assert!(elements.iter().all(|it| it["outcome"] != "notMapped" || it["reason"].is_string()));
}

#[test]
fn a_definition_is_written_to_a_file_that_passes_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (format, file) in SAMPLES {
        let out = format!("{format}.json");
        let output = run(here, &["import", format, &fixture(file), "--out", &out]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(run(here, &["flow", "check", &out]).status.code(), Some(0), "{format}");
        let printed = run(here, &["import", format, &fixture(file), "--out", "-"]);
        let file = std::fs::read(here.join(&out)).unwrap();
        assert_eq!(printed.stdout, file, "{format}: stdout has the definition only");
    }
}

#[test]
fn a_file_of_another_format_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("x.json"), "{}").unwrap();
    for (format, _) in SAMPLES {
        let output = run(here, &["import", format, "x.json", "--dry-run"]);
        assert_complains(&output, 3, &["x.json is not"]);
    }
    let missing = run(here, &["import", "typeform", "absent.json", "--dry-run"]);
    assert_complains(&missing, 1, &["absent.json"]);
    let unknown = run(here, &["import", "mystery", "x.json"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("google-forms"), "{unknown:?}");
}

const FLOW: &str = "\
title: Feedback
questions:
- {id: nps, type: nps, prompt: Would you recommend us?, required: true}
- {id: why, type: longText, prompt: Why?}
- {id: use, type: multipleChoice, prompt: What do you use?, allowOther: true, options: [{id: api, label: The API}, {id: web, label: \"The site, or the app\"}]}
- {id: plan, type: singleChoice, prompt: Which plan?, options: [{id: free, label: Free}, {id: pro, label: Professional}]}
- {id: grid, type: matrix, prompt: How good is …, rows: [{id: food, label: the food}, {id: room, label: the room}], columns: [{id: bad, label: Bad}, {id: good, label: Good}]}
- {id: again, type: yesNo, prompt: Again?}
- {id: terms, type: consent, prompt: I agree}
- {id: day, type: date, prompt: Which day?}
- {id: rank, type: ranking, prompt: Order, options: [{id: a, label: A}, {id: b, label: B}]}
- {id: score, type: shortText, prompt: Score}
";

const ROWS: &str = "\
Submitted,How likely,Why?,What do you use?,Which plan?,Again?,I agree,Which day?,tag.source,Extra
2024-03-01 10:00:00,9,\"good; fast\",\"The API, The site, or the app, by mail\",Professional,TRUE,yes,2024-02-29T08:00:00Z,news;web,x
2024-03-02T11:30:00+02:00,3,,api;web,free,no,no,2024-02-28,,x
2024-03-03 09:00:00,11,too much,api,free,no,,,,x
yesterday,5,,,,,,,,x
2024-03-04 09:00:00,5,,,other plan,,,,,x
2024-03-02T11:30:00+02:00,3,,api;web,free,no,no,2024-02-28,,x
";

const MAP: &str = "\
columns:
  Submitted: submittedAt
  How likely: answer.nps
  Extra: ignore
";

#[tokio::test(flavor = "multi_thread")]
async fn rows_become_responses_once() {
    for importer in Importer::on_both_stores() {
        let flow = importer.publish(FLOW);
        importer.write("rows.csv", ROWS);
        importer.write("map.yaml", MAP);
        // Columns that are unknown stop the import.
        let unknown = importer.run(&["import", "responses", "rows.csv", "--flow", &flow]);
        assert_eq!(unknown.status.code(), Some(3), "{unknown:?}");
        assert!(text(&unknown.stdout).contains("column \"How likely\" -> unknown"));
        assert!(importer.exported(&flow).is_empty());
        let arguments =
            ["import", "responses", "rows.csv", "--flow", &flow, "--map", "map.yaml", "--json"];
        let mut dry = arguments.to_vec();
        dry.push("--dry-run");
        let (judged, code) = importer.json(&dry);
        assert_eq!(
            (&judged["accepted"], &judged["refused"], code),
            (&json!(3), &json!(3), Some(3))
        );
        assert!(importer.exported(&flow).is_empty(), "a dry run stores nothing");
        assert!(judged["earlier"].is_null(), "a dry run does not know: {judged}");
        let (first, _) = importer.json(&arguments);
        assert_eq!(
            (&first["rows"], &first["accepted"], &first["earlier"]),
            (&json!(6), &json!(3), &json!(0))
        );
        let stored = importer.exported(&flow);
        assert_eq!(stored.len(), 3);
        assert_eq!(
            stored[0]["answers"],
            json!({"nps": "9", "why": "good; fast", "use": ["api", "web", "other:by mail"], "plan": "pro",
                   "again": "yes", "terms": "accepted", "day": "2024-02-29"})
        );
        let tags = &stored[0]["metadata"]["tags"];
        assert_eq!(
            *tags,
            json!({"import.submittedAt": "2024-03-01T10:00:00.000Z", "source": ["news", "web"]})
        );
        assert_eq!(stored[1]["metadata"]["tags"]["import.submittedAt"], "2024-03-02T09:30:00.000Z");
        assert_eq!(stored[1]["answers"], stored[2]["answers"], "two equal rows are two responses");
        assert!(
            stored[0]["receivedAt"].as_str().unwrap() > "2026",
            "stored at the time of the import"
        );
        // Again: nothing is stored twice.
        let (second, _) = importer.json(&arguments);
        assert_eq!((&second["accepted"], &second["earlier"]), (&json!(3), &json!(3)));
        assert_eq!(importer.exported(&flow), stored);
        refused_rows_can_be_fixed(&importer, &flow);
    }
}

fn refused_rows_can_be_fixed(importer: &Importer, flow: &str) {
    let refused = std::fs::read_to_string(importer.path("rows.csv.refused.jsonl")).unwrap();
    let lines: Vec<Value> = refused.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    // Rows that cannot be submissions are found before the others are judged.
    let mut numbers: Vec<u64> = lines.iter().map(|it| it["row"].as_u64().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [3, 4, 5]);
    let reason = |row: u64| {
        let line = lines.iter().find(|it| it["row"] == row).unwrap();
        line["reasons"][0].as_str().unwrap().to_owned()
    };
    assert!(reason(3).contains("from 0 to 10"), "{}", reason(3));
    assert!(reason(4).contains("\"yesterday\" is not a time"), "{}", reason(4));
    assert!(reason(5).contains("takes only its options"), "{}", reason(5));
    let fixed = refused.replace("\"11\"", "\"10\"").replace("yesterday", "2024-03-03");
    let fixed = fixed.replace("other plan", "Professional");
    importer.write("fixed.jsonl", &fixed);
    let arguments =
        ["import", "responses", "fixed.jsonl", "--flow", flow, "--map", "map.yaml", "--json"];
    let (result, code) = importer.json(&arguments);
    assert_eq!((&result["accepted"], code), (&json!(3), Some(0)));
    assert_eq!(importer.exported(flow).len(), 6);
}

/// The parts of responses that an import keeps.
fn kept(responses: &[Value]) -> Vec<Value> {
    let kept = |response: &Value| {
        let mut tags = response["metadata"]["tags"].clone();
        if let Some(tags) = tags.as_object_mut() {
            tags.retain(|name, _| !name.starts_with("import."));
        }
        let identity = |it: &Value| format!("{}={}", it["type"], it["value"]);
        let identities = response["identities"].as_array().unwrap().iter().map(identity);
        let mut identities: Vec<String> = identities.collect();
        identities.sort_unstable();
        json!({
            "answers": response["answers"], "tags": tags, "context": response["context"],
            "admission": response["respondentAnalyticsAdmission"],
            "identities": identities,
        })
    };
    responses.iter().map(kept).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_exports_come_back_whole() {
    for importer in Importer::on_both_stores() {
        let flow = importer.publish(FLOW);
        let key = importer.server.id("pk_");
        let path = format!("/flows/{flow}");
        let (_, row) = importer.server.admin(&importer.token, &path).await;
        let version = row["published"]["flowVersionId"].as_str().unwrap().to_owned();
        for (number, answers) in [
            json!({"nps": "0", "why": "=1+1; a \\ b\n'-x", "use": ["other:x;y", "web"], "grid": ["food:bad", "room:good"]}),
            json!({"nps": "10", "plan": "pro", "again": "no", "terms": "accepted", "day": "2026-01-31", "rank": ["b", "a"],
                   "use": ["other:The API, see [api]", "web"], "score": "7 of 9"}),
        ]
        .into_iter()
        .enumerate()
        {
            let admission = if number == 0 { "collection_only" } else { "admitted" };
            let submission = json!({
                "flowVersionId": version, "flowVersionPayloadGeneration": "4",
                "respondentAnalyticsAdmission": admission, "answers": answers,
                "identities": [{"type": "userId", "value": "u1"}, {"type": "crm", "value": "7"}],
                "metadata": {"tags": {"plan": "a;b", "list": ["x", "y"]}},
                "context": {"locale": "de", "page": {"path": "/p", "search": "?q=1"}},
            });
            let url = importer.server.submit_url(&key);
            let reply = importer.server.http.post(url).json(&submission).send().await.unwrap();
            let reply: Value = serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap();
            assert_eq!(reply["result"]["data"]["success"], true, "{reply}");
        }
        let original = importer.exported(&flow);
        for (format, values) in
            [("jsonl", "ids"), ("csv", "ids"), ("jsonl", "labels"), ("csv", "labels")]
        {
            let copy = importer.publish(FLOW);
            let file = format!("export-{values}.{format}");
            importer.done(&[
                "responses",
                "export",
                &flow,
                "--format",
                format,
                "--values",
                values,
                "--out",
                &file,
            ]);
            let (result, code) =
                importer.json(&["import", "responses", &file, "--flow", &copy, "--json"]);
            assert_eq!((&result["accepted"], code), (&json!(2), Some(0)), "{file}: {result}");
            let copied = importer.exported(&copy);
            assert_eq!(kept(&copied), kept(&original), "{file}");
            for (copied, original) in copied.iter().zip(&original) {
                let tags = &copied["metadata"]["tags"];
                assert_eq!(tags["import.submittedAt"], original["receivedAt"]);
                assert_eq!(tags["import.id"], original["responseId"]);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_goes_on_after_it_was_killed() {
    const COUNT: usize = 400;
    let importer = Importer::new();
    let flow = importer.publish(FLOW);
    let rows: String = (0..COUNT).map(|at| format!("{},text {at}\n", at % 11)).collect();
    importer.write("many.csv", &format!("nps,why\n{rows}"));
    let arguments = ["import", "responses", "many.csv", "--flow", &flow, "--json"];
    let mut child = importer.command(&arguments).spawn().unwrap();
    let stored = || {
        let importer = &importer;
        let path = format!("/flows/{flow}/responses?limit=1");
        async move {
            let (_, page) = importer.server.admin(&importer.token, &path).await;
            page["items"].as_array().map_or(0, Vec::len)
        }
    };
    while stored().await == 0 && child.try_wait().unwrap().is_none() {}
    child.kill().unwrap();
    child.wait().unwrap();
    let (result, code) = importer.json(&arguments);
    assert_eq!((&result["accepted"], code), (&json!(COUNT), Some(0)));
    let all = importer.exported(&flow);
    let mut texts: Vec<&str> =
        all.iter().map(|it| it["answers"]["why"].as_str().unwrap()).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!((all.len(), texts.len()), (COUNT, COUNT));
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_are_not_sent_by_surprise() {
    let importer = Importer::new();
    let flow = importer.publish(FLOW);
    importer.write("rows.csv", "nps\n5\n");
    let (_, apps) = importer.server.admin(&importer.token, "/apps").await;
    let app = apps["items"][0]["appId"].as_str().unwrap();
    let url = format!("{}/api/admin/v1/apps/{app}/webhooks", importer.server.base);
    let body = json!({"url": "https://hooks.example.com/in", "events": ["response.created"]});
    let http = &importer.server.http;
    let made = http.post(url).bearer_auth(&importer.token).json(&body).send().await.unwrap();
    assert!(made.status().is_success(), "{made:?}");
    let arguments = ["import", "responses", "rows.csv", "--flow", &flow];
    let refused = importer.run(&arguments);
    assert_complains(&refused, 1, &["1 webhook would get 1 event", "--notify"]);
    assert!(importer.exported(&flow).is_empty());
    // A token that cannot see webhooks does not import by surprise either.
    let made = importer.done(&["token", "create", "--name", "reader", "--scope", "read"]);
    let reader = word(&made, "sluice_");
    let mut arguments = arguments.to_vec();
    arguments.extend(["--token", &reader]);
    assert_complains(&importer.run(&arguments), 1, &["cannot see", "--notify"]);
    assert!(importer.exported(&flow).is_empty());
    arguments.push("--notify");
    importer.done(&arguments);
    assert_eq!(importer.exported(&flow).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_claims_nothing_about_rows_that_are_there() {
    let importer = Importer::new();
    let flow = importer.publish(FLOW);
    importer.write("rows.csv", "nps\n5\n6\n");
    let arguments = ["import", "responses", "rows.csv", "--flow", &flow];
    let stored = importer.done(&arguments);
    assert!(stored.ends_with("2 rows: 2 imported, 0 already there, 0 refused\n"), "{stored}");
    let judged = importer.run(&[&arguments[..], &["--dry-run"]].concat());
    let printed = text(&judged.stdout);
    assert!(printed.ends_with("2 rows: 2 would be accepted, 0 refused\n"), "{printed}");
    assert!(text(&judged.stderr).contains("does not find which rows"), "{judged:?}");
    let again = importer.done(&arguments);
    assert!(again.ends_with("2 rows: 0 imported, 2 already there, 0 refused\n"), "{again}");
    assert_eq!(importer.exported(&flow).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fixed_row_is_stored_also_if_it_equals_a_stored_one() {
    let importer = Importer::new();
    let flow = importer.publish(FLOW);
    importer.write("rows.csv", "nps,why\n10,good\n11,good\n");
    let refused = importer.run(&["import", "responses", "rows.csv", "--flow", &flow]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let file = importer.path("rows.csv.refused.jsonl");
    let fixed = std::fs::read_to_string(&file).unwrap().replace("\"11\"", "\"10\"");
    importer.write("fixed.jsonl", &fixed);
    for stored in ["1 imported, 0 already there", "0 imported, 1 already there"] {
        let printed = importer.done(&["import", "responses", "fixed.jsonl", "--flow", &flow]);
        assert!(printed.contains(stored), "{printed}");
        assert_eq!(importer.exported(&flow).len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_there_are_not_refused_after_a_publish() {
    let importer = Importer::new();
    let flow = importer.publish(FLOW);
    importer.write("rows.csv", "nps\n5\n6\n");
    let arguments = ["import", "responses", "rows.csv", "--flow", &flow];
    importer.done(&arguments);
    importer.write("flow.yaml", &FLOW.replace("Why?", "Why not?"));
    importer.done(&["flow", "push", "flow.yaml", "--flow", &flow, "--publish"]);
    let again = importer.run(&arguments);
    let printed = text(&again.stdout);
    assert!(printed.ends_with("2 rows: 0 imported, 2 already there, 0 refused\n"), "{again:?}");
    assert!(
        text(&again.stderr).contains("2 of these rows were stored for another version"),
        "{again:?}"
    );
    assert_eq!(importer.exported(&flow).len(), 2);
    // An id in the source says nothing about the content.
    importer.write("ids.csv", "responseId,nps\na,5\n");
    let arguments = ["import", "responses", "ids.csv", "--flow", &flow];
    importer.done(&arguments);
    importer.write("ids.csv", "responseId,nps\na,6\n");
    assert_eq!(importer.run(&arguments).status.code(), Some(3));
}
