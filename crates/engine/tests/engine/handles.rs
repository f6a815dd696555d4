//! Handles: a handle can only be used for the scope that was proved when it was opened.

use crate::support;

use serde_json::json;
use sluice_engine::export::{ExportAs, ExportFormat, ValuesAs};
use sluice_engine::people::NewMember;
use sluice_engine::rows::{AnswersOnErasure, IdentityKeyKind, Order, Page, Role, Scope};
use sluice_engine::{
    Actor, AdminError, AdminResult, AppDetail, AppPatch, Duplicates, FlowPatch, Grant, Missing,
    NewFlow, NewIdentityKey, NewInvitation, Paging, ResponseFilter,
};
use sluice_flow::definition::Kind;
use sluice_flow::invitation::Invitee;
use support::{UseCases as _, World, accepted, definition, submission};

const NEWEST: Paging = Paging { after: None, order: Order::Desc, limit: 10 };

/// Checks that a handle refuses, although the actor has every scope: it was opened for another one.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: AdminResult<T>, needed: Scope) {
    match result {
        Err(AdminError::Forbidden { scope }) if scope == needed => {}
        other => panic!("expected a refusal that names {needed:?}, got {other:?}"),
    }
}

async fn entries(world: &World) -> usize {
    world.engine.list_audit(&world.actor, None, None, 1_000).await.unwrap().len()
}

fn invitation() -> NewInvitation {
    let invitee = Invitee { user_id: Some("7".into()), ..Invitee::default() };
    NewInvitation { invitee, expires_at: None, line: None }
}

#[tokio::test]
async fn an_app_opened_for_reading_cannot_be_changed() {
    let world = World::new().await;
    let AppDetail { row, api_keys } = world.app().await;
    let app = world.engine.app(&world.actor, Scope::Read, row.app_id).await.unwrap();
    let before = entries(&world).await;
    let patch = AppPatch { name: Some("Other".into()), ..AppPatch::default() };
    refused(app.update(&patch).await, Scope::Write);
    let new = NewFlow { name: "F".into(), kind: Kind::Form, definition: None };
    refused(app.create_flow(&new).await, Scope::Write);
    refused(app.upload_asset(Default::default()).await, Scope::Write);
    let asset = "as_06Dy3mWjVC9Wh9bEzFTKgV".parse().unwrap();
    refused(app.delete_asset(asset).await, Scope::Write);
    refused(app.create_key().await, Scope::Admin);
    refused(app.revoke_key(&api_keys[0]).await, Scope::Admin);
    let key = NewIdentityKey {
        kind: IdentityKeyKind::Hs256,
        pem: None,
        jwk: None,
        url: None,
        kid: None,
        issuer: None,
    };
    refused(app.create_identity_key(&key).await, Scope::Admin);
    refused(app.revoke_identity_key("k").await, Scope::Admin);
    let member = NewMember { email: "a@b.example".into(), name: "A".into(), role: Role::Viewer };
    refused(app.add_member(&member).await, Scope::Admin);
    refused(app.list_members(Page { after: None, limit: 1 }).await, Scope::Admin);
    assert_eq!(app.detail().await.unwrap().row, row, "it can be read");
    assert_eq!(entries(&world).await, before);
}

#[tokio::test]
async fn a_flow_opened_for_reading_cannot_be_changed_or_exported() {
    let world = World::new().await;
    let flow = world.flow(&world.app().await).await.flow.flow_id;
    let flow = world.engine.flow(&world.actor, Scope::Read, flow).await.unwrap();
    let before = entries(&world).await;
    refused(flow.publish().await, Scope::Write);
    refused(flow.put_draft(definition()).await, Scope::Write);
    refused(flow.save_draft(&json!({}), "").await, Scope::Write);
    let patch = FlowPatch { name: Some("Other".into()), ..FlowPatch::default() };
    refused(flow.update(&patch).await, Scope::Write);
    refused(flow.archive().await, Scope::Write);
    refused(flow.duplicate("Copy").await, Scope::Write);
    refused(flow.invite(&[invitation()], Duplicates::Refuse, false).await, Scope::Write);
    let format = ExportFormat::named("csv").unwrap();
    let csv = ExportAs { format, values: ValuesAs::Ids, columns: None, after: None };
    refused(flow.export(csv, &ResponseFilter::default()).await, Scope::Export);
    refused(flow.export_invitations().await, Scope::Export);
    assert_eq!(flow.draft().await.unwrap().definition, definition(), "it can be read");
    assert_eq!(entries(&world).await, before);
}

