//! Responses in the console: the table, its filters and pages, a single response, live updates,
//! files.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sluice_engine::rows::Role;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use tower::ServiceExt as _;

use crate::support::{Browser, Site};

fn form() -> Value {
    let options = json!([{"id": "api", "label": "The API"}, {"id": "form", "label": "The form"}]);
    json!({
        "title": "Feedback",
        "questions": [
            {"id": "nps", "type": "nps", "prompt": "How likely?"},
            {"id": "use", "type": "multipleChoice", "prompt": "What do you use?", "options": options, "allowOther": true},
            {"id": "why", "type": "longText", "prompt": "Why?"}
        ]
    })
}

struct World {
    site: Site,
    app: AppId,
    flow: FlowId,
    version: FlowVersionId,
}

impl World {
    async fn new() -> Self {
        let site = Site::start().await;
        let app = site.app("Shop").await;
        let (flow, version) = site.flow(app, form()).await;
        Self { site, app, flow, version }
    }

    async fn respond(&self, more: Value) -> ResponseId {
        self.site.clock.advance_millis(1_000);
        self.site.respond(self.app, self.version, more).await
    }

    async fn as_a(&self, role: Role) -> Browser<'_> {
        self.site.signed_in(Some(self.app), role).await
    }

    fn list(&self) -> String {
        format!("/console/flows/{}/responses", self.flow)
    }
}

