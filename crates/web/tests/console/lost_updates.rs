//! Two people have the settings of a flow open: what one of them saves stays when the other saves
//! something else.

use serde_json::json;
use sluice_engine::FlowPatch;
use sluice_engine::rows::FlowRow;
use sluice_flow::closing::Closing;
use sluice_flow::id::FlowId;
use sluice_flow::time::Window;

use crate::desk::Desk;
use crate::shop::{START, Site, actor};
use crate::use_cases::UseCases as _;

/// The fields of the settings as a browser would send them.
struct OpenForm(Vec<(String, String)>);

impl OpenForm {
    async fn open(desk: &Desk<'_>, flow: FlowId) -> Self {
        Self::read(&desk.get(&format!("/console/flows/{flow}/edit")).await.text())
    }

    fn read(page: &str) -> Self {
        let start = page.find("id=\"schedule\"").unwrap();
        let form = &page[start..start + page[start..].find("</form>").unwrap()];
        let mut fields = Vec::new();
        for tag in form.split('<').filter_map(|tag| tag.split_once('>')).map(|(tag, _)| tag) {
            let is_off = ["radio", "checkbox"].iter().any(|kind| tag.contains(kind))
                && !tag.contains(" checked");
            match (tag.starts_with("input"), value_of(tag, "name")) {
                (true, Some(name)) if !is_off => {
                    fields.push((name, value_of(tag, "value").unwrap_or_default()));
                }
                _ if tag.starts_with("option") && tag.contains(" selected") => {
                    fields.push(("unit".to_owned(), value_of(tag, "value").unwrap()));
                }
                _ => {}
            }
        }
        Self(fields)
    }

    fn fill(&mut self, name: &str, value: &str) {
        let field = self.0.iter_mut().find(|(it, _)| it == name);
        value.clone_into(&mut field.unwrap_or_else(|| panic!("{name}")).1);
    }

    async fn send(&self, desk: &Desk<'_>, flow: FlowId) -> crate::shop::Reply {
        let fields: Vec<_> =
            self.0.iter().map(|(it, value)| (it.as_str(), value.as_str())).collect();
        desk.post(&format!("/console/flows/{flow}/schedule"), &fields).await
    }
}

fn value_of(tag: &str, attribute: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {attribute}=\""))?;
    Some(rest.split_once('"')?.0.replace("&quot;", "\""))
}

async fn stored(site: &Site, flow: FlowId) -> FlowRow {
    site.engine.get_flow(&actor(), flow).await.unwrap().flow
}

#[tokio::test]
async fn a_flow_that_was_closed_stays_closed_when_an_open_editor_saves_something_else() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let mut form = OpenForm::open(&desk, flow).await;
    desk.post(&format!("/console/flows/{flow}/close"), &[("tab", "edit")]).await;
    let closed = stored(&site, flow).await.live;
    assert!(closed.ends_at.is_some());
    form.fill("name", "Renamed");
    assert_eq!(form.send(&desk, flow).await.status, 303);
    let row = stored(&site, flow).await;
    assert_eq!((row.name.as_str(), row.live), ("Renamed", closed));
}

#[tokio::test]
async fn a_start_and_an_end_that_two_people_save_both_stand() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let (mut first, mut second) =
        (OpenForm::open(&desk, flow).await, OpenForm::open(&desk, flow).await);
    first.fill("startsAt", "2026-11-15T01:00");
    second.fill("endsAt", "2026-11-16T01:00");
    second.fill("grace", "own");
    second.fill("amount", "2");
    for form in [&first, &second] {
        assert_eq!(form.send(&desk, flow).await.status, 303);
    }
    let row = stored(&site, flow).await;
    let moment = |text: &str| Some(text.parse().unwrap());
    let window = Window {
        starts_at: moment("2026-11-15T01:00:00Z"),
        ends_at: moment("2026-11-16T01:00:00Z"),
    };
    assert_eq!((row.live, row.grace_window_seconds), (window, Some(7_200)));
    // A window that is wrong only together is refused at the field that was changed, and the page
    // still carries what it first showed.
    first.fill("shown.startsAt", "2026-11-15T01:00");
    first.fill("startsAt", "2026-11-17T01:00");
    let refused = first.send(&desk, flow).await;
    let (status, page) = (refused.status, refused.text());
    assert_eq!(status, 422);
    assert!(page.contains("<a href=\"#startsAt\">"), "{page}");
    let again = OpenForm::read(&page);
    for (name, value) in [("shown.startsAt", "2026-11-15T01:00"), ("shown.endsAt", "")] {
        assert!(again.0.contains(&(name.to_owned(), value.to_owned())), "{name}: {:?}", again.0);
    }
    assert_eq!(stored(&site, flow).await.live, window);
}

