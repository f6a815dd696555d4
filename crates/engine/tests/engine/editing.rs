//! Drafts with concurrent editors, copies of flows, and the history of a flow.

use crate::support;

use serde_json::{Value, json};
use sluice_engine::rows::{Page, Scope};
use sluice_engine::{Actor, AdminError, NewFlow, Saved};
use sluice_flow::definition::Kind;
use sluice_flow::id::{AssetId, FlowId};
use sluice_flow::lifecycle::Accepting;
use sluice_flow::time::Timestamp;
use sluice_store::{AdminStore as _, AssetRow, At, ImageType, Write};
use support::UseCases as _;
use support::{World, definition};

/// A definition with this title.
fn titled(title: &str) -> Value {
    let mut it = definition();
    it["title"] = json!(title);
    it
}

/// Saves a draft that started from this tag, and returns its new tag.
async fn saved(world: &World, flow: FlowId, title: &str, from: &str) -> String {
    match world.engine.save_draft(&world.actor, flow, &titled(title), from).await.unwrap() {
        Saved::Saved { tag, faults } => {
            assert_eq!(faults, []);
            tag
        }
        Saved::Overtaken(theirs) => panic!("overtaken by {}", theirs.definition),
    }
}

#[tokio::test]
async fn a_draft_is_saved_only_with_the_tag_of_its_current_state() {
    let world = World::new().await;
    let flow = world.flow(&world.app().await).await.flow.flow_id;
    let first = world.engine.editing(&world.actor, flow).await.unwrap().tag;
    let mine = saved(&world, flow, "Mine", &first).await;
    // Another tab still has the first state.
    let theirs = world.engine.save_draft(&world.actor, flow, &titled("Theirs"), &first).await;
    let Saved::Overtaken(stored) = theirs.unwrap() else {
        panic!("one save has overwritten the other")
    };
    assert_eq!((stored.definition["title"].as_str(), &stored.tag), (Some("Mine"), &mine));
    assert_eq!(
        world.engine.get_draft(&world.actor, flow).await.unwrap().definition,
        titled("Mine")
    );
    // With the current tag it may replace the draft.
    saved(&world, flow, "Theirs", &stored.tag).await;
}

#[tokio::test]
async fn a_save_can_be_repeated_after_losing_its_reply() {
    let world = World::new().await;
    let flow = world.flow(&world.app().await).await.flow.flow_id;
    let first = world.engine.editing(&world.actor, flow).await.unwrap().tag;
    let once = saved(&world, flow, "Mine", &first).await;
    assert_eq!(saved(&world, flow, "Mine", &first).await, once);
    let entries = world.engine.list_audit(&world.actor, None, None, 100).await.unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.action == "draft.saved").count(), 1);
}

#[tokio::test]
async fn consecutive_saves_share_one_audit_entry() {
    const MINUTE: i64 = 60_000;
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let other = world.flow(&app).await.flow.flow_id;
    let count = async || {
        let entries = world.engine.list_audit(&world.actor, None, None, 100).await.unwrap();
        entries.iter().filter(|entry| entry.action == "draft.saved").count()
    };
    let mut tag = world.engine.editing(&world.actor, flow).await.unwrap().tag;
    for number in 0..5 {
        tag = saved(&world, flow, &format!("Mine {number}"), &tag).await;
        world.clock.advance_millis(MINUTE);
    }
    assert_eq!(count().await, 1, "one person continues to edit");
    let theirs = world.engine.editing(&world.actor, other).await.unwrap().tag;
    saved(&world, other, "Other", &theirs).await;
    tag = saved(&world, flow, "Still mine", &tag).await;
    assert_eq!(count().await, 2, "another flow has its own entry and does not interrupt this one");
    let somebody = sluice_engine::Actor { name: "somebody".into(), ..world.actor.clone() };
    let save = world.engine.save_draft(&somebody, flow, &titled("Theirs"), &tag).await.unwrap();
    let Saved::Saved { tag, .. } = save else { panic!("{save:?}") };
    assert_eq!(count().await, 3, "somebody else");
    let tag = saved(&world, flow, "Mine again", &tag).await;
    assert_eq!(count().await, 4, "after somebody else");
    world.clock.advance_millis(10 * MINUTE);
    saved(&world, flow, "Later", &tag).await;
    assert_eq!(count().await, 5, "ten minutes later");
    world.publish(flow).await;
    let tag = world.engine.editing(&world.actor, flow).await.unwrap().tag;
    saved(&world, flow, "Next", &tag).await;
    assert_eq!(count().await, 6, "after a publish");
}

#[tokio::test]
async fn after_a_publish_the_next_edit_starts_from_the_published_version() {
    let world = World::new().await;
    let flow = world.flow(&world.app().await).await.flow.flow_id;
    let old = world.engine.editing(&world.actor, flow).await.unwrap();
    assert!(old.published.is_none());
    world.publish(flow).await;
    let editing = world.engine.editing(&world.actor, flow).await.unwrap();
    assert!(editing.state.draft.is_none() && editing.published.is_some());
    saved(&world, flow, "Next", &editing.tag).await;
    // An editor that started before the publish is notified.
    let late = world.engine.save_draft(&world.actor, flow, &titled("Late"), &old.tag).await;
    assert!(matches!(late.unwrap(), Saved::Overtaken(_)));
}

