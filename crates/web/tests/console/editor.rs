//! The editor: saving with and without a script, publishing, history, schedule.

use crate::use_cases::UseCases as _;
use axum::body::Body;
use http::Method;
use serde_json::{Value, json};
use sluice_engine::FlowPatch;
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;
use sluice_flow::question::QuestionType;
use sluice_flow::time::{Timestamp, Window};

use crate::desk::Desk;
use crate::shop::{Reply, START, Site, actor, request, submission, survey};

/// The value of an attribute, unescaped.
fn attribute(page: &str, name: &str) -> String {
    let after = page.split(&format!(" {name}=\"")).nth(1).unwrap_or_else(|| panic!("no {name}"));
    let value = after.split('"').next().unwrap();
    value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

pub(crate) async fn tag(desk: &Desk<'_>, flow: FlowId) -> String {
    attribute(&desk.get(&format!("/console/flows/{flow}/edit")).await.text(), "data-tag")
}

/// Saves as the script does.
pub(crate) async fn saved(desk: &Desk<'_>, flow: FlowId, tag: &str, definition: &Value) -> Reply {
    let body = json!({"tag": tag, "definition": definition}).to_string();
    desk.send_json(&format!("/console/flows/{flow}/draft"), body).await
}

#[tokio::test]
async fn the_page_gives_the_script_every_type_and_the_published_version() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let page = desk.get(&format!("/console/flows/{flow}/edit")).await.text();
    let about: Value = serde_json::from_str(&attribute(&page, "data-about")).unwrap();
    let types = about["types"].as_array().unwrap();
    assert_eq!(types.len(), QuestionType::NAMES.len());
    let of = |name: &str| types.iter().find(|it| it["name"] == name).unwrap();
    let fields = |name: &str| -> Vec<&str> {
        let fields = of(name)["fields"].as_array().unwrap();
        fields.iter().map(|field| field["name"].as_str().unwrap()).collect()
    };
    assert_eq!(fields("matrix"), ["rows", "columns"]);
    assert_eq!(fields("rating"), ["max", "shape", "lowLabel", "highLabel", "score"]);
    assert_eq!(fields("statement"), [""; 0]);
    assert_eq!(
        of("rating")["fields"][0],
        json!({
            "name": "max", "label": "Number of steps", "hint": "3 to 10; default 5",
            "kind": "count", "min": 3, "max": 10, "default": 5,
        })
    );
    assert_eq!(of("rating")["fields"][1]["words"][0], json!(["star", "Stars"]));
    assert_eq!((&of("nps")["comparison"], &of("nps")["threshold"]), (&json!("number"), &json!(7)));
    assert_eq!(of("consent")["words"], json!(["accepted"]));
    assert_eq!(of("statement")["isAnswerable"], false);
    assert_eq!(about["published"]["use"]["choices"], json!(["api", "ui"]));
    assert_eq!(about["published"]["nps"]["type"], "nps");
}

#[tokio::test]
async fn a_draft_is_saved_by_the_script_and_faults_are_returned() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let flow = site.flow(survey()).await;
    let first = tag(&desk, flow).await;
    let mut draft = survey();
    draft["questions"][1]["prompt"] = json!("");
    let reply = saved(&desk, flow, &first, &draft).await;
    assert_eq!(reply.status, 200);
    let faults = json!([{
        "pointer": "/questions/1/prompt", "message": "must not be empty",
        "place": "Question 2, text", "problem": "must not be empty",
    }]);
    assert_eq!(reply.json()["faults"], faults);
    assert_eq!(site.engine.get_draft(&actor(), flow).await.unwrap().definition, draft);
    assert_eq!(reply.json()["tag"], json!(tag(&desk, flow).await));
    // Another tab with an older state gets the current one.
    let mut other = survey();
    other["title"] = json!("Another tab");
    let overtaken = saved(&desk, flow, &first, &other).await;
    assert_eq!(overtaken.status, 409);
    assert_eq!(overtaken.json()["definition"], draft);
    assert_eq!(overtaken.json()["faults"], faults);
    // With the current tag, it may overwrite it.
    let known = overtaken.json()["tag"].as_str().unwrap().to_owned();
    assert_eq!(saved(&desk, flow, &known, &other).await.status, 200);
    assert_eq!(saved(&desk, flow, &known, &json!([])).await.status, 422);
    let nonsense = desk.send_json(&format!("/console/flows/{flow}/draft"), "{".to_owned()).await;
    assert_eq!(nonsense.status, 422);
}

