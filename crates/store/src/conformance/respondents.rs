//! Respondents: how a response is linked to its profile, and what is stored.

use std::sync::Arc;

use sluice_flow::id::RespondentId;
use sluice_flow::respondent::{
    Claim, IDENTITIES_PER_RESPONDENT_MAX, IdentityType, ProfileIdentity,
};
use sluice_flow::submission::{Identity, identities_json};

use super::world::{Shop, TheStore, apply, at, flow_row, respondent_id};
use crate::{ConsentRow, NewResponse, Outcome, Page, Respondent, Write};

/// A claim of identities written as `user=…` and `mail=…`.
pub(super) fn claim(texts: &[&str], millis: i64) -> Option<Box<Claim>> {
    let identities: Vec<Identity> = texts.iter().map(|text| identity(text)).collect();
    let mut claim = Claim::from_identities(&identities).unwrap();
    claim.new_id = respondent_id(millis);
    Some(Box::new(claim))
}

fn identity(text: &str) -> Identity<'_> {
    let (kind, value) = text.split_once('=').unwrap();
    let kind = if kind == "user" { "userId" } else { "traits.email" };
    Identity { kind: kind.into(), value: value.into() }
}

pub(super) fn known(text: &str) -> ProfileIdentity {
    let Identity { kind, value } = identity(text);
    ProfileIdentity::new(IdentityType::named(&kind).unwrap(), &value)
}

/// A response of the shop with a claim.
pub(super) async fn claiming(
    shop: &Shop,
    store: &TheStore,
    texts: &[&str],
    millis: i64,
) -> NewResponse {
    let mut response = shop.response(store, millis).await;
    let identities: Vec<Identity> = texts.iter().map(|text| identity(text)).collect();
    response.row.identities = Some(identities_json(&identities));
    response.claim = claim(texts, millis);
    response
}

pub(super) async fn whose(store: &TheStore, response: &NewResponse) -> Option<RespondentId> {
    let row = store.find_response(response.row.response_id).await.unwrap().unwrap();
    row.respondent_id
}

/// Stores a response with a claim and returns the respondent it was linked to.
pub(super) async fn linked(
    shop: &Shop,
    store: &TheStore,
    texts: &[&str],
    millis: i64,
) -> RespondentId {
    let response = claiming(shop, store, texts, millis).await;
    assert_eq!(store.commit(vec![response.clone()]).await.unwrap(), [Outcome::Stored]);
    whose(store, &response).await.unwrap()
}

pub(super) async fn all_of(store: &TheStore, shop: &Shop) -> Vec<Respondent> {
    store.list_respondents(shop.app(), Page { after: None, limit: 100 }).await.unwrap()
}

pub(super) async fn consents(
    store: &TheStore,
    shop: &Shop,
    respondent: RespondentId,
) -> Vec<ConsentRow> {
    let page = Page { after: None, limit: 100 };
    store.list_consents(shop.app(), respondent, page).await.unwrap()
}

/// The pure crate tests the table of rules; this tests that a backend applies them.
pub(super) async fn a_claim_is_linked_by_the_rules(store: TheStore) {
    let shop = Shop::open(&store).await;
    let anna = linked(&shop, &store, &["user=a", "mail=a@x.org"], 1).await;
    let address = linked(&shop, &store, &["mail=M@x.org"], 2).await;
    assert_ne!(anna, address);
    for (millis, texts, expected) in [
        (3, &["user=a"][..], Some(anna)),
        (4, &["mail=A@X.org"], Some(anna)),
        (5, &["user=a", "mail=new@x.org"], Some(anna)),
        (6, &["mail=new@x.org"], Some(anna)),
        (7, &["user=a", "mail=m@x.org"], Some(anna)),
        (8, &["mail=m@x.org"], Some(address)),
        (9, &["user=m", "mail=m@x.org"], Some(address)),
        (10, &["user=m"], Some(address)),
        (11, &["user=z", "mail=m@x.org"], None),
        (12, &["user=A"], None),
    ] {
        let found = linked(&shop, &store, texts, millis).await;
        match expected {
            Some(expected) => assert_eq!(found, expected, "{texts:?}"),
            None => assert!(found != anna && found != address, "{texts:?}"),
        }
    }
    let profile = store.find_respondent(anna).await.unwrap().unwrap();
    let expected = ["user=a", "mail=a@x.org", "mail=new@x.org"].map(known);
    assert_eq!(profile.identities, expected);
    let profile = store.find_respondent(address).await.unwrap().unwrap();
    assert_eq!(profile.identities, ["user=m", "mail=m@x.org"].map(known));
    assert_eq!(all_of(&store, &shop).await.len(), 4);
}