/// The ids of the rows, from top to bottom.
fn rows(html: &str) -> Vec<String> {
    let parts = html.split("<tr data-id=\"").skip(1);
    parts.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

fn ids(of: &[ResponseId]) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

/// The target of the link with this relation.
fn link(html: &str, rel: &str) -> Option<String> {
    let (_, rest) = html.split_once(&format!("rel=\"{rel}\""))?;
    let address = rest.split("href=\"").nth(1)?.split('"').next()?;
    Some(address.replace("&amp;", "&"))
}

#[tokio::test]
async fn the_newest_come_first_and_answers_read_as_labels() {
    let world = World::new().await;
    let first =
        world.respond(json!({"answers": {"nps": "9", "use": ["api", "other:<i>own</i>"]}})).await;
    let hostile = json!({
        "answers": {"why": "<script>alert(1)</script>"}, "metadata": {"tags": {"<b>": "\"><img src=x>"}}
    });
    let second = world.respond(hostile).await;
    let viewer = world.as_a(Role::Viewer).await;
    let html = viewer.get(&world.list()).await.ok();
    assert_eq!(rows(&html), ids(&[second, first]));
    assert!(html.contains("The API · &lt;i&gt;own&lt;/i&gt;"), "{html}");
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for raw in ["<script>alert", "<img", "<i>own", "<b>"] {
        assert!(!html.contains(raw), "{raw}");
    }
}

#[tokio::test]
async fn a_flow_without_responses_shows_what_to_do_next() {
    let world = World::new().await;
    let html = world.as_a(Role::Owner).await.get(&world.list()).await.ok();
    assert!(html.contains("No responses yet"));
    let filtered = format!("{}?answer.nps=9", world.list());
    let html = world.as_a(Role::Owner).await.get(&filtered).await.ok();
    assert!(html.contains("No matching responses"));
}

#[tokio::test]
async fn a_filter_is_a_chip_in_the_address() {
    let world = World::new().await;
    let a = world
        .respond(
            json!({"answers": {"nps": "9", "use": ["api"]}, "metadata": {"tags": {"plan": "pro"}}}),
        )
        .await;
    let b = world
        .respond(json!({"answers": {"nps": "3", "use": ["other:mine"], "why": "Too SLOW"}}))
        .await;
    let c = world
        .respond(json!({"answers": {"nps": "3"}, "respondentAnalyticsAdmission": "admitted"}))
        .await;
    let viewer = world.as_a(Role::Viewer).await;
    for (query, expected, chip) in [
        ("answer.nps=3", vec![c, b], "How likely?</bdi>: <bdi>3"),
        ("answer.use=api", vec![a], "What do you use?</bdi>: <bdi>The API"),
        ("answer.use=other", vec![b], "What do you use?</bdi>: <bdi>other"),
        ("tag.plan=pro", vec![a], "plan</bdi>: <bdi>pro"),
        ("search=slow", vec![b], "“<bdi>slow"),
        ("admission=admitted", vec![c], "Linked to respondent"),
        ("from=2026-11-15&to=2026-11-15", vec![c, b, a], "From 2026-11-15"),
        ("to=2026-11-14", vec![], "To 2026-11-14"),
        ("answer.nps[lt]=9", vec![c, b], "How likely?</bdi> &lt; <bdi>9"),
        ("answer.use[ne]=api", vec![b], "What do you use?</bdi> is not <bdi>The API"),
        ("answer.use[answered]=false", vec![c], "What do you use?</bdi> is not answered"),
        ("answer.nps=3&search=slow", vec![b], "How likely?</bdi>: <bdi>3"),
    ] {
        let html = viewer.get(&format!("{}?{query}", world.list())).await.ok();
        assert_eq!(rows(&html), ids(&expected), "{query}");
        let chips = html.split("Chosen filters").nth(1).unwrap();
        assert!(chips.contains(chip), "{query}: {chips}");
    }
}

#[tokio::test]
async fn tags_of_the_responses_shown_are_offered() {
    let world = World::new().await;
    let tags = json!({"plan": "pro \"x\"", "team": ["a", "b"]});
    world.respond(json!({"answers": {"nps": "9"}, "metadata": {"tags": tags}})).await;
    let html = world.as_a(Role::Viewer).await.get(&world.list()).await.ok();
    let offered = |list: &str| {
        let options = html.split(&format!("<datalist id=\"{list}\">")).nth(1).unwrap();
        let options = options.split("</datalist>").next().unwrap();
        options.matches("<option").count()
    };
    assert_eq!((offered("tag_names"), offered("tag_values")), (2, 3));
    assert!(html.contains(r#"<option value="pro &quot;x&quot;">"#));
}

#[tokio::test]
async fn the_filter_form_redirects_to_a_short_address() {
    let world = World::new().await;
    let viewer = world.as_a(Role::Viewer).await;
    let list = world.list();
    let version = world.version;
    for (sent, expected) in [
        ("apply=1&question=use&value=the+api&from=&to=&version=&admission=", "?answer.use=api"),
        ("apply=1&question=&value=x&tag_name=plan&tag_value=pro", "?tag.plan=pro"),
        ("apply=1&answer.nps=9&question=why&value=A%26B", "?answer.nps=9&answer.why=A%26B"),
        (
            "apply=1&admission=admitted&from=2026-11-01&search=x",
            "?from=2026-11-01&admission=admitted&search=x",
        ),
        (&*format!("apply=1&version={version}"), &*format!("?version={version}")),
        ("apply=1&question=nps&operator=lt&value=7", "?answer.nps%5Blt%5D=7"),
        ("apply=1&question=use&operator=ne&value=the+api", "?answer.use%5Bne%5D=api"),
        ("apply=1&question=why&operator=answered&value=", "?answer.why%5Banswered%5D=true"),
        ("apply=1&question=why&operator=unanswered", "?answer.why%5Banswered%5D=false"),
        ("apply=1&answer.what=9", "?sort=-receivedAt"),
        ("apply=1", "?sort=-receivedAt"),
    ] {
        let reply = viewer.get(&format!("{list}?{sent}")).await;
        assert_eq!(reply.to(), format!("{list}{expected}"), "{sent}");
    }
}

#[tokio::test]
async fn a_filter_that_cannot_be_added_is_explained_in_the_form() {
    let world = World::new().await;
    world.respond(json!({"answers": {"nps": "9"}})).await;
    let viewer = world.as_a(Role::Viewer).await;
    for (sent, message) in [
        ("question=nps&operator=lt&value=seven", "Value must be a number such as 7 or -0.5"),
        ("question=nps&operator=contains&value=7", "Comparison does not fit this question"),
    ] {
        let html = viewer.get(&format!("{}?apply=1&{sent}", world.list())).await.ok();
        assert!(
            html.contains(message) && html.contains("<details class=\"adding\" open"),
            "{html}"
        );
    }
}

#[tokio::test]
async fn pages_older_and_newer_show_every_response_once() {
    let world = World::new().await;
    let mut all = Vec::new();
    for number in 0..120 {
        all.push(world.respond(json!({"answers": {"nps": (number % 11).to_string()}})).await);
    }
    all.reverse();
    let viewer = world.as_a(Role::Viewer).await;
    for query in ["", "?admission=collection_only"] {
        let mut found = Vec::new();
        let mut address = format!("{}{query}", world.list());
        let mut pages = Vec::new();
        loop {
            let html = viewer.get(&address).await.ok();
            pages.push(rows(&html));
            found.extend(rows(&html));
            match link(&html, "next") {
                Some(next) => address = next,
                None => break,
            }
        }
        assert_eq!(found, ids(&all), "{query}");
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 20]);
        // And back again.
        let html = viewer.get(&address).await.ok();
        let html = viewer.get(&link(&html, "prev").unwrap()).await.ok();
        assert_eq!(rows(&html), pages[1], "{query}");
        let html = viewer.get(&link(&html, "prev").unwrap()).await.ok();
        assert_eq!(rows(&html), pages[0], "{query}");
    }
}

#[tokio::test]
async fn without_newer_responses_the_newest_are_shown() {
    let world = World::new().await;
    let newest = world.respond(json!({"answers": {"nps": "9"}})).await;
    world.respond(json!({"answers": {"nps": "1"}})).await;
    let viewer = world.as_a(Role::Viewer).await;
    let reply = viewer.get(&format!("{}?answer.nps=9&before={newest}", world.list())).await;
    assert_eq!(reply.to(), format!("{}?answer.nps=9", world.list()));
}

#[tokio::test]
async fn the_script_gets_only_the_next_rows() {
    let world = World::new().await;
    let mut all = Vec::new();
    for _ in 0..55 {
        all.push(world.respond(json!({})).await);
    }
    let viewer = world.as_a(Role::Viewer).await;
    let after = all[5];
    let text = viewer.get(&format!("{}/rows?after={after}", world.list())).await.ok();
    let body: Value = serde_json::from_str(&text).unwrap();
    let found: String = body["rows"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    all.truncate(5);
    all.reverse();
    assert_eq!(rows(&found), ids(&all));
    assert_eq!((&body["next"], &body["older"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn one_response_is_a_page_and_a_panel_with_its_neighbours() {
    let world = World::new().await;
    let a = world.respond(json!({"answers": {"nps": "1"}})).await;
    let b = world
        .respond(json!({
            "answers": {"nps": "2", "use": ["form", "api"], "why": "line\n<b>two</b>"},
            "respondentAnalyticsAdmission": "admitted", "identities": [{"type": "userId", "value": "u<1>"}],
            "metadata": {"tags": {"plan": ["x", "y"]}}, "context": {"page": {"path": "/p<q>"}}
        }))
        .await;
    let c = world.respond(json!({"answers": {"nps": "2"}})).await;
    let viewer = world.as_a(Role::Viewer).await;
    let page = viewer.get(&format!("{}/{b}", world.list())).await.ok();
    for text in [
        "The form",
        "line\n&lt;b&gt;two&lt;/b&gt;",
        "u&lt;1&gt;",
        "x, y",
        "/p&lt;q&gt;",
        "Linked to respondent",
        "← All responses",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(link(&page, "prev").unwrap().contains(&c.to_string()));
    assert!(link(&page, "next").unwrap().contains(&a.to_string()));
    assert!(!page.contains("Delete response"), "a viewer must not be offered it");
    let panel = viewer.get(&format!("{}/{b}?panel=1&answer.nps=2", world.list())).await.ok();
    assert!(panel.starts_with("<article"), "{panel}");
    assert_eq!(link(&panel, "next"), None, "the filter must apply to neighbours, too");
    let (other, _) = world.site.flow(world.app, form()).await;
    let elsewhere = viewer.get(&format!("/console/flows/{other}/responses/{b}")).await;
    assert_eq!(elsewhere.status, 404);
}

#[tokio::test]
async fn an_owner_deletes_permanently_and_returns_to_the_same_view() {
    let world = World::new().await;
    let gone = world.respond(json!({"answers": {"nps": "1"}})).await;
    let kept = world.respond(json!({"answers": {"nps": "1"}})).await;
    let address = format!("{}/{gone}", world.list());
    for role in [Role::Viewer, Role::Editor] {
        let browser = world.as_a(role).await;
        assert_eq!(browser.post(&format!("{address}/delete"), &[]).await.status, 403, "{role:?}");
    }
    let owner = world.as_a(Role::Owner).await;
    let page = owner.get(&format!("{address}?answer.nps=1")).await.ok();
    assert!(page.contains("name=\"answer.nps\" value=\"1\""));
    let reply = owner.post(&format!("{address}/delete"), &[("answer.nps", "1")]).await;
    let back = reply.to().to_owned();
    assert_eq!(back, format!("{}?answer.nps=1&done=deleted", world.list()));
    let html = owner.get(&back).await.ok();
    assert_eq!(rows(&html), ids(&[kept]));
    assert!(html.contains("Deleted."));
    assert_eq!(owner.get(&address).await.status, 404);
}

#[tokio::test]
async fn an_editor_exports_the_view_and_sees_the_progress() {
    let world = World::new().await;
    world.respond(json!({"answers": {"nps": "1"}})).await;
    let wanted = world.respond(json!({"answers": {"nps": "2"}})).await;
    let editor = world.as_a(Role::Editor).await;
    let html = editor.get(&format!("{}?answer.nps=2", world.list())).await.ok();
    assert!(html.contains("Export responses") && html.contains("value=\"xlsx\""));
    let address = format!("{}/export?format=csv&answer.nps=2&id=mine", world.list());
    let reply = editor.get(&address).await;
    assert_eq!(
        reply.headers["content-disposition"],
        "attachment; filename=\"feedback-2026-11-15.csv\""
    );
    assert_eq!(reply.headers["x-total-count"], "1");
    let csv = reply.ok();
    assert_eq!(csv.lines().count(), 2);
    assert!(csv.contains(&wanted.to_string()));
    let body: Value =
        serde_json::from_str(&editor.get("/console/exports/mine").await.ok()).unwrap();
    assert_eq!((&body["rows"], &body["total"]), (&json!(1), &json!(1)));
    let another = world.as_a(Role::Editor).await;
    assert_eq!(
        another.get("/console/exports/mine").await.status,
        404,
        "it belongs to another user"
    );
    let viewer = world.as_a(Role::Viewer).await;
    assert_eq!(viewer.get(&address).await.status, 403);
    assert!(!viewer.get(&world.list()).await.ok().contains("Export responses"));
    assert_eq!(editor.get(&format!("{}/export?format=pdf", world.list())).await.status, 404);
    let elsewhere = editor.request("GET", &address).header("sec-fetch-site", "cross-site");
    let started = editor.send(elsewhere.body(Body::empty()).unwrap()).await;
    assert_eq!(started.status, 403, "another site must not start it");
}

#[tokio::test]
async fn a_signed_out_user_gets_no_more_events() {
    let world = World::new().await;
    let shown = world.respond(json!({"answers": {"nps": "9"}})).await;
    let viewer = world.as_a(Role::Viewer).await;
    let address = format!("{}/live?since={shown}", world.list());
    let request = viewer.request("GET", &address).body(Body::empty()).unwrap();
    let mut body = world.site.router.clone().oneshot(request).await.unwrap().into_body();
    until(&mut body, "retry:").await;
    viewer.post("/console/sign-out", &[]).await.to();
    let late = world.respond(json!({"answers": {"nps": "1"}})).await;
    let rest = tokio::time::timeout(Duration::from_secs(60), body.collect()).await;
    let rest = rest.expect("the stream must end").unwrap().to_bytes();
    assert!(!String::from_utf8_lossy(&rest).contains(&late.to_string()));
}

/// Reads events until one of them contains the text; returns what was read.
async fn until(body: &mut Body, text: &str) -> String {
    let mut read = String::new();
    let reading = async {
        while !read.contains(text) {
            match body.frame().await {
                Some(frame) => {
                    read.push_str(&String::from_utf8_lossy(&frame.unwrap().into_data().unwrap()))
                }
                None => break,
            }
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), reading).await;
    assert!(waited.is_ok(), "no {text:?} in {read}");
    read
}

#[tokio::test]
async fn new_responses_are_streamed_and_respect_the_filter() {
    let world = World::new().await;
    let shown = world.respond(json!({"answers": {"nps": "9"}})).await;
    let viewer = world.as_a(Role::Viewer).await;
    let address = format!("{}/live?answer.nps=9&since={shown}", world.list());
    let request = viewer.request("GET", &address).body(Body::empty()).unwrap();
    let reply = world.site.router.clone().oneshot(request).await.unwrap();
    assert_eq!(reply.headers()["content-type"], "text/event-stream");
    let mut body = reply.into_body();
    until(&mut body, "retry:").await;
    let other = world.respond(json!({"answers": {"nps": "1"}})).await;
    let wanted = world.respond(json!({"answers": {"nps": "9", "why": "<i>"}})).await;
    let read = until(&mut body, &wanted.to_string()).await;
    assert!(read.contains("event: response") && read.contains("&lt;i&gt;"), "{read}");
    assert!(!read.contains(&other.to_string()) && !read.contains(&shown.to_string()), "{read}");
    // When the server stops, the stream ends.
    world.site.router.stop();
    let rest = tokio::time::timeout(Duration::from_secs(60), body.collect()).await;
    assert!(rest.is_ok(), "the stream must end");
}

/// Opens the stream of new responses at this address, as a browser does that last received this id.
async fn listen(
    world: &World,
    browser: &Browser<'_>,
    address: &str,
    last: Option<ResponseId>,
) -> Body {
    let mut request = browser.request("GET", address);
    if let Some(last) = last {
        request = request.header("last-event-id", last.to_string());
    }
    let request = request.body(Body::empty()).unwrap();
    world.site.router.clone().oneshot(request).await.unwrap().into_body()
}

#[tokio::test]
async fn missed_responses_are_streamed_however_long_ago() {
    let world = World::new().await;
    let viewer = world.as_a(Role::Viewer).await;
    let html = viewer.get(&world.list()).await.ok();
    let empty = html.split("data-live=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let shown = world.respond(json!({"answers": {"nps": "9"}})).await;
    world.site.clock.advance_millis(60_000);
    let missed = world.respond(json!({"answers": {"nps": "1"}})).await;
    world.site.clock.advance_millis(3_600_000);
    let read = until(&mut listen(&world, &viewer, &empty, None).await, &missed.to_string()).await;
    assert!(read.contains(&shown.to_string()), "an empty page must receive both: {read}");
    let address = format!("{}/live?since={shown}", world.list());
    let read = until(&mut listen(&world, &viewer, &address, None).await, &missed.to_string()).await;
    assert!(!read.contains(&shown.to_string()) && !read.contains("event: behind"), "{read}");
    // A browser that reconnects has already received the one it missed at first.
    let mut body = listen(&world, &viewer, &address, Some(missed)).await;
    let late = world.respond(json!({"answers": {"nps": "2"}})).await;
    let read = until(&mut body, &late.to_string()).await;
    assert!(!read.contains(&format!("id: {missed}")), "{read}");
}

#[tokio::test]
async fn a_page_that_missed_too_many_responses_is_notified() {
    let world = World::new().await;
    let shown = world.respond(json!({})).await;
    for _ in 0..101 {
        world.respond(json!({})).await;
    }
    let viewer = world.as_a(Role::Viewer).await;
    let newest = world.respond(json!({})).await;
    let address = format!("{}/live?since={shown}", world.list());
    let read = until(&mut listen(&world, &viewer, &address, None).await, &newest.to_string()).await;
    assert!(read.contains("event: behind"), "{read}");
}

#[tokio::test]
async fn background_requests_do_not_extend_a_session() {
    let world = World::new().await;
    let viewer = world.as_a(Role::Viewer).await;
    let address = format!("{}/live", world.list());
    for _ in 0..2 {
        world.site.clock.advance_millis(5 * 3_600_000);
        until(&mut listen(&world, &viewer, &address, None).await, "retry:").await;
        assert_eq!(viewer.get("/console/exports/none").await.status, 404, "still signed in");
    }
    world.site.clock.advance_millis(3 * 3_600_000);
    assert!(viewer.get(&world.list()).await.to().starts_with("/console/sign-in"));
    assert!(viewer.get(&address).await.to().starts_with("/console/sign-in"));
}

#[tokio::test]
async fn a_user_can_watch_on_five_pages_and_others_are_not_affected() {
    let world = World::new().await;
    world.respond(json!({"answers": {"nps": "9"}})).await;
    let (viewer, other) = (world.as_a(Role::Viewer).await, world.as_a(Role::Viewer).await);
    let address = format!("{}/live", world.list());
    let open = async |browser: &Browser<'_>| {
        let request = browser.request("GET", &address).body(Body::empty()).unwrap();
        world.site.router.clone().oneshot(request).await.unwrap()
    };
    let mut pages = Vec::new();
    for _ in 0..5 {
        pages.push(open(&viewer).await);
    }
    assert!(pages.iter().all(|page| page.status() == 200));
    let refused = viewer.get(&address).await;
    assert_eq!(refused.status, 429);
    assert!(refused.headers.contains_key("retry-after"));
    assert!(
        refused.text.contains("5 pages of yours watch for responses already"),
        "{}",
        refused.text
    );
    assert_eq!(open(&other).await.status(), 200);
    pages.pop();
    assert_eq!(open(&viewer).await.status(), 200, "a closed page must free a slot");
}
