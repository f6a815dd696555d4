//! Respondents through the engine: consent decides who is linked, and erased data stays erased.

use crate::support;

use std::sync::atomic::Ordering;
use std::time::Duration;
use support::UseCases as _;

use serde_json::{Value, json};
use sluice_engine::rows::{AnswersOnErasure, Page, Respondent};
use sluice_engine::{AdminError, AppDetail, AppPatch, Duplicates, Missing, NewInvitation};
use sluice_flow::id::{FlowId, FlowVersionId, ResponseId};
use sluice_flow::invitation::{Invitee, day_of};
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use support::{Mood, World, accepted, submission};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

async fn open() -> (World, AppDetail, FlowId, FlowVersionId) {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    (world, app, flow, version)
}

fn admitted(version: FlowVersionId, identities: Value) -> Value {
    let mut body = submission(version);
    body["respondentAnalyticsAdmission"] = json!("admitted");
    body["identities"] = identities;
    body
}

fn user(id: &str) -> Value {
    json!([{"type": "userId", "value": id}])
}

async fn known(world: &World, app: &AppDetail) -> Vec<Respondent> {
    let page = Page { after: None, limit: 100 };
    world.engine.list_respondents(&world.actor, app.row.app_id, page).await.unwrap()
}

#[tokio::test]
async fn only_admitted_responses_are_linked() {
    let (world, app, flow, version) = open().await;
    let view = world.view(&app).await;
    let mut only = submission(version);
    only["identities"] = user("u-1");
    accepted(world.submit(&view, &only).await);
    accepted(world.submit(&view, &admitted(version, json!([]))).await);
    accepted(
        world
            .submit(&view, &admitted(version, json!([{"type": "traits.plan", "value": "p"}])))
            .await,
    );
    assert_eq!(known(&world, &app).await, []);
    assert!(world.stored(flow).await.iter().all(|row| row.respondent_id.is_none()));

    world.clock.advance_millis(5);
    accepted(world.submit(&view, &admitted(version, user("u-1"))).await);
    let first = world.engine.now();
    world.clock.advance_millis(5);
    let email = json!([{"type": "traits.email", "value": "Ann@Mail.example"}, {"type": "userId", "value": "u-1"}]);
    accepted(world.submit(&view, &admitted(version, email)).await);
    let respondents = known(&world, &app).await;
    assert_eq!(respondents.len(), 1);
    let id = respondents[0].row.respondent_id;
    assert_eq!(
        id.made_at(),
        day_of(first),
        "an id that revealed the time would lead to the response"
    );
    assert_eq!(respondents[0].seen, Some((first, world.engine.now())));
    let found = world
        .engine
        .find_respondent(&world.actor, app.row.app_id, IdentityType::Email, "ANN@mail.example")
        .await
        .unwrap();
    let found = found.unwrap();
    assert_eq!((found.row.respondent_id, found.flows), (id, vec![(flow, 2)]));
    let (_, consents) = world.engine.get_respondent(&world.actor, id).await.unwrap();
    assert_eq!(consents.len(), 2);
    assert!(consents.iter().all(|consent| consent.flow_version_id == version));
    let export = world.engine.export_respondent(&world.actor, id).await.unwrap();
    assert_eq!((export.consents.len(), export.responses.len()), (2, 2));
}

