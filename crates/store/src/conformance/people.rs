//! Users and their roles, links, sessions, saved views.

use sluice_flow::time::Timestamp;

use super::world::{Shop, TheStore, app_row, at, grant_row, user_row};
use crate::{
    At, Change, GrantRow, LinkRow, Page, PeopleWrite, Role, SavedViewRow, SecondFactor,
    SessionHolder, SessionRow, StoreError, StoreResult, Subject, User, UserKey, UserRow, Write,
};

async fn write(store: &TheStore, writes: Vec<PeopleWrite>) -> StoreResult<()> {
    let expected = store.people_revision().await?;
    let rows = writes.into_iter().map(Write::People).collect();
    store.apply(At::People { expected }, Change::new(|| rows)).await
}

async fn put(store: &TheStore, writes: Vec<PeopleWrite>) {
    write(store, writes).await.unwrap();
}

fn subject(name: &str) -> Option<Subject> {
    Some(Subject { issuer: "https://id.example".into(), subject: name.into() })
}

pub(super) async fn a_user_is_found_with_all_grants(store: TheStore) {
    let shop = Shop::open(&store).await;
    let full = UserRow {
        password: Some("$argon2id$…".into()),
        subject: subject("7"),
        second_factor: Some(SecondFactor {
            sealed: "v1.0.x".into(),
            used_step: i64::MAX,
            recovery: vec![[1; 32], [2; 32]],
        }),
        epoch: 3,
        disabled_at: Some(at(2)),
        ..user_row()
    };
    let bare = user_row();
    let grants =
        vec![grant_row(&full, None, Role::Viewer), grant_row(&full, Some(shop.app()), Role::Owner)];
    // In any order: here the user comes after the grants.
    let mut writes: Vec<_> = grants.iter().rev().copied().map(PeopleWrite::Grant).collect();
    writes.extend([PeopleWrite::User(full.clone()), PeopleWrite::User(bare.clone())]);
    put(&store, writes).await;
    let found = User { row: full.clone(), grants };
    for key in [
        UserKey::Id(full.user_id),
        UserKey::Email(full.email.clone()),
        UserKey::Email(full.email.to_ascii_uppercase()),
        UserKey::Subject(full.subject.clone().unwrap()),
    ] {
        assert_eq!(store.find_user(&key).await.unwrap().as_ref(), Some(&found), "{key:?}");
    }
    let alone = store.find_user(&UserKey::Id(bare.user_id)).await.unwrap();
    assert_eq!(alone, Some(User { row: bare, grants: Vec::new() }));
    for key in [
        UserKey::Id(user_row().user_id),
        UserKey::Email("nobody@mail.example".into()),
        UserKey::Subject(subject("8").unwrap()),
    ] {
        assert_eq!(store.find_user(&key).await.unwrap(), None, "{key:?}");
    }
}

pub(super) async fn addresses_and_subjects_are_unique(store: TheStore) {
    let first =
        UserRow { email: "Ann.É@mail.example".into(), subject: subject("7"), ..user_row() };
    put(&store, vec![PeopleWrite::User(first.clone())]).await;
    let same_address = UserRow { email: "aNN.É@MAIL.example".into(), ..user_row() };
    let same_subject = UserRow { subject: subject("7"), ..user_row() };
    for user in [same_address, same_subject] {
        let revision = store.people_revision().await.unwrap();
        let others = vec![PeopleWrite::User(user_row()), PeopleWrite::User(user)];
        let result = write(&store, others).await;
        assert!(matches!(result, Err(StoreError::Failed(_))), "{result:?}");
        assert_eq!(store.people_revision().await.unwrap(), revision);
        assert_eq!(
            listed(&store, 10).await,
            [first.user_id],
            "a failed change was written in part"
        );
    }
    // Only ASCII letters are compared without case.
    let other = UserRow { email: "ann.é@mail.example".into(), ..user_row() };
    put(&store, vec![PeopleWrite::User(other.clone())]).await;
    // A user may be given their own address in another case.
    let renamed = UserRow { email: "ANN.É@mail.example".into(), ..first };
    put(&store, vec![PeopleWrite::User(renamed.clone())]).await;
    let found = store.find_user(&UserKey::Email("ann.É@mail.example".into())).await.unwrap();
    assert_eq!(found.unwrap().row, renamed);
}

