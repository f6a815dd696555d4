//! Expired data of an app is removed in bounded batches.

use std::sync::Arc;

use sluice_flow::id::AppId;
use sluice_flow::invitation::{InvitationTimes, Invitee};

use super::removal::{KEY, erasure, invitation, stored, telling};
use super::respondents::{all_of, consents, known, linked};
use super::world::{Shop, TheStore, apply, at, audit_row, invitation_row, listed};
use crate::{
    AnswersOnErasure, AppRow, AuditQuery, AuditRow, Expired, Expiry, ExpiryCursor, InvitationRow,
    InvitationStep, Next, Outcome, Page, RetainingApp, Write,
};

/// The results of all batches of an expiry, until it ends or is left to another process.
async fn parts(
    store: &TheStore,
    app_id: AppId,
    before: i64,
    limit: usize,
    audit: AuditRow,
) -> Vec<Expired> {
    let mut cursor = ExpiryCursor::default();
    let mut parts = Vec::new();
    for _ in 0..100 {
        let audit = audit.clone();
        let expiry =
            Expiry { app_id, retention_days: None, before: at(before), cursor, audit, limit };
        let part = store.expire(expiry).await.unwrap();
        assert!(part.responses <= limit as u64 && part.invitations <= limit as u64);
        parts.push(part);
        match part.next {
            Next::At(next) => cursor = next,
            Next::Done | Next::LeftToAnother | Next::SettingChanged => return parts,
        }
    }
    panic!("the expiry does not end");
}

/// Expires in batches until nothing is left; returns the numbers of removed responses and
/// respondents.
async fn expire(store: &TheStore, shop: &Shop, before: i64, limit: usize) -> (u64, u64) {
    let app = shop.app();
    let parts = parts(store, app, before, limit, audit_row(Some(app))).await;
    assert_eq!(parts.last().unwrap().next, Next::Done);
    let sum = |of: fn(&Expired) -> u64| parts.iter().map(of).sum();
    (sum(|part| part.responses), sum(|part| part.respondents))
}

pub(super) async fn apps_that_may_have_something_too_old_are_listed(store: TheStore) {
    const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
    let mut shops = Vec::new();
    for retention_days in [None, Some(2), Some(4), Some(2)] {
        let shop = Shop::open(&store).await;
        let row = store.find_app(shop.app()).await.unwrap().unwrap().row;
        apply(&store, shop.app(), vec![Write::App(AppRow { retention_days, ..row })]).await;
        shops.push(shop);
    }
    for shop in &shops[..3] {
        shop.store(&store, 0, "").await;
    }
    // The last app has no response, but an invitation that has ended.
    let mut ended = invitation_row(&shops[3].flow);
    ended.times.expires_at = Some(at(0));
    apply(&store, shops[3].app(), vec![Write::Invitations(vec![ended])]).await;
    let list = async |days, after, limit| {
        let page = Page { after, limit };
        store.list_retaining_apps(at(days * DAY_MILLIS + 1), page).await.unwrap()
    };
    let ids = |apps: &[RetainingApp]| apps.iter().map(|it| it.app_id).collect::<Vec<_>>();
    let all = list(3, None, 10).await;
    assert_eq!(ids(&all), shops[1..].iter().map(Shop::app).collect::<Vec<_>>());
    assert_eq!(all.iter().map(|it| it.retention_days).collect::<Vec<_>>(), [2, 4, 2]);
    assert!(all[0].is_due && all[2].is_due, "{all:?}");
    assert!(list(5, None, 10).await.iter().all(|it| it.is_due));
    assert_eq!(ids(&list(3, None, 1).await), [shops[1].app()]);
    assert_eq!(ids(&list(3, Some(shops[1].app()), 1).await), [shops[2].app()]);
    assert_eq!(all[1].kept_since(at(5 * DAY_MILLIS)), at(DAY_MILLIS));
}

pub(super) async fn responses_received_before_a_time_expire_with_their_keys(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let mut kept = Vec::new();
    for (number, millis) in (0..).zip([1, 5, 9, 10, 11]) {
        let mut response = shop.response(&store, millis).await;
        response.idempotency_key = Some([number; 16]);
        let id = response.row.response_id;
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
        kept.extend((millis >= 10).then_some(id));
    }
    let theirs = other.store(&store, 1, "").await;
    assert_eq!(expire(&store, &shop, 10, 2).await, (3, 0));
    assert_eq!(listed(&store, &shop.query()).await, kept);
    assert_eq!(listed(&store, &other.query()).await, [theirs], "another app was affected");
    for (number, taken) in (0..).zip([false, false, false, true, true]) {
        let found = store.find_by_idempotency_key(shop.app(), &[number; 16]).await.unwrap();
        assert_eq!(found.is_some(), taken, "{number}");
    }
    assert_eq!(expire(&store, &shop, 10, 2).await, (0, 0), "a second expiry removed something");
}

