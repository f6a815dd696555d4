//! Sharing a flow: the link and its QR code, the snippet, the calls with real ids, invitations.

use crate::use_cases::UseCases as _;
use serde_json::{Value, json};
use sluice_engine::rows::{IdentityKeyKind, IdentityVerification, Role, Scope};
use sluice_engine::{AppPatch, NewFlow, NewIdentityKey, Receipt};
use sluice_flow::definition::Kind;
use sluice_flow::id::{AppId, FlowId};
use sluice_flow::invitation::InvitationState;

use crate::support::{ORIGIN, Site, actor};

/// The example of the calls must contain every type that has an answer.
fn everything() -> Value {
    let options = json!([{"id": "a", "label": "It's A"}, {"id": "b", "label": "B"}]);
    json!({"title": "A \"quoted\" & <b>bold</b> title", "defaultLocale": "en", "translations": {"de": {"title": "Titel"}}, "questions": [
        {"id": "nps", "type": "nps", "prompt": "How likely?", "required": true},
        {"id": "why", "type": "longText", "prompt": "Why?", "required": true},
        {"id": "use", "type": "multipleChoice", "prompt": "What?", "options": options, "required": true},
        {"id": "order", "type": "ranking", "prompt": "Order?", "options": options, "required": true},
        {"id": "when", "type": "date", "prompt": "When?", "required": true},
    ]})
}

async fn opened() -> (Site, AppId, FlowId) {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let (flow, _) = site.flow(app, everything()).await;
    (site, app, flow)
}

fn share(flow: FlowId) -> String {
    format!("/console/flows/{flow}/share")
}

/// The text of an element by its id, as a browser would read it.
fn text_of(page: &str, id: &str) -> String {
    let from = page.split_once(&format!("id=\"{id}\">")).unwrap_or_else(|| panic!("no {id}")).1;
    let text = from.split_once("</code>").unwrap().0;
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[tokio::test]
async fn the_calls_have_real_ids_and_the_last_one_stores_a_response() {
    let (site, app, flow) = opened().await;
    let page = site.root().await.get(&share(flow)).await.ok();
    let curl = text_of(&page, "calls-curl");
    let key = site.engine.get_app(&actor(), app).await.unwrap().api_keys[0].to_string();
    for part in [
        format!("{ORIGIN}/api/v1/{key}/flows/{flow}"),
        format!("{ORIGIN}/api/v1/{key}/trpc/response.submit"),
    ] {
        assert!(curl.contains(&part), "{curl}");
    }
    let body = curl
        .split_once("-d '")
        .unwrap()
        .1
        .trim_end()
        .strip_suffix('\'')
        .unwrap()
        .replace("'\\''", "'");
    let view = site.engine.app_by_key(&key).await.unwrap().unwrap();
    let receipt = site.engine.submit_as(&view, Some(body.as_bytes()), None, None).await.unwrap();
    assert!(matches!(receipt, Receipt::Accepted(_)), "{body}: {receipt:?}");
    let typescript = text_of(&page, "calls-typescript");
    assert!(typescript.contains(&key) && typescript.contains("\"order\": ["), "{typescript}");
}

#[tokio::test]
async fn the_link_has_the_requested_parameters_and_is_escaped() {
    let (site, _, flow) = opened().await;
    let root = site.root().await;
    let plain = root.get(&share(flow)).await.ok();
    assert!(plain.contains(&format!("value=\"{ORIGIN}/f/{flow}\"")));
    let query = "?locale=de&name1=campaign&value1=%3Cscript%3E%26x&name2=&value2=y&locale2=fr";
    let built = root.get(&format!("{}{query}", share(flow))).await.ok();
    let link = format!("{ORIGIN}/f/{flow}?context.locale=de&amp;tags.campaign=%3Cscript%3E%26x\"");
    assert!(built.contains(&link), "{built}");
    assert!(!built.contains("<script>"), "{built}");
    assert!(!built.contains("<b>bold"), "{built}");
    let unknown = root.get(&format!("{}?locale=xx", share(flow))).await.ok();
    assert!(unknown.contains(&format!("value=\"{ORIGIN}/f/{flow}\"")));
    // The frame's title stays inside its quotes.
    assert!(
        text_of(&plain, "embed")
            .contains("title=\"A &quot;quoted&quot; &amp; &lt;b>bold&lt;/b> title\"")
    );
}

#[tokio::test]
async fn the_qr_code_is_a_file_without_scripts() {
    let (site, _, flow) = opened().await;
    let reply = site.root().await.get(&format!("{}/code.svg?name1=a&value1=b", share(flow))).await;
    assert_eq!(reply.headers["content-type"], "image/svg+xml; charset=utf-8");
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"code.svg\"");
    assert_eq!(reply.headers["content-security-policy"], "default-src 'none'; sandbox");
    assert!(reply.ok().starts_with("<?xml version=\"1.0\""));
}