#[tokio::test]
async fn a_flow_opened_for_an_export_cannot_be_read_otherwise() {
    let world = World::new().await;
    let flow = world.flow(&world.app().await).await.flow.flow_id;
    let flow = world.engine.flow(&world.actor, Scope::Export, flow).await.unwrap();
    refused(flow.list_responses(&ResponseFilter::default(), NEWEST).await, Scope::Read);
    refused(flow.summing().await, Scope::Read);
    refused(flow.editing().await, Scope::Read);
    refused(flow.publish().await, Scope::Write);
}

#[tokio::test]
async fn versions_responses_invitations_and_respondents_check_their_scope() {
    let world = World::new().await;
    let app = world.app().await;
    let view = world.view(&app).await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let response = accepted(world.submit(&view, &submission(version)).await).response_id;
    let flow = world.engine.flow(&world.actor, Scope::Write, flow).await.unwrap();
    let made = flow.invite(&[invitation()], Duplicates::Refuse, false).await.unwrap();
    let (engine, actor) = (&world.engine, &world.actor);
    let version = engine.version(actor, Scope::Read, version).await.unwrap();
    refused(version.retire().await, Scope::Write);
    refused(version.republish().await, Scope::Write);
    let id = made[0].row.assignment_id;
    let invitation = engine.invitation(actor, Scope::Read, id).await.unwrap();
    refused(invitation.revoke().await, Scope::Write);
    let response = engine.response(actor, Scope::Write, response).await.unwrap();
    refused(response.delete().await, Scope::Erase);
    let mut body = submission(version.version.flow_version_id);
    body["respondentAnalyticsAdmission"] = json!("admitted");
    body["identities"] = json!([{"type": "userId", "value": "u-1"}]);
    accepted(world.submit(&view, &body).await);
    let page = Page { after: None, limit: 1 };
    let respondents = engine.list_respondents(actor, app.row.app_id, page).await.unwrap();
    let id = respondents[0].row.respondent_id;
    let respondent = engine.respondent(actor, Scope::Read, id).await.unwrap();
    refused(respondent.export().await, Scope::Export);
    refused(respondent.erase(AnswersOnErasure::Delete).await, Scope::Erase);
    respondent.profile().await.unwrap();
}

#[tokio::test]
async fn opening_a_handle_needs_the_scope_and_reveals_nothing_of_other_apps() {
    let world = World::new().await;
    let (mine, other) = (world.app().await.row.app_id, world.app().await);
    let flow = world.flow(&other).await.flow.flow_id;
    let grants = vec![Grant { app_id: Some(mine), scopes: vec![Scope::Read] }];
    let reader = Actor { name: "reader".into(), grants, is_fresh: true };
    // An actor learns nothing about another app, not even that it exists.
    let hidden = world.engine.app(&reader, Scope::Read, other.row.app_id).await;
    assert!(matches!(hidden, Err(AdminError::NotFound(Missing::App))), "{hidden:?}");
    let hidden = world.engine.flow(&reader, Scope::Read, flow).await;
    assert!(matches!(hidden, Err(AdminError::NotFound(Missing::Flow))), "{hidden:?}");
    refused(world.engine.app(&reader, Scope::Write, mine).await, Scope::Write);
    let bound = world.engine.instance(&reader);
    assert!(matches!(bound, Err(AdminError::BoundToApp)), "{bound:?}");
}

/// A handle may be held while others change the same app.
#[tokio::test]
async fn a_change_with_an_outdated_handle_is_computed_again() {
    let world = World::new().await;
    let flow = world.flow(&world.app().await).await.flow.flow_id;
    let held = world.engine.flow(&world.actor, Scope::Write, flow).await.unwrap();
    let newer = json!({"title": "Newer", "questions": []});
    world.engine.put_draft(&world.actor, flow, newer.clone()).await.unwrap();
    let renamed = FlowPatch { name: Some("Renamed".into()), ..FlowPatch::default() };
    let state = held.update(&renamed).await.unwrap();
    assert_eq!(state.flow.name, "Renamed");
    assert_eq!(world.engine.get_draft(&world.actor, flow).await.unwrap().definition, newer);
    world.engine.archive_flow(&world.actor, flow).await.unwrap();
    let late = held.update(&FlowPatch { name: Some("Late".into()), ..renamed }).await;
    assert!(matches!(late, Err(AdminError::Conflict { code: "flow_archived", .. })), "{late:?}");
}
