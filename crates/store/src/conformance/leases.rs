//! Leases of endpoints: who may write, and which endpoints a worker takes; the replies of receivers
//! after an erasure.

use sluice_flow::event::payload::{completed_id, created_id};
use sluice_flow::id::EventId;

use super::endpoints::{LEASE_MILLIS, ONE, TWO, claim, claimed, listed, only, progress, put, save};
use super::events::{query, read, start};
use super::removal::{erasure, invitation, stored, telling, through};
use super::respondents::{known, linked};
use super::world::{Shop, TheStore, apply, at, delivery_row, endpoint_row, flow_row, response_row};
use crate::{
    AnswersOnErasure, Claim, DeliveryRow, EndpointLane, EndpointRow, EndpointWrite, Erasure,
    ErasureTarget, LogEntry, LogQuery, Progress, Saved, Write,
};

pub(super) async fn a_worker_that_lost_its_lease_writes_nothing(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = EndpointRow { due_at: at(10), ..endpoint_row(shop.app()) };
    put(&store, &row).await;
    // The lease ended, and the same worker got the endpoint again: the first lease is over.
    assert_eq!(claimed(&store, ONE, 10).await, [row.endpoint_id]);
    let again = 10 + LEASE_MILLIS;
    assert_eq!(claimed(&store, ONE, again).await, [row.endpoint_id]);
    let late = Progress {
        to: EventId::from_uuid(uuid::Uuid::max()),
        failures: 5,
        deliveries: vec![delivery_row(&row, 1)],
        ..progress(&row, ONE, 10)
    };
    assert!(!save(&store, &late).await);
    let kept = only(&store, &shop).await;
    assert_eq!((kept.cursor, kept.failures), (row.cursor, 0));
    assert_eq!(listed(&store, &row).await, []);
    assert!(save(&store, &progress(&row, ONE, again)).await, "the second lease continues");
}

pub(super) async fn a_worker_that_goes_on_gets_the_settings_of_now(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = EndpointRow { due_at: at(10), ..endpoint_row(shop.app()) };
    put(&store, &row).await;
    claimed(&store, ONE, 10).await;
    let changed = EndpointRow {
        url: "https://new.example/".to_owned(),
        secret: "another secret".to_owned(),
        types: Vec::new(),
        batch: true,
        ..row.clone()
    };
    put(&store, &changed).await;
    let until = at(9_000);
    let goes_on = Progress { lease_until: Some(until), due_at: until, ..progress(&row, ONE, 10) };
    let found = store.save_progress(goes_on).await.unwrap();
    assert_eq!(found, Saved::Done(Box::new(EndpointRow { due_at: until, ..changed })));
}

pub(super) async fn slow_endpoints_take_no_places_of_others(store: TheStore) {
    let shop = Shop::open(&store).await;
    let rows: Vec<EndpointRow> = (0..4)
        .map(|number| EndpointRow { due_at: at(10 + number), ..endpoint_row(shop.app()) })
        .collect();
    for row in &rows {
        put(&store, row).await;
    }
    let [slow, failing, prompt, last] = [0, 1, 2, 3].map(|at| rows[at].endpoint_id);
    // The second one has failed since.
    let taken = Claim { limit: 2, ..claim(TWO, 11) };
    assert_eq!(store.claim_endpoints(taken).await.unwrap().len(), 2);
    for row in &rows[..2] {
        let failing_since = (row.endpoint_id == failing).then(|| at(11));
        let failures = u32::from(failing_since.is_some());
        let done = Progress { failing_since, failures, ..progress(row, TWO, 11) };
        assert!(save(&store, &Progress { due_at: row.due_at, ..done }).await);
    }
    let of = async |lane: EndpointLane, limit: usize| {
        let claim = Claim { lane, limit, slow: vec![slow], ..claim(ONE, 20) };
        let rows = store.claim_endpoints(claim).await.unwrap();
        rows.into_iter().map(|row| row.endpoint_id).collect::<Vec<_>>()
    };
    assert_eq!(of(EndpointLane::Prompt, 1).await, [failing], "one that fails answers promptly");
    assert_eq!(of(EndpointLane::Prompt, 1).await, [prompt], "the slow one is due for longer");
    assert_eq!(of(EndpointLane::Prompt, 9).await, [last]);
    assert_eq!(of(EndpointLane::Slow, 9).await, [slow]);
    assert_eq!(of(EndpointLane::Slow, 9).await, []);
}

