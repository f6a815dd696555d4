//! Summaries: of all question types, filtered, and correct after every removal.

use serde_json::{Value, json};

use crate::support::{Site, definition};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

#[tokio::test]
async fn a_summary_covers_every_question_version_day_and_tag() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let first = site.publish(&flow).await;
    let tagged = |nps: &str, plan: &str| json!({"answers": {"nps": nps}, "metadata": {"tags": {"plan": plan}}});
    site.store(&key, &first, tagged("9", "pro")).await;
    site.store(&key, &first, json!({"answers": {"nps": "0", "why": "slow"}})).await;
    let mut draft = definition("Two");
    draft["questions"][0]["prompt"] = json!("How likely now?");
    draft["questions"][1] = json!({"id": "again", "type": "yesNo", "prompt": "Again?"});
    site.put(&format!("/flows/{flow}/draft"), draft).await.ok(200);
    let second = site.publish(&flow).await;
    site.clock.advance_millis(2 * DAY_MILLIS);
    let admitted = json!({"answers": {"nps": "10", "again": "yes"}, "respondentAnalyticsAdmission": "admitted"});
    site.store(&key, &second, admitted).await;

    let path = format!("/flows/{flow}/summary");
    let summary = site.get(&path).await.ok(200);
    assert_eq!((&summary["responses"], &summary["admitted"]), (&json!(3), &json!(1)));
    assert_eq!((&summary["step"], &summary["counting"]), (&json!("day"), &Value::Null));
    let days = [("2026-11-15", 2), ("2026-11-16", 0), ("2026-11-17", 1)];
    let days = days.map(|(day, responses)| json!({"day": day, "responses": responses}));
    assert_eq!(summary["days"], json!(days));
    let versions = summary["versions"].as_array().unwrap();
    let versions: Vec<_> = versions.iter().map(|it| (&it["number"], &it["responses"])).collect();
    assert_eq!(versions, [(&json!(2), &json!(1)), (&json!(1), &json!(2))]);
    let plan = json!({"name": "plan", "values": [{"value": "pro", "responses": 1}], "others": 0});
    assert_eq!(summary["tags"], json!([plan]));
    let nps = &summary["questions"][0];
    assert_eq!((&nps["prompt"], &nps["askedUntil"]), (&json!("How likely now?"), &Value::Null));
    assert_eq!(nps["wordedBefore"], json!([{"version": 1, "prompt": "How likely?"}]));
    let expected = json!({
        "kind": "nps", "points": [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], "promoters": 2, "passives": 0,
        "detractors": 1, "score": 100.0 / 3.0,
    });
    assert_eq!(nps["distribution"], expected);
    let why = &summary["questions"][2];
    assert_eq!((&why["id"], &why["askedUntil"]), (&json!("why"), &json!(1)));
    assert_eq!((&why["answered"], &why["of"]), (&json!(1), &json!(2)));
    assert_eq!(why["distribution"], json!({"kind": "text"}));

    for (query, responses) in [
        (format!("version={first}"), 2),
        ("from=2026-11-16".to_owned(), 1),
        ("to=2026-11-15".to_owned(), 2),
        ("tag.plan=pro".to_owned(), 1),
        ("tag.plan=free".to_owned(), 0),
        (format!("version={second}&tag.plan=pro"), 0),
    ] {
        let summary = site.get(&format!("{path}?{query}")).await.ok(200);
        assert_eq!(summary["responses"], responses, "{query}");
    }
}