pub(super) async fn a_stored_claim_creates_a_profile_with_its_consent(store: TheStore) {
    let shop = Shop::open(&store).await;
    let response = claiming(&shop, &store, &["user=7"], 5).await;
    let new_id = response.claim.as_ref().unwrap().new_id;
    assert_eq!(store.commit(vec![response.clone()]).await.unwrap(), [Outcome::Stored]);
    assert_eq!(whose(&store, &response).await, Some(new_id));
    let found = store.find_respondent_by(shop.app(), &known("user=7")).await.unwrap();
    assert_eq!(found, Some(new_id));
    let profile = store.find_respondent(new_id).await.unwrap().unwrap();
    assert_eq!(profile.row.app_id, shop.app());
    assert_eq!(profile.identities, [known("user=7")]);
    assert_eq!(profile.seen, Some((at(5), at(5))));
    assert_eq!(profile.flows, [(shop.flow.flow_id, 1)]);
    let consent = ConsentRow {
        app_id: shop.app(),
        response_id: response.row.response_id,
        respondent_id: new_id,
        flow_id: shop.flow.flow_id,
        flow_version_id: shop.version.flow_version_id,
    };
    assert_eq!(consents(&store, &shop, new_id).await, [consent]);
    let later = linked(&shop, &store, &["user=7"], 9).await;
    assert_eq!(later, new_id);
    let profile = store.find_respondent(new_id).await.unwrap().unwrap();
    assert_eq!((profile.seen, profile.flows[0].1), (Some((at(5), at(9))), 2));
}

pub(super) async fn without_a_claim_no_profile_is_created(store: TheStore) {
    let shop = Shop::open(&store).await;
    shop.store(&store, 1, "").await;
    assert_eq!(all_of(&store, &shop).await, []);
    assert_eq!(store.find_respondent(respondent_id(1)).await.unwrap(), None);
    let nobody = store.find_respondent_by(shop.app(), &known("user=7")).await.unwrap();
    assert_eq!(nobody, None);
}

pub(super) async fn claims_of_one_call_see_each_other(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut batch = Vec::new();
    let sent: [&[&str]; 5] = [
        &["mail=a@x.org"],
        &["user=a", "mail=a@x.org"],
        &["user=z", "mail=a@x.org"],
        &["user=a"],
        &["user=z"],
    ];
    for (millis, texts) in (1..).zip(sent) {
        batch.push(claiming(&shop, &store, texts, millis).await);
    }
    let outcomes = store.commit(batch.clone()).await.unwrap();
    assert_eq!(outcomes, [Outcome::Stored; 5]);
    let mut found = Vec::new();
    for response in &batch {
        found.push(whose(&store, response).await.unwrap());
    }
    assert_eq!([found[1], found[3]], [found[0]; 2], "{found:?}");
    assert_eq!(found[4], found[2], "{found:?}");
    assert_ne!(found[2], found[0]);
    assert_eq!(all_of(&store, &shop).await.len(), 2);
}

pub(super) async fn a_row_that_is_not_stored_creates_no_profile(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut first = shop.response(&store, 1).await;
    first.idempotency_key = Some([4; 16]);
    let id = first.row.response_id;
    let mut replay = claiming(&shop, &store, &["user=replay"], 2).await;
    (replay.idempotency_key, replay.row.digest) = (Some([4; 16]), first.row.digest);
    let mut reused = claiming(&shop, &store, &["user=reused"], 3).await;
    reused.idempotency_key = Some([4; 16]);
    let mut stale = claiming(&shop, &store, &["user=stale"], 4).await;
    stale.public_revision -= 1;
    let outcomes = store.commit(vec![first, replay, reused, stale]).await.unwrap();
    let expected = [Outcome::Stored, Outcome::Replayed(id), Outcome::KeyReused, Outcome::Stale];
    assert_eq!(outcomes, expected);
    assert_eq!(all_of(&store, &shop).await, []);
}

