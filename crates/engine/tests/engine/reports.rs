//! Reports: who can make one, what its link opens, and when it ends.

use crate::support;

use serde_json::json;
use sluice_engine::reports::{LockedReport, OpenReport, REPORTS_MAX};
use sluice_engine::rows::Scope;
use sluice_engine::{
    Actor, AdminError, FlowHandle, Grant, NewReport, Refusal, Report, ReportPatch, ReportState,
    Secret,
};
use sluice_flow::id::FlowId;
use sluice_flow::time::Timestamp;
use support::{START_MILLIS, World};

const HOUR_MILLIS: i64 = 60 * 60 * 1000;
const PASSWORD: &str = "blue lamp under the stairs";

async fn published() -> (World, FlowId) {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    world.publish(flow).await;
    (world, flow)
}

async fn handle(world: &World, flow: FlowId) -> FlowHandle {
    world.engine.flow(&world.actor, Scope::Admin, flow).await.unwrap()
}

fn new_report() -> NewReport {
    let questions = vec!["nps".to_owned()];
    NewReport { title: "Results".to_owned(), questions, ..NewReport::default() }
}

fn secret_in(link: &Secret) -> &str {
    link.0.rsplit('/').next().unwrap()
}

async fn locked(world: &World, link: &Secret) -> Option<LockedReport> {
    world.engine.links().report(secret_in(link)).await.unwrap()
}

async fn opened(world: &World, link: &Secret) -> Option<OpenReport> {
    locked(world, link).await?.open(None).await.unwrap()
}

async fn listed(world: &World, flow: FlowId) -> Vec<Report> {
    handle(world, flow).await.list_reports().await.unwrap()
}