async fn listed(store: &TheStore, limit: usize) -> Vec<sluice_flow::id::UserId> {
    let users = store.list_users(None, Page { after: None, limit }).await.unwrap();
    users.iter().map(|user| user.row.user_id).collect()
}

pub(super) async fn users_are_listed_by_app_or_all_page_by_page(store: TheStore) {
    let (one, two) = (Shop::open(&store).await, Shop::open(&store).await);
    let users = [user_row(), user_row(), user_row(), user_row()];
    let grants = [
        grant_row(&users[0], None, Role::Owner),
        grant_row(&users[1], Some(one.app()), Role::Editor),
        grant_row(&users[1], Some(two.app()), Role::Viewer),
        grant_row(&users[2], Some(two.app()), Role::Owner),
    ];
    let mut writes: Vec<_> = users.iter().rev().cloned().map(PeopleWrite::User).collect();
    writes.extend(grants.map(PeopleWrite::Grant));
    put(&store, writes).await;
    for (app, after, limit, expected) in [
        (None, None, 10, &[0, 1, 2, 3][..]),
        (None, None, 2, &[0, 1]),
        (None, Some(1), 2, &[2, 3]),
        (Some(one.app()), None, 10, &[0, 1]),
        (Some(two.app()), None, 10, &[0, 1, 2]),
        (Some(two.app()), Some(0), 1, &[1]),
        (Some(app_row().app_id), None, 10, &[0]),
    ] {
        let page = Page { after: after.map(|it: usize| users[it].user_id), limit };
        let found = store.list_users(app, page).await.unwrap();
        let expected: Vec<_> = expected
            .iter()
            .map(|it: &usize| {
                let row = users[*it].clone();
                let own = grants.iter().filter(|grant| grant.user_id == row.user_id);
                User { grants: own.copied().collect(), row }
            })
            .collect();
        assert_eq!(found, expected, "{app:?} after {after:?}, limit {limit}");
    }
}

pub(super) async fn a_grant_is_replaced_and_removed(store: TheStore) {
    let shop = Shop::open(&store).await;
    let user = user_row();
    let (all, own) =
        (grant_row(&user, None, Role::Owner), grant_row(&user, Some(shop.app()), Role::Viewer));
    put(&store, vec![PeopleWrite::User(user.clone()), PeopleWrite::Grant(own)]).await;
    let grants =
        async || store.find_user(&UserKey::Id(user.user_id)).await.unwrap().unwrap().grants;
    put(&store, vec![PeopleWrite::Grant(all)]).await;
    assert_eq!(grants().await, [all, own]);
    let raised = GrantRow { role: Role::Editor, ..own };
    put(&store, vec![PeopleWrite::Grant(raised)]).await;
    assert_eq!(grants().await, [all, raised]);
    let away = |app_id| PeopleWrite::Ungrant { user_id: user.user_id, app_id };
    put(&store, vec![away(None)]).await;
    assert_eq!(grants().await, [raised]);
    put(&store, vec![away(Some(shop.app())), away(None)]).await;
    assert_eq!(grants().await, []);
    let orphans = [
        grant_row(&user, Some(app_row().app_id), Role::Viewer),
        grant_row(&user_row(), Some(shop.app()), Role::Viewer),
    ];
    for orphan in orphans {
        let result = write(&store, vec![PeopleWrite::Grant(orphan)]).await;
        assert!(matches!(result, Err(StoreError::Failed(_))), "{result:?}");
    }
}

pub(super) async fn one_of_two_concurrent_changes_to_people_is_a_conflict(store: TheStore) {
    let expected = store.people_revision().await.unwrap();
    let add = |user: UserRow| {
        let rows = vec![Write::People(PeopleWrite::User(user))];
        store.apply(At::People { expected }, Change::new(|| rows))
    };
    let both = tokio::join!(add(user_row()), add(user_row()));
    assert!(
        matches!(both, (Ok(()), Err(StoreError::Conflict)) | (Err(StoreError::Conflict), Ok(()))),
        "{both:?}"
    );
    assert_eq!(store.people_revision().await.unwrap(), expected + 1);
    assert_eq!(listed(&store, 10).await.len(), 1);
    // Without rows nothing changes.
    let expected = expected + 1;
    store.apply(At::People { expected }, Change::new(Vec::new)).await.unwrap();
    assert_eq!(store.people_revision().await.unwrap(), expected);
}