pub(super) async fn respondents_belong_to_one_app(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let mine = linked(&shop, &store, &["user=7"], 1).await;
    let theirs = linked(&other, &store, &["user=7"], 2).await;
    assert_ne!(mine, theirs);
    for (shop, own, foreign) in [(&shop, mine, theirs), (&other, theirs, mine)] {
        let found = store.find_respondent_by(shop.app(), &known("user=7")).await.unwrap();
        assert_eq!(found, Some(own));
        let all = all_of(&store, shop).await;
        assert_eq!(all.iter().map(|it| it.row.respondent_id).collect::<Vec<_>>(), [own]);
        assert_eq!(consents(&store, shop, foreign).await, []);
    }
}

pub(super) async fn concurrent_commits_for_one_new_identity_create_one_profile(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut callers = Vec::new();
    for millis in 0..40 {
        let response = claiming(&shop, &store, &["user=7", "mail=7@x.org"], millis).await;
        let store = Arc::clone(&store);
        callers.push(tokio::spawn(async move {
            assert_eq!(store.commit(vec![response.clone()]).await.unwrap(), [Outcome::Stored]);
            whose(&store, &response).await.unwrap()
        }));
    }
    let mut found = Vec::new();
    for caller in callers {
        found.push(caller.await.unwrap());
    }
    found.sort();
    found.dedup();
    let all = all_of(&store, &shop).await;
    assert_eq!(all.iter().map(|it| it.row.respondent_id).collect::<Vec<_>>(), found);
    assert_eq!(found.len(), 1, "more than one profile");
    assert_eq!(consents(&store, &shop, found[0]).await.len(), 40);
}

pub(super) async fn batches_that_claim_the_same_in_different_orders_do_not_deadlock(
    store: TheStore,
) {
    const PEOPLE: i64 = 12;
    let shop = Shop::open(&store).await;
    let mut callers = Vec::new();
    for caller in 0..6 {
        let mut batch = Vec::new();
        for number in 0..PEOPLE {
            let person = if caller % 2 == 0 { number } else { PEOPLE - 1 - number };
            let texts = [format!("user={person}"), format!("mail={person}@x.org")];
            let texts = [texts[0].as_str(), texts[1].as_str()];
            batch.push(claiming(&shop, &store, &texts, caller * PEOPLE + number).await);
        }
        let store = Arc::clone(&store);
        callers.push(tokio::spawn(async move { store.commit(batch).await }));
    }
    for caller in callers {
        let outcomes = caller.await.unwrap().unwrap();
        assert!(outcomes.iter().all(|it| *it == Outcome::Stored), "{outcomes:?}");
    }
    assert_eq!(all_of(&store, &shop).await.len(), 12);
}

pub(super) async fn respondents_are_listed_in_id_order(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut expected = Vec::new();
    for (millis, user) in [(3, "user=c"), (1, "user=a"), (2, "user=b")] {
        expected.push(linked(&shop, &store, &[user], millis).await);
    }
    expected.sort();
    for limit in [1, 2, 10] {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = store.list_respondents(shop.app(), Page { after, limit }).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            after = Some(last.row.respondent_id);
            all.extend(page);
        }
        let ids: Vec<_> = all.iter().map(|it| it.row.respondent_id).collect();
        assert_eq!(ids, expected, "pages of {limit}");
        let users: Vec<_> = all.iter().map(|it| it.identities[0].value.as_str()).collect();
        assert_eq!(users, ["a", "b", "c"]);
        let seen: Vec<_> = all.iter().map(|it| it.seen.unwrap().1).collect();
        assert_eq!(seen, [at(1), at(2), at(3)]);
    }
}