#[tokio::test]
async fn a_summary_is_exact_after_deletions_erasures_and_compaction() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let count = async |of: &str| {
        let summary = site.get(&format!("/flows/{flow}/summary")).await.ok(200);
        assert_eq!(summary["responses"], summary["questions"][0]["answered"]);
        assert!(!summary.to_string().contains(of) || of.is_empty(), "{summary}");
        summary["responses"].as_u64().unwrap()
    };
    let one = site.store(&key, &version, json!({})).await;
    site.store(&key, &version, json!({})).await;
    let known = json!({
        "respondentAnalyticsAdmission": "admitted", "metadata": {"tags": {"who": "user-77"}},
        "identities": [{"type": "userId", "value": "user-77"}],
    });
    site.store(&key, &version, known.clone()).await;
    assert_eq!(count("").await, 3);
    site.engine.upkeep().compact_counts().await.unwrap();
    site.store(&key, &version, known).await;
    site.delete(&format!("/responses/{one}")).await;
    assert_eq!(count("").await, 3);
    let erase = format!("/respondents?appId={app}&type=userId&value=user-77&answers=keep");
    assert!(site.delete(&erase).await.status < 300);
    assert_eq!(count("user-77").await, 3);
    site.engine.upkeep().compact_counts().await.unwrap();
    assert_eq!(count("user-77").await, 3);
}

#[tokio::test]
async fn a_wrong_query_is_refused_not_ignored() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    for (query, faults) in [
        (
            "day=1",
            vec![(
                "/day",
                "is not known here; known are from, to, version, admission, tag.NAME, answer.QUESTION",
            )],
        ),
        ("from=2026-02-30", vec![("/from", "must be a date such as")]),
        ("to=2026-11-15T00:00:00Z", vec![("/to", "must be a date such as")]),
        ("tag.=x", vec![("/tag.", "must name a tag")]),
        ("admission=yes", vec![("/admission", "must be one of collection_only, admitted")]),
        ("answer.nps=9", vec![("/answer.nps", "no version of this flow asks this question")]),
    ] {
        site.get(&format!("/flows/{flow}/summary?{query}")).await.faults(&faults);
    }
    // Nothing is published yet, so there is nothing to summarise.
    let empty = site.get(&format!("/flows/{flow}/summary")).await.ok(200);
    assert_eq!((&empty["responses"], &empty["questions"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn the_score_is_counted_and_stays_exact_after_deletions_and_a_new_version() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let unscored = site.publish(&flow).await;
    let path = format!("/flows/{flow}/summary");
    site.store(&key, &unscored, json!({"answers": {"nps": "9"}})).await;
    assert_eq!(site.get(&path).await.ok(200)["score"], Value::Null);
    let mut draft = definition("Two");
    draft["questions"][0]["score"] = json!("value");
    site.put(&format!("/flows/{flow}/draft"), draft).await.ok(200);
    let scored = site.publish(&flow).await;
    let nps = async |nps: &str| site.store(&key, &scored, json!({"answers": {"nps": nps}})).await;
    let (ten, _, _) = (nps("10").await, nps("4").await, nps("5").await);
    let check = async |responses: u64, mean: f64, bins: &[(f64, u64)]| {
        let score = site.get(&path).await.ok(200)["score"].clone();
        assert_eq!(score["responses"], responses, "{score}");
        assert_eq!(score["distribution"]["kind"], "numbers");
        assert_eq!(score["distribution"]["mean"], mean, "{score}");
        let found = score["distribution"]["bins"].as_array().unwrap();
        let found: Vec<_> =
            found.iter().map(|it| (it["from"].clone(), it["count"].clone())).collect();
        let bins: Vec<_> = bins.iter().map(|(from, count)| (json!(from), json!(count))).collect();
        assert_eq!(found, bins);
        assert_eq!(score["overTime"][0]["mean"], mean);
    };
    check(3, 19.0 / 3.0, &[(4.0, 1), (5.0, 1), (10.0, 1)]).await;
    // From the responses, it is the same as from counts.
    let computed = format!("{path}?answer.nps%5Bgte%5D=4&version={scored}");
    let computed = loop {
        let reply = site.get(&computed).await;
        if reply.status == 200 {
            break reply.ok(200);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!(computed["score"], site.get(&path).await.ok(200)["score"]);
    site.delete(&format!("/responses/{ten}")).await;
    check(2, 4.5, &[(4.0, 1), (5.0, 1)]).await;
    site.engine.upkeep().compact_counts().await.unwrap();
    check(2, 4.5, &[(4.0, 1), (5.0, 1)]).await;
}
