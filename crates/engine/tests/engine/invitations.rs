//! Responses with an invitation: accepted once, checked in order, and without a trace if not
//! allowed.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use support::UseCases as _;

use serde_json::{Value, json};
use sluice_engine::{
    AdminError, AppDetail, Duplicates, Invitation, NewInvitation, Receipt, SubmitError,
};
use sluice_flow::id::{AssignmentId, FlowId, FlowVersionId};
use sluice_flow::invitation::Invitee;
use sluice_flow::time::Timestamp;
use support::{START_MILLIS, World, accepted, code, submission};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

struct Shop {
    world: World,
    app: AppDetail,
    flow: FlowId,
    version: FlowVersionId,
}

impl Shop {
    async fn open() -> Self {
        let world = World::new().await;
        let app = world.app().await;
        let flow = world.flow(&app).await.flow.flow_id;
        let version = world.publish(flow).await.flow_version_id;
        Self { world, app, flow, version }
    }

    async fn invite(&self, user: &str, expires_in: Option<i64>) -> AssignmentId {
        let new = [invitation(user, expires_in)];
        let (engine, actor) = (&self.world.engine, &self.world.actor);
        let made = engine.invite(actor, self.flow, &new, Duplicates::Refuse, false).await.unwrap();
        assert_eq!(made.len(), 1);
        made[0].row.assignment_id
    }

    async fn found(&self, id: AssignmentId) -> Invitation {
        self.world.engine.get_invitation(&self.world.actor, id).await.unwrap()
    }

    fn submission(&self, admission: &str, id: &str) -> Value {
        let mut submission = submission(self.version);
        submission["respondentAnalyticsAdmission"] = admission.into();
        submission["flowAssignmentId"] = id.into();
        submission
    }

    async fn submit(&self, body: &Value) -> Result<Receipt, SubmitError> {
        let view = self.world.view(&self.app).await;
        self.world.submit(&view, body).await
    }
}

fn invitation(user: &str, expires_in: Option<i64>) -> NewInvitation {
    let invitee =
        Invitee { user_id: Some(user.to_owned()), email: Some(format!("{user}@mail.example")) };
    let expires_at = expires_in.map(|millis| Timestamp::from_millis(START_MILLIS + millis));
    NewInvitation { invitee, expires_at, line: None }
}

#[tokio::test]
async fn a_response_completes_its_invitation_once() {
    let shop = Shop::open().await;
    let id = shop.invite("ada", None).await;
    let body = shop.submission("admitted", &id.to_string());
    let first = accepted(shop.submit(&body).await);
    assert_eq!(code(&shop.submit(&body).await), "invitation_used");
    let stored = shop.world.stored(shop.flow).await;
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].flow_assignment_id, Some(id.to_string()));
    assert_eq!(stored[0].identities, None, "the invitee's identity is not copied to the response");
    let found = shop.found(id).await;
    assert_eq!(found.state.as_str(), "completed");
    assert_eq!(found.row.response_id, Some(first.response_id));
}

#[tokio::test]
async fn a_revoked_or_expired_invitation_refuses_responses() {
    let shop = Shop::open().await;
    let expiring = shop.invite("ada", Some(1_000)).await;
    let revoked = shop.invite("bob", None).await;
    shop.world.engine.revoke_invitation(&shop.world.actor, revoked).await.unwrap();
    for admission in ["admitted", "collection_only"] {
        let body = shop.submission(admission, &revoked.to_string());
        let refused = shop.submit(&body).await;
        assert_eq!(code(&refused), "invitation_revoked");
        let Ok(Receipt::Refused(issues)) = refused else { unreachable!() };
        assert_eq!(serde_json::to_value(&issues[0].path).unwrap(), json!(["flowAssignmentId"]));
    }
    let body = shop.submission("admitted", &expiring.to_string());
    shop.world.clock.advance_millis(1_000);
    assert_eq!(code(&shop.submit(&body).await), "invitation_expired");
    assert_eq!(shop.found(expiring).await.state.as_str(), "expired");
    assert!(shop.world.stored(shop.flow).await.is_empty());
}

#[tokio::test]
async fn the_version_is_checked_before_the_invitation_and_the_answers_after_it() {
    let shop = Shop::open().await;
    let id = shop.invite("ada", None).await;
    let body = shop.submission("admitted", &id.to_string());
    let mut wrong = body.clone();
    wrong["answers"] = json!({"nps": "11"});
    assert_eq!(code(&shop.submit(&wrong).await), "out_of_range");
    assert_eq!(shop.found(id).await.state.as_str(), "sent", "a refusal leaves it open");
    accepted(shop.submit(&body).await);
    assert_eq!(code(&shop.submit(&wrong).await), "invitation_used");
    shop.world.engine.archive_flow(&shop.world.actor, shop.flow).await.unwrap();
    assert_eq!(code(&shop.submit(&wrong).await), "flow_version_not_found");
}

