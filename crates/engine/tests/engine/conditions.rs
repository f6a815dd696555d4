//! Conditions of a request, with concurrent changes by another process at every moment.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sluice_engine::clock::Clock as _;
use sluice_engine::outbound::{self, ResumeChoice};
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, AdminResult, AppDetail, AppPatch, Condition, RequestScope, Store};
use sluice_flow::id::{AppId, MailId};
use sluice_store::{
    AdminStore as _, At, Change, MailKind, MailRow, MailWrite, StoreError, StoreResult, Write,
};

use crate::support::{UseCases as _, World};

/// Requires a name, and changes the app after its first evaluation.
struct Overtaken {
    other: Arc<World>,
    app: AppId,
    required: &'static str,
    change: AppPatch,
    evaluations: Arc<AtomicUsize>,
}

impl Overtaken {
    async fn evaluate(&self) -> StoreResult<bool> {
        let (other, app, change) = (Arc::clone(&self.other), self.app, self.change.clone());
        let is_first = self.evaluations.fetch_add(1, Ordering::SeqCst) == 0;
        // In a separate task: what another process does is not part of this request.
        let evaluated = tokio::spawn(async move {
            let handle = other.engine.app(&other.actor, Scope::Write, app).await.unwrap();
            let name = handle.row.name.clone();
            if is_first {
                handle.update(&change).await.unwrap();
            }
            name
        });
        Ok(evaluated.await.unwrap() == self.required)
    }
}

impl Condition for Overtaken {
    fn holds(&self) -> Pin<Box<dyn Future<Output = StoreResult<bool>> + Send + '_>> {
        Box::pin(self.evaluate())
    }
}

fn renamed(name: &str) -> AppPatch {
    AppPatch { name: Some(name.to_owned()), ..AppPatch::default() }
}

fn with_grace(seconds: u32) -> AppPatch {
    AppPatch { grace_window_seconds: Some(Some(seconds)), ..AppPatch::default() }
}

/// Renames an app under the condition that its name is `required`, while another process makes a
/// change. Returns the outcome, the app after it, and how often the condition was evaluated.
async fn rename(
    required: &'static str,
    change: AppPatch,
) -> (AdminResult<AppDetail>, Arc<RequestScope>, AppDetail, usize) {
    let world = World::new().await;
    let app = world.app().await.row.app_id;
    let evaluations = Arc::new(AtomicUsize::new(0));
    let scope = RequestScope::current_or_new();
    scope.require(Box::new(Overtaken {
        other: Arc::new(world.another().await),
        app,
        required,
        change,
        evaluations: Arc::clone(&evaluations),
    }));
    let handle = world.engine.app(&world.actor, Scope::Write, app).await.unwrap();
    let outcome = Arc::clone(&scope).run(handle.update(&renamed("Mine"))).await;
    let after = world.engine.get_app(&world.actor, app).await.unwrap();
    (outcome, scope, after, evaluations.load(Ordering::SeqCst))
}

#[tokio::test]
async fn a_change_between_the_comparison_and_the_write_is_noticed() {
    let (outcome, scope, after, evaluations) = rename("Shop", renamed("Theirs")).await;
    assert!(matches!(outcome, Err(AdminError::Store(StoreError::Conflict))), "{outcome:?}");
    assert!(scope.has_refused());
    assert!(!scope.held().await.unwrap());
    assert_eq!((after.row.name.as_str(), evaluations), ("Theirs", 2));
}

#[tokio::test]
async fn a_change_that_does_not_matter_is_kept_and_the_condition_compared_again() {
    let (outcome, scope, after, evaluations) = rename("Shop", with_grace(7)).await;
    outcome.unwrap();
    assert!(scope.held().await.unwrap());
    assert_eq!((after.row.name.as_str(), evaluations), ("Mine", 2));
    assert_eq!(after.row.grace_window_seconds, Some(7), "both changes are there");
}

#[tokio::test]
async fn a_condition_that_does_not_hold_is_evaluated_until_nothing_comes_in_between() {
    let (outcome, scope, after, evaluations) = rename("Other", with_grace(7)).await;
    outcome.unwrap_err();
    assert!(scope.has_refused());
    assert_eq!((after.row.name.as_str(), evaluations), ("Shop", 2));
}

#[tokio::test]
async fn a_request_without_a_change_has_its_condition_evaluated_at_the_end() {
    let world = World::new().await;
    let app = world.app().await.row.app_id;
    let evaluations = Arc::new(AtomicUsize::new(0));
    let scope = RequestScope::current_or_new();
    scope.require(Box::new(Overtaken {
        other: Arc::new(world.another().await),
        app,
        required: "Other",
        change: AppPatch::default(),
        evaluations: Arc::clone(&evaluations),
    }));
    let handle = world.engine.app(&world.actor, Scope::Write, app).await.unwrap();
    Arc::clone(&scope).run(handle.update(&AppPatch::default())).await.unwrap();
    assert_eq!(evaluations.load(Ordering::SeqCst), 0);
    assert!(!scope.held().await.unwrap());
    assert!(!scope.has_refused(), "nothing was refused: there was nothing to write");
}

/// A condition that does not hold.
struct Never;

impl Condition for Never {
    fn holds(&self) -> Pin<Box<dyn Future<Output = StoreResult<bool>> + Send + '_>> {
        Box::pin(std::future::ready(Ok(false)))
    }
}

#[tokio::test]
async fn a_copy_in_another_state_drops_nothing_and_the_request_ends() {
    let world = World::new().await;
    let mail = MailRow::new(MailId::from_random(7), MailKind::Password, world.clock.now());
    let added = Change::new(move || vec![Write::Mail(MailWrite::Add(vec![mail.clone()]))]);
    world.faults.apply(At::Instance, added).await.unwrap();
    world.clock.advance_millis(1_000);
    let store = Arc::clone(&world.faults) as Arc<dyn Store>;
    outbound::hold(&store, world.clock.now()).await.unwrap();
    let copy = world.another().await;
    let instance = copy.engine.instance(&copy.actor).unwrap();
    let scope = RequestScope::current_or_new();
    scope.require(Box::new(Never));
    Arc::clone(&scope).run(instance.resume_outbound(ResumeChoice::Drop)).await.unwrap_err();
    assert!(scope.has_refused());
    assert!(store.outbound_held_at().await.unwrap().is_some());
    let waiting = instance.resume_outbound(ResumeChoice::Drop).await.unwrap();
    assert_eq!(waiting.0, 1, "the e-mail was still there");
}
