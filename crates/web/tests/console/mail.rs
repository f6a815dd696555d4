//! What the console offers with a mail server, and does not offer without one.

use sluice_engine::rows::Role;
use sluice_store::{At, Write};

use crate::support::{Site, definition};

#[tokio::test]
async fn invitations_are_sent_from_the_share_page_and_bounces_are_shown() {
    let (site, inbox) = Site::with_mail().await;
    let app = site.app("Hotel").await;
    let (flow, _) = site.flow(app, definition("Visit")).await;
    let desk = site.signed_in(Some(app), Role::Editor).await;
    let share = format!("/console/flows/{flow}/share");
    let page = desk.get(&share).await.ok();
    assert!(page.contains("Send each of them their link by e-mail"), "{page}");
    // With a mail server, links are sent unless the author decides otherwise.
    assert!(page.contains("name=\"mail\" value=\"yes\" checked"), "{page}");
    let email = [
        ("subject", "Your stay"),
        ("text", "How was **it**?"),
        ("language", "fr"),
        ("reminders", "2"),
        ("reminder-days", "3"),
    ];
    let saved = desk.post(&format!("{share}/invitation-email"), &email).await;
    assert_eq!(saved.to(), format!("{share}?done=saved#invitations"));
    let people =
        [("people", "ada@mail.example\nbounce@mail.example"), ("until", ""), ("mail", "yes")];
    let invited = desk.post(&format!("{share}/invitations"), &people).await;
    assert_eq!(invited.to(), format!("{share}?done=invited-by-mail#invitations"));
    assert!(desk.get(&share).await.ok().contains("Waiting"));
    let done = site.engine.upkeep().deliver_mails().await.unwrap();
    assert_eq!((done.sent, done.failed), (1, 1));
    let mails = inbox.take();
    assert_eq!(mails[0].subject, "Your stay");
    assert!(mails[0].text.contains("Répondre maintenant"), "{}", mails[0].text);
    let page = desk.get(&share).await.ok();
    assert!(page.contains("Bounced") && page.contains("(550 5.1.1)"), "{page}");
    assert!(page.contains("Reminder "), "{page}");
    // The form shows what was saved, and what is wrong with it.
    assert!(page.contains("value=\"Your stay\""), "{page}");
    let wrong = [
        ("subject", "x"),
        ("text", ""),
        ("language", ""),
        ("reminders", "9"),
        ("reminder-days", ""),
    ];
    let refused = desk.post(&format!("{share}/invitation-email"), &wrong).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("must be 0 to 5") && refused.text.contains("must be 1 to 60"));
    let without = [("people", "4711"), ("until", ""), ("mail", "yes")];
    let refused = desk.post(&format!("{share}/invitations"), &without).await;
    assert_eq!(refused.status, 422);
    assert!(refused.text.contains("must have an e-mail address"), "{}", refused.text);
}

#[tokio::test]
async fn password_links_are_sent_or_shown() {
    let (site, inbox) = Site::with_mail().await;
    let root = site.root().await;
    let new =
        [("email", "new@mail.example"), ("name", "New"), ("role", "viewer"), ("appId", "all")];
    let made = root.post("/console/settings/users", &new).await;
    let user = made.to().strip_suffix("?done=link-mailed").unwrap().to_owned();
    site.engine.upkeep().deliver_mails().await.unwrap();
    let mail = inbox.take().remove(0);
    assert_eq!(mail.to, "new@mail.example");
    let (_, link) = mail.text.split_once("/console/welcome#").unwrap();
    let secret = link.split_whitespace().next().unwrap();
    let form = [("code", secret), ("password", "correct horse battery")];
    assert_eq!(site.browser().post("/console/welcome", &form).await.to(), "/console?done=welcome");
    assert!(root.get(&user).await.ok().contains("Send password link by e-mail"));
    let shown = root.post(&format!("{user}/reset"), &[("show", "yes")]).await.ok();
    assert!(shown.contains("/console/welcome#"), "{shown}");
    let sent = root.post(&format!("{user}/reset"), &[]).await;
    assert_eq!(sent.to(), format!("{user}?done=link-mailed"));
}

#[tokio::test]
async fn a_forgotten_password_gets_the_same_reply_for_every_address() {
    let (site, inbox) = Site::with_mail().await;
    site.user("ann@mail.example", None, Role::Owner).await;
    let visitor = site.browser();
    let page = visitor.get("/console/sign-in").await.ok();
    assert!(page.contains("href=\"/console/forgotten\""), "{page}");
    visitor.get("/console/forgotten").await.ok();
    let mut replies = Vec::new();
    for email in ["ann@mail.example", "nobody@mail.example", "", "x\r\ny"] {
        replies.push(visitor.post("/console/forgotten", &[("email", email)]).await.ok());
    }
    assert!(replies.iter().all(|reply| *reply == replies[0]));
    while site.engine.upkeep().deliver_mails().await.unwrap().sent == 0 {
        tokio::task::yield_now().await;
    }
    let mails = inbox.take();
    assert_eq!(mails.len(), 1);
    assert_eq!(
        (mails[0].to.as_str(), mails[0].subject.as_str()),
        ("ann@mail.example", "Reset your password")
    );
}