#[tokio::test]
async fn an_unpublished_flow_links_to_publishing() {
    let (site, app, _) = opened().await;
    let new = NewFlow { name: "Draft".into(), kind: Kind::Survey, definition: Some(everything()) };
    let flow = site.engine.create_flow(&actor(), app, &new).await.unwrap().flow.flow_id;
    let page = site.root().await.get(&share(flow)).await.ok();
    assert!(page.contains("Review and publish") && !page.contains("id=\"calls-curl\""), "{page}");
    assert_eq!(site.root().await.get(&format!("{}/code.svg", share(flow))).await.status, 404);
}

#[tokio::test]
async fn with_enforced_verification_the_page_explains_the_token() {
    let (site, app, flow) = opened().await;
    let page = site.root().await.get(&share(flow)).await.ok();
    assert!(
        !page.contains("The link needs a token")
            && !text_of(&page, "embed").contains("token-wanted")
    );
    let hs256 = NewIdentityKey {
        kind: IdentityKeyKind::Hs256,
        pem: None,
        jwk: None,
        url: None,
        kid: None,
        issuer: None,
    };
    site.engine.create_identity_key(&actor(), app, &hs256).await.unwrap();
    let patch = AppPatch {
        identity_verification: Some(IdentityVerification::Enforce),
        ..AppPatch::default()
    };
    site.engine.update_app(&actor(), app, &patch).await.unwrap();
    let page = site.root().await.get(&share(flow)).await.ok();
    assert!(page.contains("The link needs a token"));
    assert!(text_of(&page, "embed").contains("sluice:token-wanted"));
    assert_eq!(text_of(&page, "calls-curl").matches("Bearer $TOKEN").count(), 3);
}

#[tokio::test]
async fn people_are_invited_once_listed_and_revoked() {
    let (site, _, flow) = opened().await;
    let root = site.root().await;
    let form = [("people", "ada@mail.example\n7\n"), ("until", "2026-12-01")];
    let address = format!("{}/invitations", share(flow));
    assert_eq!(
        root.post(&address, &form).await.to(),
        format!("{}?done=invited#invitations", share(flow))
    );
    assert_eq!(
        root.post(&address, &form).await.to(),
        format!("{}?done=invited-already#invitations", share(flow))
    );
    let made = site.engine.list_invitations(&actor(), flow, None, None, 10).await.unwrap();
    assert_eq!(made.len(), 2);
    assert_eq!(made[0].row.times.expires_at.unwrap().to_string(), "2026-12-02T00:00:00.000Z");
    let page = root.get(&share(flow)).await.ok();
    let link = |at: usize| made[at].link.as_deref().unwrap();
    assert!(page.contains("ada@mail.example") && page.contains(link(0)), "{page}");
    let csv = root.post(&format!("{}/invitations.csv", share(flow)), &[]).await;
    assert_eq!(csv.headers["content-disposition"], "attachment; filename=\"invitations.csv\"");
    assert_eq!(csv.text.lines().count(), 3, "{}", csv.text);
    let one = made[0].row.assignment_id;
    let revoked = root.post(&format!("{address}/{one}/revoke"), &[]).await;
    assert_eq!(revoked.to(), format!("{}?done=revoked#invitations", share(flow)));
    let state = site.engine.get_invitation(&actor(), one).await.unwrap().state;
    assert_eq!(state, InvitationState::Revoked);
    let page = root.get(&format!("{}?state=revoked", share(flow))).await.ok();
    assert!(page.contains("ada@mail.example") && !page.contains(link(1)));
}

