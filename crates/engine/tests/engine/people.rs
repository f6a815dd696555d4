//! Console users: permissions, sign-in, and how long sessions last.

use crate::support;

use sluice_engine::people::{NewMember, NewUser, UserDetail, UserPatch};
use sluice_engine::rows::{Page, Role, Scope};
use sluice_engine::{Actor, AdminError, Engine, Missing, NewToken, Refusal, Secret, Session};
use sluice_flow::id::{AppId, UserId};
use support::UseCases as _;
use support::World;

const PASSWORD: &str = "correct horse battery";
const HOUR: i64 = 60 * 60 * 1000;

fn page() -> Page<UserId> {
    Page { after: None, limit: 100 }
}

impl World {
    async fn user(&self, email: &str, app_id: Option<AppId>, role: Role) -> (UserDetail, Secret) {
        let new = NewUser { email: email.into(), name: "Ann".into(), role, app_id };
        self.engine.create_user(&self.actor, new).await.unwrap()
    }

    /// Creates a user and signs in.
    async fn signed_in(&self, email: &str, app: Option<AppId>, role: Role) -> (UserDetail, Secret) {
        let (user, link) = self.user(email, app, role).await;
        let session =
            self.engine.accounts().set_password_by_link(&link.0, PASSWORD, None).await.unwrap();
        (user, session)
    }

    async fn session(&self, secret: &Secret) -> Option<Session> {
        self.engine.accounts().session(&secret.0).await.unwrap()
    }

    async fn actions(&self) -> Vec<String> {
        let log = self.engine.list_audit(&self.actor, None, None, 100).await.unwrap();
        log.into_iter().map(|entry| entry.action).collect()
    }
}

async fn sign_in(engine: &Engine, email: &str, password: &str) -> Result<Secret, Refusal> {
    engine.accounts().sign_in_with_password(email, password, None).await
}

#[tokio::test]
async fn a_role_grants_its_scopes_in_its_app() {
    let world = World::new().await;
    let (one, two) = (world.app().await.row.app_id, world.app().await.row.app_id);
    for (role, held) in [
        (Role::Viewer, &[Scope::Read][..]),
        (Role::Editor, &[Scope::Read, Scope::Write, Scope::Export]),
        (Role::Owner, &[Scope::Read, Scope::Write, Scope::Export, Scope::Erase, Scope::Admin]),
    ] {
        for app_id in [None, Some(one)] {
            let email = format!("{role:?}.{}@mail.example", app_id.is_some());
            let (user, secret) = world.signed_in(&email, app_id, role).await;
            let session = world.session(&secret).await.unwrap();
            assert_eq!(session.user_id, Some(user.user_id));
            assert_eq!(session.actor.name, user.user_id.to_string());
            for scope in [Scope::Read, Scope::Write, Scope::Export, Scope::Erase, Scope::Admin] {
                let has = held.contains(&scope);
                assert_eq!(session.actor.may(scope, one), has, "{role:?} {scope:?}");
                assert_eq!(session.actor.may(scope, two), has && app_id.is_none());
                assert_eq!(session.actor.may_instance(scope), has && app_id.is_none());
            }
            let page = Page { after: None, limit: 10 };
            let apps = world.engine.list_apps(&session.actor, page).await.unwrap();
            assert_eq!(apps.len(), if app_id.is_some() { 1 } else { 2 });
        }
    }
}

