//! Flows, versions, and state derived from them.

use std::sync::Arc;

use sluice_flow::definition::Kind;
use sluice_flow::id::FlowId;
use sluice_flow::time::Window;

use super::world::{Shop, TheStore, apply, at, draft_row, flow_row, published_row};
use crate::{At, FlowQuery, FlowRow, GraceCap, Order, Page, StoreError, VersionRow, Write};

pub(super) async fn a_flow_and_a_version_read_back_as_they_were_given(store: TheStore) {
    let shop = Shop::open(&store).await;
    for kind in [Kind::Survey, Kind::Form, Kind::Message] {
        let mut flow = flow_row(shop.app());
        flow.kind = kind;
        flow.live = Window { starts_at: Some(at(-1)), ends_at: Some(at(2)) };
        flow.grace_window_seconds = Some(0);
        flow.design = Some("{\"font\": \"\u{e9} '\"}".to_owned());
        flow.archived_at = Some(at(3));
        let mut version = published_row(&flow, 4);
        version.times.superseded_at = Some(at(5));
        version.times.grace_ends_at = Some(at(6));
        version.times.retired_at = Some(at(7));
        version.created_at = at(8);
        version.updated_at = at(9);
        version.definition = "{\"title\": \"\u{e9} '\\\"\"}".to_owned();
        let rows = vec![Write::Flow(flow.clone()), Write::Version(version.clone())];
        apply(&store, shop.app(), rows).await;
        let found = store.find_version(version.flow_version_id).await.unwrap().unwrap();
        assert_eq!((found.flow, found.version), (flow, version));
    }
}