#[tokio::test]
async fn quotas_that_two_people_add_and_change_all_stand() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let when = |id: &str| json!({"question": "use", "includes": id});
    let quotas = Some(json!([{"id": "old", "when": when("api"), "limit": 1}]));
    let patch = FlowPatch { quotas, ..FlowPatch::default() };
    site.engine.update_flow(&actor(), flow, &patch).await.unwrap();
    let limits =
        async || Closing::from_stored(stored(&site, flow).await.closing.as_deref()).unwrap();
    let open = async || OpenForm::open(&desk, flow).await;
    let (mut first, mut second, mut third) = (open().await, open().await, open().await);
    let add = |form: &mut OpenForm, id: &str, limit: &str| {
        form.0.push(("newQuota".to_owned(), when(id).to_string()));
        form.fill("newQuotaLimit", limit);
    };
    add(&mut first, "ui", "5");
    add(&mut second, "api", "6");
    second.fill("closeAfter", "100");
    third.fill("quotaLimit", "9");
    for form in [&first, &second, &third] {
        assert_eq!(form.send(&desk, flow).await.status, 303);
    }
    let found = limits().await;
    let all: Vec<_> = found.quotas.iter().map(|it| (it.when.clone(), it.limit)).collect();
    assert_eq!(all, [(when("api"), 9), (when("ui"), 5), (when("api"), 6)]);
    assert_eq!(found.close_after, Some(100));
    // A page that shows an old limit removes only what it clears.
    let mut cleared = open().await;
    cleared.fill("quotaLimit", "");
    cleared.send(&desk, flow).await;
    assert_eq!(limits().await.quotas.len(), 2);
    assert_eq!(limits().await.close_after, Some(100));
}

#[tokio::test]
async fn a_quota_can_count_several_answers() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    let mut form = OpenForm::open(&desk, flow).await;
    let when = |id: &str| json!({"question": "use", "includes": id});
    for id in ["api", "ui"] {
        form.0.push(("newQuota".to_owned(), when(id).to_string()));
    }
    // Half of a quota is refused, and stays chosen.
    let refused = form.send(&desk, flow).await;
    assert_eq!(refused.status, 422);
    let page = refused.text();
    assert!(page.contains("id=\"newQuotaLimit-error\"") && page.contains(" checked"), "{page}");
    form.fill("newQuotaLimit", "7");
    assert_eq!(form.send(&desk, flow).await.status, 303);
    let closing = Closing::from_stored(stored(&site, flow).await.closing.as_deref()).unwrap();
    assert_eq!(closing.quotas[0].when, json!({"any": [when("api"), when("ui")]}));
    assert_eq!(closing.quotas[0].limit, 7);
}

#[tokio::test]
async fn a_script_that_saved_gets_what_is_stored_now() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, _) = site.published().await;
    site.live_window(flow, None, Some(START + 3_600_000)).await;
    let body =
        "name=Panel&shown.name=&startsAt=&shown.startsAt=&endsAt=&shown.endsAt=&grace=inherited";
    let address = format!("/console/flows/{flow}/schedule");
    let reply = desk.send_form_for_json(&address, body).await.json();
    let expected = json!({
        "name": "Panel", "startsAt": "", "endsAt": "2026-11-15T03:00", "grace": "inherited",
        "amount": "24", "unit": "hours", "labels": "",
    });
    assert_eq!(reply["values"], expected);
}
