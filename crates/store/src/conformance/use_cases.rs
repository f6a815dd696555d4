//! Every use case of the service once, as calls of the store, for a backend that measures what each
//! costs: on a distributed database, how many servers it asks.

use sluice_flow::closing::ALL;
use sluice_flow::invitation::Invitee;
use sluice_flow::time::Timestamp;

use super::closing;
use super::removal::erasure;
use super::respondents::{claiming, known};
use super::world::{
    Shop, TheStore, apply, asset_row, at, audit_row, draft_row, flow_row, grant_row,
    identity_key_row, invitation_row, key_row, mail_row, published_row, report_row, request_row,
    test_response_row, token_row, user_row, visit_count_row,
};
use crate::{
    ActorId, AdminRequestRow, AdminRequestWrite, AnswersOnErasure, At, AuditQuery, Change,
    CountsQuery, Expiry, ExpiryCursor, FeedPosition, FlowQuery, GraceCap, InvitationQuery,
    InvitationStep, Invited, LinkRow, MailLane, MailWrite, Next, Order, Outcome, Page, PeopleWrite,
    Role, SavedViewRow, SessionHolder, SessionRow, ShortPathRow, TestWrite, UserKey,
    VisitCountsQuery, Write,
};

/// Runs the use cases, and calls `done` with the name of each after it.
pub async fn run_each(store: TheStore, mut done: impl AsyncFnMut(&'static str)) {
    let shop = Shop::open(&store).await;
    done("create an app with a flow").await;
    administration(&store, &shop, &mut done).await;
    authoring(&store, &shop, &mut done).await;
    instance(&store, &shop, &mut done).await;
    people(&store, &shop, &mut done).await;
    intake(&store, &shop, &mut done).await;
    limits(&store, &mut done).await;
    reading(&store, &shop, &mut done).await;
    removal(&store, &shop, &mut done).await;
}

async fn administration(store: &TheStore, shop: &Shop, done: &mut impl AsyncFnMut(&'static str)) {
    let app = shop.app();
    let audit = || Write::Audit(audit_row(Some(app)));
    let found = store.find_app(app).await.unwrap().unwrap();
    done("find an app").await;
    apply(store, app, vec![Write::App(found.row), audit()]).await;
    done("change an app").await;
    apply(store, app, vec![Write::Key(key_row(app)), audit()]).await;
    apply(store, app, vec![Write::IdentityKey(identity_key_row(app)), audit()]).await;
    done("create keys").await;
    store.list_keys(&[app]).await.unwrap();
    store.list_identity_keys(app).await.unwrap();
    done("list keys").await;
    store.list_apps(Page { after: None, limit: 100 }).await.unwrap();
    store.find_apps(&[app]).await.unwrap();
    done("list apps").await;
    let flow = flow_row(app);
    apply(store, app, vec![Write::Flow(flow.clone()), audit()]).await;
    done("create a flow").await;
    apply(store, app, vec![Write::Version(draft_row(&flow)), audit()]).await;
    done("save a draft").await;
    let cap = GraceCap { app_id: app, flow_id: flow.flow_id, ends_at: at(9) };
    let version = published_row(&flow, 1);
    apply(store, app, vec![Write::CapGrace(cap), Write::Version(version), audit()]).await;
    done("publish").await;
    store.find_flow(shop.flow.flow_id).await.unwrap().unwrap();
    store.find_version(shop.version.flow_version_id).await.unwrap().unwrap();
    store.find_app_by_key(&shop.key.api_key).await.unwrap().unwrap();
    done("resolve a flow").await;
    let query = FlowQuery {
        app_id: app,
        label: None,
        key: None,
        archived: None,
        order: Order::Desc,
        after: None,
        limit: 10,
    };
    store.list_flows(&query).await.unwrap();
    store.list_versions(app, flow.flow_id, None, 10).await.unwrap();
    done("list flows and versions").await;
    let report = report_row(&shop.flow);
    apply(store, app, vec![Write::Report(report.clone()), audit()]).await;
    store.list_reports(app, shop.flow.flow_id).await.unwrap();
    done("share a report").await;
    store.find_report(&report.hash).await.unwrap().unwrap();
    done("open a report").await;
    let path = shop.flow.flow_id.to_string().replace('_', "-");
    let row = ShortPathRow { app_id: app, flow_id: shop.flow.flow_id, path };
    apply(store, app, vec![Write::ShortPath(row.clone()), audit()]).await;
    store.short_path_of(app, row.flow_id).await.unwrap().unwrap();
    done("choose a short path").await;
    store.find_short_path(&row.path).await.unwrap().unwrap();
    done("open a short path").await;
    store.changes(FeedPosition(0)).await.unwrap();
    done("read the change feed").await;
}

async fn authoring(store: &TheStore, shop: &Shop, done: &mut impl AsyncFnMut(&'static str)) {
    let app = shop.app();
    let audit = || Write::Audit(audit_row(Some(app)));
    let row = test_response_row(&shop.flow, 1);
    let tested = TestWrite::Add { row, keep: 10 };
    store.apply(At::Instance, vec![Write::Test(tested)].into()).await.unwrap();
    done("store a test response").await;
    store.list_test_responses(app, shop.flow.flow_id, None, 10).await.unwrap();
    done("list test responses").await;
    let mail = mail_row(&shop.flow);
    apply(store, app, vec![Write::Mail(MailWrite::Add(vec![mail.clone()])), audit()]).await;
    done("queue an e-mail").await;
    store.list_due_mails(MailLane::Invitations, at(1), 10).await.unwrap();
    let claim = MailWrite::Claim { read: mail.clone(), until: at(2) };
    store.apply(At::Instance, vec![Write::Mail(claim)].into()).await.unwrap();
    done("take an e-mail").await;
    store.find_mail(mail.mail_id).await.unwrap().unwrap();
    store.list_mails_of(app, &[]).await.unwrap();
    done("read e-mails").await;
    let request = request_row();
    let claim = AdminRequestWrite::Claim(request.clone());
    store.apply(At::Instance, vec![Write::AdminRequest(claim)].into()).await.unwrap();
    store.find_admin_request(request.request_id).await.unwrap().unwrap();
    done("claim an admin request").await;
    let AdminRequestRow { request_id, claim, .. } = request;
    let mark = AdminRequestWrite::Apply { request_id, claim, at: at(2) };
    apply(store, app, vec![Write::Key(key_row(app)), Write::AdminRequest(mark), audit()]).await;
    done("change an app by an admin request").await;
    let asset = asset_row(app);
    store.list_assets(app).await.unwrap();
    apply(store, app, vec![Write::Asset(asset.clone()), audit()]).await;
    done("upload an image").await;
    store.find_asset(asset.asset_id).await.unwrap().unwrap();
    done("show an image").await;
    store.flows_naming(app, &[asset.asset_id], at(1)).await.unwrap();
    apply(store, app, vec![Write::DeleteAsset(app, asset.asset_id), audit()]).await;
    done("delete an image").await;
}

async fn limits(store: &TheStore, done: &mut impl AsyncFnMut(&'static str)) {
    let shop = closing::open_with(store, &[ALL]).await;
    done("limit the responses of a flow").await;
    let response = closing::limited(&shop, store, 1, &[closing::limit(ALL, 1)]).await;
    assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    done("store a response of a limited flow").await;
    store.read_closing_counts(shop.app(), &[shop.flow.flow_id]).await.unwrap();
    done("read the counts of limits").await;
}

async fn instance(store: &TheStore, shop: &Shop, done: &mut impl AsyncFnMut(&'static str)) {
    let app = shop.app();
    let token = token_row();
    let rows = vec![Write::Token(token.clone()), Write::Audit(audit_row(None))];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    done("create a token").await;
    store.find_token(&token.hash).await.unwrap().unwrap();
    store.list_tokens().await.unwrap();
    store.find_actor_names(&[ActorId::Token(token.token_id)]).await.unwrap();
    store.find_flow_names(&[(app, shop.flow.flow_id)]).await.unwrap();
    done("find tokens").await;
    for app_id in [Some(app), None] {
        store.list_audit(&AuditQuery { app_id, after: None, limit: 10 }).await.unwrap();
    }
    let entries = store.list_audit(&AuditQuery { app_id: Some(app), after: None, limit: 10 }).await;
    let ids: Vec<_> = entries.unwrap().iter().map(|entry| entry.audit_id).collect();
    store.list_audit_before(app, &ids, 2).await.unwrap();
    done("read the audit log").await;
}

async fn people(store: &TheStore, shop: &Shop, done: &mut impl AsyncFnMut(&'static str)) {
    let user = user_row();
    let change = async |rows: Vec<PeopleWrite>| {
        let expected = store.people_revision().await.unwrap();
        let rows = rows.into_iter().map(Write::People).collect();
        store.apply(At::People { expected }, Change::new(|| rows)).await.unwrap();
    };
    let link = LinkRow { user_id: user.user_id, hash: [3; 32], expires_at: at(9) };
    change(vec![PeopleWrite::User(user.clone()), PeopleWrite::Link(link)]).await;
    done("create a user").await;
    change(vec![PeopleWrite::Grant(grant_row(&user, Some(shop.app()), Role::Editor))]).await;
    done("grant an app").await;
    change(vec![PeopleWrite::Grant(grant_row(&user, None, Role::Owner))]).await;
    done("grant all apps").await;
    let holder = SessionHolder::User { user_id: user.user_id, epoch: user.epoch };
    let session = SessionRow {
        hash: [4; 32],
        holder,
        created_at: at(0),
        used_at: at(0),
        expires_at: at(1),
        confirmed_at: at(0),
    };
    change(vec![PeopleWrite::Session(session)]).await;
    done("sign in").await;
    store.find_session(&[4; 32]).await.unwrap().unwrap();
    store.find_user(&UserKey::Id(user.user_id)).await.unwrap().unwrap();
    store.find_user(&UserKey::Email(user.email.clone())).await.unwrap().unwrap();
    store.find_link(&[3; 32]).await.unwrap().unwrap();
    store.list_sessions(user.user_id, user.epoch, 5).await.unwrap();
    store.list_users(Some(shop.app()), Page { after: None, limit: 5 }).await.unwrap();
    done("find users").await;
    let view = SavedViewRow {
        app_id: shop.app(),
        flow_id: shop.flow.flow_id,
        user_id: user.user_id,
        name: "Mine".into(),
        query: String::new(),
        is_default: false,
    };
    change(vec![PeopleWrite::SavedView(view)]).await;
    store.list_saved_views(shop.flow.flow_id, user.user_id).await.unwrap();
    done("save a view").await;
    change(vec![
        PeopleWrite::Touch { hash: [4; 32], used_at: at(1), expires_at: at(2) },
        PeopleWrite::Sweep { before: at(5), limit: 10 },
        PeopleWrite::Ungrant { user_id: user.user_id, app_id: None },
        PeopleWrite::Unlink(user.user_id),
    ])
    .await;
    done("sign out and revoke").await;
}

async fn intake(store: &TheStore, shop: &Shop, done: &mut impl AsyncFnMut(&'static str)) {
    let stored = async |response| {
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    };
    stored(shop.response(store, 1).await).await;
    done("submit").await;
    let mut keyed = shop.response(store, 2).await;
    keyed.idempotency_key = Some([5; 16]);
    stored(keyed.clone()).await;
    done("submit with a key").await;
    let again = store.commit(vec![keyed]).await.unwrap();
    assert!(matches!(again[..], [Outcome::Replayed(_)]), "{again:?}");
    store.find_by_idempotency_key(shop.app(), &[5; 16]).await.unwrap().unwrap();
    done("retry").await;
    stored(claiming(shop, store, &["user=a", "mail=a@x.org"], 3).await).await;
    done("submit with an identity").await;
    let invited = |user: &str| crate::InvitationRow {
        invitee: Invitee { user_id: Some(user.to_owned()), email: None },
        ..invitation_row(&shop.flow)
    };
    let rows = [invited("i"), invited("j")];
    let audit = Write::Audit(audit_row(Some(shop.app())));
    apply(store, shop.app(), vec![Write::Invitations(rows.to_vec()), audit]).await;
    done("invite").await;
    let assignment_id = rows[0].assignment_id;
    store.find_invitation(assignment_id, Some(shop.app())).await.unwrap().unwrap();
    let open = InvitationStep::Open {
        app: shop.app(),
        assignment: assignment_id,
        at: Timestamp::from_millis(0),
    };
    store.apply(At::Instance, Change::new(|| vec![Write::Invitation(open)])).await.unwrap();
    done("open an invitation").await;
    let mut response = shop.response(store, 4).await;
    response.invitation = Some(Invited { assignment_id, linked: true });
    stored(response).await;
    done("submit with an invitation").await;
    let invitees = vec![rows[1].invitee.clone()];
    store.are_invited(shop.app(), shop.flow.flow_id, at(1), invitees).await.unwrap();
    let query = InvitationQuery {
        app_id: shop.app(),
        flow_id: shop.flow.flow_id,
        state: None,
        now: at(1),
        after: None,
        limit: 5,
    };
    store.list_invitations(&query).await.unwrap();
    store.count_invitations(shop.app(), shop.flow.flow_id, at(1)).await.unwrap();
    let page = Page { after: None, limit: 5 };
    store.list_invitations_of(shop.app(), &[known("user=j")], page).await.unwrap();
    done("list invitations").await;
    let revoke =
        InvitationStep::Revoke { app: shop.app(), assignment: rows[1].assignment_id, at: at(1) };
    apply(store, shop.app(), vec![Write::Invitation(revoke)]).await;
    done("revoke an invitation").await;
}

async fn reading(store: &TheStore, shop: &Shop, done: &mut impl AsyncFnMut(&'static str)) {
    let visits = vec![visit_count_row(&shop.version, at(0).day(), "opened", 1)];
    store.add_visit_counts(visits).await.unwrap();
    done("count visits").await;
    let query = VisitCountsQuery::default();
    store.read_visit_counts(shop.app(), shop.flow.flow_id, &query).await.unwrap();
    done("read a funnel").await;
    let (app, flow) = (shop.app(), shop.flow.flow_id);
    let mut query = shop.query();
    store.list_responses(&query).await.unwrap();
    query.tags = vec![("a".to_owned(), "b".to_owned())];
    let page = store.list_responses(&query).await.unwrap();
    assert!(page.rows.is_empty());
    store.count_responses(&query).await.unwrap();
    store.newest_responses(app, &[flow]).await.unwrap();
    done("list responses").await;
    let counts = CountsQuery { from: None, to: None, segment: None };
    store.read_counts(app, flow, &counts).await.unwrap();
    store.count_by_day(app, None).await.unwrap();
    store.count_by_version(app, flow).await.unwrap();
    done("read results").await;
    store.recount(app, flow).await.unwrap();
    done("recount").await;
    let found = store.find_respondent_by(app, &known("user=a")).await.unwrap().unwrap();
    let respondents = Page { after: None, limit: 5 };
    store.list_respondents(app, respondents).await.unwrap();
    store.list_consents(app, found, Page { after: None, limit: 5 }).await.unwrap();
    store.list_responses_of(app, found, Page { after: None, limit: 5 }).await.unwrap();
    done("list respondents").await;
    let mut after = None;
    loop {
        let records = store.export_records(after.as_ref(), 7).await.unwrap();
        let Some(last) = records.last() else { break };
        after = Some(last.cursor());
    }
    done("export all records").await;
}

async fn removal(store: &TheStore, shop: &Shop, done: &mut impl AsyncFnMut(&'static str)) {
    let app = shop.app();
    let rows = store.list_responses(&shop.query()).await.unwrap().rows;
    let audit = || audit_row(Some(app));
    let row = Write::DeleteResponse(rows[0].response_id);
    apply(store, app, vec![row, Write::Audit(audit())]).await;
    done("delete a response").await;
    let found = store.find_respondent_by(app, &known("user=a")).await.unwrap().unwrap();
    while !store.erase(erasure(shop, found, AnswersOnErasure::Delete)).await.unwrap().done {}
    done("erase a respondent").await;
    let mut cursor = ExpiryCursor::default();
    loop {
        let expiry = Expiry {
            app_id: app,
            retention_days: None,
            before: at(1_000),
            cursor,
            audit: audit(),
            limit: 10,
        };
        match store.expire(expiry).await.unwrap().next {
            Next::At(next) => cursor = next,
            Next::Done | Next::LeftToAnother | Next::SettingChanged => break,
        }
    }
    done("expire").await;
    store.check().await.unwrap();
    done("check").await;
}