pub(super) async fn a_link_replaces_the_others_of_its_user_unless_it_is_another_one(
    store: TheStore,
) {
    let (user, other) = (user_row(), user_row());
    let link = |user: &UserRow, byte| LinkRow {
        user_id: user.user_id,
        hash: [byte; 32],
        expires_at: at(i64::from(byte)),
    };
    let (first, second, third) = (link(&user, 1), link(&user, 2), link(&other, 3));
    let mut writes = vec![PeopleWrite::Link(first), PeopleWrite::Link(third)];
    writes.extend([PeopleWrite::User(user.clone()), PeopleWrite::User(other)]);
    put(&store, writes).await;
    assert_eq!(store.find_link(&[1; 32]).await.unwrap(), Some(first));
    put(&store, vec![PeopleWrite::Link(second)]).await;
    assert_eq!(store.find_link(&[1; 32]).await.unwrap(), None);
    assert_eq!(store.find_link(&[2; 32]).await.unwrap(), Some(second));
    let another = |byte, now| PeopleWrite::AnotherLink { link: link(&user, byte), now: at(now) };
    put(&store, vec![another(4, 1), another(5, 2)]).await;
    assert_eq!(store.find_link(&[2; 32]).await.unwrap(), None, "it has expired");
    assert_eq!(store.find_link(&[4; 32]).await.unwrap(), Some(link(&user, 4)));
    assert_eq!(store.find_link(&[5; 32]).await.unwrap(), Some(link(&user, 5)));
    put(&store, vec![PeopleWrite::Link(second), another(5, 1)]).await;
    assert_eq!(store.find_link(&[4; 32]).await.unwrap(), None);
    put(&store, vec![PeopleWrite::Unlink(user.user_id)]).await;
    assert_eq!(store.find_link(&[2; 32]).await.unwrap(), None);
    assert_eq!(store.find_link(&[5; 32]).await.unwrap(), None);
    assert_eq!(store.find_link(&[3; 32]).await.unwrap(), Some(third));
}

fn session(byte: u8, holder: SessionHolder, expires_at: Timestamp) -> SessionRow {
    let (created_at, used_at, confirmed_at) = (at(0), at(1), at(2));
    SessionRow { hash: [byte; 32], holder, created_at, used_at, expires_at, confirmed_at }
}

async fn put_sessions(store: &TheStore, writes: Vec<PeopleWrite>) {
    let rows = writes.into_iter().map(Write::People).collect();
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
}

pub(super) async fn a_session_reads_back_is_touched_and_ends(store: TheStore) {
    let of_user = SessionHolder::User { user_id: user_row().user_id, epoch: 4 };
    let sessions = [session(1, of_user, at(9)), session(2, SessionHolder::Token([7; 32]), at(9))];
    put_sessions(&store, sessions.map(PeopleWrite::Session).into()).await;
    for session in sessions {
        assert_eq!(store.find_session(&session.hash).await.unwrap(), Some(session));
    }
    let touch = |byte| PeopleWrite::Touch { hash: [byte; 32], used_at: at(5), expires_at: at(50) };
    put_sessions(&store, vec![touch(1)]).await;
    let touched = SessionRow { used_at: at(5), expires_at: at(50), ..sessions[0] };
    assert_eq!(store.find_session(&[1; 32]).await.unwrap(), Some(touched));
    assert_eq!(store.find_session(&[2; 32]).await.unwrap(), Some(sessions[1]));
    let confirm = PeopleWrite::Confirm { hash: [1; 32], confirmed_at: at(6) };
    put_sessions(&store, vec![confirm.clone()]).await;
    let confirmed = SessionRow { confirmed_at: at(6), ..touched };
    assert_eq!(store.find_session(&[1; 32]).await.unwrap(), Some(confirmed));
    put_sessions(&store, vec![PeopleWrite::EndSession([1; 32]), confirm]).await;
    put_sessions(&store, vec![touch(1), PeopleWrite::EndSession([1; 32])]).await;
    assert_eq!(store.find_session(&[1; 32]).await.unwrap(), None, "an ended session was revived");
    assert_eq!(store.find_session(&[2; 32]).await.unwrap(), Some(sessions[1]));
}