#[tokio::test]
async fn a_late_retry_does_not_bring_an_erased_respondent_back() {
    for answers in [AnswersOnErasure::Keep, AnswersOnErasure::Delete] {
        let (world, app, flow, version) = open().await;
        let view = world.view(&app).await;
        let body = admitted(version, user("u-1"));
        let first = accepted(world.submit_with_key(&view, &body, "k").await).response_id;
        let id = known(&world, &app).await[0].row.respondent_id;
        let erased = world.engine.erase_respondent(&world.actor, id, answers).await.unwrap();
        assert_eq!((erased.respondent_id, erased.responses), (Some(id), 1));
        let kept = world.stored(flow).await;
        assert_eq!(kept.len(), usize::from(answers == AnswersOnErasure::Keep));
        assert!(kept.iter().all(|row| row.identities.is_none() && row.respondent_id.is_none()));
        assert!(kept.iter().all(|row| row.digest == row.digest_of_content()));
        let again = accepted(world.submit_with_key(&view, &body, "k").await);
        assert_eq!((again.response_id, again.replayed), (first, true), "{answers:?}");
        // Also when its version no longer accepts responses.
        world.engine.retire(&world.actor, version).await.unwrap();
        let late = accepted(world.submit_with_key(&view, &body, "k").await);
        assert_eq!((late.response_id, late.replayed), (first, true), "{answers:?}");
        assert_eq!(world.stored(flow).await, kept, "{answers:?}");
        assert_eq!(known(&world, &app).await, [], "{answers:?}");
        let gone = world.engine.get_respondent(&world.actor, id).await;
        assert!(matches!(gone, Err(AdminError::NotFound(Missing::Respondent))), "{gone:?}");
        let log = world.engine.list_audit(&world.actor, None, None, 10).await.unwrap();
        assert_eq!(
            (log[1].action.as_str(), log[1].subject.clone()),
            ("respondent.erased", id.to_string())
        );
        assert!(log.iter().all(|entry| !format!("{entry:?}").contains("u-1")), "{log:?}");
    }
}

#[tokio::test]
async fn expired_responses_are_deleted_by_the_clock() {
    let (world, app, flow, version) = open().await;
    let view = world.view(&app).await;
    let id = app.row.app_id;
    for number in 0..3 {
        let body = admitted(version, user(&format!("u-{number}")));
        accepted(world.submit_with_key(&view, &body, &format!("k-{number}")).await);
        world.clock.advance_millis(DAY_MILLIS);
    }
    world.engine.upkeep().enforce_retention().await.unwrap();
    assert_eq!(world.stored(flow).await.len(), 3, "kept indefinitely by default");
    let patch = AppPatch { retention_days: Some(Some(2)), ..AppPatch::default() };
    world.engine.update_app(&world.actor, id, &patch).await.unwrap();
    let gone = world.engine.upkeep().enforce_retention().await.unwrap();
    assert_eq!((gone.responses, gone.respondents), (1, 1), "only those older than two days");
    world.clock.advance_millis(1);
    let gone = world.engine.upkeep().enforce_retention().await.unwrap();
    assert_eq!((gone.responses, gone.respondents), (1, 1));
    let gone = world.engine.upkeep().enforce_retention().await.unwrap();
    assert_eq!((gone.responses, gone.respondents), (0, 0), "a second run deletes nothing");
    let log = world.engine.list_audit(&world.actor, Some(id), None, 100).await.unwrap();
    let entries: Vec<_> = log.iter().filter(|it| it.action == "retention.enforced").collect();
    assert_eq!(entries.len(), 2, "one for each run that deleted something");
    let detail: Value = serde_json::from_str(&entries[0].detail).unwrap();
    assert_eq!((&detail["responses"], &detail["respondents"]), (&json!(1), &json!(1)), "{detail}");
    assert_eq!((entries[0].actor.as_str(), &entries[0].subject), ("retention", &id.to_string()));
    assert_eq!(world.stored(flow).await.len(), 1);
    assert_eq!(known(&world, &app).await.len(), 1);
    let metrics = world.engine.metrics().render();
    assert!(metrics.contains("sluice_expired_responses_total 2"), "{metrics}");
    assert!(metrics.contains("sluice_expired_respondents_total 2"), "{metrics}");
    // The response expired, so its key is free: this is a new response.
    let view = world.view(&app).await;
    let body = admitted(version, user("u-0"));
    assert!(!accepted(world.submit_with_key(&view, &body, "k-0").await).replayed);
}