#[tokio::test]
async fn an_id_that_is_no_invitation_to_this_flow_is_stored_as_sent() {
    let (shop, other) = (Shop::open().await, Shop::open().await);
    let flow = shop.world.flow(&shop.app).await.flow.flow_id;
    let new = [invitation("ada", None)];
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let made = engine.invite(actor, flow, &new, Duplicates::Refuse, false).await.unwrap();
    let elsewhere = made[0].row.assignment_id;
    let unknown = other.invite("ada", None).await;
    for id in ["mine".to_owned(), "fa_short".to_owned(), unknown.to_string(), elsewhere.to_string()]
    {
        for _ in 0..2 {
            accepted(shop.submit(&shop.submission("admitted", &id)).await);
        }
        let stored = shop.world.stored(shop.flow).await;
        let bearing = stored.iter().filter(|row| row.flow_assignment_id.as_ref() == Some(&id));
        assert_eq!(bearing.count(), 2, "{id}");
    }
    assert_eq!(shop.found(elsewhere).await.state.as_str(), "sent");
    // Without consent, even another flow's invitation would identify the respondent.
    accepted(shop.submit(&shop.submission("collection_only", &elsewhere.to_string())).await);
    let last = shop.world.stored(shop.flow).await.pop().unwrap();
    assert_eq!(last.flow_assignment_id, None);
}