pub(super) async fn consents_outlive_a_deleted_response(store: TheStore) {
    let shop = Shop::open(&store).await;
    let first = linked(&shop, &store, &["user=7"], 1).await;
    let response = consents(&store, &shop, first).await[0].response_id;
    apply(&store, shop.app(), vec![Write::DeleteResponse(response)]).await;
    assert_eq!(consents(&store, &shop, first).await.len(), 1);
    let page = Page { after: None, limit: 10 };
    assert_eq!(store.list_responses_of(shop.app(), first, page).await.unwrap(), []);
    assert_eq!(store.find_respondent(first).await.unwrap().unwrap().flows, []);
}

pub(super) async fn responses_of_a_respondent_are_listed_across_flows_page_by_page(
    store: TheStore,
) {
    let shop = Shop::open(&store).await;
    let other = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(other.clone())]).await;
    let mut expected = Vec::new();
    for millis in 1..=5 {
        let mut response = claiming(&shop, &store, &["user=7"], millis).await;
        if millis % 2 == 0 {
            response.row.flow_id = other.flow_id;
        }
        assert_eq!(store.commit(vec![response.clone()]).await.unwrap(), [Outcome::Stored]);
        expected.push(response.row.response_id);
        linked(&shop, &store, &["user=somebody else"], millis).await;
    }
    let whose = store.find_respondent_by(shop.app(), &known("user=7")).await.unwrap().unwrap();
    for limit in [1, 2, 10] {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = Page { after, limit };
            let page = store.list_responses_of(shop.app(), whose, page).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.response_id);
            all.extend(page.iter().map(|row| row.response_id));
        }
        assert_eq!(all, expected, "pages of {limit}");
    }
    let flows = store.find_respondent(whose).await.unwrap().unwrap().flows;
    assert_eq!(flows, [(shop.flow.flow_id, 3), (other.flow_id, 2)]);
}

async fn addresses_of(store: &TheStore, respondent: RespondentId) -> usize {
    let profile = store.find_respondent(respondent).await.unwrap().unwrap();
    profile.identities.len()
}

pub(super) async fn a_full_profile_accepts_every_response_but_no_further_address(store: TheStore) {
    let shop = Shop::open(&store).await;
    let respondent = linked(&shop, &store, &["user=a"], 1).await;
    for millis in 2..=40 {
        let address = format!("mail={millis}@x.org");
        let response = claiming(&shop, &store, &["user=a", &address], millis).await;
        assert_eq!(store.commit(vec![response.clone()]).await.unwrap(), [Outcome::Stored]);
        let row = store.find_response(response.row.response_id).await.unwrap().unwrap();
        assert_eq!(row.respondent_id, Some(respondent), "{address}");
        assert_eq!(
            row.identities, response.row.identities,
            "the response does not keep what was sent"
        );
    }
    assert_eq!(addresses_of(&store, respondent).await, IDENTITIES_PER_RESPONDENT_MAX);
    assert_eq!(consents(&store, &shop, respondent).await.len(), 40);
    let stranger = linked(&shop, &store, &["mail=40@x.org"], 41).await;
    assert_ne!(stranger, respondent, "an address that was not added does not find the profile");
}

pub(super) async fn concurrent_commits_do_not_overfill_a_profile(store: TheStore) {
    let shop = Shop::open(&store).await;
    let respondent = linked(&shop, &store, &["user=a"], 1).await;
    let mut commits = Vec::new();
    for batch in 0..10 {
        let mut responses = Vec::new();
        for number in 0..6 {
            let (address, millis) =
                (format!("mail={batch}-{number}@x.org"), 2 + batch * 6 + number);
            responses.push(claiming(&shop, &store, &["user=a", &address], millis).await);
        }
        let store = Arc::clone(&store);
        commits.push(tokio::spawn(async move { store.commit(responses).await }));
    }
    for commit in commits {
        assert_eq!(commit.await.unwrap().unwrap(), [Outcome::Stored; 6]);
    }
    assert_eq!(addresses_of(&store, respondent).await, IDENTITIES_PER_RESPONDENT_MAX);
    assert_eq!(consents(&store, &shop, respondent).await.len(), 61);
}
