//! Tables of responses: sorted and counted as a naive computation over all of them would, and the
//! views that users save.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use crate::support;

use std::cmp::Reverse;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use sluice_engine::people::NewUser;
use sluice_engine::response_columns::ResponseColumn;
use sluice_engine::response_table::{Matching, SORTED_MAX, SortBy, SortedPage};
use sluice_engine::rows::{ResponseRow, Role, Scope};
use sluice_engine::{
    Actor, AdminError, FlowHandle, NewFlow, ResponseFilter, Results, SavedView, VIEWS_MAX,
};
use sluice_flow::definition::Kind;
use sluice_flow::id::{FlowId, FlowVersionId, ResponseId};
use sluice_flow::response_order::Direction;
use sluice_flow::submission::Admission;
use support::{World, accepted};

const PLANS: [&str; 3] = ["team", "free", "solo"];
const WAIT: Duration = Duration::from_secs(1);

fn definition() -> Value {
    let plans: Vec<_> = PLANS.iter().map(|id| json!({"id": id, "label": id})).collect();
    json!({"title": "Feedback", "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?"},
        {"id": "spent", "type": "number", "prompt": "How much?"},
        {"id": "since", "type": "date", "prompt": "Since when?"},
        {"id": "plan", "type": "singleChoice", "prompt": "Which plan?", "options": plans},
        {"id": "why", "type": "longText", "prompt": "Why?"},
    ]})
}

/// A number that looks random, the same in every run.
fn mixed(number: usize, of: usize) -> usize {
    let bits = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (of as u64) << 7;
    (bits.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 33) as usize % of
}

fn body(version: FlowVersionId, number: usize) -> Value {
    let mut answers = json!({});
    if mixed(number, 7) > 0 {
        answers["nps"] = mixed(number, 11).to_string().into();
    }
    if mixed(number, 5) > 0 {
        let cents = mixed(number, 4_000);
        answers["spent"] = format!("{}.{:02}", cents / 100, cents % 100).into();
    }
    if mixed(number, 3) > 0 {
        answers["since"] =
            format!("20{:02}-0{}-11", mixed(number, 30), 1 + mixed(number, 9)).into();
    }
    if mixed(number, 4) > 0 {
        answers["plan"] = PLANS[mixed(number, 3)].into();
    }
    answers["why"] = format!("{}ecause {}", ["B", "b"][mixed(number, 2)], mixed(number, 90)).into();
    let team = ["red", "blue"][mixed(number, 2)];
    let admission = if mixed(number, 6) > 0 { "collection_only" } else { "admitted" };
    json!({
        "flowVersionId": version,
        "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": admission,
        "identities": [{"type": "userId", "value": format!("u-{}", mixed(number, 20))}],
        "answers": answers,
        "metadata": {"tags": {"team": team, "seats": mixed(number, 30).to_string()}},
    })
}

/// A flow with this many responses.
async fn filled(world: &World, responses: usize) -> FlowId {
    let app = world.app().await;
    let handle = world.engine.app(&world.actor, Scope::Write, app.row.app_id).await.unwrap();
    let definition = Some(definition());
    let new = NewFlow { name: "Feedback".into(), kind: Kind::Survey, definition };
    let flow = handle.create_flow(&new).await.unwrap().flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    for first in (0..responses).step_by(50) {
        let bodies: Vec<_> =
            (first..responses.min(first + 50)).map(|number| body(version, number)).collect();
        for receipt in join_all(bodies.iter().map(|body| world.submit(&view, body))).await {
            accepted(receipt);
        }
    }
    flow
}

/// A stored response, parsed without the code under test.
struct Parsed {
    id: ResponseId,
    answers: Value,
    tags: Value,
    admission: Admission,
}

fn parsed(row: &ResponseRow) -> Parsed {
    Parsed {
        id: row.response_id,
        answers: serde_json::from_str(&row.answers).unwrap(),
        tags: serde_json::from_str(row.tags.as_deref().unwrap()).unwrap(),
        admission: row.admission,
    }
}

