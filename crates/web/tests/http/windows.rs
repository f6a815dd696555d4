//! Live and grace windows over HTTP, to the millisecond: both are half-open.

use crate::use_cases::UseCases as _;
use sluice_flow::id::{FlowId, FlowVersionId};

use crate::support::{START, Site, actor, submission};

const NOT_OPEN_YET: &str = "not_open_yet";
const NO_LONGER: &str = "no_longer_accepting";

/// Submits at each instant (milliseconds after the start) and compares the outcome: the code of a
/// refusal, or none.
async fn check(site: &Site, submission: &serde_json::Value, instants: &[(i64, Option<&str>)]) {
    for &(at, expected) in instants {
        site.at(at);
        let data = site.submit(submission).await.data();
        let code = data["errors"]["issues"][0]["code"].as_str();
        assert_eq!(code, expected, "at {at} ms: {data}");
        assert_eq!(data["success"], expected.is_none());
    }
}

#[tokio::test]
async fn a_live_window_opens_at_its_start_and_closes_at_its_end() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    site.live_window(flow, Some(START + 10_000), Some(START + 20_000)).await;
    let instants = [
        (0, Some(NOT_OPEN_YET)),
        (9_999, Some(NOT_OPEN_YET)),
        (10_000, None),
        (19_999, None),
        (20_000, Some(NO_LONGER)),
        (86_400_000, Some(NO_LONGER)),
    ];
    check(&site, &submission(version), &instants).await;
}

#[tokio::test]
async fn moving_a_window_needs_no_publish() {
    let site = Site::start().await;
    let (flow, version) = site.published().await;
    let submission = submission(version);
    site.live_window(flow, None, Some(START + 1_000)).await;
    check(&site, &submission, &[(999, None), (1_000, Some(NO_LONGER))]).await;
    site.live_window(flow, None, Some(START + 2_000)).await;
    check(&site, &submission, &[(1_999, None), (2_000, Some(NO_LONGER))]).await;
    site.live_window(flow, None, None).await;
    check(&site, &submission, &[(2_000, None)]).await;
}

#[tokio::test]
async fn the_grace_window_ends_its_seconds_after_the_newer_version() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 60).await;
    site.at(5_000);
    let new = site.publish_again(flow).await;
    let instants = [(5_000, None), (64_999, None), (65_000, Some(NO_LONGER))];
    check(&site, &submission(old), &instants).await;
    check(&site, &submission(new), &[(5_000, None), (65_000, None)]).await;
}

#[tokio::test]
async fn grace_is_86400_seconds_unless_set() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.publish_again(flow).await;
    check(&site, &submission(old), &[(86_399_999, None), (86_400_000, Some(NO_LONGER))]).await;
}

#[tokio::test]
async fn grace_of_zero_closes_the_older_version_at_once() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 0).await;
    site.publish_again(flow).await;
    check(&site, &submission(old), &[(0, Some(NO_LONGER))]).await;
}

#[tokio::test]
async fn grace_is_fixed_when_the_newer_version_is_published() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 60).await;
    site.publish_again(flow).await;
    site.grace(flow, 3_600).await;
    check(&site, &submission(old), &[(59_999, None), (60_000, Some(NO_LONGER))]).await;
}

#[tokio::test]
async fn grace_ends_with_the_live_window_if_that_is_earlier() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 60).await;
    site.live_window(flow, None, Some(START + 10_000)).await;
    site.publish_again(flow).await;
    site.at(0);
    let data = site.submit(&submission(old)).await.data();
    assert_eq!(data["acceptsUntil"], "2026-11-15T02:00:10.000Z");
    check(&site, &submission(old), &[(9_999, None), (10_000, Some(NO_LONGER))]).await;
}

/// Checks the exact message of the refusal, and the version it names.
async fn check_no_longer(site: &Site, version: FlowVersionId, latest: Option<FlowVersionId>) {
    let reply = site.submit(&submission(version)).await;
    let ending = match latest {
        Some(_) => "Fetch the latest published version and try again.",
        None => "The survey is closed.",
    };
    let beginning = "This survey version is no longer accepting responses.";
    reply.assert_refused(NO_LONGER, &format!("{beginning} {ending}"));
    let named = &reply.data()["errors"]["issues"][0]["latestFlowVersionId"];
    assert_eq!(named.as_str(), latest.map(|latest| latest.to_string()).as_deref());
}