pub(super) async fn replies_of_receivers_do_not_outlive_an_erasure(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = endpoint_row(shop.app());
    put(&store, &row).await;
    for (number, answers) in
        [(1_i64, Some(AnswersOnErasure::Keep)), (2, Some(AnswersOnErasure::Delete)), (3, None)]
    {
        let user = format!("user={number}");
        let response = stored(&store, telling(&shop, &store, &user, number).await).await;
        let id = response.response_id;
        let other = DeliveryRow { reply: Some("other".to_owned()), ..delivery_row(&row, number) };
        let of = |event: EventId, millis: i64| DeliveryRow {
            event_id: event,
            reply: Some("hello 7@x.org".to_owned()),
            error: Some("7@x.org".to_owned()),
            ..delivery_row(&row, millis)
        };
        let sent =
            [of(created_id(id), 10 + number), of(completed_id(id), 20 + number), other.clone()];
        let log =
            sent.iter().map(|it| Write::Endpoint(EndpointWrite::Delivery(Box::new(it.clone()))));
        apply(&store, shop.app(), log.collect()).await;
        match answers {
            Some(answers) => {
                let respondent = response.respondent_id.unwrap();
                assert!(store.erase(erasure(&shop, respondent, answers)).await.unwrap().done);
            }
            None => apply(&store, shop.app(), vec![Write::DeleteResponse(id)]).await,
        }
        let texts = async |sent: &DeliveryRow| {
            let ids = (row.app_id, row.endpoint_id, sent.delivery_id);
            let found = store.find_delivery(ids.0, ids.1, ids.2).await.unwrap().unwrap();
            (found.reply, found.error)
        };
        assert_eq!(texts(&sent[0]).await, (None, None), "{answers:?}");
        assert_eq!(texts(&sent[1]).await, (None, None), "{answers:?}");
        assert_eq!(texts(&sent[2]).await.0, other.reply, "of another event");
    }
}

pub(super) async fn a_reply_that_arrives_after_an_erasure_is_not_saved(store: TheStore) {
    let shop = Shop::open(&store).await;
    let other = EndpointRow { due_at: at(50_000), ..endpoint_row(shop.app()) };
    for (number, answers) in
        [(1_i64, Some(AnswersOnErasure::Keep)), (2, Some(AnswersOnErasure::Delete)), (3, None)]
    {
        let row = EndpointRow { due_at: at(10), ..endpoint_row(shop.app()) };
        put(&store, &row).await;
        put(&store, &other).await;
        let user = format!("user={number}");
        let response = stored(&store, telling(&shop, &store, &user, number).await).await;
        let claimed = store.claim_endpoints(claim(ONE, 10)).await.unwrap();
        assert_eq!(claimed.len(), 1);
        let sent = DeliveryRow {
            event_id: created_id(response.response_id),
            reply: Some("hello 7@x.org".to_owned()),
            ..delivery_row(&row, 10 + number)
        };
        let done = Progress { deliveries: vec![sent.clone()], ..progress(&claimed[0], ONE, 10) };
        match answers {
            Some(answers) => {
                let respondent = response.respondent_id.unwrap();
                assert!(store.erase(erasure(&shop, respondent, answers)).await.unwrap().done);
            }
            None => {
                let delete = vec![Write::DeleteResponse(response.response_id)];
                apply(&store, shop.app(), delete).await;
            }
        }
        let refused = store.save_progress(done.clone()).await.unwrap();
        let Saved::RepliesRemoved { removals } = refused else { panic!("{answers:?} {refused:?}") };
        assert_eq!(listed(&store, &row).await, [], "nothing is written");
        // Without a reply nothing is in doubt; and the worker may look what was removed.
        let kept = Progress { removals, ..done };
        let Saved::Done(now) = store.save_progress(kept).await.unwrap() else { panic!() };
        assert_eq!(now.removals, removals);
        assert_eq!(listed(&store, &row).await, [sent]);
        let gone = EndpointWrite::Delete(shop.app(), row.endpoint_id);
        apply(&store, shop.app(), vec![Write::Endpoint(gone)]).await;
    }
    let row = only(&store, &shop).await;
    assert!(row.removals > other.removals, "every endpoint of the app counts");
    claimed(&store, ONE, 50_000).await;
    let silent = DeliveryRow { reply: None, error: None, ..delivery_row(&row, 1) };
    let before = Progress { removals: 0, deliveries: vec![silent], ..progress(&row, ONE, 50_000) };
    assert!(save(&store, &before).await, "without a reply nothing is in doubt");
}