pub(super) async fn sessions_of_a_user_are_listed_by_epoch_and_all_but_one_end(store: TheStore) {
    let (user, other) = (user_row().user_id, user_row().user_id);
    let of = |byte: u8, user_id, epoch| SessionRow {
        used_at: at(i64::from(byte)),
        ..session(byte, SessionHolder::User { user_id, epoch }, at(99))
    };
    let all = [of(1, user, 4), of(2, user, 4), of(3, user, 5), of(4, user, 5), of(5, other, 5)];
    let token = session(6, SessionHolder::Token([7; 32]), at(99));
    let writes = all.into_iter().chain([token]).map(PeopleWrite::Session);
    put_sessions(&store, writes.collect()).await;
    let listed = async |user, epoch, limit| store.list_sessions(user, epoch, limit).await.unwrap();
    assert_eq!(listed(user, 4, 9).await, [all[1], all[0]], "not sorted by last use");
    assert_eq!(listed(user, 5, 9).await, [all[3], all[2]]);
    assert_eq!(listed(user, 5, 1).await, [all[3]]);
    assert_eq!(listed(user, 6, 9).await, []);
    put_sessions(&store, vec![PeopleWrite::EndOtherSessions { user_id: user, kept: [3; 32] }])
        .await;
    assert_eq!((listed(user, 4, 9).await, listed(user, 5, 9).await), (vec![], vec![all[2]]));
    assert_eq!(listed(other, 5, 9).await, [all[4]]);
    assert_eq!(store.find_session(&token.hash).await.unwrap(), Some(token));
}

pub(super) async fn ended_sessions_are_removed_in_batches(store: TheStore) {
    let holder = SessionHolder::Token([7; 32]);
    let all: Vec<_> = (1..=6).map(|byte| session(byte, holder, at(i64::from(byte)))).collect();
    put_sessions(&store, all.iter().copied().map(PeopleWrite::Session).collect()).await;
    for (limit, left) in [(2, &[3, 4, 5, 6][..]), (10, &[5, 6]), (10, &[5, 6])] {
        put_sessions(&store, vec![PeopleWrite::Sweep { before: at(5), limit }]).await;
        for session in &all {
            let found = store.find_session(&session.hash).await.unwrap();
            assert_eq!(found.is_some(), left.contains(&session.hash[0]), "{session:?}");
        }
    }
}

pub(super) async fn saved_views_are_listed_by_name_replaced_and_removed(store: TheStore) {
    let (shop, other_shop) = (Shop::open(&store).await, Shop::open(&store).await);
    let users = [user_row(), user_row()];
    put(&store, users.iter().cloned().map(PeopleWrite::User).collect()).await;
    let view = |shop: &Shop, user: &UserRow, name: &str| SavedViewRow {
        app_id: shop.app(),
        flow_id: shop.flow.flow_id,
        user_id: user.user_id,
        name: name.into(),
        query: "columns=version&sort=-answer.nps".into(),
        is_default: name == "b",
    };
    let own = ["Z", "b", "é"].map(|name| view(&shop, &users[0], name));
    let others = [view(&shop, &users[1], "b"), view(&other_shop, &users[0], "b")];
    let revision = store.people_revision().await.unwrap();
    let all = own.iter().rev().chain(&others).cloned();
    put(&store, all.map(PeopleWrite::SavedView).collect()).await;
    assert_eq!(store.people_revision().await.unwrap(), revision + 1);
    let listed = async |view: &SavedViewRow| {
        store.list_saved_views(view.flow_id, view.user_id).await.unwrap()
    };
    assert_eq!(listed(&own[0]).await, own, "not in the order of names as bytes");
    let changed =
        SavedViewRow { query: "sort=receivedAt".into(), is_default: true, ..own[0].clone() };
    let SavedViewRow { app_id, flow_id, user_id, name, .. } = own[1].clone();
    let remove = PeopleWrite::RemoveSavedView { app_id, flow_id, user_id, name };
    put(&store, vec![PeopleWrite::SavedView(changed.clone()), remove.clone()]).await;
    assert_eq!(listed(&own[0]).await, [changed, own[2].clone()]);
    put(&store, vec![remove]).await;
    for other in others {
        assert_eq!(listed(&other).await, std::slice::from_ref(&other), "not of this user and flow");
    }
    let stranger = SavedViewRow { user_id: user_row().user_id, ..own[0].clone() };
    let result = write(&store, vec![PeopleWrite::SavedView(stranger.clone())]).await;
    assert!(matches!(result, Err(StoreError::Failed(_))), "{result:?}");
    assert_eq!(listed(&stranger).await, []);
}