#[tokio::test]
async fn without_a_script_the_json_is_the_form() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let flow = site.flow(survey()).await;
    let address = format!("/console/flows/{flow}/edit");
    let first = tag(&desk, flow).await;
    let mut draft = survey();
    draft["title"] = json!("By hand <&>");
    let text = serde_json::to_string_pretty(&draft).unwrap();
    let done = desk.post(&address, &[("tag", &first), ("definition", &text)]).await;
    assert_eq!(Desk::led_to(&done), format!("{address}?done=saved#json"));
    assert_eq!(site.engine.get_draft(&actor(), flow).await.unwrap().definition, draft);
    // Invalid JSON is shown again as it was typed.
    let now = tag(&desk, flow).await;
    let wrong = desk.post(&address, &[("tag", &now), ("definition", "{\"title\": <b>")]).await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text().contains("This is not valid JSON"), "{}", wrong.text());
    assert!(wrong.text().contains("{&quot;title&quot;: &lt;b&gt;"), "{}", wrong.text());
    // Someone else saved first: nothing is lost, and saving again overwrites their draft.
    let late =
        desk.post(&address, &[("tag", &first), ("definition", "{\"title\":\"Late\"}")]).await;
    assert_eq!(late.status, 422);
    assert!(
        late.text().contains("Someone else saved this draft in the meantime"),
        "{}",
        late.text()
    );
    let again = attribute(&late.text(), "data-tag");
    let done =
        desk.post(&address, &[("tag", &again), ("definition", "{\"title\":\"Late\"}")]).await;
    assert_eq!(done.status, 303);
}

#[tokio::test]
async fn every_version_is_reviewed_and_then_published() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let flow = site.flow(survey()).await;
    let edit = format!("/console/flows/{flow}/edit");
    let publish = format!("/console/flows/{flow}/publish");
    let first = tag(&desk, flow).await;
    let review = desk.get(&publish).await.text();
    assert!(review.contains("This is the first version: 3 questions."), "{review}");
    let done = desk.post(&publish, &[("tag", &first)]).await;
    assert_eq!(Desk::led_to(&done), format!("{edit}?done=published"));
    let page = desk.get(&format!("{edit}?done=published")).await.text();
    assert!(page.contains("Version 1 is live."), "{page}");
    assert!(page.contains(&format!("/f/{flow}")) && page.contains("No unpublished changes"));
    let nothing = desk.get(&publish).await.text();
    assert!(nothing.contains("Nothing to publish") && !nothing.contains("Publish version"));
    let mut draft = survey();
    draft["questions"][0]["type"] = json!("rating");
    draft["questions"][1]["prompt"] = json!("Why is that?");
    let next = saved(&desk, flow, &tag(&desk, flow).await, &draft).await.json();
    let note = json!({"text": "2 unpublished changes", "canPublish": true, "canDiscard": true});
    assert_eq!(next["unpublished"], note);
    assert!(desk.get(&edit).await.text().contains("2 unpublished changes"));
    let review = desk.get(&publish).await.text();
    assert!(review.contains("is now Rating; it was Net promoter score"), "{review}");
    assert!(review.contains("“Why?” now reads “Why is that?”"));
    assert!(review.contains("One change splits the results"));
    assert!(review.contains("can still send it for 1 day after you publish"), "{review}");
    site.grace(flow, 0).await;
    assert!(desk.get(&publish).await.text().contains("can no longer send it after you publish"));
    // Only the reviewed draft is published.
    let stale = desk.post(&publish, &[("tag", &first)]).await;
    assert_eq!(stale.status, 409);
    assert!(stale.text().contains("the draft was changed meanwhile"), "{}", stale.text());
    let done = desk.post(&publish, &[("tag", next["tag"].as_str().unwrap())]).await;
    assert_eq!(done.status, 303);
    let state = site.engine.get_flow(&actor(), flow).await.unwrap();
    assert_eq!((state.last_number, state.draft.is_none()), (2, true));
}