pub(super) async fn an_expiry_stops_when_the_app_has_another_retention(store: TheStore) {
    let shop = Shop::open(&store).await;
    for millis in 1..=3 {
        shop.store(&store, millis, "").await;
    }
    let set = async |retention_days| {
        let row = store.find_app(shop.app()).await.unwrap().unwrap().row;
        apply(&store, shop.app(), vec![Write::App(AppRow { retention_days, ..row })]).await;
    };
    let part = async || {
        let (app_id, retention_days) = (shop.app(), Some(2));
        let (audit, cursor) = (audit_row(Some(app_id)), ExpiryCursor::default());
        let expiry = Expiry { app_id, retention_days, before: at(10), cursor, audit, limit: 1 };
        store.expire(expiry).await.unwrap()
    };
    set(Some(2)).await;
    assert_eq!(part().await.responses, 1);
    for changed in [Some(3), None] {
        set(changed).await;
        let stopped = part().await;
        assert_eq!((stopped.rows, stopped.next), (0, Next::SettingChanged), "{changed:?}");
    }
    assert_eq!(listed(&store, &shop.query()).await.len(), 2);
}

pub(super) async fn a_respondent_expires_with_the_last_consent(store: TheStore) {
    let shop = Shop::open(&store).await;
    for (user, millis) in [("user=old", 1), ("user=both", 2), ("user=both", 20), ("user=new", 21)] {
        linked(&shop, &store, &[user], millis).await;
    }
    assert_eq!(expire(&store, &shop, 10, 1).await, (2, 1));
    let left = all_of(&store, &shop).await;
    let users: Vec<_> = left.iter().map(|it| it.identities[0].value.as_str()).collect();
    assert_eq!(users, ["both", "new"]);
    assert_eq!(consents(&store, &shop, left[0].row.respondent_id).await.len(), 1);
    assert_eq!(store.find_respondent_by(shop.app(), &known("user=old")).await.unwrap(), None);
}

pub(super) async fn marks_of_keys_expire_with_their_time(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut first = telling(&shop, &store, "user=7", 1).await;
    first.idempotency_key = Some(KEY);
    let row = stored(&store, first).await;
    let erasure = erasure(&shop, row.respondent_id.unwrap(), AnswersOnErasure::Delete);
    store.erase(erasure).await.unwrap();
    assert_eq!(expire(&store, &shop, 1, 5).await, (0, 0));
    assert!(store.find_by_idempotency_key(shop.app(), &KEY).await.unwrap().is_some());
    assert_eq!(expire(&store, &shop, 2, 5).await, (0, 0));
    assert_eq!(store.find_by_idempotency_key(shop.app(), &KEY).await.unwrap(), None);
}

pub(super) async fn people_who_are_still_invited_do_not_expire(store: TheStore) {
    let shop = Shop::open(&store).await;
    for (user, millis) in [("user=plain", 1), ("user=invited", 2), ("mail=Invited@x.org", 3)] {
        linked(&shop, &store, &[user], millis).await;
    }
    let by_user = invitation(&shop, &store, "invited", "").await;
    let by_email = invitation(&shop, &store, "", "INVITED@x.org").await;
    let revoke = |row: &InvitationRow, millis| {
        let (app, assignment) = (shop.app(), row.assignment_id);
        vec![Write::Invitation(InvitationStep::Revoke { app, assignment, at: at(millis) })]
    };
    apply(&store, shop.app(), revoke(&by_email, 12)).await;
    assert_eq!(expire(&store, &shop, 10, 1).await, (3, 1));
    assert_eq!(all_of(&store, &shop).await.len(), 2);
    assert_eq!(expire(&store, &shop, 13, 1).await, (0, 1), "an ended invitation kept the profile");
    let now = store.find_invitation(by_email.assignment_id, None).await.unwrap().unwrap();
    assert_eq!(now.invitee, Invitee::default(), "the invitation still names the invitee");
    let now = store.find_invitation(by_user.assignment_id, None).await.unwrap().unwrap();
    assert_eq!(now, by_user);
    apply(&store, shop.app(), revoke(&by_user, 20)).await;
    assert_eq!(expire(&store, &shop, 21, 5).await, (0, 1));
    assert_eq!(all_of(&store, &shop).await, []);
}

pub(super) async fn kept_consents_are_read_once(store: TheStore) {
    let shop = Shop::open(&store).await;
    for number in 1..=6 {
        let user = format!("user={number}");
        linked(&shop, &store, &[&user], number).await;
        if number != 4 {
            invitation(&shop, &store, &number.to_string(), "").await;
        }
    }
    let app = shop.app();
    let parts = parts(&store, app, 10, 2, audit_row(Some(app))).await;
    let consents = parts.iter().filter(|part| part.responses == 0);
    // Six consents are three batches and an empty one; the keys, the invitations, the events and
    // the end of the responses are one each.
    assert_eq!(consents.count(), 8, "{parts:?}");
    assert_eq!(parts.iter().map(|part| part.respondents).sum::<u64>(), 1);
    assert_eq!(all_of(&store, &shop).await.len(), 5);
}