#[tokio::test]
async fn only_the_draft_that_the_author_has_seen_is_published() {
    let world = World::new().await;
    let flow = world.flow(&world.app().await).await.flow.flow_id;
    let seen = world.engine.editing(&world.actor, flow).await.unwrap().tag;
    let newer = saved(&world, flow, "Newer", &seen).await;
    let refused = world.engine.publish_seen(&world.actor, flow, &seen).await;
    assert!(matches!(refused, Err(AdminError::Conflict { code: "draft_changed", .. })));
    let published = world.engine.publish_seen(&world.actor, flow, &newer).await.unwrap();
    assert_eq!(published.number, 1);
}

#[tokio::test]
async fn a_copy_starts_with_the_draft_and_has_nothing_published() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    world.publish(flow).await;
    world.engine.put_draft(&world.actor, flow, titled("Draft")).await.unwrap();
    let copy = world.engine.duplicate_flow(&world.actor, flow, "Copy").await.unwrap();
    assert_eq!((copy.flow.name.as_str(), copy.last_number), ("Copy", 0));
    let draft = world.engine.get_draft(&world.actor, copy.flow.flow_id).await.unwrap();
    assert_eq!(draft.definition, titled("Draft"));
    let entries = world.engine.list_audit(&world.actor, None, None, 1).await.unwrap();
    let detail: Value = serde_json::from_str(&entries[0].detail).unwrap();
    assert_eq!(detail["duplicateOf"], json!(flow));
    // A copy of the published version, if there is no draft.
    world.publish(flow).await;
    let copy = world.engine.duplicate_flow(&world.actor, flow, "Again").await.unwrap();
    let draft = world.engine.get_draft(&world.actor, copy.flow.flow_id).await.unwrap();
    assert_eq!(draft.faults, []);
    let page = Page { after: None, limit: 10 };
    let flows = world.engine.newest_flows(&world.actor, app.row.app_id, false, page).await.unwrap();
    let names: Vec<_> = flows.iter().map(|state| state.flow.name.as_str()).collect();
    assert_eq!(names, ["Again", "Copy", "Feedback"]);
}

#[tokio::test]
async fn the_history_shows_who_published_each_version() {
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let first = world.publish(flow).await;
    world.clock.advance_millis(60_000);
    let other = Actor::trusted("other");
    world.engine.put_draft(&other, flow, titled("Second")).await.unwrap();
    world.engine.publish(&other, flow).await.unwrap();
    world.clock.advance_millis(60_000);
    let again = world.engine.republish(&world.actor, first.flow_version_id).await.unwrap();
    let history = world.engine.history(&world.actor, flow, None, 10).await.unwrap();
    let reported: Vec<_> = history
        .iter()
        .map(|it| (it.version.number, it.published_by.as_deref(), it.republished_from))
        .collect();
    assert_eq!(
        reported,
        [
            (3, Some("test"), Some(first.flow_version_id)),
            (2, Some("other"), None),
            (1, Some("test"), None),
        ]
    );
    assert_eq!(history[0].version.flow_version_id, again.flow_version_id);
    assert!(matches!(history[0].accepting, Accepting::Open { until: None }));
    assert!(matches!(history[1].accepting, Accepting::InGrace { .. }));
    let page = world.engine.history(&world.actor, flow, Some(2), 10).await.unwrap();
    assert_eq!(page.len(), 1);
}

#[tokio::test]
async fn a_version_is_not_published_again_while_its_image_is_deleted() {
    let world = World::new().await;
    let app = world.app().await.row.app_id;
    let asset = AssetRow {
        app_id: app,
        asset_id: AssetId::from_uuid(uuid::Uuid::from_u128(7)),
        content_type: ImageType::Png,
        width: 1,
        height: 1,
        digest: AssetRow::digest_of(b"image"),
        created_at: Timestamp::from_millis(0),
        bytes: b"image".to_vec(),
    };
    let id = asset.asset_id;
    let write = vec![Write::Asset(asset)];
    let revision = world.faults.find_app(app).await.unwrap().unwrap().revision;
    world.faults.apply(At::App { app, expected: revision }, write.into()).await.unwrap();
    let mut with_image = titled("With an image");
    with_image["questions"][0]["image"] = json!({"assetId": id, "alt": ""});
    let new = NewFlow { name: "Feedback".into(), kind: Kind::Survey, definition: Some(with_image) };
    let flow = world.engine.create_flow(&world.actor, app, &new).await.unwrap().flow.flow_id;
    let old = world.publish(flow).await.flow_version_id;
    world.engine.put_draft(&world.actor, flow, titled("Without")).await.unwrap();
    let current = world.publish(flow).await.flow_version_id;
    // The old version has ended, so its image may be deleted.
    world.clock.advance_millis(10 * 24 * 3_600_000);
    let (engine, actor) = (world.engine.clone(), world.actor.clone());
    *world.faults.after_assets.lock().unwrap() = Some(Box::new(move || {
        Box::pin(async move {
            let app = engine.app(&actor, Scope::Write, app).await.unwrap();
            app.delete_asset(id).await.unwrap();
        })
    }));
    let refused = world.engine.republish(&world.actor, old).await;
    assert!(matches!(refused, Err(AdminError::Invalid(_))), "{refused:?}");
    let state = world.faults.find_flow(flow).await.unwrap().unwrap();
    assert_eq!(state.current.unwrap().flow_version_id, current);
    assert!(world.faults.after_assets.lock().unwrap().is_none(), "the image was deleted");
}