#[tokio::test]
async fn changes_are_discarded_once_they_were_seen() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let discard = format!("/console/flows/{flow}/discard");
    assert!(desk.get(&discard).await.text().contains("There are no unpublished changes."));
    let mut draft = survey();
    draft["questions"][1]["prompt"] = json!("Why is that?");
    saved(&desk, flow, &tag(&desk, flow).await, &draft).await;
    let asked = desk.get(&discard).await.text();
    assert!(asked.contains("“Why?” now reads “Why is that?”"), "{asked}");
    assert_eq!(desk.post(&discard, &[("tag", "old")]).await.status, 409);
    let seen = tag(&desk, flow).await;
    let done = desk.post(&discard, &[("tag", &seen)]).await;
    assert_eq!(Desk::led_to(&done), format!("/console/flows/{flow}/edit?done=discarded"));
    let page = desk.get(&format!("/console/flows/{flow}/share")).await.text();
    assert!(page.contains("No unpublished changes") && !page.contains("Why is that?"), "{page}");
    // A flow that was never published has nothing to go back to.
    let other = site.flow(survey()).await;
    let seen = tag(&desk, other).await;
    let refused = desk.post(&format!("/console/flows/{other}/discard"), &[("tag", &seen)]).await;
    assert_eq!(refused.status, 409);
}

#[tokio::test]
async fn a_flow_is_named_by_its_title_until_it_gets_another_name() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let made =
        desk.post(&format!("/console/apps/{}/new", site.app), &[("template", "empty")]).await;
    let flow: FlowId = Desk::led_to(&made).split('/').nth(3).unwrap().parse().unwrap();
    let name = async || site.engine.get_flow(&actor(), flow).await.unwrap().flow.name;
    assert_eq!(name().await, "Untitled");
    let mut draft = survey();
    draft["title"] = json!("Lunch");
    saved(&desk, flow, &tag(&desk, flow).await, &draft).await;
    assert_eq!(name().await, "Lunch");
    let schedule = format!("/console/flows/{flow}/schedule");
    desk.post(&schedule, &[("name", "Canteen 2026"), ("grace", "inherited")]).await;
    draft["title"] = json!("Dinner");
    saved(&desk, flow, &tag(&desk, flow).await, &draft).await;
    assert_eq!(name().await, "Canteen 2026");
    let page = desk.get(&format!("/console/flows/{flow}/edit")).await.text();
    assert!(page.contains("Dinner</h1>") && page.contains("value=\"Canteen 2026\""), "{page}");
    // Without an internal name, the title is the name again.
    desk.post(&schedule, &[("name", ""), ("grace", "inherited")]).await;
    assert_eq!(name().await, "Dinner");
}

#[tokio::test]
async fn a_flow_is_closed_now_and_opened_again() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, version) = site.published().await;
    site.live_window(flow, None, Some(START + 9_000_000)).await;
    let base = format!("/console/flows/{flow}");
    let done = desk.post(&format!("{base}/close"), &[("tab", "share")]).await;
    let to = Desk::led_to(&done);
    assert_eq!(to, format!("{base}/share?done=closed.{}", START + 9_000_000));
    site.at(1_000);
    let undo = format!("name=\"until\" value=\"{}\"", START + 9_000_000);
    let page = desk.follow(&done).await.text();
    assert!(page.contains("Closed. The flow accepts no more responses."), "{page}");
    assert!(page.contains(&undo), "{page}");
    // The address alone, which anyone can send, offers nothing.
    let page = desk.get(&to).await.text();
    assert!(page.contains("Closed. The flow") && !page.contains(&undo), "{page}");
    assert!(!site.submit(&submission(version)).await.text().contains("\"success\":true"));
    let until = (START + 9_000_000).to_string();
    let done = desk.post(&format!("{base}/reopen"), &[("until", &until)]).await;
    assert_eq!(Desk::led_to(&done), format!("{base}/edit?done=reopened"));
    let live = site.engine.get_flow(&actor(), flow).await.unwrap().flow.live;
    assert_eq!(live.ends_at.unwrap().as_millis(), START + 9_000_000);
    site.submit(&submission(version)).await.assert_accepted();
}

#[tokio::test]
async fn the_script_saves_the_settings_and_gets_faults_by_field() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let address = format!("/console/flows/{flow}/schedule");
    let body = "name=&startsAt=2026-11-16T01%3A00&endsAt=&grace=inherited";
    let reply = desk.send_form_for_json(&address, body).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["state"], json!({"class": "scheduled", "label": "Scheduled"}));
    let body = "name=&startsAt=soon&endsAt=&grace=inherited";
    let reply = desk.send_form_for_json(&address, body).await;
    assert_eq!(reply.status, 422);
    assert_eq!(reply.json()["faults"][0]["field"], "startsAt");
}

