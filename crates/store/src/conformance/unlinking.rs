//! Answers kept by an erasure: what is cut out of their tags and context.

use sluice_flow::submission::Admission;

use super::removal::{erasure, invitation, stored};
use super::respondents::{claiming, linked};
use super::world::{Shop, TheStore};
use crate::{AnswersOnErasure, Erasure, Invited, NewResponse, ResponseRow};

/// A response with these identities that names the person in a tag and in its page's query string.
async fn naming(
    shop: &Shop,
    store: &TheStore,
    identities: &[&str],
    name: &str,
    millis: i64,
) -> NewResponse {
    let mut response = match identities {
        [] => shop.response(store, millis).await,
        identities => claiming(shop, store, identities, millis).await,
    };
    response.row.admission = Admission::Admitted;
    response.row.tags = Some(format!(r#"{{"plan":"pro","who":"by {name}"}}"#));
    let search = format!("?a=1&who={}", name.replace('@', "%40"));
    response.row.context = Some(format!(r#"{{"page":{{"search":"{search}"}}}}"#));
    response.row.digest = response.row.digest_of_content();
    response
}

/// Checks what is left of such a response.
async fn is_unlinked(store: &TheStore, before: &ResponseRow) {
    let after = store.find_response(before.response_id).await.unwrap().unwrap();
    let expected = ResponseRow {
        identities: None,
        respondent_id: None,
        flow_assignment_id: None,
        score: None,
        tags: Some(r#"{"plan":"pro","who":"by "}"#.to_owned()),
        context: Some(r#"{"page":{"search":"?a=1&who="}}"#.to_owned()),
        digest: after.digest_of_content(),
        ..before.clone()
    };
    assert_eq!(after, expected, "{before:?}");
}

async fn finish(store: &TheStore, part: &Erasure) {
    while !store.erase(part.clone()).await.unwrap().done {}
    assert_eq!(store.list_erasing(10).await.unwrap(), []);
}

pub(super) async fn an_erasure_that_keeps_answers_cuts_every_identity_of_the_profile_from_them(
    store: TheStore,
) {
    const USER: &str = "user=u-4711";
    const MAIL: &str = "mail=ada@example.com";
    // In one batch, and in several, between which the identities are removed from the profile.
    for limit in [100, 1] {
        let shop = Shop::open(&store).await;
        let respondent = linked(&shop, &store, &[USER, MAIL], 1).await;
        let mut rows = Vec::new();
        for (millis, identities, name) in [
            (2, &[USER][..], "ada@example.com"),
            (3, &[USER], "Ada@Example.com"),
            (4, &[MAIL], "u-4711"),
            (5, &[MAIL], "U-4711"),
        ] {
            let response = naming(&shop, &store, identities, name, millis).await;
            rows.push(stored(&store, response).await);
            assert_eq!(rows.last().unwrap().respondent_id, Some(respondent));
        }
        // A response linked to no respondent, through an invitation of the person.
        let invitation = invitation(&shop, &store, "u-4711", "").await;
        let assignment_id = invitation.assignment_id;
        let mut response = naming(&shop, &store, &[], "ada@example.com", 6).await;
        response.row.flow_assignment_id = Some(assignment_id.to_string());
        response.row.digest = response.row.digest_of_content();
        response.invitation = Some(Invited { assignment_id, linked: true });
        rows.push(stored(&store, response).await);
        let other = naming(&shop, &store, &["user=8"], "ada@example.com", 7).await;
        let other = stored(&store, other).await;

        finish(&store, &Erasure { limit, ..erasure(&shop, respondent, AnswersOnErasure::Keep) })
            .await;
        for row in &rows {
            is_unlinked(&store, row).await;
        }
        let after = store.find_response(other.response_id).await.unwrap();
        assert_eq!(after, Some(other), "another person's response was changed");
    }
}

pub(super) async fn an_erasure_does_not_hide_damage(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut response = naming(&shop, &store, &["user=u-4711"], "u-4711", 1).await;
    // As if a letter of the answers had been changed on the disk.
    response.row.answers = response.row.answers.replacen("yes", "yet", 1);
    let before = stored(&store, response).await;
    finish(&store, &erasure(&shop, before.respondent_id.unwrap(), AnswersOnErasure::Keep)).await;
    let after = store.find_response(before.response_id).await.unwrap().unwrap();
    assert_eq!((&after.identities, after.respondent_id), (&None, None), "it is unlinked");
    assert!(!after.is_intact(), "the damage is still found");
}

pub(super) async fn an_identity_added_during_an_erasure_is_cut_as_well(store: TheStore) {
    let shop = Shop::open(&store).await;
    let response = naming(&shop, &store, &["user=u-4711"], "new@example.com", 1).await;
    let before = stored(&store, response).await;
    let respondent = before.respondent_id.unwrap();
    invitation(&shop, &store, "u-4711", "").await;
    let part = Erasure { limit: 1, ..erasure(&shop, respondent, AnswersOnErasure::Keep) };
    // The first batch only has room for the invitation, so the profile is still found.
    assert!(!store.erase(part.clone()).await.unwrap().done);
    let again = linked(&shop, &store, &["user=u-4711", "mail=new@example.com"], 2).await;
    assert_eq!(again, respondent);
    finish(&store, &part).await;
    is_unlinked(&store, &before).await;
}