#[tokio::test]
async fn faults_of_a_line_are_shown_and_the_typed_text_is_kept() {
    let (site, _, flow) = opened().await;
    let root = site.root().await;
    let address = format!("{}/invitations", share(flow));
    for (people, until, message) in [
        ("ada@mail.example\nnot an@address", "", "Line 2"),
        ("email,name\na@b.example,x\n", "", "is not known here"),
        ("", "", "must have one line per person"),
        ("a@b.example", "someday", "must be a date"),
        ("a@b.example", "2020-01-01", "must be in the future"),
    ] {
        let reply = root.post(&address, &[("people", people), ("until", until)]).await;
        assert_eq!(reply.status, 422, "{people}");
        assert!(reply.text.contains(message), "{people}: {}", reply.text);
        assert!(reply.text.contains(people.lines().next().unwrap_or_default()), "{people}");
    }
    assert!(site.engine.list_invitations(&actor(), flow, None, None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_list_with_people_already_invited_shows_their_number() {
    let (site, _, flow) = opened().await;
    let root = site.root().await;
    let address = format!("{}/invitations", share(flow));
    root.post(&address, &[("people", "ada@mail.example")]).await.to();
    let people = "ada@mail.example\n7\n8\n8\n9";
    let to = root.post(&address, &[("people", people)]).await.to().to_owned();
    let page = root.get(to.split('#').next().unwrap()).await.ok();
    let message = "3 people invited. 2 people skipped";
    assert!(page.contains(message), "{to}: {page}");
    let forged = root.get(&format!("{}?done=invited.3.%3Cb%3E", share(flow))).await.ok();
    assert!(!forged.contains("people invited"));
}

#[tokio::test]
async fn an_invitation_is_revoked_only_under_its_flow() {
    let (site, app, flow) = opened().await;
    let (other, _) = site.flow(app, everything()).await;
    let root = site.root().await;
    root.post(&format!("{}/invitations", share(flow)), &[("people", "7")]).await;
    let made = site.engine.list_invitations(&actor(), flow, None, None, 10).await.unwrap();
    let id = made[0].row.assignment_id;
    assert_eq!(
        root.post(&format!("{}/invitations/{id}/revoke", share(other)), &[]).await.status,
        404
    );
}

#[tokio::test]
async fn a_viewer_sees_who_is_invited_and_neither_links_nor_forms() {
    let (site, app, flow) = opened().await;
    site.root()
        .await
        .post(&format!("{}/invitations", share(flow)), &[("people", "ada@mail.example")])
        .await;
    let made = site.engine.list_invitations(&actor(), flow, None, None, 10).await.unwrap();
    let viewer = site.signed_in(Some(app), Role::Viewer).await;
    let page = viewer.get(&share(flow)).await.ok();
    assert!(
        page.contains("ada@mail.example") && !page.contains(&made[0].row.assignment_id.to_string()),
        "{page}"
    );
    for form in ["Invite people", "/revoke\"", "Copy link", "invitations.csv"] {
        assert!(!page.contains(form), "{form}: {page}");
    }
    // Refused before the form is checked.
    assert_eq!(
        viewer.post(&format!("{}/invitations", share(flow)), &[("people", "")]).await.status,
        403
    );
}

#[tokio::test]
async fn downloading_all_links_needs_the_export_permission_and_is_audited() {
    let (site, app, flow) = opened().await;
    let people = "=cmd|' /C calc'!A0\n+49 30\nada@mail.example";
    site.root().await.post(&format!("{}/invitations", share(flow)), &[("people", people)]).await;
    let file = format!("{}/invitations.csv", share(flow));
    let exported = async || {
        let entries = site.engine.list_audit(&actor(), Some(app), None, 100).await.unwrap();
        entries.iter().filter(|entry| entry.action == "invitations.exported").count()
    };
    for scopes in [&[Scope::Read][..], &[Scope::Read, Scope::Write]] {
        let token = site.token(scopes, Some(app)).await;
        assert_eq!(site.with_token(&token).await.post(&file, &[]).await.status, 403, "{scopes:?}");
    }
    assert_eq!(exported().await, 0);
    let editor = site.signed_in(Some(app), Role::Editor).await;
    let csv = editor.post(&file, &[]).await.ok();
    assert_eq!(exported().await, 1);
    // No cell can be interpreted as a formula.
    assert!(csv.lines().any(|line| line.starts_with("'=cmd")), "{csv}");
    assert!(csv.lines().any(|line| line.starts_with("'+49 30")), "{csv}");
}
