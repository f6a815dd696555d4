//! Live and grace windows over HTTP, to the millisecond: both are half-open.

use crate::support::{START, Site, submission};

const NOT_OPEN_YET: &str = "not_open_yet";
const NO_LONGER: &str = "no_longer_accepting";

/// Submits at each instant (milliseconds after the start) and compares what becomes of it: the code of
/// a refusal, or nothing.
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
async fn grace_ends_so_many_seconds_after_the_newer_version() {
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

#[tokio::test]
async fn the_latest_version_is_named_only_while_it_accepts() {
    let site = Site::start().await;
    let (flow, old) = site.published().await;
    site.grace(flow, 0).await;
    site.live_window(flow, None, Some(START + 10_000)).await;
    let new = site.publish_again(flow).await;
    for (at, latest) in [(9_999, Some(new.to_string())), (10_000, None)] {
        site.at(at);
        let data = site.submit(&submission(old)).await.data();
        let named = data["errors"]["issues"][0]["latestFlowVersionId"].as_str();
        assert_eq!(named, latest.as_deref(), "at {at} ms");
    }
}
