//! Stored responses: shown as stored, filtered, deleted.

use serde_json::{Value, json};

use crate::support::{Site, at, definition, text};

/// The ids that a query finds, in order.
async fn found(site: &Site, flow: &str, query: &str) -> Vec<String> {
    let list = site.get(&format!("/flows/{flow}/responses?{query}")).await.ok(200);
    assert_eq!(list["next"], Value::Null, "{query}");
    list["items"].as_array().unwrap().iter().map(|item| text(&item["responseId"])).collect()
}

#[tokio::test]
async fn a_response_is_shown_as_it_was_stored() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    site.clock.advance_millis(1234);
    let bare = site.store(&key, &version, json!({})).await;
    let full = json!({
        "respondentAnalyticsAdmission": "admitted",
        "answers": {"why": "Ünï \"quoted\" 日本", "nps": "10"},
        "identities": [{"type": "traits.email", "value": "a@b.example"}],
        "metadata": {"tags": {"plan": "pro", "team": ["a", "b"]}},
        "context": {"locale": "de_at", "page": {"path": "/x"}},
        "flowAssignmentId": "mine"
    });
    let full = site.store(&key, &version, full).await;

    let expected = json!({
        "responseId": bare, "flowId": flow, "flowVersionId": version, "receivedAt": at(1234),
        "respondentAnalyticsAdmission": "collection_only", "answers": {"nps": "9"},
        "identities": [], "identityVerified": false, "respondentId": null,
        "metadata": {"tags": {}}, "context": {}, "flowAssignmentId": null,
        "score": null
    });
    assert_eq!(site.get(&format!("/responses/{bare}")).await.ok(200), expected);
    let list = site.get(&format!("/flows/{flow}/responses")).await.ok(200);
    assert_eq!(list["items"][0], expected);
    let shown = site.get(&format!("/responses/{full}")).await.ok(200);
    assert_eq!(list["items"][1], shown);
    assert_eq!(shown["respondentAnalyticsAdmission"], "admitted");
    assert_eq!(shown["answers"], json!({"why": "Ünï \"quoted\" 日本", "nps": "10"}));
    let identities = json!([{"type": "traits.email", "value": "a@b.example", "verified": false}]);
    assert_eq!(shown["identities"], identities);
    assert_eq!(shown["metadata"], json!({"tags": {"plan": "pro", "team": ["a", "b"]}}));
    assert_eq!(shown["context"]["locale"], "de-AT");
    assert_eq!(shown["flowAssignmentId"], "mine");
}

/// One module writes the JSON of a response, so its bytes are the same wherever it is shown.
#[tokio::test]
async fn a_response_has_the_same_json_in_the_list_alone_in_jsonl_and_in_the_file_of_its_respondent()
{
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let sent = json!({
        "respondentAnalyticsAdmission": "admitted",
        "answers": {"why": "Ünï \"quoted\"\n日本", "nps": "10"},
        "identities": [{"type": "userId", "value": "u-1"}],
        "metadata": {"tags": {"plan": "pro"}}, "context": {"locale": "de"},
        "flowAssignmentId": "my \"own\" id"
    });
    let id = site.store(&key, &version, sent).await;
    let one = site.get(&format!("/responses/{id}")).await.text;
    let fields: Vec<usize> = sluice_engine::stored_response::FIELDS
        .iter()
        .map(|field| one.find(&format!("\"{}\":", field.name)).unwrap())
        .collect();
    assert!(fields.is_sorted(), "{one}");
    let list = site.get(&format!("/flows/{flow}/responses")).await.text;
    assert!(list.contains(&one), "{list}");
    let lines = site.get(&format!("/flows/{flow}/export?format=jsonl")).await.text;
    assert_eq!(lines, format!("{one}\n"));
    let file = format!("/respondents/export?appId={app}&type=userId&value=u-1");
    let file = site.get(&file).await.text;
    assert!(file.contains(&one), "{file}");
}