#[tokio::test]
async fn the_history_shows_what_changed_and_an_older_version_can_be_published_again() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, first) = site.published().await;
    site.submit(&submission(first)).await.assert_accepted();
    let mut draft = survey();
    draft["questions"].as_array_mut().unwrap().remove(2);
    site.at(60_000);
    site.engine.put_draft(&actor(), flow, draft).await.unwrap();
    let second = site.publish(flow).await;
    let history = format!("/console/flows/{flow}/history");
    let page = desk.get(&history).await.text();
    for words in [
        "Version 2",
        "Current: accepts responses",
        "“What do you use?” was removed",
        "Version 1",
        "In grace window until",
        "First version.",
        "by test",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let old = desk.get(&format!("{history}/{first}")).await.text();
    assert!(old.contains("What do you use?") && old.contains(&format!("preview?version={first}")));
    let done = desk.post(&format!("{history}/{first}/republish"), &[]).await;
    assert_eq!(Desk::led_to(&done), format!("{history}?done=published"));
    assert!(desk.get(&history).await.text().contains("a republished older version"));
    let done = desk.post(&format!("{history}/{second}/retire"), &[]).await;
    assert_eq!(done.status, 303);
    assert!(desk.get(&history).await.text().contains("Retired"));
    // A version of another flow is refused.
    let (other, _) = site.published().await;
    let foreign = desk.post(&format!("/console/flows/{other}/history/{first}/retire"), &[]).await;
    assert_eq!(foreign.status, 404);
}

#[tokio::test]
async fn the_window_the_grace_window_and_the_name_are_set_without_a_publish() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let address = format!("/console/flows/{flow}/schedule");
    let fields = [
        ("name", "Renamed"),
        ("startsAt", "2026-11-15T01:00"),
        ("endsAt", "2026-11-16T01:00"),
        ("grace", "own"),
        ("amount", "36"),
        ("unit", "hours"),
    ];
    let done = desk.post(&address, &fields).await;
    assert_eq!(Desk::led_to(&done), format!("/console/flows/{flow}/edit?done=saved#schedule"));
    let state = site.engine.get_flow(&actor(), flow).await.unwrap().flow;
    assert_eq!((state.name.as_str(), state.grace_window_seconds), ("Renamed", Some(129_600)));
    assert_eq!(state.live.starts_at.unwrap().as_millis(), START - 3_600_000);
    let page = desk.get(&format!("/console/flows/{flow}/edit")).await.text();
    assert!(page.contains("value=\"2026-11-16T01:00\"") && page.contains("value=\"36\""), "{page}");
    // A window that ends before it starts is refused, and the typed values stay.
    let mut wrong = fields;
    wrong[2].1 = "2026-11-14T01:00";
    let refused = desk.post(&address, &wrong).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("must be after startsAt"), "{}", refused.text());
    assert!(refused.text().contains("value=\"2026-11-14T01:00\""));
    // Reset to the app's default.
    let mut back = fields;
    back[3].1 = "inherited";
    desk.post(&address, &back).await;
    let state = site.engine.get_flow(&actor(), flow).await.unwrap().flow;
    assert_eq!(state.grace_window_seconds, None);
}

#[tokio::test]
async fn a_schedule_that_cannot_be_read_is_refused_at_its_fields_and_changes_nothing() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let address = format!("/console/flows/{flow}/schedule");
    let right = [
        ("name", "Kept"),
        ("startsAt", "2026-11-15T01:00"),
        ("endsAt", "2026-11-16T01:00"),
        ("grace", "own"),
        ("amount", "36"),
        ("unit", "hours"),
    ];
    assert_eq!(desk.post(&address, &right).await.status, 303);
    let stored = async || site.engine.get_flow(&actor(), flow).await.unwrap().flow;
    let before = stored().await;
    for (number, typed, field) in [
        (1, "soon", "startsAt"),
        (2, "2026-02-30T01:00", "endsAt"),
        (4, "", "amount"),
        (4, "a day", "amount"),
        (4, "-1", "amount"),
        (4, "1.5", "amount"),
        (4, "99999999999", "amount"),
        (5, "fortnights", "amount"),
    ] {
        let mut wrong = right;
        wrong[number].1 = typed;
        let refused = desk.post(&address, &wrong).await;
        let (status, page) = (refused.status, refused.text());
        assert_eq!(status, 422, "{typed}");
        assert!(page.contains(&format!("<a href=\"#{field}\">")), "{typed}: {page}");
        assert!(page.contains(&format!("id=\"{field}-error\"")), "{typed}: {page}");
        if number < 5 {
            assert!(page.contains(&format!("value=\"{typed}\"")), "{typed}: {page}");
        }
        assert_eq!(stored().await, before, "{typed}");
    }
    // All faults at once.
    let wrong = right.map(|(name, value)| (name, if name == "grace" { value } else { "?" }));
    let page = desk.post(&address, &wrong).await.text();
    assert!(page.contains("3 problems need fixing"), "{page}");
    // With the app's grace window selected, the value in the other field is ignored.
    let mut inherited = right;
    (inherited[3].1, inherited[4].1) = ("inherited", "");
    assert_eq!(desk.post(&address, &inherited).await.status, 303);
    assert_eq!(stored().await.grace_window_seconds, None);
}

