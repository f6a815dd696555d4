//! The table of responses in the console: columns, order, count, saved views, and their export.

use serde_json::{Value, json};
use sluice_engine::rows::Role;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};

use crate::support::{Browser, Site};

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
        let form = json!({"title": "Feedback", "questions": [
            {"id": "nps", "type": "nps", "prompt": "How likely?"},
            {"id": "why", "type": "longText", "prompt": "Why?"},
        ]});
        let (flow, version) = site.flow(app, form).await;
        Self { site, app, flow, version }
    }

    async fn respond(&self, nps: Option<u8>, plan: &str) -> ResponseId {
        self.site.clock.advance_millis(1_000);
        let mut answers = json!({"why": format!("Because of {plan}")});
        if let Some(nps) = nps {
            answers["nps"] = nps.to_string().into();
        }
        let more: Value = json!({"answers": answers, "metadata": {"tags": {"plan": plan}}});
        self.site.respond(self.app, self.version, more).await
    }

    async fn viewer(&self) -> Browser<'_> {
        self.site.signed_in(Some(self.app), Role::Viewer).await
    }

    fn list(&self) -> String {
        format!("/console/flows/{}/responses", self.flow)
    }
}

fn rows(html: &str) -> Vec<String> {
    let parts = html.split("<tr data-id=\"").skip(1);
    parts.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

fn ids(of: &[ResponseId]) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

/// The titles of the columns.
fn columns(html: &str) -> Vec<String> {
    let head = html.split("<thead>").nth(1).unwrap().split("</thead>").next().unwrap();
    let cells = head.split("title=\"").skip(1);
    cells.map(|cell| cell.split('"').next().unwrap().to_owned()).collect()
}

fn count(html: &str) -> String {
    let count = html.split("data-count=").nth(1).unwrap().split("</span>").next().unwrap();
    let text = count.split_once('>').unwrap().1;
    text.replace("<strong>", "").replace("</strong>", "")
}

/// The count once all responses were read: a page does not wait long for it.
async fn final_count(viewer: &Browser<'_>, list: &str, query: &str) -> String {
    loop {
        let html = viewer.get(&format!("{list}/count?{query}")).await.ok();
        if !html.contains("data-waits") {
            break count(&html);
        }
    }
}

#[tokio::test]
async fn columns_and_order_are_in_the_address() {
    let world = World::new().await;
    let five = world.respond(Some(5), "pro").await;
    let none = world.respond(None, "free").await;
    let ten = world.respond(Some(10), "free").await;
    let viewer = world.viewer().await;
    let list = world.list();
    let shown = async |query: &str| viewer.get(&format!("{list}?{query}")).await.ok();
    let html = shown("").await;
    assert_eq!(columns(&html), ["Received", "Version", "How likely?", "Why?", "Tags", "Consent"]);
    assert_eq!(count(&html), "3 responses");
    let html = shown("columns=tag.plan,answer.why&density=compact").await;
    assert_eq!(columns(&html), ["Received", "Tag plan", "Why?"]);
    assert!(html.contains("data-density=\"compact\""));
    for (sort, expected) in [
        ("-receivedAt", [ten, none, five]),
        ("receivedAt", [five, none, ten]),
        ("answer.nps", [five, ten, none]),
        ("-answer.nps", [ten, five, none]),
        ("tag.plan", [ten, none, five]),
        ("-tag.plan", [five, ten, none]),
        ("version", [ten, none, five]),
    ] {
        let html = shown(&format!("sort={sort}")).await;
        assert_eq!(rows(&html), ids(&expected), "{sort}");
    }
    let html = shown("sort=-answer.nps&answer.nps%5Bgt%5D=4").await;
    assert_eq!(rows(&html), ids(&[ten, five]));
    let counted = final_count(&viewer, &list, "answer.nps%5Bgt%5D=4").await;
    assert!(counted.starts_with("2 responses match (counted "), "{counted}");
    assert!(html.contains("aria-sort=\"descending\""));
    // The column leads to the reverse, and keeps the filter.
    assert!(html.contains("?answer.nps%5Bgt%5D=4&amp;sort=answer.nps\""), "{html}");
}

#[tokio::test]
async fn the_count_says_how_many_match_on_every_page() {
    let world = World::new().await;
    for number in 0..60 {
        world.respond(Some(number % 11), ["pro", "free"][usize::from(number % 3 == 0)]).await;
    }
    let viewer = world.viewer().await;
    let list = world.list();
    for (query, expected) in [
        ("sort=-receivedAt", "60 responses"),
        ("tag.plan=free", "20 responses match"),
        ("tag.plan=none", "0 responses match"),
    ] {
        let html = viewer.get(&format!("{list}?{query}")).await.ok();
        assert_eq!(count(&html), expected, "{query}");
        let fragment = viewer.get(&format!("{list}/count?{query}")).await.ok();
        assert_eq!(count(&fragment), expected, "{query}");
    }
    let counted = final_count(&viewer, &list, "answer.nps%5Blt%5D=9").await;
    let below = (0..60).filter(|number| number % 11 < 9).count();
    assert!(counted.starts_with(&format!("{below} responses match (counted ")), "{counted}");
    // Sorted lists have pages, too.
    let html = viewer.get(&format!("{list}?sort=answer.nps&page=2")).await.ok();
    assert_eq!(rows(&html).len(), 10);
    assert!(html.contains("Page 2 of 2"));
    let asc = viewer.get(&format!("{list}?sort=receivedAt")).await.ok();
    assert!(asc.contains(">Newer</a>") && rows(&asc).len() == 50, "{asc}");
}

#[tokio::test]
async fn the_layout_form_redirects_to_its_address() {
    let world = World::new().await;
    let viewer = world.viewer().await;
    let list = world.list();
    let ordered = [
        ("tag.plan", "pro"),
        ("show", "answer.why"),
        ("place.answer.why", "2"),
        ("show", "version"),
        ("place.version", "1"),
    ];
    let sorted =
        [("sort_column", "answer.nps"), ("direction", "descending"), ("density", "compact")];
    let typed = [("show", "answer.gone"), ("show", "version"), ("tag_column", "a,b")];
    for (sent, expected) in [
        (&ordered[..], "tag.plan=pro&columns=version,answer.why"),
        (&sorted, "sort=-answer.nps&density=compact"),
        (&typed, "columns=version,tag.a%5C,b"),
    ] {
        let reply = viewer.post(&format!("{list}/layout"), sent).await;
        assert_eq!(reply.to(), format!("{list}?{expected}"), "{sent:?}");
    }
}

#[tokio::test]
async fn views_are_saved_opened_by_default_renamed_and_deleted() {
    let world = World::new().await;
    world.respond(Some(3), "<b>").await;
    let (ann, bob) = (world.viewer().await, world.viewer().await);
    let list = world.list();
    let views = format!("{list}/views");
    let query = "columns=version&sort=-answer.nps&page=3";
    let form = [("name", "Low <score>"), ("default", "1"), ("query", query)];
    let saved = ann.post(&views, &form).await;
    let address = format!("{list}?columns=version&sort=-answer.nps");
    assert_eq!(saved.to(), format!("{address}&done=saved-view"));
    assert_eq!(ann.get(&list).await.to(), address, "the default view opens");
    let html = ann.get(&address).await.ok();
    let current = html
        .split("aria-current=\"page\"")
        .any(|part| part.starts_with("><bdi>Low &lt;score&gt;</bdi>"));
    assert!(current, "{html}");
    let all = ann.get(&format!("{list}?sort=-receivedAt")).await.ok();
    assert_eq!(rows(&all).len(), 1, "all responses can still be shown");
    assert!(!bob.get(&list).await.ok().contains("Low &lt;score"), "it is not Bob's");
    for (name, fault) in
        [("", "must be a text of 1 to 60 characters"), ("x\u{7}", "must be a text")]
    {
        let refused = ann.post(&views, &[("name", name), ("query", query)]).await;
        assert!(refused.text.contains(fault), "{}", refused.text);
        assert!(refused.text.contains("id=\"view_name\""));
    }
    let change = async |view: &str, action: &str, to: &str| {
        let form = [("view", view), ("do", action), ("to", to), ("query", "")];
        ann.post(&format!("{views}/change"), &form).await
    };
    change("Low <score>", "rename", "Lowest").await.to();
    change("Lowest", "no-default", "").await.to();
    let html = ann.get(&list).await.ok();
    assert!(html.contains("<bdi>Lowest</bdi>") && !html.contains("(default)"));
    let refused = change("Gone", "rename", "x").await;
    assert!(refused.text.contains("does not exist any more"), "{}", refused.text);
    assert!(change("Lowest", "delete", "").await.to().ends_with("&done=deleted"));
    assert!(!ann.get(&list).await.ok().contains("Lowest"));
}

#[tokio::test]
async fn the_export_has_the_filters_and_columns_of_the_table() {
    let world = World::new().await;
    let low = world.respond(Some(3), "pro").await;
    world.respond(Some(9), "pro").await;
    let editor = world.site.signed_in(Some(world.app), Role::Editor).await;
    let query = "answer.nps%5Blt%5D=7&columns=tag.plan,answer.nps,responseId&sort=answer.nps";
    let html = editor.get(&format!("{}?{query}", world.list())).await.ok();
    assert!(html.contains("value=\"receivedAt,tag.plan,answer.nps,responseId\""), "{html}");
    let export = |more: &str| format!("{}/export?answer.nps%5Blt%5D=7&format={more}", world.list());
    let csv = editor.get(&export("csv&columns=tag.plan,answer.nps,responseId")).await.ok();
    assert_eq!(csv, format!("tag.plan,nps,responseId\r\npro,3,{low}\r\n"));
    let lines = editor.get(&export("jsonl&columns=tag.plan")).await.ok();
    assert_eq!(lines.lines().count(), 1, "a format without columns has everything");
}
