//! Links to pages: the short path that an author chooses, and what other sites show of a link.

use serde_json::json;
use sluice_engine::AdminError;
use sluice_engine::branding::HostedPatch;
use sluice_engine::rows::{IdentityVerification, Scope};
use sluice_engine::{AppPatch, NewInvitation};
use sluice_flow::design::DesignField;
use sluice_flow::id::{FlowId, MailId};
use sluice_flow::invitation::Invitee;
use sluice_flow::time::Timestamp;
use sluice_store::{At, MailKind, MailRow, MailWrite, Write};

use crate::browser::{Browser, READ, answers, attribute, one, path, published};
use crate::support::{START, Site, actor};
use crate::use_cases::UseCases as _;

async fn set_path(site: &Site, flow: FlowId, path: Option<&str>) -> Result<(), AdminError> {
    let flow = site.engine.flow(&actor(), Scope::Write, flow).await?;
    flow.set_short_path(path).await.map(|_| ())
}

fn nps() -> serde_json::Value {
    one(json!({"id": "nps", "type": "nps", "prompt": "How?"}))
}

#[tokio::test]
async fn a_flow_is_answered_at_its_short_path_and_at_its_id() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    assert_eq!(site.get("/f/my-survey", &[]).await.status, 404);
    set_path(&site, flow, Some("My-Survey")).await.unwrap();
    for address in ["/f/my-survey", "/f/MY-SURVEY", &path(flow)] {
        assert_eq!(Browser::open(&site, address).await.state(), "asking", "{address}");
    }
    let mut browser = Browser::open(&site, "/f/my-survey?tags.a=1").await;
    let action = format!("action=\"/f/{flow}?tags.a=1\"");
    assert!(browser.html().contains(&action), "{}", browser.html());
    site.at(READ);
    browser.press("send", &[("answers.nps", "9")]).await;
    assert_eq!(browser.page.status, 303);
    assert_eq!(answers(&site, flow).await, json!({"nps": "9"}));
    // A new path takes effect at once, and the one before no longer works.
    set_path(&site, flow, Some("other-one")).await.unwrap();
    assert_eq!(site.get("/f/my-survey", &[]).await.status, 404);
    assert_eq!(site.get("/f/other-one", &[]).await.status, 200);
    set_path(&site, flow, None).await.unwrap();
    assert_eq!(site.get("/f/other-one", &[]).await.status, 404);
    assert_eq!(site.get(&path(flow), &[]).await.status, 200);
}

#[tokio::test]
async fn a_path_is_of_one_flow_until_it_is_given_up() {
    let site = Site::start().await;
    let (first, second) = (published(&site, nps()).await, published(&site, nps()).await);
    set_path(&site, first, Some("my-survey")).await.unwrap();
    set_path(&site, first, Some("my-survey")).await.unwrap();
    let other_app = site.other_app().await;
    let foreign = published(&other_app, nps()).await;
    for (site, flow) in [(&site, second), (&other_app, foreign)] {
        let refused = set_path(site, flow, Some("MY-survey")).await;
        let Err(AdminError::Invalid(faults)) = refused else { panic!("{refused:?}") };
        assert_eq!(faults[0].pointer, "/path");
        assert_eq!(faults[0].message, "is already used by another flow");
    }
    for wrong in ["assets", "a", "my survey", "-x-", "fl_01KA2VgdPrWYDVgYy3wLpB"] {
        let refused = set_path(&site, first, Some(wrong)).await;
        assert!(matches!(refused, Err(AdminError::Invalid(_))), "{wrong}: {refused:?}");
    }
    set_path(&site, first, None).await.unwrap();
    set_path(&site, second, Some("my-survey")).await.unwrap();
    let page = Browser::open(&site, "/f/my-survey").await.html();
    assert!(page.contains(&format!("data-flow=\"{second}\"")), "{page}");
}

/// The id of an e-mail with a link to unsubscribe.
async fn notice(site: &Site, flow: FlowId) -> MailId {
    let mail_id = MailId::from_uuid(uuid::Uuid::from_u128(7));
    let row = MailRow::new(mail_id, MailKind::Notice, Timestamp::from_millis(START));
    let row = MailRow { app_id: Some(site.app), flow_id: Some(flow), ..row };
    let added = vec![Write::Mail(MailWrite::Add(vec![row]))];
    site.store.apply(At::Instance, added.into()).await.unwrap();
    mail_id
}

