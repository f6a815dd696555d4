//! Exports: they end when they should, and report an error if they cannot.

use crate::support;

use std::time::Duration;
use support::UseCases as _;

use serde_json::json;
use sluice_engine::export::{Export, ExportAs, ExportFormat, FORMATS, ValuesAs};
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, ResponseFilter, Results};
use sluice_flow::id::{FlowId, ResponseId};
use support::{Mood, World, accepted, submission};

/// A flow with this many responses.
async fn filled(world: &World, responses: usize) -> FlowId {
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    for _ in 0..responses {
        accepted(world.submit(&view, &submission(version)).await);
    }
    flow
}

/// The first format, which is CSV.
fn csv() -> &'static ExportFormat {
    FORMATS[0]
}

async fn begin(
    world: &World,
    flow: FlowId,
    format: &'static ExportFormat,
) -> Result<Export, AdminError> {
    let exported_as = ExportAs { format, values: ValuesAs::Ids, columns: None, after: None };
    world.engine.export(&world.actor, flow, exported_as, &ResponseFilter::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_is_written_completely() {
    let world = World::new().await;
    let flow = filled(&world, 3).await;
    for format in FORMATS {
        let mut export = begin(&world, flow, format).await.unwrap();
        let mut bytes = 0;
        while let Some(chunk) = export.chunks.recv().await {
            bytes += chunk.unwrap().len();
        }
        assert!(bytes > 100, "{format:?}");
        assert_eq!(export.progress.rows(), 3, "{format:?}");
        assert_eq!(export.progress.total, Some(3), "{format:?}");
        assert!(export.progress.has_ended(), "{format:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_from_before_the_clock_was_set_back_are_exported_and_counted() {
    let world = World::new().await;
    let flow = filled(&world, 3).await;
    let handle = world.engine.flow(&world.actor, Scope::Read, flow).await.unwrap();
    world.clock.advance_millis(-2 * 3_600_000);
    for format in FORMATS {
        let mut export = begin(&world, flow, format).await.unwrap();
        while let Some(chunk) = export.chunks.recv().await {
            chunk.unwrap();
        }
        assert_eq!(export.progress.rows(), 3, "{format:?}");
    }
    // A search is not answered from the counts.
    let asked = handle.asked().await.unwrap();
    let filter = ResponseFilter { search: Some("quick".into()), ..ResponseFilter::default() };
    let counted = loop {
        let wait = Duration::from_secs(1);
        if let Results::Ready(found) = handle.count_matching(&asked, &filter, wait).await.unwrap() {
            break found.responses;
        }
    };
    assert_eq!(counted, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_cannot_be_read_is_exported_with_ids() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let view = world.view(&app).await;
    let first = world.publish(flow).await.flow_version_id;
    accepted(world.submit(&view, &submission(first)).await);
    let second = json!({"title": "Feedback", "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?", "required": true}]});
    world.engine.put_draft(&world.actor, flow, second).await.unwrap();
    let second = world.publish(flow).await.flow_version_id;
    let mut body = submission(second);
    body["answers"] = json!({"nps": "3"});
    accepted(world.submit(&view, &body).await);

    // Another process has not read the definitions yet.
    let world = world.another().await;
    world.faults.set(Mood::DamagingVersion(1));
    for format in FORMATS {
        let mut export = begin(&world, flow, format).await.unwrap();
        while let Some(chunk) = export.chunks.recv().await {
            chunk.unwrap();
        }
        assert!(export.progress.has_ended() && export.progress.rows() == 2, "{format:?}");
    }
    let whole = async |mut export: Export| {
        let mut bytes = Vec::new();
        while let Some(chunk) = export.chunks.recv().await {
            bytes.extend_from_slice(&chunk.unwrap());
        }
        String::from_utf8(bytes).unwrap()
    };
    let exported = async |name: &str, values: ValuesAs| {
        let format = FORMATS.iter().find(|it| it.name == name).unwrap();
        let exported_as = ExportAs { format, values, columns: None, after: None };
        let all = ResponseFilter::default();
        whole(world.engine.export(&world.actor, flow, exported_as, &all).await.unwrap()).await
    };
    let csv = exported("csv", ValuesAs::Ids).await;
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].contains(",nps,answers.other,tags.other,"), "{csv}");
    let found = format!("{first},1,");
    assert!(lines[1].contains(&found), "{csv}");
    assert!(lines[1].contains(r#",9,"{""why"":""quick""}","#), "{csv}");
    assert!(lines[2].contains(",3,,"), "{csv}");
    let json = exported("jsonl", ValuesAs::Labels).await;
    assert!(json.contains(r#""answers":{"How likely?":"9","why":"quick"}"#), "{json}");
    let opened = world.engine.flow(&world.actor, Scope::Read, flow).await.unwrap();
    let codebook = whole(opened.codebook().await.unwrap()).await;
    assert!(codebook.contains(&second.to_string()), "{codebook}");
    assert!(!codebook.contains(&first.to_string()), "{codebook}");
}

/// Its column is that of the versions that can be read, for which it was a number.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_does_not_fit_its_column_is_exported_whole() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let view = world.view(&app).await;
    let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
    for (question, answer) in [
        (json!({"type": "multipleChoice", "options": options}), json!(["a", "b"])),
        (json!({"type": "number"}), json!("3")),
    ] {
        let mut asked = json!({"id": "pick", "prompt": "Which?"});
        asked.as_object_mut().unwrap().extend(question.as_object().unwrap().clone());
        let draft = json!({"title": "Feedback", "questions": [asked]});
        world.engine.put_draft(&world.actor, flow, draft).await.unwrap();
        let mut body = submission(world.publish(flow).await.flow_version_id);
        body["answers"] = json!({"pick": answer});
        accepted(world.submit(&view, &body).await);
    }
    let world = world.another().await;
    world.faults.set(Mood::DamagingVersion(1));
    let mut export = begin(&world, flow, csv()).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(chunk) = export.chunks.recv().await {
        bytes.extend_from_slice(&chunk.unwrap());
    }
    let csv = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].contains(",pick,answers.other,"), "{csv}");
    assert!(lines[1].contains(r#",,"{""pick"":[""a"",""b""]}","#), "{csv}");
    assert!(lines[2].contains(",3,,"), "{csv}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_continues_after_a_response() {
    let world = World::new().await;
    let flow = filled(&world, 3).await;
    let columns = || Some(vec!["responseId".to_owned()]);
    let ids = async |after: Option<ResponseId>| {
        let exported_as =
            ExportAs { format: csv(), values: ValuesAs::Ids, columns: columns(), after };
        let all = ResponseFilter::default();
        let export = world.engine.export(&world.actor, flow, exported_as, &all).await;
        let mut export = export.unwrap();
        let mut bytes = Vec::new();
        while let Some(chunk) = export.chunks.recv().await {
            bytes.extend_from_slice(&chunk.unwrap());
        }
        let text = String::from_utf8(bytes).unwrap();
        text.lines().skip(1).map(|id| id.parse().unwrap()).collect::<Vec<ResponseId>>()
    };
    let all = ids(None).await;
    assert_eq!(all.len(), 3);
    assert_eq!(ids(Some(all[0])).await, all[1..]);
    assert_eq!(ids(Some(all[2])).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_exports_are_limited_and_an_abandoned_export_ends() {
    let world = World::new().await;
    let flow = filled(&world, 1).await;
    // The store hangs, so none of them ends on its own.
    world.faults.set(Mood::HidingResponses(Duration::from_secs(600)));
    let mut under_way = Vec::new();
    let refused = loop {
        match begin(&world, flow, csv()).await {
            Ok(export) => under_way.push(export),
            Err(error) => break error,
        }
        assert!(under_way.len() < 100, "there is no limit");
    };
    assert!(matches!(refused, AdminError::Conflict { code: "too_many_exports", .. }), "{refused}");
    drop(under_way);
    let again = async {
        while begin(&world, flow, csv()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(60), again).await.is_ok(),
        "no slot was freed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_app_cannot_take_all_export_slots() {
    let world = World::new().await;
    let mut flows = Vec::new();
    for _ in 0..5 {
        flows.push(filled(&world, 1).await);
    }
    world.faults.set(Mood::HidingResponses(Duration::from_secs(600)));
    let mut under_way = Vec::new();
    for flow in &flows[..4] {
        for _ in 0..2 {
            under_way.push(begin(&world, *flow, csv()).await.unwrap());
        }
        if under_way.len() < 8 {
            let third = begin(&world, *flow, csv()).await.unwrap_err();
            assert!(third.to_string().contains("two exports of this app"), "{third}");
        }
    }
    let ninth = begin(&world, flows[4], csv()).await.unwrap_err();
    assert!(ninth.to_string().contains("several exports"), "{ninth}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_store_ends_the_export_with_an_error() {
    let world = World::new().await;
    let flow = filled(&world, 2).await;
    world.faults.set(Mood::HidingResponses(Duration::from_millis(10)));
    for format in FORMATS {
        let mut export = begin(&world, flow, format).await.unwrap();
        let mut last = None;
        while let Some(chunk) = export.chunks.recv().await {
            last = Some(chunk);
        }
        assert!(matches!(last, Some(Err(_))), "{format:?}: {last:?}");
        assert!(!export.progress.has_ended(), "{format:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chosen_columns_are_written_in_their_order() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let mut body = submission(version);
    body["metadata"] = serde_json::json!({"tags": {"plan": "pro", "a,b": "c", "team": "red"}});
    let id = accepted(world.submit(&view, &body).await).response_id.to_string();
    let text = async |columns: &str| {
        let columns = Some(sluice_engine::response_columns::split(columns));
        let exported_as = ExportAs { format: csv(), values: ValuesAs::Ids, columns, after: None };
        let filter = ResponseFilter::default();
        let mut export = world.engine.export(&world.actor, flow, exported_as, &filter).await?;
        let mut text = Vec::new();
        while let Some(chunk) = export.chunks.recv().await {
            text.extend(chunk.unwrap());
        }
        Ok::<_, AdminError>(String::from_utf8(text).unwrap())
    };
    for (columns, header, row) in [
        ("version,responseId", "version,responseId", format!("1,{id}")),
        ("tag.plan,version", "tag.plan,version", "pro,1".to_owned()),
        ("tag.a\\,b,tag.none", "\"tag.a,b\",tag.none", "c,".to_owned()),
        (
            "version,tags",
            "version,\"tag.a,b\",tag.plan,tag.team,tags.other",
            "1,c,pro,red,".to_owned(),
        ),
        ("tag.team,tags", "tag.team,\"tag.a,b\",tag.plan,tags.other", "red,c,pro,".to_owned()),
        ("tag.team,tags.other", "tag.team,tags.other", {
            "red,\"{\"\"a,b\"\":\"\"c\"\",\"\"plan\"\":\"\"pro\"\"}\"".to_owned()
        }),
    ] {
        assert_eq!(text(columns).await.unwrap(), format!("{header}\r\n{row}\r\n"), "{columns}");
    }
    for (columns, message) in [
        ("version,answer.none", "has an unknown column: answer.none"),
        ("nonsense", "has an unknown column: nonsense"),
        ("version,version", "has version twice"),
        ("", "must name 1 to 1000 columns"),
    ] {
        match text(columns).await {
            Err(AdminError::Invalid(faults)) => {
                let found: Vec<_> = faults.iter().map(|it| (&*it.pointer, &*it.message)).collect();
                assert_eq!(found, [("/columns", message)]);
            }
            other => panic!("{columns}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_never_has_the_name_of_a_fixed_column() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let view = world.view(&app).await;
    let draft = json!({"title": "Feedback", "questions": [
        {"id": "score", "type": "shortText", "prompt": "Score"},
    ]});
    world.engine.put_draft(&world.actor, flow, draft).await.unwrap();
    let mut body = submission(world.publish(flow).await.flow_version_id);
    body["answers"] = json!({"score": "7 of 9"});
    accepted(world.submit(&view, &body).await);
    let export = async |values: ValuesAs, columns: Option<&str>| {
        let columns = columns.map(|columns| vec![columns.to_owned()]);
        let exported_as = ExportAs { format: csv(), values, columns, after: None };
        let all = ResponseFilter::default();
        let export = world.engine.export(&world.actor, flow, exported_as, &all).await;
        let (mut export, mut bytes) = (export.unwrap(), Vec::new());
        while let Some(chunk) = export.chunks.recv().await {
            bytes.extend_from_slice(&chunk.unwrap());
        }
        String::from_utf8(bytes).unwrap()
    };
    for (values, name) in [(ValuesAs::Ids, "answer.score"), (ValuesAs::Labels, "Score [score]")] {
        let all = export(values, None).await;
        assert!(all.lines().next().unwrap().contains(&format!(",{name},")), "{all}");
        assert!(!all.contains(",score,"), "a flow without scores has no column for them: {all}");
        let chosen = export(values, Some("answer.score")).await;
        let lines: Vec<&str> = chosen.lines().collect();
        assert_eq!(lines, [name, "7 of 9"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_score_has_a_column_if_a_version_has_scores() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let view = world.view(&app).await;
    let first = world.publish(flow).await.flow_version_id;
    assert_eq!(accepted(world.submit(&view, &submission(first)).await).score, None);
    let header = async |values: ValuesAs| {
        let exported_as = ExportAs { format: csv(), values, columns: None, after: None };
        let all = ResponseFilter::default();
        let export = world.engine.export(&world.actor, flow, exported_as, &all).await;
        let (mut export, mut bytes) = (export.unwrap(), Vec::new());
        while let Some(chunk) = export.chunks.recv().await {
            bytes.extend_from_slice(&chunk.unwrap());
        }
        String::from_utf8(bytes).unwrap()
    };
    assert!(!header(ValuesAs::Ids).await.contains("score"));
    let options = json!([{"id": "a", "label": "A", "score": 2.5}, {"id": "b", "label": "B"}]);
    let second = json!({"title": "Feedback", "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?", "score": "value"},
        {"id": "score", "type": "singleChoice", "prompt": "Score", "options": options},
    ]});
    world.engine.put_draft(&world.actor, flow, second).await.unwrap();
    let second = world.publish(flow).await.flow_version_id;
    let mut body = submission(second);
    body["answers"] = json!({"nps": "3", "score": "a"});
    let receipt = accepted(world.submit(&view, &body).await);
    assert_eq!(receipt.score.map(|score| score.to_string()).as_deref(), Some("5.5"));
    let ids = header(ValuesAs::Ids).await;
    let lines: Vec<&str> = ids.lines().collect();
    assert!(lines[0].contains(",flowAssignmentId,score,nps,why,answer.score,"), "{ids}");
    assert!(lines[1].contains(",,9,quick,,") && lines[2].contains(",5.5,3,,a,"), "{ids}");
    let labels = header(ValuesAs::Labels).await;
    assert!(labels.lines().next().unwrap().contains(",score,How likely?,"), "{labels}");
}
