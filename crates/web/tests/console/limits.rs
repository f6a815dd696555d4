//! The limits on the number of responses, in the schedule of a flow.

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_flow::closing::Closing;

use crate::desk::Desk;
use crate::shop::{Site, actor, submission};

const NO_SCHEDULE: [(&str, &str); 4] =
    [("name", "Panel"), ("startsAt", ""), ("endsAt", ""), ("grace", "inherited")];

#[tokio::test]
async fn limits_are_set_with_the_schedule_and_show_what_was_counted() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, version) = site.published().await;
    let (address, edit) =
        (format!("/console/flows/{flow}/schedule"), format!("/console/flows/{flow}/edit"));
    let stored = async || {
        let row = site.engine.get_flow(&actor(), flow).await.unwrap().flow;
        Closing::from_stored(row.closing.as_deref()).unwrap()
    };
    let mut submission = submission(version);
    submission["answers"]["use"] = json!(["api"]);
    site.submit(&submission).await.assert_accepted();
    // The answers of questions with options can be chosen.
    let page = desk.get(&edit).await.text();
    assert!(page.contains("<legend>What do you use?</legend>"), "{page}");
    let api = json!({"question": "use", "includes": "api"}).to_string();
    assert!(page.contains(&api.replace('"', "&quot;")), "{page}");
    let send = async |more: &[(&str, &str)]| {
        desk.post(&address, &[NO_SCHEDULE.as_slice(), more].concat()).await
    };
    let new = [("closeAfter", "200"), ("newQuota", api.as_str()), ("newQuotaLimit", "1")];
    assert_eq!(send(&new).await.status, 303);
    let closing = stored().await;
    assert_eq!(closing.close_after, Some(200));
    assert_eq!(closing.quotas.len(), 1);
    assert_eq!(closing.quotas[0].when, serde_json::from_str::<Value>(&api).unwrap());
    let page = desk.get(&edit).await.text();
    for part in ["1 of 200 responses so far", "1 of 1 responses so far", "includes “The API”"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // A form without these fields changes none of them.
    assert_eq!(send(&[]).await.status, 303);
    assert_eq!(stored().await, closing);
    // Wrong numbers are shown beside their fields, as typed.
    let id = closing.quotas[0].id.as_str();
    let quota = |limit| [("quotaId", id), ("quotaWhen", api.as_str()), ("quotaLimit", limit)];
    let wrong = [[("closeAfter", "0")].as_slice(), &quota("-3")].concat();
    let refused = send(&wrong).await;
    let (status, page) = (refused.status, refused.text());
    assert_eq!(status, 422);
    for part in [
        "<a href=\"#closeAfter\">",
        "<a href=\"#quota-0\">",
        "id=\"quota-0-error\"",
        "value=\"-3\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(stored().await, closing);
    // Empty numbers remove the limits.
    let none = [[("closeAfter", "")].as_slice(), &quota("")].concat();
    assert_eq!(send(&none).await.status, 303);
    assert!(stored().await.is_empty());
}

#[tokio::test]
async fn a_flow_with_all_its_responses_is_shown_as_closed() {
    let site = Site::start().await;
    let desk = Desk::owner(&site).await;
    let (flow, version) = site.published().await;
    site.submit(&submission(version)).await.assert_accepted();
    let fields = [NO_SCHEDULE.as_slice(), &[("closeAfter", "1")]].concat();
    desk.post(&format!("/console/flows/{flow}/schedule"), &fields).await;
    for path in [format!("/console/flows/{flow}/edit"), format!("/console/apps/{}", site.app)] {
        let page = desk.get(&path).await.text();
        assert!(page.contains("Closed") && !page.contains(">Open<"), "{path}: {page}");
    }
}