#[tokio::test]
async fn an_unchanged_window_keeps_its_seconds() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let moment = |text: &str| Some(text.parse::<Timestamp>().unwrap());
    let live = Window {
        starts_at: moment("2026-11-15T01:00:59.250Z"),
        ends_at: moment("2026-11-16T01:00:30Z"),
    };
    let patch = FlowPatch { live_window: Some(live), ..FlowPatch::default() };
    site.engine.update_flow(&actor(), flow, &patch).await.unwrap();
    let address = format!("/console/flows/{flow}/schedule");
    let mut fields = [
        ("name", "Renamed"),
        ("startsAt", "2026-11-15T01:00"),
        ("endsAt", "2026-11-16T01:00"),
        ("grace", "inherited"),
    ];
    assert_eq!(desk.post(&address, &fields).await.status, 303);
    let stored = async || site.engine.get_flow(&actor(), flow).await.unwrap().flow;
    assert_eq!((stored().await.name.as_str(), stored().await.live), ("Renamed", live));
    // If one end is changed, the other stays; an empty one means no limit.
    fields[2].1 = "2026-11-17T01:00";
    desk.post(&address, &fields).await;
    let ends_at = moment("2026-11-17T01:00:00Z");
    assert_eq!(stored().await.live, Window { ends_at, ..live });
    fields[1].1 = "";
    desk.post(&address, &fields).await;
    assert_eq!(stored().await.live, Window { starts_at: None, ends_at });
}

#[tokio::test]
async fn a_viewer_sees_the_questions_and_no_editor() {
    let site = Site::start().await;
    let viewer = Desk::sign_in(&site, &[Scope::Read], true).await;
    let (flow, version) = site.published().await;
    let page = viewer.get(&format!("/console/flows/{flow}/edit")).await.text();
    assert!(page.contains("You can view this flow, but not edit it."), "{page}");
    assert!(page.contains("What do you use?") && !page.contains("name=\"definition\""));
    let history = viewer.get(&format!("/console/flows/{flow}/history")).await.text();
    assert!(!history.contains(&format!("{version}/retire")), "{history}");
    let seen = site.engine.editing(&actor(), flow).await.unwrap().tag;
    assert_eq!(saved(&viewer, flow, &seen, &survey()).await.status, 403);
}

#[tokio::test]
async fn the_texts_of_a_flow_are_escaped_on_every_page() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    let definition = json!({
        "title": evil,
        "questions": [{"id": "a", "type": "singleChoice", "prompt": evil, "help": evil,
                       "options": [{"id": "x", "label": evil}]}],
    });
    let flow = site.flow(definition).await;
    let version = site.publish(flow).await;
    let base = format!("/console/flows/{flow}");
    for path in [
        format!("{base}/edit"),
        format!("{base}/publish"),
        format!("{base}/history"),
        format!("{base}/history/{version}"),
        format!("{base}/preview"),
        format!("/console/apps/{}", site.app),
    ] {
        let page = desk.get(&path).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(
            !page.text().contains("<script>alert") && !page.text().contains("<img src=x"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_json_save_from_another_origin_is_refused() {
    let site = Site::start().await;
    let flow = site.flow(survey()).await;
    let headers = [("host", "sluice.example"), ("content-type", "application/json")];
    let path = format!("/console/flows/{flow}/draft");
    let reply = site.send(request(Method::POST, &path, &headers, Body::from("{}"))).await;
    assert_eq!(reply.status, 403);
}