#[tokio::test]
async fn addresses_are_unique_in_any_case_and_all_faults_are_reported() {
    let world = World::new().await;
    world.user("Ann@mail.example", None, Role::Owner).await;
    let new = |email: &str, name: &str| NewUser {
        email: email.into(),
        name: name.into(),
        role: Role::Viewer,
        app_id: None,
    };
    let taken = world.engine.create_user(&world.actor, new(" aNN@mail.example ", "Ann")).await;
    assert!(matches!(taken, Err(AdminError::Conflict { code: "email_taken", .. })), "{taken:?}");
    let faulty = world.engine.create_user(&world.actor, new("ann", " ")).await;
    let Err(AdminError::Invalid(faults)) = faulty else { panic!("{faulty:?}") };
    let pointers: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(pointers, ["/name", "/email"]);
    let nowhere = NewUser {
        app_id: Some(AppId::from_uuid(uuid::Uuid::from_u128(7))),
        ..new("bob@mail.example", "Bob")
    };
    let nowhere = world.engine.create_user(&world.actor, nowhere).await;
    assert!(matches!(nowhere, Err(AdminError::NotFound(Missing::App))), "{nowhere:?}");
    assert_eq!(world.engine.list_users(&world.actor, page()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_link_sets_a_password_once_and_within_a_day() {
    let world = World::new().await;
    let (_, link) = world.user("ann@mail.example", None, Role::Owner).await;
    let set = async |secret: &Secret, password: &str| {
        world.engine.accounts().set_password_by_link(&secret.0, password, None).await
    };
    for bad in ["short", "ann@mail.example"] {
        assert!(matches!(set(&link, bad).await, Err(Refusal::Invalid(_))), "{bad}");
    }
    assert!(set(&link, PASSWORD).await.is_ok(), "faults do not use up the link");
    assert!(matches!(set(&link, "another horse battery").await, Err(Refusal::LinkOver)));
    assert!(sign_in(&world.engine, " ANN@mail.example", PASSWORD).await.is_ok());
    let bob = world.user("bob@mail.example", None, Role::Viewer).await;
    let again = world.engine.reset_user(&world.actor, bob.0.user_id).await.unwrap();
    assert!(matches!(set(&bob.1, PASSWORD).await, Err(Refusal::LinkOver)), "replaced");
    world.clock.advance_millis(24 * HOUR);
    assert!(matches!(set(&again, PASSWORD).await, Err(Refusal::LinkOver)), "a day has passed");
}

#[tokio::test]
async fn concurrent_uses_of_one_link_set_one_password() {
    let world = World::new().await;
    let (_, link) = world.user("ann@mail.example", None, Role::Owner).await;
    let tries = (0..4).map(|number| {
        let (engine, link) = (world.engine.clone(), link.clone());
        let password = format!("password number {number}");
        tokio::spawn(async move {
            engine.accounts().set_password_by_link(&link.0, &password, None).await
        })
    });
    let mut set = 0;
    for one in tries.collect::<Vec<_>>() {
        match one.await.unwrap() {
            Ok(_) => set += 1,
            Err(error) => assert!(matches!(error, Refusal::LinkOver), "{error:?}"),
        }
    }
    assert_eq!(set, 1);
}

#[tokio::test]
async fn unknown_wrong_and_disabled_credentials_get_the_same_refusal() {
    let world = World::new().await;
    let (user, _) = world.signed_in("ann@mail.example", None, Role::Viewer).await;
    world.user("bob@mail.example", None, Role::Viewer).await;
    let refused = async |email: &str, password: &str| {
        let result = sign_in(&world.engine, email, password).await;
        assert!(matches!(result, Err(Refusal::Wrong(_))), "{email} {password}: {result:?}");
    };
    refused("ann@mail.example", "wrong password").await;
    refused("nobody@mail.example", PASSWORD).await;
    refused("bob@mail.example", "").await;
    // PostgreSQL refuses such a text; a caller must not notice that.
    refused("ann\0@mail.example", PASSWORD).await;
    refused("", PASSWORD).await;
    let disable = UserPatch { disabled: Some(true), ..UserPatch::default() };
    world.engine.update_user(&world.actor, user.user_id, &disable).await.unwrap();
    refused("ann@mail.example", PASSWORD).await;
    let token = world.engine.accounts().sign_in_with_token("sluice_nonsense", None).await;
    assert!(matches!(token, Err(Refusal::Wrong(_))));
}

#[tokio::test]
async fn a_session_slides_for_twelve_hours_and_ends_after_a_week() {
    let world = World::new().await;
    let (_, secret) = world.signed_in("ann@mail.example", None, Role::Viewer).await;
    let begun = world.session(&secret).await.unwrap().expires_at;
    world.clock.advance_millis(59_999);
    world.session(&secret).await.unwrap();
    assert_eq!(world.session(&secret).await.unwrap().expires_at, begun, "not extended yet");
    world.clock.advance_millis(1);
    world.session(&secret).await.unwrap();
    let slid = world.session(&secret).await.unwrap().expires_at;
    assert_eq!(slid.as_millis(), begun.as_millis() + 60_000);
    world.clock.advance_millis(12 * HOUR - 1);
    assert!(world.session(&secret).await.is_some());
    for _ in 0..100 {
        world.clock.advance_millis(11 * HOUR);
        if world.session(&secret).await.is_none() {
            break;
        }
    }
    assert!(world.session(&secret).await.is_none());
    let week = begun.as_millis() - 12 * HOUR + 7 * 24 * HOUR;
    let over = world.engine.now().as_millis();
    assert!((week..week + 11 * HOUR).contains(&over), "ended {} ms after a week", over - week);
    let (_, idle) = world.signed_in("bob@mail.example", None, Role::Viewer).await;
    world.clock.advance_millis(12 * HOUR);
    assert!(world.session(&idle).await.is_none());
}

#[tokio::test]
async fn a_session_ends_at_once_on_every_node() {
    let world = World::new().await;
    let other = world.another().await;
    let (user, secret) = world.signed_in("ann@mail.example", None, Role::Viewer).await;
    assert!(other.session(&secret).await.is_some());
    let disable = |disabled| UserPatch { disabled: Some(disabled), ..UserPatch::default() };
    world.engine.update_user(&world.actor, user.user_id, &disable(true)).await.unwrap();
    assert!(other.session(&secret).await.is_none());
    world.engine.update_user(&world.actor, user.user_id, &disable(false)).await.unwrap();
    assert!(other.session(&secret).await.is_none(), "it does not come back");
    let secret = sign_in(&world.engine, "ann@mail.example", PASSWORD).await.unwrap();
    let second = sign_in(&world.engine, "ann@mail.example", PASSWORD).await.unwrap();
    other.engine.accounts().sign_out(&secret.0).await.unwrap();
    assert!(world.session(&secret).await.is_none() && world.session(&second).await.is_some());
    let change = async |old: &str, new: &str| {
        world.engine.accounts().change_password(user.user_id, old, new, Some(&second.0)).await
    };
    assert!(matches!(
        change("wrong password", "another horse battery").await,
        Err(Refusal::Invalid(_))
    ));
    let third = change(PASSWORD, "another horse battery").await.unwrap();
    assert!(other.session(&second).await.is_none() && other.session(&third).await.is_some());
    assert!(matches!(
        sign_in(&world.engine, "ann@mail.example", PASSWORD).await,
        Err(Refusal::Wrong(_))
    ));
    let replaced = world
        .engine
        .accounts()
        .sign_in_with_password("ann@mail.example", "another horse battery", Some(&third.0))
        .await
        .unwrap();
    assert!(world.session(&third).await.is_none() && world.session(&replaced).await.is_some());
}

#[tokio::test]
async fn a_token_session_has_no_more_rights_than_the_token() {
    let world = World::new().await;
    let app = world.app().await.row.app_id;
    let expires_at = Some(sluice_flow::time::Timestamp::from_millis(support::START_MILLIS + HOUR));
    let new = NewToken {
        name: "laptop".into(),
        scopes: vec![Scope::Read],
        app_id: Some(app),
        expires_at,
    };
    let (row, token) = world.engine.create_token(&world.actor, new.clone()).await.unwrap();
    let sign_in =
        async |token: &str| world.engine.accounts().sign_in_with_token(token, None).await.unwrap();
    let secret = sign_in(&token.0).await;
    let session = world.session(&secret).await.unwrap();
    assert_eq!((session.who.as_str(), session.user_id), ("laptop", None));
    assert!(session.actor.may(Scope::Read, app) && !session.actor.may(Scope::Write, app));
    world.engine.revoke_token(&world.actor, row.token_id).await.unwrap();
    assert!(world.session(&secret).await.is_none());
    let (_, token) = world.engine.create_token(&world.actor, new).await.unwrap();
    let secret = sign_in(&token.0).await;
    world.clock.advance_millis(HOUR);
    assert!(world.session(&secret).await.is_none(), "the token has expired");
}

#[tokio::test]
async fn the_last_owner_of_the_instance_cannot_be_removed() {
    let world = World::new().await;
    let (ann, _) = world.signed_in("ann@mail.example", None, Role::Owner).await;
    let app = world.app().await.row.app_id;
    world.user("carl@mail.example", Some(app), Role::Owner).await;
    let (bob, _) = world.user("bob@mail.example", None, Role::Owner).await;
    let disable = UserPatch { disabled: Some(true), ..UserPatch::default() };
    world.engine.update_user(&world.actor, bob.user_id, &disable).await.unwrap();
    let stays = |result: Result<UserDetail, AdminError>| {
        assert!(
            matches!(result, Err(AdminError::Conflict { code: "last_owner", .. })),
            "{result:?}"
        );
    };
    stays(world.engine.update_user(&world.actor, ann.user_id, &disable).await);
    stays(world.engine.set_role(&world.actor, ann.user_id, None, Some(Role::Editor)).await);
    stays(world.engine.set_role(&world.actor, ann.user_id, None, None).await);
    // Two concurrent removals: one owner remains.
    let enable = UserPatch { disabled: Some(false), ..UserPatch::default() };
    world.engine.update_user(&world.actor, bob.user_id, &enable).await.unwrap();
    let both = tokio::join!(
        world.engine.set_role(&world.actor, ann.user_id, None, None),
        world.engine.update_user(&world.actor, bob.user_id, &disable),
    );
    assert!(both.0.is_ok() != both.1.is_ok(), "{both:?}");
}

#[tokio::test]
async fn an_owner_of_one_app_manages_its_people_and_nothing_else() {
    let world = World::new().await;
    let (one, two) = (world.app().await.row.app_id, world.app().await.row.app_id);
    let (ann, secret) = world.signed_in("ann@mail.example", Some(one), Role::Owner).await;
    let (boss, _) = world.user("boss@mail.example", None, Role::Owner).await;
    let (bob, _) = world.user("bob@mail.example", Some(two), Role::Owner).await;
    let actor: Actor = world.session(&secret).await.unwrap().actor;
    let new =
        |email: &str| NewMember { email: email.into(), name: String::new(), role: Role::Viewer };
    let unknown = world.engine.add_member(&actor, one, &new("carl@mail.example")).await;
    assert!(matches!(unknown, Err(AdminError::Invalid(_))), "{unknown:?}");
    let (carl, link) =
        world.engine.add_member(&world.actor, one, &new("carl@mail.example")).await.unwrap();
    assert!(link.is_some(), "an owner of the instance creates the user, with a link");
    let (added, link) =
        world.engine.add_member(&actor, one, &new("BOB@mail.example")).await.unwrap();
    assert_eq!((added, link), (bob.user_id, None), "an existing user: no link is returned");
    let members = world.engine.list_members(&actor, one, page()).await.unwrap();
    let seen: Vec<_> = members.iter().map(|it| (it.user_id, it.role, it.everywhere)).collect();
    assert_eq!(
        seen,
        [
            (ann.user_id, Some(Role::Owner), None),
            (boss.user_id, None, Some(Role::Owner)),
            (bob.user_id, Some(Role::Viewer), None),
            (carl, Some(Role::Viewer), None),
        ]
    );
    world.engine.set_role(&actor, carl, Some(one), Some(Role::Editor)).await.unwrap();
    world.engine.set_role(&actor, bob.user_id, Some(one), None).await.unwrap();
    let not_found = |result: Result<(), AdminError>| {
        assert!(matches!(result, Err(AdminError::NotFound(Missing::App))), "{result:?}");
    };
    not_found(world.engine.list_members(&actor, two, page()).await.map(|_| ()));
    not_found(world.engine.add_member(&actor, two, &new("x@mail.example")).await.map(|_| ()));
    not_found(world.engine.set_role(&actor, carl, Some(two), Some(Role::Owner)).await.map(|_| ()));
    let bound = |result: Result<(), AdminError>| {
        assert!(matches!(result, Err(AdminError::BoundToApp)), "{result:?}");
    };
    bound(world.engine.set_role(&actor, ann.user_id, None, Some(Role::Owner)).await.map(|_| ()));
    bound(world.engine.list_users(&actor, page()).await.map(|_| ()));
    bound(world.engine.get_user(&actor, ann.user_id).await.map(|_| ()));
    bound(world.engine.reset_user(&actor, boss.user_id).await.map(|_| ()));
    let patch = UserPatch { disabled: Some(true), ..UserPatch::default() };
    bound(world.engine.update_user(&actor, boss.user_id, &patch).await.map(|_| ()));
    let entries = world.engine.list_audit(&actor, Some(one), None, 100).await.unwrap();
    let actions: Vec<_> = entries.iter().rev().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "app.created",
            "user.created",
            "user.created",
            "user.role_changed",
            "user.role_changed",
            "user.role_changed"
        ]
    );
}

#[tokio::test]
async fn an_owner_of_one_app_cannot_create_an_account_that_others_give_roles_to() {
    let world = World::new().await;
    let (one, two) = (world.app().await.row.app_id, world.app().await.row.app_id);
    let (_, secret) = world.signed_in("eve@mail.example", Some(one), Role::Owner).await;
    let eve: Actor = world.session(&secret).await.unwrap().actor;
    let boss =
        NewMember { email: "boss@mail.example".into(), name: String::new(), role: Role::Owner };
    let refused = world.engine.add_member(&eve, one, &boss).await;
    assert!(matches!(refused, Err(AdminError::Invalid(_))), "{refused:?}");
    // So only an owner of the instance gets the first link, and passes it on to the person.
    let (_, link) = world.engine.add_member(&world.actor, two, &boss).await.unwrap();
    assert!(link.is_some());
    assert_eq!(world.engine.add_member(&eve, one, &boss).await.unwrap().1, None);
}

#[tokio::test]
async fn the_first_sign_in_with_a_provider_invalidates_earlier_credentials() {
    let world = World::new().await;
    let (user, secret) = world.signed_in("ann@mail.example", None, Role::Owner).await;
    world.user("bob@mail.example", None, Role::Owner).await;
    let claims = sluice_engine::verify::IdClaims {
        issuer: "https://id.example".into(),
        subject: "42".into(),
        verified_email: Some("ann@mail.example".into()),
        authenticated_at: None,
    };
    let begun = world.engine.accounts().sign_in_with_subject(&claims, None).await.unwrap();
    assert_eq!(world.session(&begun).await.unwrap().user_id, Some(user.user_id));
    assert!(world.session(&secret).await.is_none(), "the earlier session");
    let by_password = sign_in(&world.engine, "ann@mail.example", PASSWORD).await;
    assert!(matches!(by_password, Err(Refusal::Wrong(_))), "{by_password:?}");
}

#[tokio::test]
async fn a_new_link_ends_the_sessions_of_its_user() {
    let world = World::new().await;
    let (user, secret) = world.signed_in("ann@mail.example", None, Role::Owner).await;
    world.engine.reset_user(&world.actor, user.user_id).await.unwrap();
    assert!(world.session(&secret).await.is_none());
}

#[tokio::test]
async fn viewers_and_editors_cannot_manage_users() {
    let world = World::new().await;
    let app = world.app().await.row.app_id;
    for role in [Role::Viewer, Role::Editor] {
        for app_id in [None, Some(app)] {
            let email = format!("{role:?}.{}@mail.example", app_id.is_some());
            let (user, secret) = world.signed_in(&email, app_id, role).await;
            let actor = world.session(&secret).await.unwrap().actor;
            let own =
                world.engine.set_role(&actor, user.user_id, Some(app), Some(Role::Owner)).await;
            assert!(matches!(own, Err(AdminError::Forbidden { scope: Scope::Admin })), "{own:?}");
            let all = world.engine.set_role(&actor, user.user_id, None, Some(Role::Owner)).await;
            assert!(all.is_err(), "{all:?}");
            assert!(world.engine.list_members(&actor, app, page()).await.is_err());
            assert!(world.engine.list_users(&actor, page()).await.is_err());
        }
    }
}

#[tokio::test]
async fn changes_to_people_are_audited_without_secrets() {
    let world = World::new().await;
    let (user, link) = world.user("ann@mail.example", None, Role::Owner).await;
    let session =
        world.engine.accounts().set_password_by_link(&link.0, PASSWORD, None).await.unwrap();
    world.engine.accounts().sign_out(&session.0).await.unwrap();
    let again = world.engine.reset_user(&world.actor, user.user_id).await.unwrap();
    let rename = UserPatch { name: Some("Anna".into()), ..UserPatch::default() };
    world.engine.update_user(&world.actor, user.user_id, &rename).await.unwrap();
    let expected = [
        "user.updated",
        "user.link_made",
        "session.ended",
        "session.started",
        "user.password_set",
        "user.created",
    ];
    assert_eq!(world.actions().await, expected);
    let log = world.engine.list_audit(&world.actor, None, None, 100).await.unwrap();
    let text = format!("{log:?}");
    for secret in [PASSWORD, "argon2", &link.0, &session.0, &again.0] {
        assert!(!text.contains(secret), "{secret} is in the log");
    }
}

#[tokio::test]
async fn expired_sessions_are_removed_hourly_and_at_sign_in() {
    let world = World::new().await;
    let (_, first) = world.signed_in("ann@mail.example", None, Role::Viewer).await;
    let (_, second) = world.signed_in("bob@mail.example", None, Role::Viewer).await;
    let is_stored = async |secret: &Secret| {
        use sha2::Digest as _;
        let hash: [u8; 32] = sha2::Sha256::digest(secret.0.as_bytes()).into();
        sluice_store::UserStore::find_session(&*world.faults, &hash).await.unwrap().is_some()
    };
    assert!(is_stored(&first).await && is_stored(&second).await);
    world.clock.advance_millis(12 * HOUR + 1);
    world.engine.upkeep().enforce_retention().await.unwrap();
    assert!(!is_stored(&first).await && !is_stored(&second).await);
    let third = sign_in(&world.engine, "ann@mail.example", PASSWORD).await.unwrap();
    world.clock.advance_millis(12 * HOUR + 1);
    sign_in(&world.engine, "bob@mail.example", PASSWORD).await.unwrap();
    assert!(!is_stored(&third).await);
}