#[tokio::test]
async fn retention_visits_only_apps_with_something_too_old() {
    let (world, first, _, version) = open().await;
    let mut apps = vec![first.row.app_id];
    for _ in 0..10 {
        apps.push(world.app().await.row.app_id);
    }
    let patch = AppPatch { retention_days: Some(Some(2)), ..AppPatch::default() };
    // The last app keeps its data indefinitely.
    for app in &apps[..10] {
        world.engine.update_app(&world.actor, *app, &patch).await.unwrap();
    }
    let view = world.view(&first).await;
    accepted(world.submit(&view, &admitted(version, user("u-1"))).await);
    let expiries = async || {
        let before = world.faults.expiries.load(Ordering::SeqCst);
        world.engine.upkeep().enforce_retention().await.unwrap();
        world.faults.expiries.load(Ordering::SeqCst) - before
    };
    assert_eq!(expiries().await, 0, "nothing is too old");
    world.clock.advance_millis(3 * DAY_MILLIS);
    assert_eq!(expiries().await, 5, "the steps of one app");
    assert_eq!(expiries().await, 0);
}

#[tokio::test]
async fn a_failure_in_one_app_does_not_stop_retention_in_others() {
    let (world, first, _, first_version) = open().await;
    let second = world.app().await;
    let flow = world.flow(&second).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let patch = AppPatch { retention_days: Some(Some(2)), ..AppPatch::default() };
    for app in [&first, &second] {
        world.engine.update_app(&world.actor, app.row.app_id, &patch).await.unwrap();
    }
    for (app, version) in [(&first, first_version), (&second, version)] {
        let view = world.view(app).await;
        accepted(world.submit(&view, &admitted(version, user("u-1"))).await);
    }
    world.clock.advance_millis(3 * DAY_MILLIS);
    world.faults.set(Mood::FailingToExpire(first.row.app_id));
    let gone = world.engine.upkeep().enforce_retention().await.unwrap();
    assert_eq!((gone.responses, gone.respondents, gone.failed), (1, 1, 1));
    world.faults.set(Mood::Well);
    assert_eq!(world.engine.upkeep().enforce_retention().await.unwrap().failed, 0);
}

/// An invitee who answered through the link without giving a name.
async fn invited(
    world: &World,
    app: &AppDetail,
    flow: FlowId,
    version: FlowVersionId,
    invitee: Invitee,
) -> ResponseId {
    let one = NewInvitation { invitee, expires_at: None, line: None };
    let made =
        world.engine.invite(&world.actor, flow, &[one], Duplicates::Allow, false).await.unwrap();
    let mut body = admitted(version, json!([]));
    body["flowAssignmentId"] = json!(made[0].row.assignment_id.to_string());
    let view = world.view(app).await;
    accepted(world.submit(&view, &body).await).response_id
}

#[tokio::test]
async fn an_export_has_the_invitations_and_their_responses() {
    let (world, app, flow, version) = open().await;
    let view = world.view(&app).await;
    accepted(world.submit(&view, &admitted(version, user("u-1"))).await);
    world.clock.advance_millis(5);
    let known = known(&world, &app).await[0].row.respondent_id;
    let invitee = Invitee { user_id: Some("u-1".to_owned()), email: None };
    let given = invited(&world, &app, flow, version, invitee).await;
    let export = world.engine.export_respondent(&world.actor, known).await.unwrap();
    assert_eq!(export.responses.len(), 2);
    assert_eq!(export.responses[1].response_id, given);
    assert_eq!(export.invitations.len(), 1);
    assert_eq!(export.invitations[0].row.response_id, Some(given));
    let erased =
        world.engine.erase_respondent(&world.actor, known, AnswersOnErasure::Delete).await.unwrap();
    assert_eq!((erased.responses, erased.invitations), (2, 1));
    assert_eq!(world.stored(flow).await, []);
}

