//! Filters by an answer: both backends select what the rule selects.

use sluice_flow::answer_filter::{AnswerFilter, AnswerTest, Bound};
use sluice_flow::folding::folded;
use sluice_flow::question::Decimal;
use sluice_flow::submission::each_entry;

use super::responses::{all_pages, answered};
use super::world::{Shop, TheStore};
use crate::ResponseQuery;

/// The same JSON, read by the rule alone and by the store.
pub(super) async fn a_comparison_filters_like_its_rule(store: TheStore) {
    let shop = Shop::open(&store).await;
    let answers = [
        "{}",
        r#"{"nps":"3"}"#,
        r#"{"nps":"7","why":"Too SLOW for me"}"#,
        r#"{"nps":"10","why":"caf\u00e9 \"noir\""}"#,
        r#"{"why":"Stra\u00dfe","on":"2026-11-15"}"#,
        "{\"why\":\"STRAßE slow\",\"on\":\"2025-01-01\",\"nps\":\"0\"}",
        r#"{"nps":"","use":["api","other:by Fax"]}"#,
        r#"{"n\u0070s":"5","use":["web"]}"#,
        r#"{"use":[],"nps":"many"}"#,
    ];
    let ids = answered(&store, &shop, &answers).await;
    let number = |text: &str| Bound::Number(Decimal::parse(text).unwrap());
    let tests = [
        ("nps", AnswerTest::Less(number("7"))),
        ("nps", AnswerTest::AtMost(number("7"))),
        ("nps", AnswerTest::Greater(number("7"))),
        ("nps", AnswerTest::AtLeast(number("-1"))),
        ("nps", AnswerTest::IsNot("3".into())),
        ("nps", AnswerTest::Answered(true)),
        ("nps", AnswerTest::Answered(false)),
        ("on", AnswerTest::Less(Bound::Date("2026-01-01".into()))),
        ("on", AnswerTest::AtLeast(Bound::Date("2026-01-01".into()))),
        ("why", AnswerTest::Contains(folded("slow"))),
        ("why", AnswerTest::Contains(folded("strasse"))),
        ("why", AnswerTest::Contains(folded("\"noir"))),
        ("why", AnswerTest::Contains(folded("CAFÉ"))),
        ("use", AnswerTest::OtherContains(folded("fax"))),
        ("use", AnswerTest::OtherContains(folded("other"))),
        ("use", AnswerTest::IsNot("other".into())),
        ("use", AnswerTest::Answered(false)),
        ("missing", AnswerTest::Answered(false)),
    ];
    let mut found = 0;
    for (question, test) in tests {
        let filter = AnswerFilter { question: question.to_owned(), test };
        let mut expected = Vec::new();
        for (id, json) in ids.iter().zip(answers) {
            let mut holds = filter.holds(None);
            each_entry(json, |name, texts| {
                if name == question {
                    holds = filter.holds(Some(&texts));
                }
            })
            .unwrap();
            expected.extend(holds.then_some(*id));
        }
        found += expected.len();
        for scan_limit in [2, 1_000] {
            let answers = vec![filter.clone()];
            let query = ResponseQuery { answers, scan_limit, ..shop.query() };
            assert_eq!(all_pages(&store, query.clone()).await, expected, "{filter:?}");
            let counted = all_counted(&store, query).await;
            assert_eq!(counted, expected.len() as u64, "{filter:?}");
        }
    }
    assert!(found > 40, "the tests select something: {found}");
}

async fn all_counted(store: &TheStore, mut query: ResponseQuery) -> u64 {
    let mut responses = 0;
    loop {
        let part = store.count_responses(&query).await.unwrap();
        responses += part.responses;
        query.after = part.next;
        if part.next.is_none() {
            return responses;
        }
    }
}