#[tokio::test]
async fn without_a_mail_server_nothing_of_it_is_offered() {
    let site = Site::start().await;
    let app = site.app("Hotel").await;
    let (flow, _) = site.flow(app, definition("Visit")).await;
    let desk = site.signed_in(Some(app), Role::Owner).await;
    let share = desk.get(&format!("/console/flows/{flow}/share")).await.ok();
    assert!(!share.contains("by e-mail") && !share.contains("invitation-email"), "{share}");
    let responses = format!("/console/flows/{flow}/responses");
    assert!(!desk.get(&responses).await.ok().contains("/notices"));
    assert_eq!(desk.get(&format!("{responses}/notices")).await.status, 404);
    assert_eq!(desk.get("/console/forgotten").await.status, 404);
    let page = site.browser().get("/console/sign-in").await.ok();
    assert!(page.contains("Ask an owner for a new link"), "{page}");
}

#[tokio::test]
async fn a_user_chooses_notices_of_a_flow() {
    let (site, _) = Site::with_mail().await;
    let app = site.app("Hotel").await;
    let (flow, _) = site.flow(app, definition("Visit")).await;
    let desk = site.signed_in(Some(app), Role::Viewer).await;
    let responses = format!("/console/flows/{flow}/responses");
    assert!(desk.get(&responses).await.ok().contains(&format!("{responses}/notices")));
    let notices = format!("{responses}/notices");
    for (chosen, done) in
        [("daily", "notices-saved"), ("soon", "notices-saved"), ("off", "notices-off")]
    {
        let saved = desk.post(&notices, &[("frequency", chosen)]).await;
        assert_eq!(saved.to(), format!("{notices}?done={done}"));
        let page = desk.get(&notices).await.ok();
        assert!(page.contains(&format!("value=\"{chosen}\" checked")), "{page}");
    }
    assert_eq!(desk.post(&notices, &[("frequency", "hourly")]).await.status, 422);
    // A token is nobody who could get an e-mail.
    assert_eq!(site.root().await.get(&notices).await.status, 404);
}

#[tokio::test]
async fn a_test_e_mail_shows_the_reply_of_the_mail_server_in_plain_words() {
    let (site, inbox) = Site::with_mail().await;
    let root = site.root().await;
    let page = "/console/settings/mail";
    assert!(root.get(page).await.ok().contains("Send a test e-mail"));
    let sent = root.post(page, &[("address", "ann@mail.example")]).await.ok();
    assert!(sent.contains("The mail server accepted the e-mail to"), "{sent}");
    assert_eq!(inbox.take()[0].to, "ann@mail.example");
    let refused = root.post(page, &[("address", "bounce@mail.example")]).await.ok();
    assert!(refused.contains("does not know the address (its reply: 550 5.1.1)"), "{refused}");
    let wrong = root.post(page, &[("address", "ann")]).await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("must be an e-mail address"), "{}", wrong.text);
    let without = Site::start().await.root().await.get(page).await.ok();
    assert!(without.contains("No mail server is set up"), "{without}");
}

#[tokio::test]
async fn a_copy_shows_what_is_held_and_resumes() {
    let (site, _) = Site::with_mail().await;
    let root = site.root().await;
    let page = "/console/settings/mail";
    assert!(!root.get(page).await.ok().contains("are on hold"));
    let held = Write::HoldOutbound(Some(site.engine.now()));
    site.store.apply(At::Instance, vec![held].into()).await.unwrap();
    let shown = root.get(page).await.ok();
    assert!(shown.contains("E-mails and webhooks are on hold"), "{shown}");
    assert!(shown.contains("Discard pending") && shown.contains("Send pending"));
    let resumed = root.post(&format!("{page}/resume"), &[("waiting", "drop")]).await;
    assert_eq!(resumed.to(), format!("{page}?done=resumed"));
    assert!(!root.get(page).await.ok().contains("are on hold"));
}

#[tokio::test]
async fn every_page_says_that_nothing_is_sent_to_those_who_may_decide() {
    let site = Site::held().await;
    let app = site.app("Hotel").await;
    let (flow, _) = site.flow(app, definition("Visit")).await;
    let (root, owner) = (site.root().await, site.signed_in(Some(app), Role::Owner).await);
    for path in [
        format!("/console/apps/{app}"),
        format!("/console/flows/{flow}/edit"),
        format!("/console/flows/{flow}/share"),
        format!("/console/flows/{flow}/responses"),
        format!("/console/apps/{app}/settings"),
        "/console/settings/apps".to_owned(),
        "/console/settings/mail".to_owned(),
    ] {
        let page = root.get(&path).await.ok();
        assert!(page.contains("Nothing is sent.") && page.contains("on hold since"), "{path}");
        assert!(page.contains("href=\"/console/settings/mail\""), "{path}");
        if !path.ends_with("/mail") {
            let page = owner.get(&path).await.ok();
            assert!(!page.contains("Nothing is sent."), "{path}");
        }
    }
    root.post("/console/settings/mail/resume", &[("waiting", "send")]).await;
    let page = root.get(&format!("/console/apps/{app}")).await.ok();
    assert!(!page.contains("Nothing is sent."), "{page}");
}
