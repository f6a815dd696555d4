//! Erasure of people: respondents, and people who were only invited.

use sluice_flow::id::RespondentId;
use sluice_flow::invitation::Invitee;
use sluice_flow::submission::Admission;

use super::respondents::{all_of, claiming, consents, known, linked};
use super::world::{Shop, TheStore, apply, at, audit_row, invitation_row, listed, respondent_id};
use crate::{
    AnswersOnErasure, AuditQuery, ErasedPart, Erasure, ErasureMark, ErasureTarget, IdentityRow,
    InvitationRow, Invited, NewResponse, Outcome, Page, Record, RespondentRow, ResponseRow, Write,
};

pub(super) const KEY: [u8; 16] = [6; 16];

pub(super) fn erasure(
    shop: &Shop,
    respondent_id: RespondentId,
    answers: AnswersOnErasure,
) -> Erasure {
    let audit = audit_row(Some(shop.app()));
    let target = ErasureTarget::Respondent(respondent_id);
    Erasure { app_id: shop.app(), target, answers, audit, limit: 100 }
}

/// A response with every field that could identify its sender.
pub(super) async fn telling(shop: &Shop, store: &TheStore, user: &str, millis: i64) -> NewResponse {
    let mut response = claiming(shop, store, &[user, "mail=7@x.org"], millis).await;
    response.row.admission = Admission::Admitted;
    response.row.identity_verified = true;
    response.row.flow_assignment_id = Some("assignment".to_owned());
    response.row.tags = Some(r#"{"plan":"pro"}"#.to_owned());
    let search = "?identities.traits.email=7%40x.org&mail=7@x.org&a=1";
    response.row.context = Some(format!(r#"{{"page":{{"search":"{search}"}}}}"#));
    response.row.digest = response.row.digest_of_content();
    response
}

pub(super) async fn stored(store: &TheStore, response: NewResponse) -> ResponseRow {
    let id = response.row.response_id;
    assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    store.find_response(id).await.unwrap().unwrap()
}

async fn is_gone(store: &TheStore, shop: &Shop, respondent: RespondentId) -> bool {
    let page = Page { after: None, limit: 10 };
    let responses = store.list_responses_of(shop.app(), respondent, page).await.unwrap();
    store.find_respondent(respondent).await.unwrap().is_none()
        && store.find_respondent_by(shop.app(), &known("user=7")).await.unwrap().is_none()
        && store.find_respondent_by(shop.app(), &known("mail=7@x.org")).await.unwrap().is_none()
        && consents(store, shop, respondent).await.is_empty()
        && responses.is_empty()
}

pub(super) async fn an_erasure_keeps_answers_without_the_person(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = stored(&store, telling(&shop, &store, "user=7", 1).await).await;
    let respondent = before.respondent_id.unwrap();
    let removed = store.erase(erasure(&shop, respondent, AnswersOnErasure::Keep)).await.unwrap();
    assert_eq!(removed, ErasedPart { responses: 1, respondents: 1, invitations: 0, done: true });
    assert!(is_gone(&store, &shop, respondent).await);
    let after = store.find_response(before.response_id).await.unwrap().unwrap();
    assert_eq!(after.digest, after.digest_of_content(), "the digest does not match the row");
    assert_ne!(after.digest, before.digest);
    let search = "?identities.traits.email=&mail=&a=1";
    let expected = ResponseRow {
        identities: None,
        identity_verified: false,
        respondent_id: None,
        context: Some(format!(r#"{{"page":{{"search":"{search}"}}}}"#)),
        flow_assignment_id: None,
        score: None,
        digest: after.digest,
        ..before
    };
    assert_eq!(after, expected);
}

pub(super) async fn an_erasure_deletes_answers(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = stored(&store, telling(&shop, &store, "user=7", 1).await).await;
    let respondent = row.respondent_id.unwrap();
    let erasure = erasure(&shop, respondent, AnswersOnErasure::Delete);
    let removed = store.erase(erasure.clone()).await.unwrap();
    assert_eq!(removed, ErasedPart { responses: 1, respondents: 1, invitations: 0, done: true });
    assert!(is_gone(&store, &shop, respondent).await);
    assert_eq!(store.find_response(row.response_id).await.unwrap(), None);
    let query = AuditQuery { app_id: Some(shop.app()), after: None, limit: 10 };
    assert_eq!(store.list_audit(&query).await.unwrap(), [erasure.audit]);
    let again = linked(&shop, &store, &["user=7"], 2).await;
    assert_ne!(again, respondent, "a returning person found the erased profile");
}

pub(super) async fn an_erasure_in_batches_removes_the_profile_last(store: TheStore) {
    for answers in [AnswersOnErasure::Keep, AnswersOnErasure::Delete] {
        let shop = Shop::open(&store).await;
        for millis in 1..=5 {
            linked(&shop, &store, &["user=7"], millis).await;
        }
        let found = store.find_respondent_by(shop.app(), &known("user=7")).await.unwrap();
        let respondent = found.unwrap();
        let part = Erasure { limit: 2, ..erasure(&shop, respondent, answers) };
        let query = AuditQuery { app_id: Some(shop.app()), after: None, limit: 10 };
        for left in [3, 1] {
            let removed = store.erase(part.clone()).await.unwrap();
            assert_eq!(removed, ErasedPart { responses: 2, done: false, ..ErasedPart::default() });
            assert_eq!(consents(&store, &shop, respondent).await.len(), left);
            let entries = store.list_audit(&query).await.unwrap();
            assert_eq!(
                entries,
                std::slice::from_ref(&part.audit),
                "an interrupted erasure was not recorded"
            );
        }
        let removed = store.erase(part.clone()).await.unwrap();
        assert_eq!(
            removed,
            ErasedPart { responses: 1, respondents: 1, invitations: 0, done: true }
        );
        assert!(is_gone(&store, &shop, respondent).await);
        assert_eq!(store.list_audit(&query).await.unwrap().len(), 1);
        let kept = if answers == AnswersOnErasure::Keep { 5 } else { 0 };
        assert_eq!(listed(&store, &shop.query()).await.len(), kept);
    }
}

/// A profile from before profiles had a size limit: many addresses, an invitation for every second
/// one, and as many responses.
async fn overfull(shop: &Shop, store: &TheStore, size: usize) -> RespondentId {
    let respondent = linked(shop, store, &["user=7"], 1).await;
    for number in 0..size {
        let address = format!("{number}@x.org");
        let known = known(&format!("mail={address}"));
        let row = IdentityRow { app_id: shop.app(), known, respondent_id: respondent };
        store.import_records(vec![Record::Identity(row)]).await.unwrap();
        linked(shop, store, &["user=7"], 2 + i64::try_from(number).unwrap()).await;
        if number % 2 == 0 {
            invitation(shop, store, "", &address).await;
        }
    }
    respondent
}

/// The numbers of identities, consents and open invitations left after a batch of an erasure.
async fn left(store: &TheStore, shop: &Shop, respondent: RespondentId) -> (usize, usize, u64) {
    let identities = store.find_respondent(respondent).await.unwrap();
    let identities = identities.map_or(0, |it| it.identities.len());
    let counts = store.count_invitations(shop.app(), shop.flow.flow_id, at(99)).await.unwrap();
    (identities, consents(store, shop, respondent).await.len(), counts.sent)
}

pub(super) async fn a_batch_of_an_erasure_is_bounded_however_large_the_profile(store: TheStore) {
    const LIMIT: usize = 5;
    for answers in [AnswersOnErasure::Keep, AnswersOnErasure::Delete] {
        let shop = Shop::open(&store).await;
        let respondent = overfull(&shop, &store, 40).await;
        let part = Erasure { limit: LIMIT, ..erasure(&shop, respondent, answers) };
        let (mut before, mut removed, mut parts) =
            (left(&store, &shop, respondent).await, ErasedPart::default(), 0);
        assert_eq!(before, (41, 41, 20));
        while !removed.done {
            let one = store.erase(part.clone()).await.unwrap();
            let now = left(&store, &shop, respondent).await;
            let rows = (before.1 - now.1) + usize::try_from(before.2 - now.2).unwrap();
            assert!(before.0 - now.0 <= LIMIT && rows <= LIMIT, "{before:?} to {now:?}");
            assert!(before != now, "a batch removed nothing");
            assert!(now.0 == 0 || now.1 == 41, "consents were removed before the identities");
            removed.responses += one.responses;
            removed.invitations += one.invitations;
            removed.respondents += one.respondents;
            removed.done = one.done;
            before = now;
            parts += 1;
        }
        let expected = ErasedPart { responses: 41, respondents: 1, invitations: 20, done: true };
        assert_eq!((removed, before), (expected, (0, 0, 0)));
        assert!(parts < 41, "too many batches: {parts}");
    }
}

pub(super) async fn an_interrupted_erasure_is_listed_and_links_nothing_more(store: TheStore) {
    for answers in [AnswersOnErasure::Keep, AnswersOnErasure::Delete] {
        let shop = Shop::open(&store).await;
        for millis in 1..=5 {
            linked(&shop, &store, &["user=7", "mail=7@x.org"], millis).await;
        }
        let found = store.find_respondent_by(shop.app(), &known("user=7")).await.unwrap();
        let respondent = found.unwrap();
        let part = Erasure { limit: 3, ..erasure(&shop, respondent, answers) };
        assert!(!store.erase(part.clone()).await.unwrap().done);
        let identities = match answers {
            AnswersOnErasure::Keep => Vec::from(["user=7", "mail=7@x.org"].map(known)),
            AnswersOnErasure::Delete => Vec::new(),
        };
        let erasing = Some(ErasureMark { answers, identities });
        let row = RespondentRow { app_id: shop.app(), respondent_id: respondent, erasing };
        assert_eq!(store.list_erasing(10).await.unwrap(), std::slice::from_ref(&row));
        let profile = store.find_respondent(respondent).await.unwrap().unwrap();
        assert_eq!((profile.row, profile.identities), (row, Vec::new()));
        let again = linked(&shop, &store, &["user=7", "mail=7@x.org"], 6).await;
        assert_ne!(again, respondent, "a later response found the erased profile");
        // Another process continues with another audit entry, which is not needed.
        let rest = Erasure { audit: audit_row(Some(shop.app())), ..part.clone() };
        let removed = store.erase(rest).await.unwrap();
        assert_eq!((removed.responses, removed.respondents, removed.done), (2, 1, true));
        assert_eq!(store.list_erasing(10).await.unwrap(), []);
        let query = AuditQuery { app_id: Some(shop.app()), after: None, limit: 10 };
        assert_eq!(store.list_audit(&query).await.unwrap(), [part.audit]);
        let kept = if answers == AnswersOnErasure::Keep { 6 } else { 1 };
        assert_eq!(listed(&store, &shop.query()).await.len(), kept);
    }
}

pub(super) async fn deleting_wins_over_keeping_in_two_erasures_of_one_respondent(store: TheStore) {
    let shop = Shop::open(&store).await;
    for millis in 1..=5 {
        linked(&shop, &store, &["user=7"], millis).await;
    }
    let found = store.find_respondent_by(shop.app(), &known("user=7")).await.unwrap();
    let keep = Erasure { limit: 2, ..erasure(&shop, found.unwrap(), AnswersOnErasure::Keep) };
    let audit = audit_row(Some(shop.app()));
    let delete = Erasure { answers: AnswersOnErasure::Delete, audit, ..keep.clone() };
    for part in [&keep, &delete, &keep] {
        store.erase(part.clone()).await.unwrap();
    }
    assert_eq!(
        listed(&store, &shop.query()).await.len(),
        2,
        "an erasure removed answers that were kept earlier"
    );
    let query = AuditQuery { app_id: Some(shop.app()), after: None, limit: 10 };
    let entries = store.list_audit(&query).await.unwrap();
    assert_eq!(entries.len(), 2, "not both erasures were recorded: {entries:?}");
}

pub(super) async fn an_erasure_does_not_affect_other_respondents(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let mut left = Vec::new();
    let erased = linked(&shop, &store, &["user=7"], 1).await;
    for (shop, texts) in [(&shop, &["user=8", "mail=8@x.org"][..]), (&other, &["user=7"])] {
        let respondent = linked(shop, &store, texts, 2).await;
        let profile = store.find_respondent(respondent).await.unwrap();
        let consents = consents(&store, shop, respondent).await;
        let row = store.find_response(consents[0].response_id).await.unwrap();
        left.push((respondent, profile, row));
    }
    let unclaimed = shop.store(&store, 3, "").await;
    store.erase(erasure(&shop, erased, AnswersOnErasure::Delete)).await.unwrap();
    for (respondent, profile, row) in left {
        assert_eq!(store.find_respondent(respondent).await.unwrap(), profile);
        let id = row.as_ref().unwrap().response_id;
        assert_eq!(store.find_response(id).await.unwrap(), row);
    }
    assert!(store.find_response(unclaimed).await.unwrap().is_some());
}

pub(super) async fn an_erased_key_stays_used_and_a_late_retry_stores_nothing(store: TheStore) {
    for answers in [AnswersOnErasure::Keep, AnswersOnErasure::Delete] {
        let shop = Shop::open(&store).await;
        let mut first = telling(&shop, &store, "user=7", 1).await;
        first.idempotency_key = Some(KEY);
        let row = stored(&store, first.clone()).await;
        let respondent = row.respondent_id.unwrap();
        store.erase(erasure(&shop, respondent, answers)).await.unwrap();
        let under = store.find_by_idempotency_key(shop.app(), &KEY).await.unwrap();
        assert_eq!(under, Some((row.response_id, None)), "{answers:?}");
        let rows = listed(&store, &shop.query()).await;
        let mut retry = first.clone();
        retry.row.response_id = super::world::response_id(2);
        let mut other = retry.clone();
        other.row.digest = [1; 16];
        let mut stale = retry.clone();
        stale.public_revision -= 1;
        let outcomes = store.commit(vec![retry, other, stale]).await.unwrap();
        assert_eq!(outcomes, [Outcome::Replayed(row.response_id); 3], "{answers:?}");
        assert_eq!(listed(&store, &shop.query()).await, rows, "{answers:?}");
        assert_eq!(all_of(&store, &shop).await, [], "{answers:?}");
    }
}

pub(super) async fn erasing_an_unknown_respondent_does_nothing(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let theirs = linked(&other, &store, &["user=7"], 1).await;
    for unknown in [respondent_id(1), theirs] {
        let removed = store.erase(erasure(&shop, unknown, AnswersOnErasure::Delete)).await.unwrap();
        assert_eq!(removed, ErasedPart { done: true, ..ErasedPart::default() });
    }
    let query = AuditQuery { app_id: None, after: None, limit: 10 };
    assert_eq!(store.list_audit(&query).await.unwrap(), []);
    assert!(store.find_respondent(theirs).await.unwrap().is_some());
}

/// Stores an invitation of the shop's flow to this person.
pub(super) async fn invitation(
    shop: &Shop,
    store: &TheStore,
    user: &str,
    email: &str,
) -> InvitationRow {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let invitee = Invitee { user_id: some(user), email: some(email) };
    let row = InvitationRow { invitee, ..invitation_row(&shop.flow) };
    apply(store, shop.app(), vec![Write::Invitations(vec![row.clone()])]).await;
    row
}

pub(super) async fn an_erasure_anonymises_the_invitations_of_the_person(store: TheStore) {
    for answers in [AnswersOnErasure::Keep, AnswersOnErasure::Delete] {
        let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
        let theirs = [
            invitation(&shop, &store, "7", "").await,
            invitation(&shop, &store, "", "7@X.org").await,
            // The address belongs to no profile, but its response belongs to the person.
            invitation(&shop, &store, "", "else@x.org").await,
        ];
        let left = [
            invitation(&shop, &store, "8", "8@x.org").await,
            invitation(&other, &store, "7", "7@x.org").await,
        ];
        let mut response = telling(&shop, &store, "user=7", 5).await;
        let assignment_id = theirs[2].assignment_id;
        response.row.flow_assignment_id = Some(assignment_id.to_string());
        response.row.digest = response.row.digest_of_content();
        response.invitation = Some(Invited { assignment_id, linked: true });
        let row = stored(&store, response).await;
        let completed = store.find_invitation(assignment_id, None).await.unwrap().unwrap();
        assert_eq!(completed.response_id, Some(row.response_id));
        let respondent = row.respondent_id.unwrap();
        store.erase(erasure(&shop, respondent, answers)).await.unwrap();
        for (row, state) in theirs.iter().zip(["revoked", "revoked", "completed"]) {
            let now = store.find_invitation(row.assignment_id, None).await.unwrap().unwrap();
            assert_eq!((now.invitee, now.response_id), (Invitee::default(), None), "{answers:?}");
            assert_eq!(now.times.state(at(9)).as_str(), state, "{answers:?}");
        }
        for row in left {
            let now = store.find_invitation(row.assignment_id, None).await.unwrap();
            assert_eq!(now, Some(row), "another person was affected");
        }
        if let Some(after) = store.find_response(row.response_id).await.unwrap() {
            assert_eq!(
                after.digest,
                after.digest_of_content(),
                "the digest does not match the row"
            );
        }
    }
}

/// An admitted response through an invitation, without identities: it is linked to no respondent.
pub(super) async fn through(
    shop: &Shop,
    store: &TheStore,
    row: &InvitationRow,
    millis: i64,
) -> NewResponse {
    let mut response = shop.response(store, millis).await;
    response.row.admission = Admission::Admitted;
    response.row.flow_assignment_id = Some(row.assignment_id.to_string());
    response.row.digest = response.row.digest_of_content();
    response.invitation = Some(Invited { assignment_id: row.assignment_id, linked: true });
    response
}

pub(super) async fn unlinked_responses_through_an_invitation_belong_to_its_person(store: TheStore) {
    for answers in [AnswersOnErasure::Keep, AnswersOnErasure::Delete] {
        let shop = Shop::open(&store).await;
        let respondent = linked(&shop, &store, &["user=7"], 1).await;
        let mine = invitation(&shop, &store, "7", "").await;
        let mut response = through(&shop, &store, &mine, 5).await;
        response.idempotency_key = Some(KEY);
        let before = stored(&store, response.clone()).await;
        let removed = store.erase(erasure(&shop, respondent, answers)).await.unwrap();
        let expected = ErasedPart { responses: 2, respondents: 1, invitations: 1, done: true };
        assert_eq!(removed, expected, "{answers:?}");
        let after = store.find_response(before.response_id).await.unwrap();
        match answers {
            AnswersOnErasure::Delete => assert_eq!(after, None),
            AnswersOnErasure::Keep => assert_eq!(after, Some(before.clone().unlinked(&[]))),
        }
        let retry = store.commit(vec![response]).await.unwrap();
        assert_eq!(retry, [Outcome::Replayed(before.response_id)], "{answers:?}");
    }
}

pub(super) async fn another_respondents_response_through_an_invitation_is_kept(store: TheStore) {
    let shop = Shop::open(&store).await;
    let respondent = linked(&shop, &store, &["user=7"], 1).await;
    let mine = invitation(&shop, &store, "7", "").await;
    let mut response = through(&shop, &store, &mine, 5).await;
    response.claim = super::respondents::claim(&["user=8"], 5);
    response.idempotency_key = Some(KEY);
    let before = stored(&store, response.clone()).await;
    let removed = store.erase(erasure(&shop, respondent, AnswersOnErasure::Delete)).await.unwrap();
    assert_eq!((removed.responses, removed.invitations), (1, 1));
    let after = store.find_response(before.response_id).await.unwrap().unwrap();
    assert_eq!(after, before.clone().unassigned());
    assert_eq!(after.digest, after.digest_of_content(), "the digest does not match the row");
    assert_eq!(after.respondent_id, before.respondent_id);
    let retry = store.commit(vec![response]).await.unwrap();
    assert_eq!(retry, [Outcome::Replayed(before.response_id)]);
}

pub(super) async fn a_person_who_was_only_invited_is_erased(store: TheStore) {
    for answers in [AnswersOnErasure::Keep, AnswersOnErasure::Delete] {
        let shop = Shop::open(&store).await;
        let mut rows = Vec::new();
        for email in ["Ada@x.org", "ada@X.org", "ADA@x.org", "bob@x.org"] {
            rows.push(invitation(&shop, &store, "", email).await);
        }
        let before = stored(&store, through(&shop, &store, &rows[0], 5).await).await;
        let audit = audit_row(Some(shop.app()));
        let target = ErasureTarget::Invitee(known("mail=ada@x.org"));
        let part = Erasure { app_id: shop.app(), target, answers, audit, limit: 2 };
        let first = store.erase(part.clone()).await.unwrap();
        assert_eq!((first.invitations, first.done), (2, false), "not in batches");
        let query = AuditQuery { app_id: Some(shop.app()), after: None, limit: 10 };
        let entries = store.list_audit(&query).await.unwrap();
        assert_eq!(entries, std::slice::from_ref(&part.audit));
        let second = store.erase(part.clone()).await.unwrap();
        assert_eq!((second.invitations, second.done), (1, true));
        assert_eq!(first.responses + second.responses, 1);
        let nothing = ErasedPart { done: true, ..ErasedPart::default() };
        let another = Erasure { audit: audit_row(Some(shop.app())), ..part };
        assert_eq!(store.erase(another).await.unwrap(), nothing, "something was erased again");
        assert_eq!(store.list_audit(&query).await.unwrap().len(), 1);
        for row in &rows[..3] {
            let now = store.find_invitation(row.assignment_id, None).await.unwrap().unwrap();
            assert_eq!((now.invitee, now.response_id), (Invitee::default(), None));
            let state = if row == &rows[0] { "completed" } else { "revoked" };
            assert_eq!(now.times.state(at(9)).as_str(), state);
        }
        let bob = store.find_invitation(rows[3].assignment_id, None).await.unwrap();
        assert_eq!(bob.as_ref(), Some(&rows[3]), "another person was affected");
        let after = store.find_response(before.response_id).await.unwrap();
        let kept = (answers == AnswersOnErasure::Keep).then(|| before.unlinked(&[]));
        assert_eq!(after, kept);
    }
}

pub(super) async fn an_invitation_does_not_reference_a_deleted_response(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = invitation(&shop, &store, "7", "").await;
    let response = stored(&store, through(&shop, &store, &row, 5).await).await;
    apply(&store, shop.app(), vec![Write::DeleteResponse(response.response_id)]).await;
    let now = store.find_invitation(row.assignment_id, None).await.unwrap().unwrap();
    assert_eq!((now.invitee, now.response_id), (row.invitee, None));
    assert_eq!(now.times.state(at(9)).as_str(), "completed", "a used link can be used again");
}