pub(super) async fn ended_invitations_are_anonymised_in_batches(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let none = InvitationTimes::default();
    let ended = [
        InvitationTimes { expires_at: Some(at(1)), ..none },
        InvitationTimes { revoked_at: Some(at(2)), expires_at: Some(at(50)), ..none },
        InvitationTimes { completed_at: Some(at(2)), ..none },
        InvitationTimes { revoked_at: Some(at(2)), ..none },
        InvitationTimes { expires_at: Some(at(9)), ..none },
    ];
    let lasting = [
        none,
        InvitationTimes { expires_at: Some(at(10)), ..none },
        InvitationTimes { completed_at: Some(at(11)), expires_at: Some(at(3)), ..none },
    ];
    let with =
        |times: &InvitationTimes| InvitationRow { times: *times, ..invitation_row(&shop.flow) };
    let ended: Vec<_> = ended.iter().map(with).collect();
    let mut lasting: Vec<_> = lasting.iter().map(with).collect();
    let rows = ended.iter().chain(&lasting).cloned().collect();
    apply(&store, shop.app(), vec![Write::Invitations(rows)]).await;
    let theirs = InvitationRow { times: ended[0].times, ..invitation_row(&other.flow) };
    apply(&store, other.app(), vec![Write::Invitations(vec![theirs.clone()])]).await;
    lasting.push(theirs);
    for (limit, forgotten) in [(2, vec![2, 2, 1]), (2, vec![])] {
        let app = shop.app();
        let parts = parts(&store, app, 10, limit, audit_row(Some(app))).await;
        let parts: Vec<_> = parts.iter().map(|it| it.invitations).filter(|it| *it > 0).collect();
        assert_eq!(parts, forgotten);
    }
    for row in ended {
        let now = store.find_invitation(row.assignment_id, None).await.unwrap().unwrap();
        assert_eq!((&now.invitee, now.response_id), (&Invitee::default(), None));
        assert_eq!(
            now.times.state(at(10)),
            row.times.state(at(10)),
            "the state of an invitation changed"
        );
    }
    for row in lasting {
        assert_eq!(store.find_invitation(row.assignment_id, None).await.unwrap(), Some(row));
    }
}

pub(super) async fn an_expiry_is_recorded_if_it_removed_anything(store: TheStore) {
    let shop = Shop::open(&store).await;
    let app = shop.app();
    let query = AuditQuery { app_id: Some(app), after: None, limit: 10 };
    for millis in 1..=3 {
        linked(&shop, &store, &["user=7"], millis).await;
    }
    parts(&store, app, 1, 2, audit_row(Some(app))).await;
    assert_eq!(
        store.list_audit(&query).await.unwrap(),
        [],
        "an entry although nothing was that old"
    );
    let audit = audit_row(Some(app));
    let cursor = ExpiryCursor::default();
    let first = Expiry {
        app_id: app,
        retention_days: None,
        before: at(10),
        cursor,
        audit: audit.clone(),
        limit: 2,
    };
    assert_eq!(store.expire(first).await.unwrap().responses, 2);
    let entries = store.list_audit(&query).await.unwrap();
    assert_eq!(entries, std::slice::from_ref(&audit), "an interrupted expiry was not recorded");
    parts(&store, app, 10, 2, audit.clone()).await;
    assert_eq!(store.list_audit(&query).await.unwrap(), [audit], "not one entry for all batches");
}

pub(super) async fn consents_outlive_the_responses_under_concurrent_expiry(store: TheStore) {
    const PEOPLE: usize = 40;
    let shop = Shop::open(&store).await;
    for number in 0..PEOPLE {
        let user = format!("user={number}");
        linked(&shop, &store, &[&user], i64::try_from(number).unwrap()).await;
    }
    let (app, query) = (shop.app(), shop.query());
    let mut nodes = Vec::new();
    for _ in 0..4 {
        let (store, query) = (Arc::clone(&store), query.clone());
        nodes.push(tokio::spawn(async move {
            let mut cursor = ExpiryCursor::default();
            loop {
                let audit = audit_row(Some(app));
                let expiry = Expiry {
                    app_id: app,
                    retention_days: None,
                    before: at(1_000),
                    cursor,
                    audit,
                    limit: 3,
                };
                let part = store.expire(expiry).await.unwrap();
                let page = crate::Page { after: None, limit: PEOPLE };
                let profiles = store.list_respondents(app, page).await.unwrap().len();
                // The profiles were counted first: if one is gone, no response may be left.
                if profiles < PEOPLE {
                    assert_eq!(listed(&store, &query).await, [], "responses without a profile");
                }
                match part.next {
                    Next::At(next) => cursor = next,
                    Next::Done | Next::LeftToAnother | Next::SettingChanged => return part.next,
                }
            }
        }));
    }
    let mut ends = Vec::new();
    for node in nodes {
        ends.push(node.await.unwrap());
    }
    assert!(ends.contains(&Next::Done), "no expiry ran to the end: {ends:?}");
    assert_eq!(listed(&store, &query).await, []);
    assert_eq!(all_of(&store, &shop).await, []);
}