async fn ready<T>(ask: impl AsyncFn() -> Results<T>) -> T {
    loop {
        if let Results::Ready(result) = ask().await {
            return result;
        }
    }
}

async fn sorted(
    flow: &FlowHandle,
    filter: &ResponseFilter,
    column: &str,
    direction: Direction,
    part: (usize, usize),
) -> SortedPage {
    let asked = flow.asked().await.unwrap();
    let sort = SortBy { column: ResponseColumn::named(column).unwrap(), direction };
    ready(async || flow.sorted_responses(&asked, filter, &sort, part).await.unwrap()).await
}

async fn counted(flow: &FlowHandle, filter: &ResponseFilter) -> Matching {
    let asked = flow.asked().await.unwrap();
    ready(async || flow.count_matching(&asked, filter, WAIT).await.unwrap()).await
}

type Rule = fn(&Parsed) -> bool;

/// Filters, with the same written plainly.
fn filters() -> Vec<(ResponseFilter, Rule, bool)> {
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let all = ResponseFilter::default();
    // Whether counts answer it is the last column.
    vec![
        (all.clone(), |_| true, true),
        (
            ResponseFilter { tags: pair("team", "red"), ..all.clone() },
            |it| it.tags["team"] == "red",
            true,
        ),
        (
            ResponseFilter { admission: Some(Admission::Admitted), ..all.clone() },
            |it| it.admission == Admission::Admitted,
            true,
        ),
        (
            ResponseFilter {
                admission: Some(Admission::CollectionOnly),
                tags: pair("team", "blue"),
                ..all.clone()
            },
            |it| it.admission == Admission::CollectionOnly && it.tags["team"] == "blue",
            true,
        ),
        (
            ResponseFilter {
                answers: pair("nps[lt]", "7"),
                tags: pair("team", "red"),
                ..all.clone()
            },
            |it| {
                let nps = it.answers["nps"].as_str().map(|nps| nps.parse::<u8>().unwrap());
                it.tags["team"] == "red" && nps.is_some_and(|nps| nps < 7)
            },
            false,
        ),
        (
            ResponseFilter { search: Some("because 7".into()), ..all },
            |it| {
                let why = it.answers["why"].as_str().unwrap().to_lowercase();
                why.contains("because") && why.contains('7')
            },
            false,
        ),
    ]
}