#[tokio::test]
async fn the_latest_version_is_named_only_while_it_accepts() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 0).await;
    site.live_window(flow, None, Some(START + 10_000)).await;
    let new = site.publish_again(flow).await;
    site.at(9_999);
    check_no_longer(&site, old, Some(new)).await;
    site.at(10_000);
    check_no_longer(&site, old, None).await;
    check_no_longer(&site, new, None).await;
}

#[tokio::test]
async fn a_superseded_version_whose_successor_is_retired_is_closed() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 0).await;
    let new = site.publish_again(flow).await;
    check_no_longer(&site, old, Some(new)).await;
    site.engine.retire(&actor(), new).await.unwrap();
    check_no_longer(&site, old, None).await;
    let newest = site.publish_again(flow).await;
    check_no_longer(&site, old, Some(newest)).await;
}

#[tokio::test]
async fn a_superseded_version_of_a_scheduled_flow_is_not_open_yet() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 0).await;
    site.publish_again(flow).await;
    site.live_window(flow, Some(START + 10_000), None).await;
    check(&site, &submission(old), &[(9_999, Some(NOT_OPEN_YET)), (10_000, Some(NO_LONGER))]).await;
}

/// A client that follows the specification: after a failure it resolves the flow again, and retries
/// if the resolve or the refusal names another version. Returns how often it submitted, and whether
/// it succeeded.
async fn follow(site: &Site, flow: FlowId, version: FlowVersionId) -> (u32, bool) {
    let mut version = version;
    for submits in 1..=10 {
        let data = site.submit(&submission(version)).await.data();
        if data["success"] == true {
            return (submits, true);
        }
        let wants_retry = data["errors"]["formErrors"][0].as_str().unwrap().contains("try again");
        let resolved = site.get(&site.path(&format!("flows/{flow}")), &[]).await.json();
        let latest = resolved["flowVersionId"].as_str().map_or(version, |id| id.parse().unwrap());
        assert_eq!(wants_retry, latest != version && resolved["status"] == "open", "{data}");
        if latest == version {
            return (submits, false);
        }
        version = latest;
    }
    panic!("the client never stops");
}

#[tokio::test]
async fn a_client_that_resolves_again_after_a_refusal_terminates() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 0).await;
    site.live_window(flow, None, Some(START + 10_000)).await;
    let new = site.publish_again(flow).await;
    assert_eq!(follow(&site, flow, old).await, (2, true), "the new version accepts");
    site.at(10_000);
    assert_eq!(follow(&site, flow, old).await, (2, false), "the live window has ended");
    assert_eq!(follow(&site, flow, new).await, (1, false));
    site.live_window(flow, None, None).await;
    site.engine.retire(&actor(), new).await.unwrap();
    assert_eq!(follow(&site, flow, old).await, (1, false), "there is no current version");
}

#[tokio::test]
async fn the_newest_publish_ends_the_grace_of_all_older_versions() {
    let site = Site::start().await;
    let (flow, first) = site.published().await;
    site.grace(flow, 86_400).await;
    let second = site.publish_again(flow).await;
    // A retirement changes nothing for the others.
    site.engine.retire(&actor(), second).await.unwrap();
    check(&site, &submission(first), &[(1_000, None)]).await;
    site.grace(flow, 0).await;
    let third = site.publish_again(flow).await;
    check_no_longer(&site, first, Some(third)).await;
    site.submit(&submission(third)).await.assert_accepted();
}

#[tokio::test]
async fn a_republish_shortens_a_grace_and_a_longer_one_extends_nothing() {
    let site = Site::start().await;
    let (flow, first) = site.published().await;
    site.grace(flow, 60).await;
    let second = site.publish_again(flow).await;
    site.at(10_000);
    site.grace(flow, 20).await;
    site.engine.republish(&actor(), first).await.unwrap();
    site.grace(flow, 86_400).await;
    site.publish_again(flow).await;
    for version in [first, second] {
        check(&site, &submission(version), &[(29_999, None), (30_000, Some(NO_LONGER))]).await;
    }
}