pub(super) async fn replies_about_an_invitation_do_not_outlive_its_invitee(store: TheStore) {
    for target in [None, Some(ErasureTarget::Invitee(known("user=7")))] {
        let shop = Shop::open(&store).await;
        let row = endpoint_row(shop.app());
        put(&store, &row).await;
        let respondent = linked(&shop, &store, &["user=7"], 1).await;
        let invited = invitation(&shop, &store, "7", "").await;
        // Another person answered through the invitation.
        let mut response = through(&shop, &store, &invited, 5).await;
        response.claim = super::respondents::claim(&["user=8"], 5);
        let id = stored(&store, response).await.response_id;
        let mut sent = Vec::new();
        for (event, millis) in [(created_id(id), 10), (completed_id(id), 11)] {
            let reply = Some("for 7".to_owned());
            sent.push(DeliveryRow { event_id: event, reply, ..delivery_row(&row, millis) });
        }
        let log =
            sent.iter().map(|it| Write::Endpoint(EndpointWrite::Delivery(Box::new(it.clone()))));
        apply(&store, shop.app(), log.collect()).await;
        let of_respondent = erasure(&shop, respondent, AnswersOnErasure::Keep);
        let erasure = match target {
            Some(target) => Erasure { target, ..of_respondent },
            None => of_respondent,
        };
        assert!(store.erase(erasure).await.unwrap().done);
        let replies: Vec<_> =
            listed(&store, &row).await.into_iter().map(|it| (it.event_id, it.reply)).collect();
        assert_eq!(replies, [(completed_id(id), None), (created_id(id), None)]);
    }
}

pub(super) async fn a_page_of_the_log_has_a_limit_of_bytes(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut expected = Vec::new();
    for millis in 1..=6 {
        let mut response = shop.response(&store, millis).await;
        response.row.answers = format!(r#"{{"long":"{}"}}"#, "x".repeat(1_000));
        response.row.digest = response.row.digest_of_content();
        expected.push(response.row.response_id);
        stored(&store, response).await;
    }
    for flow_id in [None, Some(shop.flow.flow_id)] {
        for (bytes_max, rows) in [(1, 1), (1_500, 2), (2_500, 3), (1_000_000, 6)] {
            let query = LogQuery { bytes_max, flow_id, ..query(shop.app(), start()) };
            let page = store.read_log(&query).await.unwrap();
            assert_eq!(page.entries.len(), rows, "{bytes_max} bytes");
            assert_eq!(page.has_more, rows < expected.len(), "{bytes_max} bytes");
            let (all, _) = read(&store, query).await;
            let ids = all.iter().map(LogEntry::position).collect::<Vec<_>>();
            assert_eq!(ids, expected.iter().map(|id| created_id(*id)).collect::<Vec<_>>());
        }
    }
}

/// More flows than a store reads one by one.
pub(super) async fn the_log_of_an_app_with_many_flows_is_complete_and_in_order(store: TheStore) {
    const FLOWS: i64 = 70;
    let shop = Shop::open(&store).await;
    let flows: Vec<_> = (0..FLOWS).map(|_| flow_row(shop.app())).collect();
    apply(&store, shop.app(), flows.iter().cloned().map(Write::Flow).collect()).await;
    let mut expected = Vec::new();
    let mut records = Vec::new();
    for round in 0..3_i64 {
        for (number, flow) in (0_i64..).zip(&flows) {
            // Flows take turns; some have only late responses, and one is far apart.
            let millis = 1 + round * 100_000 + (number * 37) % FLOWS;
            let row = response_row(flow, &shop.version, millis);
            expected.push(created_id(row.response_id));
            records.push(crate::Record::Response { row, idempotency_key: None });
        }
    }
    store.import_records(records).await.unwrap();
    expected.sort_unstable();
    for limit in [7, 100, 1_000] {
        let query = LogQuery { limit, ..query(shop.app(), start()) };
        let (found, _) = read(&store, query).await;
        let found: Vec<EventId> = found.iter().map(LogEntry::position).collect();
        assert_eq!(found, expected, "pages of {limit}");
    }
}