/// A number for each response by which a column sorts; `None` is last.
fn rank(column: &str, it: &Parsed) -> Option<i64> {
    let text = |id: &str| it.answers[id].as_str();
    match column {
        "answer.nps" => text("nps").map(|nps| nps.parse().unwrap()),
        "answer.spent" => text("spent").map(|it| it.replace('.', "").parse().unwrap()),
        "answer.since" => text("since").map(|date| date.replace('-', "").parse().unwrap()),
        "answer.plan" => {
            text("plan").map(|plan| PLANS.iter().position(|it| *it == plan).unwrap() as i64)
        }
        "tag.seats" => Some(it.tags["seats"].as_str().unwrap().parse().unwrap()),
        "respondentAnalyticsAdmission" => Some(i64::from(it.admission != Admission::Admitted)),
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sorting_and_counting_agree_with_a_naive_computation() {
    let world = World::new().await;
    let flow = filled(&world, 400).await;
    let stored: Vec<Parsed> = world.stored(flow).await.iter().map(parsed).collect();
    assert_eq!(stored.len(), 400);
    let handle = world.engine.flow(&world.actor, Scope::Read, flow).await.unwrap();
    for (filter, passes, is_counted) in filters() {
        let matching: Vec<&Parsed> = stored.iter().filter(|it| passes(it)).collect();
        let counted = counted(&handle, &filter).await;
        assert_eq!(counted.responses, matching.len() as u64, "{filter:?}");
        assert_eq!(counted.as_of.is_none(), is_counted, "{filter:?}");
        for column in [
            "answer.nps",
            "answer.spent",
            "answer.since",
            "answer.plan",
            "tag.seats",
            "respondentAnalyticsAdmission",
        ] {
            for direction in [Direction::Ascending, Direction::Descending] {
                let sign = if direction == Direction::Ascending { 1 } else { -1 };
                let mut expected = matching.clone();
                expected.sort_by_key(|it| {
                    let rank = rank(column, it);
                    (rank.is_none(), rank.map(|rank| sign * rank), Reverse(it.id))
                });
                let page = sorted(&handle, &filter, column, direction, (30, 40)).await;
                let ids: Vec<_> = page.rows.iter().map(|row| row.response_id).collect();
                let expected: Vec<_> = expected.iter().map(|it| it.id).skip(30).take(40).collect();
                assert_eq!(ids, expected, "{filter:?} by {column} {direction:?}");
                assert_eq!(page.matching, matching.len() as u64, "{filter:?}");
                assert_eq!(page.reachable, matching.len());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_sort_without_case_and_versions_by_number() {
    let world = World::new().await;
    let flow = filled(&world, 60).await;
    let handle = world.engine.flow(&world.actor, Scope::Read, flow).await.unwrap();
    let all = ResponseFilter::default();
    let page = sorted(&handle, &all, "answer.why", Direction::Ascending, (0, 60)).await;
    let texts: Vec<String> = page
        .rows
        .iter()
        .map(|row| parsed(row).answers["why"].as_str().unwrap().to_lowercase())
        .collect();
    assert!(texts.is_sorted(), "{texts:?}");
    let by_version = sorted(&handle, &all, "version", Direction::Descending, (0, 60)).await;
    let ids: Vec<_> = by_version.rows.iter().map(|row| Reverse(row.response_id)).collect();
    assert!(ids.is_sorted() && ids.len() == 60, "equal versions are not newest first");
    let asked = handle.asked().await.unwrap();
    for column in ["tags", "responseId", "answer.none"] {
        let column = ResponseColumn::named(column).unwrap();
        let sort = SortBy { column, direction: Direction::Ascending };
        let refused = handle.sorted_responses(&asked, &all, &sort, (0, 1)).await;
        assert!(matches!(refused, Err(AdminError::Invalid(_))), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_reaches_its_first_thousand_and_skips_what_was_deleted() {
    let world = World::new().await;
    let flow = filled(&world, SORTED_MAX + 50).await;
    let handle = world.engine.flow(&world.actor, Scope::Read, flow).await.unwrap();
    let all = ResponseFilter::default();
    let sorted =
        async |part| self::sorted(&handle, &all, "tag.seats", Direction::Ascending, part).await;
    let page = sorted((SORTED_MAX - 10, 50)).await;
    assert_eq!((page.rows.len(), page.reachable), (10, SORTED_MAX));
    assert_eq!(page.matching, SORTED_MAX as u64 + 50);
    assert_eq!(sorted((SORTED_MAX, 50)).await.rows, []);
    let first = sorted((0, 3)).await.rows;
    let response = world.engine.response(&world.actor, Scope::Erase, first[1].response_id).await;
    response.unwrap().delete().await.unwrap();
    assert_eq!(sorted((0, 3)).await.rows, [first[0].clone(), first[2].clone()]);
}

/// A user with a role in all apps, as a caller.
async fn user(world: &World, email: &str) -> Actor {
    let new = NewUser { email: email.into(), name: "Ann".into(), role: Role::Viewer, app_id: None };
    let (user, _) = world.engine.instance(&world.actor).unwrap().create_user(new).await.unwrap();
    Actor { name: user.user_id.to_string(), ..world.actor.clone() }
}

fn view(name: &str, query: &str, is_default: bool) -> SavedView {
    SavedView { name: name.into(), query: query.into(), is_default }
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_saved_renamed_replaced_and_deleted_by_their_user_alone() {
    let world = World::new().await;
    let flow = filled(&world, 0).await;
    let (ann, bob) = (user(&world, "ann@x.example").await, user(&world, "bob@x.example").await);
    let of = async |actor: &Actor| world.engine.flow(actor, Scope::Read, flow).await.unwrap();
    let (anns, bobs) = (of(&ann).await, of(&bob).await);
    anns.save_view(view(" b ", "sort=receivedAt", true)).await.unwrap();
    anns.save_view(view("A", "density=compact", false)).await.unwrap();
    let (a, b) = (view("A", "density=compact", false), view("b", "sort=receivedAt", true));
    assert_eq!(anns.saved_views().await.unwrap(), [a.clone(), b.clone()]);
    assert_eq!(bobs.saved_views().await.unwrap(), []);
    bobs.delete_view("A").await.unwrap();
    // Replacing the default keeps it the default.
    anns.save_view(view("b", "sort=version", false)).await.unwrap();
    let b = view("b", "sort=version", true);
    assert_eq!(anns.saved_views().await.unwrap(), [a.clone(), b.clone()]);
    anns.set_default_view(Some("A")).await.unwrap();
    anns.rename_view("b", "c").await.unwrap();
    let c = view("c", "sort=version", false);
    let a = SavedView { is_default: true, ..a };
    assert_eq!(anns.saved_views().await.unwrap(), [a.clone(), c]);
    for refused in [
        anns.rename_view("c", "A").await,
        anns.rename_view("none", "d").await,
        anns.rename_view("c", " ").await,
        anns.set_default_view(Some("none")).await,
        anns.save_view(view(&"x".repeat(61), "", false)).await,
        anns.save_view(view("long", &"x".repeat(6_001), false)).await,
    ] {
        assert!(matches!(refused, Err(AdminError::Invalid(_))), "{refused:?}");
    }
    anns.delete_view("c").await.unwrap();
    anns.set_default_view(None).await.unwrap();
    assert_eq!(anns.saved_views().await.unwrap(), [SavedView { is_default: false, ..a }]);
    for number in 1..VIEWS_MAX {
        anns.save_view(view(&format!("View {number}"), "", false)).await.unwrap();
    }
    let refused = anns.save_view(view("One more", "", false)).await;
    assert!(matches!(refused, Err(AdminError::Invalid(_))), "{refused:?}");
    anns.save_view(view("A", "", false)).await.unwrap();
    // A token has no views.
    let token = Actor { name: "environment".into(), ..world.actor.clone() };
    let tokens = of(&token).await;
    assert_eq!(tokens.saved_views().await.unwrap(), []);
    let refused = tokens.save_view(view("A", "", false)).await;
    assert!(matches!(refused, Err(AdminError::Conflict { code: "not_a_user", .. })));
}

#[tokio::test]
async fn responses_are_sorted_by_the_number_of_their_version() {
    let world = World::new().await;
    let flow = filled(&world, 0).await;
    let handle = world.engine.flow(&world.actor, Scope::Write, flow).await.unwrap();
    let app = handle.app().await.unwrap().detail().await.unwrap();
    let mut versions = vec![handle.current.as_ref().unwrap().flow_version_id];
    for number in 2..=11 {
        let mut next = definition();
        next["title"] = format!("Feedback {number}").into();
        handle.put_draft(next).await.unwrap();
        versions.push(world.publish(flow).await.flow_version_id);
    }
    let view = world.view(&app).await;
    let sent: [usize; 7] = [3, 11, 1, 2, 10, 1, 9];
    for (at, number) in sent.into_iter().enumerate() {
        world.clock.advance_millis(10);
        accepted(world.submit(&view, &body(versions[number - 1], at)).await);
    }
    let handle = world.engine.flow(&world.actor, Scope::Read, flow).await.unwrap();
    for (direction, expected) in [
        (Direction::Ascending, [1, 1, 2, 3, 9, 10, 11]),
        (Direction::Descending, [11, 10, 9, 3, 2, 1, 1]),
    ] {
        let all = ResponseFilter::default();
        let page = sorted(&handle, &all, "version", direction, (0, 10)).await;
        let number = |row: &ResponseRow| {
            1 + versions.iter().position(|id| *id == row.flow_version_id).unwrap()
        };
        let numbers: Vec<usize> = page.rows.iter().map(number).collect();
        assert_eq!(numbers, expected, "{direction:?}");
    }
}
