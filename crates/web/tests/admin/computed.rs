//! Results that counts cannot answer: computed from the responses, kept for a minute, and then
//! computed again.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Site, definition};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
/// How long a result is kept.
const KEPT_SECONDS: u32 = 60;
/// Far longer than any computation here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The result of an address, once it is complete and fits.
pub(crate) async fn once(site: &Site, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let result = tokio::time::timeout(PATIENCE, async {
        loop {
            let reply = site.get(path).await;
            match reply.status {
                202 => {
                    assert_eq!(reply.headers["retry-after"], "1");
                    let progress = &reply.json["progress"];
                    assert!(progress["read"].as_u64() <= progress["of"].as_u64(), "{progress}");
                }
                _ => {
                    let result = reply.ok(200);
                    if fits(&result) {
                        return result;
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    result.await.unwrap_or_else(|_| panic!("{path} never fits"))
}

async fn responses(site: &Site, path: &str, expected: u64) -> Value {
    once(site, path, |summary| summary["responses"] == expected).await
}

fn answered(nps: usize, plan: &str) -> Value {
    json!({
        "answers": {"nps": (nps % 11).to_string(), "why": format!("because {}", nps % 3)},
        "respondentAnalyticsAdmission": if nps.is_multiple_of(4) { "admitted" } else { "collection_only" },
        "metadata": {"tags": {"plan": plan}},
    })
}

#[tokio::test]
async fn a_computed_summary_is_equal_to_the_counted_one() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let first = site.publish(&flow).await;
    for nps in 0..23 {
        site.clock.advance_millis(DAY_MILLIS / 7);
        site.store(&key, &first, answered(nps, ["pro", "free"][nps % 2])).await;
    }
    let mut draft = definition("Two");
    draft["questions"][0]["prompt"] = json!("How likely now?");
    site.put(&format!("/flows/{flow}/draft"), draft).await.ok(200);
    let second = site.publish(&flow).await;
    for nps in 0..11 {
        site.clock.advance_millis(if nps < 5 { DAY_MILLIS } else { 1 });
        site.store(&key, &second, answered(nps, "pro")).await;
    }
    let path = format!("/flows/{flow}/summary");
    for (counted, computed) in [
        ("?".to_owned(), "?answer.nps[gte]=0".to_owned()),
        ("?tag.plan=pro".to_owned(), "?tag.plan=pro&answer.nps[answered]=true".to_owned()),
        (format!("?version={second}"), format!("?version={second}&answer.nps[lte]=10")),
        (
            "?from=2026-11-16&to=2026-11-18".to_owned(),
            "?from=2026-11-16&to=2026-11-18&answer.why[contains]=BECAUSE".to_owned(),
        ),
    ] {
        let mut expected = site.get(&format!("{path}{counted}")).await.ok(200);
        assert_eq!(expected["asOf"], Value::Null);
        let mut found = once(&site, &format!("{path}{computed}"), |_| true).await;
        assert!(found["asOf"].is_string(), "{found}");
        if counted.contains("tag.") {
            // Counts list the tags of all responses, a computation those of the matching ones.
            expected["tags"] = found["tags"].clone();
        }
        found["asOf"] = Value::Null;
        assert_eq!(found, expected, "{computed}");
    }
}

#[tokio::test]
async fn filters_by_answers_combine_with_tags_versions_days_and_admission() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    for nps in 0..44 {
        site.clock.advance_millis(DAY_MILLIS / 11);
        site.store(&key, &version, answered(nps, ["pro", "free", "trial"][nps % 3])).await;
    }
    let path = format!("/flows/{flow}/summary");
    let count = |wanted: &dyn Fn(usize) -> bool| (0..44).filter(|nps| wanted(*nps)).count() as u64;
    let below = |nps: usize| nps % 11 < 7;
    for (query, expected) in [
        ("answer.nps[lt]=7", count(&below)),
        ("answer.nps[lt]=7&tag.plan=pro", count(&|nps| below(nps) && nps.is_multiple_of(3))),
        (
            "answer.nps[ne]=3&admission=admitted",
            count(&|nps| nps % 11 != 3 && nps.is_multiple_of(4)),
        ),
        ("admission=collection_only", count(&|nps| !nps.is_multiple_of(4))),
        ("tag.plan=pro&tag.plan=free", 0),
        ("answer.why[contains]=2&answer.nps=5", count(&|nps| nps % 3 == 2 && nps % 11 == 5)),
        ("answer.nps[answered]=false", 0),
        ("answer.nps[lt]=7&version=fv_0000000000000000000000", 0),
    ] {
        let summary = once(&site, &format!("{path}?{query}"), |_| true).await;
        assert_eq!(summary["responses"], expected, "{query}");
    }
}

#[tokio::test]
async fn a_result_is_computed_again_after_a_minute() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let path = format!("/flows/{flow}/summary?answer.nps[gte]=0");
    let mut expected = 0;
    let mut last = None;
    for _ in 0..3 {
        for nps in 0..5 {
            site.store(&key, &version, answered(nps, "pro")).await;
            expected += 1;
        }
        let summary = once(&site, &path, |_| true).await;
        assert_eq!(summary["responses"], expected);
        let as_of = summary["asOf"].as_str().map(str::to_owned);
        assert!(as_of > last, "{as_of:?} after {last:?}");
        last = as_of;
        site.clock.skip_seconds(KEPT_SECONDS);
    }
}

#[tokio::test]
async fn a_removed_response_is_in_no_result_after_a_minute() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let mut ids = Vec::new();
    for nps in 0..6 {
        ids.push(site.store(&key, &version, answered(nps, "pro")).await);
    }
    let person = json!({
        "answers": {"nps": "1"}, "respondentAnalyticsAdmission": "admitted",
        "metadata": {"tags": {"who": "user-77"}},
        "identities": [{"type": "userId", "value": "user-77"}],
    });
    site.store(&key, &version, person).await;
    let path = format!("/flows/{flow}/summary?answer.nps[gte]=0");
    let table = format!("/flows/{flow}/crosstab?rows=nps&columns=why");
    let summary = responses(&site, &path, 7).await;
    assert!(summary.to_string().contains("user-77"));
    once(&site, &table, |table| table["counted"] == 7).await;

    assert_eq!(site.delete(&format!("/responses/{}", ids[2])).await.status, 204);
    let erase = format!("/respondents?appId={app}&type=userId&value=user-77&answers=delete");
    assert!(site.delete(&erase).await.status < 300);
    site.clock.skip_seconds(KEPT_SECONDS);
    let summary = once(&site, &path, |_| true).await;
    assert_eq!(summary["responses"], 5);
    assert!(!summary.to_string().contains("user-77"), "{summary}");
    let table = once(&site, &table, |_| true).await;
    assert_eq!(table["counted"], 5);
}