#[tokio::test]
async fn an_export_makes_as_many_reads_however_many_invitations_there_are() {
    let (world, app, flow, version) = open().await;
    let ann = ProfileIdentity::new(IdentityType::UserId, "u-1");
    let mut reads = Vec::new();
    for (given, more) in [(1, 1), (8, 7)] {
        for _ in 0..more {
            let invitee = Invitee { user_id: Some("u-1".to_owned()), email: None };
            invited(&world, &app, flow, version, invitee).await;
            world.clock.advance_millis(5);
        }
        let before = world.faults.reads.load(Ordering::SeqCst);
        let export = world.engine.export_known(&world.actor, app.row.app_id, &ann).await.unwrap();
        reads.push(world.faults.reads.load(Ordering::SeqCst) - before);
        assert_eq!((export.responses.len(), export.invitations.len()), (given, given));
    }
    assert_eq!(reads[0], reads[1]);
}

#[tokio::test]
async fn an_invitee_without_a_profile_can_be_exported_and_erased() {
    let (world, app, flow, version) = open().await;
    let id = app.row.app_id;
    let invitee = Invitee { user_id: None, email: Some("Ann@mail.example".to_owned()) };
    let given = invited(&world, &app, flow, version, invitee).await;
    let ann = ProfileIdentity::new(IdentityType::Email, "ANN@mail.example");
    let export = world.engine.export_known(&world.actor, id, &ann).await.unwrap();
    assert_eq!(export.respondent, None);
    assert_eq!((export.invitations.len(), export.responses[0].response_id), (1, given));
    let erase = async || {
        world.engine.erase_known(&world.actor, id, ann.clone(), AnswersOnErasure::Delete).await
    };
    let erased = erase().await.unwrap();
    assert_eq!((erased.respondent_id, erased.responses, erased.invitations), (None, 1, 1));
    assert_eq!(world.stored(flow).await, []);
    let again = erase().await;
    assert!(matches!(again, Err(AdminError::NotFound(Missing::Respondent))), "{again:?}");
    let gone = world.engine.export_known(&world.actor, id, &ann).await;
    assert!(matches!(gone, Err(AdminError::NotFound(Missing::Respondent))), "{gone:?}");
    let log = world.engine.list_audit(&world.actor, Some(id), None, 100).await.unwrap();
    for action in ["invitee.exported", "invitee.erased"] {
        let entry = log.iter().find(|it| it.action == action).unwrap();
        assert_eq!(entry.subject, id.to_string());
    }
    assert!(log.iter().all(|entry| !format!("{entry:?}").contains("nn@mail")), "{log:?}");
}

#[tokio::test]
async fn an_interrupted_erasure_finishes_in_the_background_and_links_no_new_responses() {
    let (world, app, flow, version) = open().await;
    let view = world.view(&app).await;
    for _ in 0..120 {
        accepted(world.submit(&view, &admitted(version, user("u-1"))).await);
    }
    let id = known(&world, &app).await[0].row.respondent_id;
    let engine = &world.engine;
    let erased = engine
        .erase_respondent_within(&world.actor, id, AnswersOnErasure::Delete, Duration::ZERO)
        .await
        .unwrap();
    assert!(erased.responses < 120, "one part does not take everything: {erased:?}");
    // The background task has started to finish it, and may be done.
    assert!(erased.remaining.is_none_or(|left| left < 120), "{erased:?}");
    accepted(world.submit(&view, &admitted(version, user("u-1"))).await);
    engine.upkeep().finish_erasures().await.unwrap();
    let left = known(&world, &app).await;
    assert_eq!(left.len(), 1);
    assert_ne!(left[0].row.respondent_id, id, "a new response creates a new respondent");
    assert_eq!(world.stored(flow).await.len(), 1);
    let again = engine.erase_respondent(&world.actor, id, AnswersOnErasure::Delete).await;
    assert!(matches!(again, Err(AdminError::NotFound(Missing::Respondent))), "{again:?}");
    let app = Some(app.row.app_id);
    let log = engine.list_audit(&world.actor, app, None, 100).await.unwrap();
    let erasures: Vec<_> = log.iter().filter(|it| it.action == "respondent.erased").collect();
    assert_eq!(erasures.len(), 1, "{erasures:?}");
    assert_eq!(erasures[0].actor, "test", "the audit log names the requesting actor");
}