#[tokio::test]
async fn responses_are_filtered_by_version_time_tag_and_order() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let first = site.publish(&flow).await;
    let tagged = |tags: Value| json!({"metadata": {"tags": tags}});
    let a = site.store(&key, &first, tagged(json!({"plan": "pro", "a b/ü": "1"}))).await;
    site.clock.advance_millis(10);
    let b = site.store(&key, &first, tagged(json!({"plan": ["free", "pro"]}))).await;
    site.put(&format!("/flows/{flow}/draft"), definition("Two")).await.ok(200);
    let second = site.publish(&flow).await;
    site.clock.advance_millis(10);
    let c = site.store(&key, &second, tagged(json!({"plan": "free"}))).await;
    let all = vec![a.clone(), b.clone(), c.clone()];
    let (ten, twenty) = (at(10), at(20));
    for (query, expected) in [
        (String::new(), all.clone()),
        ("order=asc".to_owned(), all.clone()),
        ("order=desc".to_owned(), all.iter().rev().cloned().collect()),
        (format!("version={first}"), vec![a.clone(), b.clone()]),
        (format!("version={second}"), vec![c.clone()]),
        ("version=fv_0000000000000000000000".to_owned(), vec![]),
        (format!("from={ten}"), vec![b.clone(), c.clone()]),
        (format!("to={ten}"), vec![a.clone()]),
        (format!("from={ten}&to={twenty}"), vec![b.clone()]),
        ("from=2026-11-15T03:00:00.010%2B01:00".to_owned(), vec![b.clone(), c.clone()]),
        ("tag.plan=pro".to_owned(), vec![a.clone(), b.clone()]),
        ("tag.plan=free".to_owned(), vec![b.clone(), c.clone()]),
        ("tag.plan=pro&tag.plan=free".to_owned(), vec![b.clone()]),
        ("tag.a%20b%2F%C3%BC=1".to_owned(), vec![a.clone()]),
        ("tag.plan=none".to_owned(), vec![]),
        // As generated clients write them.
        ("tag[plan]=pro".to_owned(), vec![a.clone(), b.clone()]),
        ("tag%5Bplan%5D=pro&tag%5Bplan%5D=free".to_owned(), vec![b.clone()]),
        ("tag.other=pro".to_owned(), vec![]),
        (format!("after={a}"), vec![b.clone(), c.clone()]),
        (format!("after={b}&order=desc"), vec![a.clone()]),
        (format!("version={first}&tag.plan=pro&from={ten}&order=desc"), vec![b.clone()]),
    ] {
        assert_eq!(found(&site, &flow, &query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn responses_are_filtered_by_admission_answer_and_words() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let mut ids = Vec::new();
    for body in [
        json!({"answers": {"nps": "9", "why": "Quick and GRÜN"}}),
        json!({"answers": {"nps": "3", "why": "slow"}, "respondentAnalyticsAdmission": "admitted"}),
        json!({"answers": {"nps": "3"}}),
    ] {
        site.clock.advance_millis(1);
        ids.push(site.store(&key, &version, body).await);
    }
    for (query, expected) in [
        ("admission=admitted", vec![1]),
        ("admission=collection_only", vec![0, 2]),
        ("answer.nps=3", vec![1, 2]),
        ("answer.nps=3&admission=collection_only&order=desc", vec![2]),
        ("answer.why=slow", vec![1]),
        ("answer.why=slo", vec![]),
        ("answer.nps[lt]=7", vec![1, 2]),
        ("answer.nps%5Blt%5D=7&answer.why[answered]=false", vec![2]),
        ("answer.nps[gte]=3&answer.nps[lte]=8", vec![1, 2]),
        ("answer.nps[gt]=3", vec![0]),
        ("answer.nps[ne]=9&admission=admitted", vec![1]),
        ("answer.why[contains]=gr%C3%BCn", vec![0]),
        ("answer.why[answered]=true&order=desc", vec![1, 0]),
        ("answer.why[ne]=slow", vec![0]),
        ("search=gr%C3%BCn%20quick", vec![0]),
        ("search=SLO", vec![1]),
        ("search=3", vec![]),
        ("search=%20", vec![0, 1, 2]),
    ] {
        let expected: Vec<_> =
            expected.into_iter().map(|index: usize| ids[index].clone()).collect();
        assert_eq!(found(&site, &flow, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn a_wrong_filter_is_refused_not_ignored() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    for (query, faults) in [
        (
            "tags.plan=x",
            vec![(
                "/tags.plan",
                "is not known here; known are limit, after, version, from, to, admission, search, order, tag.NAME, answer.QUESTION",
            )],
        ),
        ("tag.=x", vec![("/tag.", "must name a tag")]),
        ("tag[]=x", vec![("/tag[]", "must name a tag")]),
        ("tag[plan=x", vec![("/tag[plan", "is not known here")]),
        ("answer.=x", vec![("/answer.", "must name a question")]),
        ("admission=yes", vec![("/admission", "must be one of collection_only, admitted")]),
        (&*format!("search={}", "x".repeat(201)), vec![("/search", "at most 200 characters")]),
        (&*"answer.a=b&".repeat(21), vec![("/answer", "at most 20 may be given")]),
        ("version=x", vec![("/version", "must be fv_ followed by 22")]),
        ("from=yesterday", vec![("/from", "must be an RFC 3339 time")]),
        ("from=2026-11-15T03:00:00+01:00", vec![("/from", "must be an RFC 3339 time")]),
        ("order=up", vec![("/order", "must be one of asc, desc")]),
        ("after=x", vec![("/after", "must be the value of \"next\"")]),
        ("limit=0", vec![("/limit", "must be a whole number from 1 to 1000")]),
        ("limit=1&limit=2", vec![("/limit", "must be given once")]),
        ("to=x&order=", vec![("/order", "must be one of"), ("/to", "must be an RFC 3339 time")]),
    ] {
        site.get(&format!("/flows/{flow}/responses?{query}")).await.faults(&faults);
    }
}

#[tokio::test]
async fn a_filter_by_an_answer_that_cannot_hold_is_refused_with_what_is_possible() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    site.publish(&flow).await;
    let unknown = "has an unknown operator; possible are =, [ne]=, [lt]=, [lte]=, [gt]=, [gte]=";
    let unfit = "does not fit a nps question; possible are =, [ne]=, [lt]=, [lte]=, [gt]=, [gte]=";
    let text = "does not fit a longText question; possible are =, [ne]=, [contains]=, [answered]=";
    for (query, faults) in [
        ("answer.what=7", vec![("/answer.what", "no version of this flow asks this question")]),
        ("answer.a~/b[lt]=7", vec![("/answer.a~0~1b[lt]", "no version of this flow asks this")]),
        ("answer.nps[above]=7", vec![("/answer.nps[above]", unknown)]),
        ("answer.nps[contains]=7", vec![("/answer.nps[contains]", unfit)]),
        (
            "answer.why[lt]=7&answer.nps[lt]=seven",
            vec![("/answer.why[lt]", text), ("/answer.nps[lt]", "must be a number such as 7")],
        ),
        ("answer.nps[answered]=1", vec![("/answer.nps[answered]", "must be true or false")]),
    ] {
        for path in ["responses?", "export?format=jsonl&"] {
            site.get(&format!("/flows/{flow}/{path}{query}")).await.faults(&faults);
        }
    }
}

#[tokio::test]
async fn a_deleted_response_is_gone_and_the_others_stay() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let gone = site.store(&key, &version, json!({})).await;
    let kept = site.store(&key, &version, json!({})).await;
    assert_eq!(site.delete(&format!("/responses/{gone}")).await.status, 204);
    site.get(&format!("/responses/{gone}")).await.problem(404, "response_not_found");
    site.delete(&format!("/responses/{gone}")).await.problem(404, "response_not_found");
    assert_eq!(found(&site, &flow, "").await, [kept]);
    for id in ["x", "rs_0000000000000000000000"] {
        site.get(&format!("/responses/{id}")).await.problem(404, "response_not_found");
        site.delete(&format!("/responses/{id}")).await.problem(404, "response_not_found");
    }
}