#[track_caller]
fn faults<T: std::fmt::Debug>(result: Result<T, AdminError>) -> Vec<String> {
    match result {
        Err(AdminError::Invalid(faults)) => {
            faults.iter().map(|fault| format!("{} {}", fault.pointer, fault.message)).collect()
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_link_opens_what_its_author_chose_and_its_secret_is_not_stored() {
    let (world, flow) = published().await;
    let filters = vec![("period".to_owned(), "30d".to_owned())];
    let new = NewReport { filters: filters.clone(), shows_texts: true, ..new_report() };
    let (report, link) = handle(&world, flow).await.create_report(&new).await.unwrap();
    let secret = secret_in(&link);
    assert!(secret.len() == 22 && link.0.starts_with("http://127.0.0.1:8080/r/"), "{}", link.0);
    let open = opened(&world, &link).await.unwrap();
    assert_eq!((open.title.as_str(), &open.questions), ("Results", &new.questions));
    assert_eq!((open.filters, open.shows_texts), (filters, true));
    assert_eq!(open.flow.flow_id(), flow);
    assert!(!open.flow.may(Scope::Write) && !open.flow.may(Scope::Export));
    assert_eq!((report.state, report.created_by.as_str()), (ReportState::Active, "test"));
    assert_eq!(listed(&world, flow).await, [report]);
    let stored = format!("{:?}", world.faults.export_all().await);
    assert!(!stored.contains(secret) && stored.contains("report.created"), "{stored}");
    assert!(!format!("{link:?}").contains(secret));
    for wrong in ["", "0000000000000000000000", &secret[..21], &secret.to_lowercase()] {
        assert!(world.engine.links().report(wrong).await.unwrap().is_none(), "{wrong}");
    }
}

#[tokio::test]
async fn a_report_ends_when_it_expires_or_is_revoked() {
    let (world, flow) = published().await;
    let handle = handle(&world, flow).await;
    let expires_at = Some(Timestamp::from_millis(START_MILLIS + HOUR_MILLIS));
    let new = NewReport { expires_at, ..new_report() };
    let (expiring, expiring_link) = handle.create_report(&new).await.unwrap();
    let (revoked, revoked_link) = handle.create_report(&new_report()).await.unwrap();
    world.clock.advance_millis(HOUR_MILLIS - 1);
    assert!(locked(&world, &expiring_link).await.is_some());
    for _ in 0..2 {
        handle.revoke_report(revoked.report_id).await.unwrap();
        assert!(locked(&world, &revoked_link).await.is_none());
    }
    world.clock.advance_millis(1);
    assert!(locked(&world, &expiring_link).await.is_none());
    let states: Vec<_> = listed(&world, flow).await.iter().map(|it| it.state).collect();
    assert_eq!(states, [ReportState::Revoked, ReportState::Expired]);
    // An expired report can be extended, a revoked one cannot.
    let later = Timestamp::from_millis(START_MILLIS + 2 * HOUR_MILLIS);
    let patch = ReportPatch { expires_at: Some(Some(later)), ..ReportPatch::default() };
    handle.change_report(expiring.report_id, &patch).await.unwrap();
    assert!(locked(&world, &expiring_link).await.is_some());
    let refused = handle.change_report(revoked.report_id, &patch).await;
    assert!(matches!(refused, Err(AdminError::Conflict { code: "report_revoked", .. })));
    assert!(handle.replace_report_link(revoked.report_id).await.is_err());
}

#[tokio::test]
async fn a_password_is_exchanged_for_a_pass_that_ends() {
    let (world, flow) = published().await;
    let handle = handle(&world, flow).await;
    let new = NewReport { password: Some(PASSWORD.to_owned()), ..new_report() };
    let (report, link) = handle.create_report(&new).await.unwrap();
    assert!(report.has_password);
    let stored = format!("{:?}", world.faults.export_all().await);
    assert!(!stored.contains(PASSWORD) && stored.contains("$argon2id$"));
    let locked_report = locked(&world, &link).await.unwrap();
    assert!(locked_report.needs_password() && locked_report.open(None).await.unwrap().is_none());
    let wrong = locked_report.unlock("another lamp on the stairs").await;
    assert!(matches!(wrong, Err(Refusal::Wrong(_))), "{wrong:?}");
    let (pass, seconds) = locked_report.unlock(PASSWORD).await.unwrap();
    let is_open = async |world: &World, link: &Secret| {
        let report = locked(world, link).await.unwrap();
        report.open(Some(&pass.0)).await.unwrap().is_some()
    };
    assert!(is_open(&world, &link).await && is_open(&world.another().await, &link).await);
    let (until, tag) = pass.0.split_once('.').unwrap();
    let later = until.parse::<i64>().unwrap() + 1;
    for forged in ["", "x", until, &format!("{later}.{tag}"), &format!("{until}.{}", &tag[1..])] {
        let opened = locked_report.open(Some(forged)).await.unwrap();
        assert!(opened.is_none(), "{forged}");
    }
    // A pass of one report does not open another with the same password.
    let (_, other) = handle.create_report(&new).await.unwrap();
    assert!(!is_open(&world, &other).await);
    world.clock.advance_millis(seconds * 1000 - 1);
    assert!(is_open(&world, &link).await);
    world.clock.advance_millis(1);
    assert!(!is_open(&world, &link).await);
}

#[tokio::test]
async fn a_new_password_or_link_ends_passes_and_no_password_opens_the_report() {
    let (world, flow) = published().await;
    let handle = handle(&world, flow).await;
    let new = NewReport { password: Some(PASSWORD.to_owned()), ..new_report() };
    let (report, link) = handle.create_report(&new).await.unwrap();
    let (pass, _) = locked(&world, &link).await.unwrap().unlock(PASSWORD).await.unwrap();
    let with = |password: Option<&str>| ReportPatch {
        password: Some(password.map(str::to_owned)),
        ..ReportPatch::default()
    };
    // A change of something else keeps the password.
    let renamed = ReportPatch { title: Some("Other".to_owned()), ..ReportPatch::default() };
    assert!(handle.change_report(report.report_id, &renamed).await.unwrap().has_password);
    assert!(locked(&world, &link).await.unwrap().open(Some(&pass.0)).await.unwrap().is_some());
    let another = with(Some("green kettle beside the well"));
    handle.change_report(report.report_id, &another).await.unwrap();
    assert!(locked(&world, &link).await.unwrap().open(Some(&pass.0)).await.unwrap().is_none());
    let removed = handle.change_report(report.report_id, &with(None)).await.unwrap();
    assert!(!removed.has_password && opened(&world, &link).await.is_some());
    let (_, replaced) = handle.replace_report_link(report.report_id).await.unwrap();
    assert!(locked(&world, &link).await.is_none() && opened(&world, &replaced).await.is_some());
}

#[tokio::test]
async fn every_fault_of_a_report_is_reported() {
    let (world, flow) = published().await;
    let handle = handle(&world, flow).await;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let bad = NewReport {
        title: " ".to_owned(),
        questions: ["nps", "nope", "nps"].map(str::to_owned).into(),
        filters: vec![
            pair("period", "8d"),
            pair("from", "yesterday"),
            pair("version", "fv_0000000000000000000000"),
            pair("admission", "maybe"),
            pair("compare", "moon"),
            pair("answer.nope", "1"),
            pair("search", "x"),
        ],
        password: Some("password123!".to_owned()),
        expires_at: Some(Timestamp::from_millis(START_MILLIS)),
        ..NewReport::default()
    };
    let found = faults(handle.create_report(&bad).await);
    let pointers: Vec<_> = found.iter().map(|it| it.split(' ').next().unwrap()).collect();
    let filters = ["/filters"; 8];
    let mut expected = vec!["/title", "/questions/1", "/questions/2"];
    expected.extend(filters);
    expected.extend(["/expiresAt", "/password"]);
    assert_eq!(pointers, expected, "{found:#?}");
    assert_eq!(
        faults(handle.create_report(&NewReport { questions: vec![], ..new_report() }).await),
        ["/questions must name at least one question"]
    );
    let version = handle.current.as_ref().unwrap().flow_version_id.to_string();
    // The results page ignores a second tag, so a report must refuse it.
    for twice in [
        [pair("tag.plan", "pro"), pair("tag.team", "a")],
        [pair("period", "7d"), pair("to", "2026-11-15")],
        [pair("compare", "version"), pair("compare", "period")],
        [pair("compare", "tag.team"), pair("tag.plan", "pro")],
        [pair("compare", "version"), pair("version", &version)],
        [pair("answer.nps", "1"), pair("answer.nps", "1")],
    ] {
        let new = NewReport { filters: twice.to_vec(), ..new_report() };
        assert_eq!(faults(handle.create_report(&new).await).len(), 1, "{twice:?}");
    }
    assert!(listed(&world, flow).await.is_empty());
}

#[tokio::test]
async fn filters_of_the_results_page_are_accepted() {
    let (world, flow) = published().await;
    let handle = handle(&world, flow).await;
    let version = handle.current.as_ref().unwrap().flow_version_id.to_string();
    for filters in [
        vec![("period", "7d"), ("compare", "period")],
        vec![("from", "2026-11-01"), ("to", "2026-11-15")],
        vec![("version", version.as_str()), ("tag.a b", "é"), ("admission", "admitted")],
        vec![("answer.nps[lt]", "7"), ("answer.nps[gt]", "2"), ("compare", "tag.plan")],
    ] {
        let owned = filters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let new = NewReport { filters: owned.collect(), ..new_report() };
        assert!(handle.create_report(&new).await.is_ok(), "{filters:?}");
    }
}

#[tokio::test]
async fn sharing_needs_the_scope_export_and_listing_needs_read() {
    let (world, flow) = published().await;
    let app = handle(&world, flow).await.app_id();
    let (report, _) = handle(&world, flow).await.create_report(&new_report()).await.unwrap();
    for scope in [Scope::Read, Scope::Write, Scope::Erase] {
        let grants = vec![Grant { app_id: Some(app), scopes: vec![scope] }];
        let actor = Actor { name: "t".to_owned(), grants, is_fresh: true };
        assert!(world.engine.flow(&actor, Scope::Export, flow).await.is_err());
        let handle = world.engine.flow(&actor, scope, flow).await.unwrap();
        let refused = handle.create_report(&new_report()).await;
        assert!(matches!(refused, Err(AdminError::Forbidden { scope: Scope::Export })));
        assert!(handle.revoke_report(report.report_id).await.is_err());
        assert_eq!(handle.list_reports().await.is_ok(), scope != Scope::Erase, "{scope:?}");
    }
}

#[tokio::test]
async fn a_full_flow_forgets_its_oldest_revoked_report_and_keeps_every_other() {
    let (world, flow) = published().await;
    let handle = handle(&world, flow).await;
    let mut made = Vec::new();
    for _ in 0..REPORTS_MAX {
        made.push(handle.create_report(&new_report()).await.unwrap().0.report_id);
    }
    let full = handle.create_report(&new_report()).await;
    assert!(matches!(full, Err(AdminError::Conflict { code: "too_many_reports", .. })), "{full:?}");
    for at in [70, 40] {
        handle.revoke_report(made[at]).await.unwrap();
    }
    let (newest, _) = handle.create_report(&new_report()).await.unwrap();
    let mut expected: Vec<_> = made.iter().rev().copied().filter(|id| *id != made[40]).collect();
    expected.insert(0, newest.report_id);
    let listed: Vec<_> = listed(&world, flow).await.iter().map(|it| it.report_id).collect();
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn a_report_of_another_flow_is_not_found() {
    let (world, flow) = published().await;
    let app = world.app().await;
    let other = world.flow(&app).await.flow.flow_id;
    let (report, link) = handle(&world, flow).await.create_report(&new_report()).await.unwrap();
    let refused = handle(&world, other).await.revoke_report(report.report_id).await;
    assert!(matches!(refused, Err(AdminError::NotFound(_))), "{refused:?}");
    assert!(locked(&world, &link).await.is_some());
}

#[tokio::test]
async fn the_audit_log_has_what_was_done_without_secrets() {
    let (world, flow) = published().await;
    let handle = handle(&world, flow).await;
    let (report, _) = handle.create_report(&new_report()).await.unwrap();
    let patch = ReportPatch { shows_texts: Some(true), ..ReportPatch::default() };
    handle.change_report(report.report_id, &patch).await.unwrap();
    handle.replace_report_link(report.report_id).await.unwrap();
    handle.revoke_report(report.report_id).await.unwrap();
    let app = Some(handle.app_id());
    let log = world.engine.list_audit(&world.actor, app, None, 4).await.unwrap();
    let actions: Vec<_> = log.iter().rev().map(|it| it.action.as_str()).collect();
    assert_eq!(
        actions,
        ["report.created", "report.updated", "report.link_replaced", "report.revoked"]
    );
    for entry in log {
        assert_eq!(entry.subject, report.report_id.to_string());
        let detail: serde_json::Value = serde_json::from_str(&entry.detail).unwrap();
        assert_eq!(detail, json!({"title": "Results", "flowId": flow}));
    }
}