pub(super) async fn a_design_is_a_public_setting_of_the_flow(store: TheStore) {
    let shop = Shop::open(&store).await;
    let revision = || store.find_version(shop.version.flow_version_id);
    let mut before = revision().await.unwrap().unwrap().public_revision;
    for design in [Some(r#"{"font":"serif"}"#.to_owned()), None] {
        let flow = FlowRow { design, ..shop.flow.clone() };
        apply(&store, shop.app(), vec![Write::Flow(flow.clone())]).await;
        let found = revision().await.unwrap().unwrap();
        assert_eq!(found.flow, flow);
        assert!(found.public_revision > before, "nodes forget the design before");
        before = found.public_revision;
        assert_eq!(store.find_flow(flow.flow_id).await.unwrap().unwrap().flow, flow);
        let query = FlowQuery::all(shop.app(), Page { after: None, limit: 10 });
        let listed = store.list_flows(&query).await.unwrap();
        assert!(listed.iter().any(|it| it.flow == flow));
    }
}

/// Only the flow or app itself is read with them.
pub(super) async fn lists_read_no_pictures_of_designs(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut app = store.find_app(shop.app()).await.unwrap().unwrap().row;
    let page = Page { after: None, limit: 1_000 };
    for (design, listed) in [
        (r#"{"darkLogo":"data:,dark","font":"serif","logo":"data:,light"}"#, r#"{"font":"serif"}"#),
        (r#"{"logo":"data:,light"}"#, "{}"),
        (r#"{"logo":"none"}"#, r#"{"logo":"none"}"#),
        (r#"{ "font": "mono" }"#, r#"{ "font": "mono" }"#),
    ] {
        let [design, listed] = [design, listed].map(|text| Some(text.to_owned()));
        let flow = FlowRow { design: design.clone(), ..shop.flow.clone() };
        app.hosted.clone_from(&design);
        apply(&store, shop.app(), vec![Write::App(app.clone()), Write::Flow(flow.clone())]).await;
        let found = store.find_flow(flow.flow_id).await.unwrap().unwrap();
        assert_eq!(found.flow, flow);
        let of_app = store.find_app(shop.app()).await.unwrap().unwrap().row;
        assert_eq!(of_app, app);
        let flows = store.list_flows(&FlowQuery::all(shop.app(), page)).await.unwrap();
        let version = store.find_version(shop.version.flow_version_id).await.unwrap().unwrap();
        let in_lists = flows.into_iter().map(|state| state.flow).chain([version.flow]);
        for of_list in in_lists.filter(|it| it.flow_id == flow.flow_id) {
            assert_eq!(of_list, FlowRow { design: listed.clone(), ..flow.clone() });
        }
        let [found] = store.find_apps(&[shop.app()]).await.unwrap().try_into().unwrap();
        assert_eq!(found.row.hosted, listed);
    }
}

/// Each step in the life of a version, and which version is then current, draft and last.
pub(super) async fn the_current_version_is_neither_superseded_nor_retired(store: TheStore) {
    let shop = Shop::open(&store).await;
    let flow = flow_row(shop.app());
    let draft = draft_row(&flow);
    let first = VersionRow { flow_version_id: draft.flow_version_id, ..published_row(&flow, 1) };
    let mut superseded = first.clone();
    superseded.times.superseded_at = Some(at(1));
    superseded.times.grace_ends_at = Some(at(2));
    let second = published_row(&flow, 2);
    let mut retired = second.clone();
    retired.times.retired_at = Some(at(3));
    let next = draft_row(&flow);
    let third = published_row(&flow, 3);
    let steps = [
        ("no version", vec![Write::Flow(flow.clone())], None, None, 0),
        ("a draft", vec![Write::Version(draft.clone())], None, Some(&draft), 0),
        ("published", vec![Write::Version(first.clone())], Some(&first), None, 1),
        ("a new draft", vec![Write::Version(next.clone())], Some(&first), Some(&next), 1),
        (
            "superseded",
            vec![Write::Version(superseded), Write::Version(second.clone())],
            Some(&second),
            Some(&next),
            2,
        ),
        ("retired", vec![Write::Version(retired)], None, Some(&next), 2),
        ("republished", vec![Write::Version(third.clone())], Some(&third), Some(&next), 3),
    ];
    for (step, rows, current, draft, last_number) in steps {
        apply(&store, shop.app(), rows).await;
        let app = store.find_app(shop.app()).await.unwrap().unwrap();
        let state = store.find_flow(flow.flow_id).await.unwrap().unwrap();
        assert_eq!(state.current.as_ref(), current, "{step}");
        assert_eq!(state.draft.as_ref(), draft, "{step}");
        assert_eq!(state.last_number, last_number, "{step}");
        let revisions = (state.revision, state.public_revision);
        assert_eq!(revisions, (app.revision, app.public_revision), "{step}");
        let page = Page { after: Some(shop.flow.flow_id), limit: 10 };
        assert_eq!(
            store.list_flows(&FlowQuery::all(shop.app(), page)).await.unwrap(),
            [state],
            "{step}"
        );
    }
}

pub(super) async fn a_version_is_found_with_the_state_of_its_flow(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut old = shop.version.clone();
    old.times.superseded_at = Some(at(1));
    let (new, draft) = (published_row(&shop.flow, 2), draft_row(&shop.flow));
    let mut app = store.find_app(shop.app()).await.unwrap().unwrap().row;
    app.grace_window_seconds = Some(77);
    let rows = [&old, &new, &draft].map(|row| Write::Version(row.clone()));
    let rows = rows.into_iter().chain([Write::App(app)]).collect();
    apply(&store, shop.app(), rows).await;
    let app = store.find_app(shop.app()).await.unwrap().unwrap();
    for version in [&old, &new, &draft] {
        let found = store.find_version(version.flow_version_id).await.unwrap().unwrap();
        assert_eq!(found.version, *version);
        assert_eq!(found.flow, shop.flow);
        assert_eq!(found.current, Some(new.flow_version_id));
        assert_eq!(found.revision, app.revision);
        assert_eq!(found.public_revision, app.public_revision);
    }
    let state = store.find_flow(shop.flow.flow_id).await.unwrap().unwrap();
    assert_eq!(state.app_grace_window_seconds, Some(77));
}

/// The flow is renamed in step with each publish, so a torn read shows as a wrong name.
pub(super) async fn a_flow_is_read_at_one_instant(store: TheStore) {
    const PUBLISHES: u32 = 40;
    let shop = Shop::open(&store).await;
    let (app, flow_id) = (shop.app(), shop.flow.flow_id);
    let publisher = {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut current = shop.version;
            for number in 2..PUBLISHES {
                let flow = FlowRow { name: format!("at {number}"), ..shop.flow.clone() };
                let next = published_row(&flow, number);
                current.times.superseded_at = Some(at(1));
                let rows =
                    vec![Write::Version(current), Write::Version(next.clone()), Write::Flow(flow)];
                apply(&store, shop.flow.app_id, rows).await;
                current = next;
            }
        })
    };
    while !publisher.is_finished() {
        let page = Page { after: None, limit: 10 };
        let mut states = store.list_flows(&FlowQuery::all(app, page)).await.unwrap();
        states.extend(store.find_flow(flow_id).await.unwrap());
        for state in states {
            let current = state.current.expect("no version is current");
            assert_eq!(state.last_number, current.number);
            if current.number > 1 {
                assert_eq!(state.flow.name, format!("at {}", current.number));
            }
            let version = store.find_version(current.flow_version_id).await.unwrap().unwrap();
            let is_current = version.current == Some(current.flow_version_id);
            assert_eq!(version.version.times.superseded_at.is_none(), is_current);
        }
    }
    publisher.await.unwrap();
}

pub(super) async fn flows_are_listed_in_creation_order(store: TheStore) {
    let (shop, _other) = (Shop::open(&store).await, Shop::open(&store).await);
    let mut made = vec![shop.flow.flow_id];
    for _ in 0..4 {
        let flow = FlowRow { archived_at: Some(at(1)), ..flow_row(shop.app()) };
        made.push(flow.flow_id);
        apply(&store, shop.app(), vec![Write::Flow(flow)]).await;
    }
    let mut listed = Vec::new();
    loop {
        let page = Page { after: listed.last().copied(), limit: 2 };
        let flows = store.list_flows(&FlowQuery::all(shop.app(), page)).await.unwrap();
        assert!(flows.len() <= 2, "a page is longer than its limit");
        listed.extend(flows.iter().map(|state| state.flow.flow_id));
        if flows.is_empty() {
            break;
        }
    }
    assert_eq!(listed, made, "archived flows included, other apps' not");
}

pub(super) async fn flows_are_listed_newest_first_and_without_archived_ones(store: TheStore) {
    let (shop, _other) = (Shop::open(&store).await, Shop::open(&store).await);
    let mut made = vec![(shop.flow.flow_id, false)];
    for archived in [true, false, true, false] {
        let archived_at = archived.then(|| at(1));
        let flow = FlowRow { archived_at, ..flow_row(shop.app()) };
        made.push((flow.flow_id, archived));
        apply(&store, shop.app(), vec![Write::Flow(flow)]).await;
    }
    made.reverse();
    for (archived, order) in [
        (None, Order::Desc),
        (Some(false), Order::Desc),
        (Some(true), Order::Desc),
        (Some(false), Order::Asc),
    ] {
        let passes = |(_, is): &&(_, bool)| archived.is_none_or(|wanted| wanted == *is);
        let mut expected: Vec<_> = made.iter().filter(passes).map(|(id, _)| *id).collect();
        if order == Order::Asc {
            expected.reverse();
        }
        let mut listed = Vec::new();
        loop {
            let after = listed.last().copied();
            let all = FlowQuery::all(shop.app(), Page { after, limit: 2 });
            let query = FlowQuery { archived, order, ..all };
            let flows = store.list_flows(&query).await.unwrap();
            listed.extend(flows.iter().map(|state| state.flow.flow_id));
            if flows.is_empty() {
                break;
            }
        }
        assert_eq!(listed, expected, "{archived:?} {order:?}");
    }
}

pub(super) async fn flows_are_listed_by_one_of_their_labels(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let mut made = vec![(shop.flow.flow_id, vec![])];
    for labels in [&["Team \u{e9}", "x"][..], &["x"], &["X"], &["team", "y\"'"]] {
        let labels: Vec<String> = labels.iter().map(|&label| label.to_owned()).collect();
        let flow = FlowRow { labels: labels.clone(), ..flow_row(shop.app()) };
        let state = (flow.flow_id, labels);
        apply(&store, shop.app(), vec![Write::Flow(flow)]).await;
        let found = store.find_flow(state.0).await.unwrap().unwrap();
        assert_eq!(found.flow.labels, state.1);
        made.push(state);
    }
    let elsewhere = FlowRow { labels: vec!["x".into()], ..flow_row(other.app()) };
    apply(&store, other.app(), vec![Write::Flow(elsewhere)]).await;
    for label in ["x", "X", "Team \u{e9}", "team", "y\"'", "Team", "", "[]"] {
        let has = |labels: &Vec<String>| labels.iter().any(|it| it == label);
        let expected: Vec<_> = made.iter().filter(|(_, it)| has(it)).map(|(id, _)| *id).collect();
        let label = Some(label.to_owned());
        let page = Page { after: None, limit: 10 };
        let query = FlowQuery { label, ..FlowQuery::all(shop.app(), page) };
        let flows = store.list_flows(&query).await.unwrap();
        let found: Vec<_> = flows.iter().map(|state| state.flow.flow_id).collect();
        assert_eq!(found, expected, "{query:?}");
    }
    // Without its labels, a flow is found by none of them.
    let bare =
        FlowRow { labels: Vec::new(), ..store.find_flow(made[1].0).await.unwrap().unwrap().flow };
    apply(&store, shop.app(), vec![Write::Flow(bare)]).await;
    let page = Page { after: None, limit: 1 };
    let query = FlowQuery { label: Some("x".into()), ..FlowQuery::all(shop.app(), page) };
    let flows = store.list_flows(&query).await.unwrap();
    assert_eq!(flows[0].flow.flow_id, made[2].0);
    assert_eq!(flows.len(), 1);
}

pub(super) async fn a_flow_is_found_by_its_key_which_no_other_flow_of_its_app_has(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let key = |key: &str| Some(key.to_owned());
    let keyed = |app, name: &str| FlowRow { key: key(name), ..flow_row(app) };
    let (one, two) = (keyed(shop.app(), "one"), keyed(shop.app(), "One"));
    let elsewhere = keyed(other.app(), "one");
    let rows = [&one, &two].map(|row| Write::Flow(row.clone()));
    apply(&store, shop.app(), rows.into()).await;
    apply(&store, other.app(), vec![Write::Flow(elsewhere.clone())]).await;
    let found = async |app, name: &str| -> Vec<FlowId> {
        let page = Page { after: None, limit: 10 };
        let query = FlowQuery { key: key(name), ..FlowQuery::all(app, page) };
        let flows = store.list_flows(&query).await.unwrap();
        flows.iter().map(|state| state.flow.flow_id).collect()
    };
    assert_eq!(found(shop.app(), "one").await, [one.flow_id]);
    assert_eq!(found(shop.app(), "One").await, [two.flow_id]);
    assert_eq!(found(other.app(), "one").await, [elsewhere.flow_id]);
    assert_eq!(found(shop.app(), "on").await, []);
    let page = Page { after: None, limit: 10 };
    let labelled =
        FlowQuery { label: key("x"), key: key("one"), ..FlowQuery::all(shop.app(), page) };
    assert_eq!(store.list_flows(&labelled).await.unwrap(), []);
    // Neither a new flow nor an existing one can have the key of another.
    let app = store.find_app(shop.app()).await.unwrap().unwrap();
    for row in [keyed(shop.app(), "one"), FlowRow { key: key("one"), ..two.clone() }] {
        let at = At::App { app: shop.app(), expected: app.revision };
        let refused = store.apply(at, vec![Write::Flow(row)].into()).await;
        assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    }
    assert_eq!(found(shop.app(), "one").await, [one.flow_id]);
    // A key is free again once its flow has another or none.
    apply(&store, shop.app(), vec![Write::Flow(FlowRow { key: None, ..one })]).await;
    apply(&store, shop.app(), vec![Write::Flow(FlowRow { key: key("one"), ..two.clone() })]).await;
    assert_eq!(found(shop.app(), "one").await, [two.flow_id]);
    assert_eq!(store.find_flow(two.flow_id).await.unwrap().unwrap().flow.key, key("one"));
}

pub(super) async fn published_versions_are_listed_by_descending_number(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut retired = published_row(&shop.flow, 3);
    retired.times.retired_at = Some(at(1));
    let of_other_flow = flow_row(shop.app());
    let rows = vec![
        Write::Version(published_row(&shop.flow, 2)),
        Write::Version(retired),
        Write::Version(draft_row(&shop.flow)),
        Write::Version(published_row(&of_other_flow, 9)),
        Write::Flow(of_other_flow),
    ];
    apply(&store, shop.app(), rows).await;
    for (before, limit, expected) in [
        (None, 10, &[3, 2, 1][..]),
        (None, 2, &[3, 2]),
        (Some(3), 10, &[2, 1]),
        (Some(2), 1, &[1]),
        (Some(1), 10, &[]),
    ] {
        let rows = store.list_versions(shop.app(), shop.flow.flow_id, before, limit).await;
        let numbers: Vec<_> = rows.unwrap().iter().map(|row| row.number).collect();
        assert_eq!(numbers, expected, "before {before:?}, limit {limit}");
    }
}

/// Versions in every state of grace, of this flow and of others: a cap acts on each as the pure
/// rule does, and on nothing else.
pub(super) async fn a_grace_cap_shortens_later_graces_and_extends_none(store: TheStore) {
    const NOW: i64 = 10;
    let shop = Shop::open(&store).await;
    let of_other_flow = flow_row(shop.app());
    let mut rows = vec![Write::Flow(of_other_flow.clone())];
    let mut versions = Vec::new();
    for (number, (grace_ends_at, retired_at)) in
        (2..).zip([(15, None), (20, None), (25, None), (90, None), (90, Some(at(5)))])
    {
        let mut version = published_row(&shop.flow, number);
        version.times.superseded_at = Some(at(5));
        version.times.grace_ends_at = Some(at(grace_ends_at));
        version.times.retired_at = retired_at;
        let other = VersionRow {
            flow_id: of_other_flow.flow_id,
            flow_version_id: draft_row(&of_other_flow).flow_version_id,
            ..version.clone()
        };
        let capped = version.times.superseded(at(NOW), at(20));
        versions.push((version.flow_version_id, capped));
        versions.push((other.flow_version_id, other.times));
        rows.extend([version, other].map(Write::Version));
    }
    // A version that was never superseded, and a draft.
    let draft = draft_row(&shop.flow);
    versions.push((shop.version.flow_version_id, shop.version.times));
    versions.push((draft.flow_version_id, draft.times));
    rows.push(Write::Version(draft));
    apply(&store, shop.app(), rows).await;

    let before = store.find_app(shop.app()).await.unwrap().unwrap().public_revision;
    let (app_id, flow_id) = (shop.app(), shop.flow.flow_id);
    let cap = Write::CapGrace(GraceCap { app_id, flow_id, ends_at: at(20) });
    apply(&store, shop.app(), vec![cap]).await;
    for (id, times) in versions {
        let found = store.find_version(id).await.unwrap().unwrap();
        assert_eq!(found.version.times, times, "version {}", found.version.number);
        assert!(found.public_revision > before, "the change is not public");
    }
}
