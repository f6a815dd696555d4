//! Comparisons of results: groups under a filter by answers, and whether differences could be
//! chance.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};

use crate::support::Site;

struct Desk {
    site: Site,
    app: AppId,
    flow: FlowId,
    version: FlowVersionId,
}

impl Desk {
    async fn open() -> Self {
        let site = Site::start().await;
        let app = site.app("Shop").await;
        let questions = json!([{"id": "nps", "type": "nps", "prompt": "How likely?"}]);
        let definition = json!({"title": "Feedback", "questions": questions});
        let (flow, version) = site.flow(app, definition).await;
        Self { site, app, flow, version }
    }

    async fn respond(&self, times: usize, score: &str, plan: Value) {
        for _ in 0..times {
            let more = json!({"answers": {"nps": score}, "metadata": {"tags": {"plan": plan}}});
            self.site.respond(self.app, self.version, more).await;
        }
    }

    /// The page after everything was computed.
    async fn page(&self, query: &str) -> String {
        let address = format!("/console/flows/{}/results?{query}", self.flow);
        for _ in 0..3_000 {
            let reply = self.site.root().await.get(&address).await;
            if reply.headers.get("refresh").is_none() {
                return reply.ok();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it is not computed");
    }
}

#[track_caller]
fn has(page: &str, text: &str) {
    assert!(page.contains(text), "{text} is not in {page}");
}

#[tokio::test]
async fn a_tag_is_compared_among_the_responses_with_an_answer() {
    let desk = Desk::open().await;
    for (times, score, plan) in [(2, "10", "pro"), (4, "3", "pro"), (1, "8", "free")] {
        desk.respond(times, score, json!(plan)).await;
    }
    desk.site.clock.advance_millis(86_400_000);
    desk.respond(1, "9", json!("pro")).await;
    let page = desk.page("answer.nps%5Bgte%5D=8&compare=tag.plan").await;
    let row =
        |name: &str, cells: &str| format!("<th scope=\"row\" dir=\"auto\">{name}</th>{cells}");
    // Over both days.
    has(&page, &row("pro", "<td>Promoters (9 and 10)</td><td>3</td><td>100%</td>"));
    has(&page, &row("free", "<td>Passives (7 and 8)</td><td>1</td><td>100%</td>"));
    has(&page, &row("15 Nov 2026", "<td>3</td><td>75%</td>"));
}

#[tokio::test]
async fn differences_between_groups_are_tested() {
    let desk = Desk::open().await;
    for (times, score, plan) in [(20, "10", "pro"), (5, "0", "pro"), (18, "0", "free")] {
        desk.respond(times, score, json!(plan)).await;
    }
    let page = desk.page("compare=tag.plan").await;
    has(&page, "The difference is unlikely to be chance (p &lt; 0.001). Few answers: ");
    desk.respond(44, "5", json!(["pro", "free"])).await;
    let page = desk.page("compare=tag.plan").await;
    has(&page, "are in several groups, so the differences are not tested.");
}