/// Some mail gateways rewrite links like that.
#[tokio::test]
async fn escapes_in_a_link_make_no_difference_and_an_escaped_slash_separates_nothing() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    set_path(&site, flow, Some("my-survey")).await.unwrap();
    let svg = "data:image/svg+xml;base64,PHN2Zy8+".to_owned();
    let design = [(DesignField::Logo, Some(svg))].into_iter().collect();
    let hosted = Some(Some(HostedPatch { design, ..HostedPatch::default() }));
    let patch = AppPatch { hosted, ..AppPatch::default() };
    site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
    let opened = site.engine.flow(&actor(), Scope::Write, flow).await.unwrap();
    let token = opened.test_link().unwrap().token;
    let page = Browser::open(&site, &path(flow)).await.html();
    for link in [
        path(flow),
        "/f/my-survey".to_owned(),
        format!("{}/done", path(flow)),
        format!("{}/visit", path(flow)),
        format!("{}/test/{token}", path(flow)),
        attribute(&page, "class=\"logo\" src=\""),
        "/f/assets/embed.js".to_owned(),
        format!("/u/{}", notice(&site, flow).await),
    ] {
        let escaped = link.replace('_', "%5F").replace('-', "%2d").replace('.', "%2E");
        assert_ne!(escaped, link);
        let (expected, reply) = (site.get(&link, &[]).await, site.get(&escaped, &[]).await);
        assert!(matches!(expected.status, 200 | 204), "{link}: {}", expected.text());
        assert_eq!(reply.status, expected.status, "{escaped}: {}", reply.text());
        assert_eq!(reply.header("content-type"), expected.header("content-type"), "{escaped}");
        for segment in [format!("x%2F{flow}"), format!("{flow}%2Fx")] {
            let other = link.replace(&flow.to_string(), &segment);
            let status = if other == link { expected.status } else { 404 };
            assert_eq!(site.get(&other, &[]).await.status, status, "{other}");
        }
    }
    assert_eq!(site.get(&format!("{}%2Fdone", path(flow)), &[]).await.status, 404);
    let mut browser = Browser::open(&site, &path(flow).replace('_', "%5F")).await;
    site.at(READ);
    browser.press("send", &[("answers.nps", "9")]).await;
    assert_eq!(answers(&site, flow).await, json!({"nps": "9"}));
}

/// The tags of a link card in a page.
fn card(html: &str) -> Vec<&str> {
    let tags = html.split("<meta ").skip(1).filter_map(|tag| tag.split('>').next());
    tags.filter(|tag| tag.contains("og:") || tag.contains("name=\"description\"")).collect()
}

#[tokio::test]
async fn a_shared_link_has_a_title_and_a_description_in_the_language_of_the_page() {
    let site = Site::start().await;
    let mut definition = nps();
    definition["title"] = json!("Tell \"us\"");
    definition["description"] = json!("Two\nminutes.");
    definition["translations"] = json!({"de": {"title": "Sag es uns"}});
    let flow = published(&site, definition).await;
    let html = site.get(&path(flow), &[]).await.text();
    assert_eq!(
        card(&html),
        [
            "property=\"og:type\" content=\"website\"",
            "property=\"og:title\" content=\"Tell &quot;us&quot;\"",
            "name=\"description\" property=\"og:description\" content=\"Two minutes.\"",
        ]
    );
    let html = site.get(&format!("{}?context.locale=de", path(flow)), &[]).await.text();
    assert!(html.contains("property=\"og:title\" content=\"Sag es uns\""), "{html}");
}

#[tokio::test]
async fn pages_that_not_everyone_may_open_now_have_no_description() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let opened = site.engine.flow(&actor(), Scope::Write, flow).await.unwrap();
    let invitee = Invitee { email: Some("ada@mail.example".to_owned()), ..Invitee::default() };
    let new = NewInvitation { invitee, expires_at: None, line: None };
    let invited = opened.invite(&[new], sluice_engine::Duplicates::Allow, false).await.unwrap();
    let personal = format!("{}?flowAssignmentId={}", path(flow), invited[0].row.assignment_id);
    assert_eq!(card(&site.get(&personal, &[]).await.text()).len(), 0);
    site.live_window(flow, Some(START + 86_400_000), None).await;
    assert_eq!(card(&site.get(&path(flow), &[]).await.text()).len(), 0, "not open yet");
    site.live_window(flow, None, Some(START - 86_400_000)).await;
    assert_eq!(card(&site.get(&path(flow), &[]).await.text()).len(), 0, "closed");
    site.live_window(flow, None, None).await;
    assert_eq!(card(&site.get(&path(flow), &[]).await.text()).len(), 2, "open");
    let enforced = Some(IdentityVerification::Observe);
    let patch = AppPatch { identity_verification: enforced, ..AppPatch::default() };
    site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
    assert_eq!(card(&site.get(&path(flow), &[]).await.text()).len(), 2, "observed");
    assert_eq!(card(&site.get("/f/nothing-here", &[]).await.text()).len(), 0);
}