#[tokio::test]
async fn only_an_id_in_the_format_of_an_invitation_is_looked_up() {
    let shop = Shop::open().await;
    for id in [Value::Null, "mine".into(), "fa_short".into(), "rs_0000000000000000000000".into()] {
        let mut body = shop.submission("admitted", "");
        body["flowAssignmentId"] = id;
        accepted(shop.submit(&body).await);
    }
    assert_eq!(shop.world.faults.invitation_lookups.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_retry_with_its_key_is_a_replay_although_the_invitation_is_used() {
    let shop = Shop::open().await;
    let view = shop.world.view(&shop.app).await;
    for (user, admission) in [("ada", "admitted"), ("bob", "collection_only")] {
        let id = shop.invite(user, Some(1_000)).await;
        let body = shop.submission(admission, &id.to_string());
        let first = accepted(shop.world.submit_with_key(&view, &body, user).await);
        let again = accepted(shop.world.submit_with_key(&view, &body, user).await);
        assert_eq!((again.response_id, again.replayed), (first.response_id, true));
        let mut other = body.clone();
        other["answers"]["nps"] = "1".into();
        let reused = shop.world.submit_with_key(&view, &other, user).await;
        assert_eq!(code(&reused), "idempotency_key_reused");
        let refused = shop.world.submit_with_key(&view, &body, "another").await;
        assert_eq!(code(&refused), "invitation_used");
    }
    assert_eq!(shop.world.stored(shop.flow).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_concurrent_responses_one_is_stored_and_the_others_are_refused() {
    const CALLERS: usize = 60;
    let shop = Arc::new(Shop::open().await);
    let id = shop.invite("ada", None).await;
    let mut callers = Vec::new();
    for number in 0..CALLERS {
        let shop = Arc::clone(&shop);
        let admission = if number % 2 == 0 { "admitted" } else { "collection_only" };
        let mut body = shop.submission(admission, &id.to_string());
        body["answers"]["why"] = number.to_string().into();
        callers.push(tokio::spawn(async move { shop.submit(&body).await }));
    }
    let mut stored = 0;
    for caller in callers {
        match caller.await.unwrap() {
            Ok(Receipt::Accepted(_)) => stored += 1,
            refused => assert_eq!(code(&refused), "invitation_used"),
        }
    }
    assert_eq!((stored, shop.world.stored(shop.flow).await.len()), (1, 1));
}

/// Reads every column of every row: nothing links the response to the invitation, and no time is
/// more precise than the day.
#[tokio::test]
async fn without_consent_nothing_links_the_response_to_the_person() {
    let shop = Shop::open().await;
    shop.world.clock.advance_millis(DAY_MILLIS / 3 + 7);
    let id = shop.invite("canary-user", Some(DAY_MILLIS)).await;
    shop.world.clock.advance_millis(60_001);
    let page = shop.world.engine.links().flow(&shop.flow.to_string()).await.unwrap().unwrap();
    let opened = page.mark_opened(&id.to_string()).await.unwrap();
    assert_eq!(opened.unwrap().as_str(), "opened");
    shop.world.clock.advance_millis(30_003);
    let mut body = shop.submission("collection_only", &id.to_string());
    body["identities"] = json!([{"type": "userId", "value": "canary-user"}]);
    body["context"] = json!({"page": {
        "path": format!("/f/{id}"), "search": format!("?flowAssignmentId={id}&a=1"),
        "referrer": format!("https://mail.example/{id}")
    }});
    body["metadata"] = json!({"tags": {"from": format!("mail {id}")}});
    let view = shop.world.view(&shop.app).await;
    let receipt = accepted(shop.world.submit_with_key(&view, &body, "key").await);

    let rows = shop.world.stored(shop.flow).await;
    let response = format!("{:?}", rows[0]);
    assert_eq!(rows[0].flow_assignment_id, None);
    let invitation = shop.found(id).await;
    for trace in [id.to_string(), format!("{:?}", id.uuid()), "canary-user".to_owned()] {
        assert!(!response.contains(&trace), "{trace} is in {response}");
    }
    assert!(rows[0].context.as_ref().unwrap().contains("?flowAssignmentId=&a=1"));
    let shown = format!("{:?}", invitation.row);
    let uuid = format!("{:?}", receipt.response_id.uuid());
    for trace in [receipt.response_id.to_string(), uuid] {
        assert!(!shown.contains(&trace), "{trace} is in {shown}");
    }
    assert_eq!((invitation.state.as_str(), invitation.row.response_id), ("completed", None));
    let times = invitation.row.times;
    for time in [times.opened_at, times.completed_at] {
        assert_eq!(time.unwrap().as_millis() % DAY_MILLIS, 0, "more precise than the day");
    }
    // Neither does the digest stored with the key: without the invitation it is the same.
    body["flowAssignmentId"] = Value::Null;
    body["context"] = json!({"page": {
        "path": "/f/fa_", "search": "?flowAssignmentId=fa_&a=1",
        "referrer": "https://mail.example/fa_"
    }});
    body["metadata"] = json!({"tags": {"from": "mail fa_"}});
    let again = accepted(shop.world.submit_with_key(&view, &body, "key").await);
    assert!(again.replayed);
    let audit = shop.world.engine.list_audit(&shop.world.actor, None, None, 100).await.unwrap();
    assert!(!format!("{audit:?}").contains("canary-user"), "{audit:?}");
}

#[tokio::test]
async fn an_existing_invitee_is_refused_skipped_or_invited_again() {
    let shop = Shop::open().await;
    shop.invite("ada", None).await;
    let at = |user: &str, line| NewInvitation { line: Some(line), ..invitation(user, None) };
    let new = [at("bob", 2), at("ADA", 3), at("cat", 4), at("bob", 5)];
    let (engine, actor) = (&shop.world.engine, &shop.world.actor);
    let invite = async |duplicates| {
        shop.world.clock.advance_millis(1);
        engine.invite(actor, shop.flow, &new, duplicates, false).await
    };
    match invite(Duplicates::Refuse).await {
        Err(AdminError::Invalid(faults)) => {
            let pointers: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
            assert_eq!(pointers, ["/3", "/5"]);
            let reported = format!("{faults:?}").to_lowercase();
            // Whole words: ids are random and may contain these.
            let mut words = reported.split(|it: char| !it.is_alphanumeric());
            assert!(!words.any(|word| ["ada", "bob"].contains(&word)), "{reported}");
        }
        other => panic!("{other:?}"),
    }
    let users = |made: Vec<Invitation>| -> Vec<String> {
        made.into_iter().map(|it| it.row.invitee.user_id.unwrap()).collect()
    };
    let checked = engine.invite(actor, shop.flow, &new, Duplicates::Skip, true).await.unwrap();
    assert_eq!(users(checked), ["bob", "cat"]);
    let counts = engine.count_invitations(actor, shop.flow).await.unwrap();
    assert_eq!(counts.sent, 1, "a check creates nothing");
    assert_eq!(users(invite(Duplicates::Skip).await.unwrap()), ["bob", "cat"]);
    assert_eq!(users(invite(Duplicates::Skip).await.unwrap()), [""; 0]);
    assert_eq!(users(invite(Duplicates::Allow).await.unwrap()), ["bob", "ADA", "cat", "bob"]);
    let listed = engine.list_invitations(actor, shop.flow, None, None, 100).await.unwrap();
    assert_eq!(users(listed), ["ada", "bob", "cat", "bob", "ADA", "cat", "bob"]);
}

#[tokio::test]
async fn opening_is_recorded_once_and_only_by_day() {
    let shop = Shop::open().await;
    let id = shop.invite("ada", Some(2 * DAY_MILLIS)).await;
    let page = shop.world.engine.links().flow(&shop.flow.to_string()).await.unwrap().unwrap();
    let open = async |id: &str| {
        let state = page.mark_opened(id).await.unwrap();
        state.map(|state| state.as_str())
    };
    for _ in 0..2 {
        assert_eq!(open(&id.to_string()).await, Some("opened"));
        let opened_at = shop.found(id).await.row.times.opened_at.unwrap();
        assert_eq!(opened_at.to_string(), "2026-11-15T00:00:00.000Z");
        shop.world.clock.advance_millis(DAY_MILLIS / 2 + DAY_MILLIS / 2);
    }
    assert_eq!(open(&id.to_string()).await, Some("expired"));
    for unknown in ["", "mine", "fa_0000000000000000000000"] {
        assert_eq!(open(unknown).await, None);
    }
}
