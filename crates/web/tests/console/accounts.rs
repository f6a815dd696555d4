//! A user's sessions, re-authentication, and the second factor.

use crate::use_cases::UseCases as _;
use sluice_engine::rows::Role;
use sluice_store::AuditQuery;

use crate::support::{PASSWORD, Site};

const MINUTE: i64 = 60 * 1000;
const ACCOUNT: &str = "/console/settings/account";
const FACTOR: &str = "/console/settings/account/second-factor";

async fn sign_in<'s>(site: &'s Site, email: &str) -> crate::support::Browser<'s> {
    let browser = site.browser();
    let form = [("email", email), ("password", PASSWORD)];
    assert_eq!(browser.post("/console/sign-in", &form).await.to(), "/console");
    browser
}

/// The value of an input on a page.
fn value<'p>(page: &'p str, name: &str) -> &'p str {
    let after = page.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap();
    after.split('"').next().unwrap()
}

#[tokio::test]
async fn a_user_sees_their_own_sessions_and_ends_them() {
    let site = Site::start().await;
    site.user("ann@mail.example", None, Role::Viewer).await;
    site.user("bob@mail.example", None, Role::Viewer).await;
    let (here, there) =
        (sign_in(&site, "ann@mail.example").await, sign_in(&site, "ann@mail.example").await);
    let bob = sign_in(&site, "bob@mail.example").await;
    let page = here.get(ACCOUNT).await.ok();
    assert_eq!(page.matches("this session").count(), 1);
    // Besides these two, the session that began when the password was set.
    assert_eq!(page.matches("name=\"session\"").count(), 2, "{page}");
    let of_bob = bob.get(ACCOUNT).await.ok();
    let id = value(&of_bob, "session");
    here.post(&format!("{ACCOUNT}/sessions/end"), &[("session", id)]).await.to();
    assert_eq!(
        bob.get(ACCOUNT).await.ok().matches("name=\"session\"").count(),
        1,
        "another user's session must stay"
    );
    let of_there = there.get(ACCOUNT).await.ok();
    for part in of_there.split("name=\"session\" value=\"").skip(1) {
        let id = part.split('"').next().unwrap();
        there.post(&format!("{ACCOUNT}/sessions/end"), &[("session", id)]).await.to();
    }
    assert!(here.get(ACCOUNT).await.to().starts_with("/console/sign-in"));
    let another = sign_in(&site, "ann@mail.example").await;
    there.post(&format!("{ACCOUNT}/sessions/end-others"), &[]).await.to();
    assert!(another.get(ACCOUNT).await.to().starts_with("/console/sign-in"));
    there.get(ACCOUNT).await.ok();
}

#[tokio::test]
async fn tokens_owners_and_links_need_a_fresh_sign_in() {
    let site = Site::start().await;
    site.user("ann@mail.example", None, Role::Owner).await;
    let bob = site.user("bob@mail.example", None, Role::Viewer).await;
    let user = format!("/console/settings/users/{bob}");
    let writes = [
        (
            "/console/settings/tokens".to_owned(),
            vec![("name", "T"), ("scope", "read"), ("appId", "all")],
        ),
        (
            "/console/settings/users".to_owned(),
            vec![
                ("email", "eve@mail.example"),
                ("name", "Eve"),
                ("role", "viewer"),
                ("appId", "all"),
            ],
        ),
        (format!("{user}/role"), vec![("appId", "all"), ("role", "owner")]),
        (format!("{user}/reset"), vec![]),
        (format!("{user}/second-factor/reset"), vec![]),
    ];
    let browser = sign_in(&site, "ann@mail.example").await;
    site.clock.advance_millis(10 * MINUTE);
    for (path, form) in &writes {
        assert_eq!(browser.post(path, form).await.to(), "/console/confirm", "{path}");
    }
    // Actions that grant no new permission need no confirmation.
    let viewer = [("appId", "all"), ("role", "editor")];
    assert_eq!(
        browser.post(&format!("{user}/role"), &viewer).await.to(),
        format!("{user}?done=saved")
    );
    let back = ("to", "/console/settings/tokens");
    let wrong = browser.post("/console/confirm", &[back, ("password", "not her password")]).await;
    assert_eq!(wrong.status, 422);
    assert_eq!(browser.post(&writes[0].0, &writes[0].1).await.to(), "/console/confirm");
    let right = browser.post("/console/confirm", &[back, ("password", PASSWORD)]).await;
    assert_eq!(right.to(), "/console/settings/tokens");
    for (path, form) in &writes {
        let reply = browser.post(path, form).await;
        assert!(reply.status == 200 || reply.to().starts_with(&user), "{path}: {}", reply.text);
    }
    // A session that was started with a token is confirmed with the token.
    let root = site.root().await;
    site.clock.advance_millis(10 * MINUTE);
    assert_eq!(root.post(&writes[0].0, &writes[0].1).await.to(), "/console/confirm");
    assert_eq!(root.post("/console/confirm", &[("token", "another")]).await.status, 422);
    root.post("/console/confirm", &[("token", crate::support::ROOT)]).await.to();
    root.post(&writes[0].0, &writes[0].1).await.ok();
}

#[tokio::test]
async fn confirming_redirects_only_to_a_page_of_the_console() {
    let site = Site::start().await;
    let browser = site.signed_in(None, Role::Owner).await;
    for (referer, to) in [
        ("https://ask.example/console/settings/tokens", "/console/settings/tokens"),
        ("https://evil.example//evil.example/", "/console"),
        ("nonsense", "/console"),
    ] {
        let request = browser.request("GET", "/console/confirm").header("referer", referer);
        let page = browser.send(request.body(axum::body::Body::empty()).unwrap()).await.ok();
        assert_eq!(value(&page, "to"), to, "{referer}");
    }
    let form = [("to", "https://evil.example"), ("password", PASSWORD)];
    assert_eq!(browser.post("/console/confirm", &form).await.to(), "/console");
    // A page that requires confirmation before it is shown is the redirect target.
    site.clock.advance_millis(10 * MINUTE);
    let confirm = browser.get(FACTOR).await.to().to_owned();
    let page = browser.get(&confirm).await.ok();
    assert_eq!(value(&page, "to"), FACTOR);
    assert!(page.contains("Nothing has been changed yet"), "{page}");
}

#[tokio::test]
async fn confirming_never_redirects_to_an_address_that_accepts_only_post() {
    let site = Site::start().await;
    let ann = site.user("ann@mail.example", None, Role::Owner).await;
    let browser = sign_in(&site, "ann@mail.example").await;
    // A form with faults is shown again under the address it was sent to.
    let address = format!("/console/settings/users/{ann}/name");
    assert_eq!(browser.post(&address, &[("name", "")]).await.status, 422);
    let confirm = [("to", address.as_str()), ("password", PASSWORD)];
    assert_eq!(browser.post("/console/confirm", &confirm).await.to(), address);
    assert_eq!(browser.get(&address).await.to(), "/console");
    assert_eq!(browser.post("/console", &[]).await.status, 405);
}

/// The code that an authenticator app shows (RFC 6238), implemented independently of the code under
/// test.
fn code(secret: &str, millis: i64) -> String {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let (mut bits, mut count, mut key) = (0_u64, 0, Vec::new());
    for letter in secret.chars() {
        bits = bits << 5 | LETTERS.find(letter).unwrap() as u64;
        count += 5;
        if count >= 8 {
            count -= 8;
            key.push((bits >> count & 0xff) as u8);
        }
    }
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &key);
    let tag = ring::hmac::sign(&key, &(millis / 30_000).to_be_bytes());
    let tag = tag.as_ref();
    let at = usize::from(tag[19] & 15);
    let number = u32::from_be_bytes([tag[at] & 127, tag[at + 1], tag[at + 2], tag[at + 3]]);
    format!("{:06}", number % 1_000_000)
}

#[tokio::test]
async fn a_second_factor_is_asked_for_after_the_password_and_each_code_works_once() {
    let site = Site::start().await;
    let ann = site.user("ann@mail.example", None, Role::Owner).await;
    let browser = sign_in(&site, "ann@mail.example").await;
    let page = browser.get(FACTOR).await.ok();
    let secret = value(&page, "secret").to_owned();
    assert!(page.contains("<svg"), "{page}");
    let now = || site.engine.now().as_millis();
    let wrong = browser.post(FACTOR, &[("secret", &secret), ("code", "000000")]).await;
    assert_eq!((wrong.status, value(&wrong.text, "secret")), (422, secret.as_str()));
    let form = [("secret", secret.as_str()), ("code", &code(&secret, now()))];
    let on = browser.post(FACTOR, &form).await.ok();
    let recovery = on.split("id=\"recovery\">").nth(1).unwrap().split('<').next().unwrap();
    let recovery: Vec<_> = recovery.lines().map(str::to_owned).collect();
    assert_eq!(recovery.len(), 10);

    // A password without the code starts no session.
    let password = [("email", "ann@mail.example"), ("password", PASSWORD), ("to", ACCOUNT)];
    let asked = site.browser();
    let page = asked.post("/console/sign-in", &password).await;
    assert!(page.cookie("__Host-sluice").is_none());
    let ticket = value(&page.text, "ticket").to_owned();
    let with = async |code: &str| {
        let form = [("ticket", ticket.as_str()), ("code", code), ("to", ACCOUNT)];
        site.browser().post("/console/sign-in/code", &form).await
    };
    assert_eq!(
        with(&code(&secret, now())).await.status,
        422,
        "the code was already used to enable the second factor"
    );
    site.clock.advance_millis(30_000);
    let next = code(&secret, now());
    assert_eq!(with(&next).await.to(), ACCOUNT);
    assert_eq!(with(&next).await.status, 422, "a code must work only once");
    assert_eq!(with(&recovery[0]).await.to(), ACCOUNT);
    assert_eq!(with(&recovery[0]).await.status, 422, "a recovery code must work only once");
    assert!(browser.get(ACCOUNT).await.ok().contains("9 of 10 recovery codes"));
    site.clock.advance_millis(5 * MINUTE);
    assert!(with(&recovery[1]).await.to().starts_with("/console/sign-in"), "too late");

    // A link to set a password does not bypass it.
    let link = site.engine.reset_user(&crate::support::actor(), ann).await.unwrap();
    let form = [("code", link.0.as_str()), ("password", "quite another horse")];
    let page = site.browser().post("/console/welcome", &form).await;
    assert!(page.cookie("__Host-sluice").is_none() && page.text.contains("name=\"ticket\""));

    // An owner resets it, which the audit log records.
    site.root()
        .await
        .post(&format!("/console/settings/users/{ann}/second-factor/reset"), &[])
        .await
        .to();
    let form = [("email", "ann@mail.example"), ("password", "quite another horse")];
    assert_eq!(site.browser().post("/console/sign-in", &form).await.to(), "/console");
    let query = AuditQuery { app_id: None, after: None, limit: 20 };
    let audit = site.store.list_audit(&query).await.unwrap();
    assert!(audit.iter().any(|row| row.action == "user.second_factor_reset"));
}

#[tokio::test]
async fn changing_the_password_does_not_replace_the_second_factor() {
    let site = Site::start().await;
    site.user("ann@mail.example", None, Role::Owner).await;
    let browser = sign_in(&site, "ann@mail.example").await;
    let secret = value(&browser.get(FACTOR).await.ok(), "secret").to_owned();
    let now = || site.engine.now().as_millis();
    browser.post(FACTOR, &[("secret", &secret), ("code", &code(&secret, now()))]).await.ok();
    site.clock.advance_millis(11 * MINUTE);
    let off = format!("{FACTOR}/off");
    assert!(browser.post(&off, &[]).await.to().starts_with("/console/confirm"));

    let new = [("old", PASSWORD), ("password", "quite another horse")];
    assert_eq!(browser.post(ACCOUNT, &new).await.to(), format!("{ACCOUNT}?done=password"));
    assert!(browser.post(&off, &[]).await.to().starts_with("/console/confirm"));

    let code = code(&secret, now());
    let confirm = [("to", ACCOUNT), ("password", "quite another horse"), ("code", &code)];
    assert_eq!(browser.post("/console/confirm", &confirm).await.to(), ACCOUNT);
    assert!(browser.post(&off, &[]).await.to().starts_with(ACCOUNT), "confirmed with a code");
}

#[tokio::test]
async fn the_limit_on_codes_spans_all_addresses() {
    let site = Site::start().await;
    site.user("ann@mail.example", None, Role::Owner).await;
    let browser = sign_in(&site, "ann@mail.example").await;
    let secret = value(&browser.get(FACTOR).await.ok(), "secret").to_owned();
    let right = code(&secret, site.engine.now().as_millis());
    browser.post(FACTOR, &[("secret", &secret), ("code", &right)]).await.ok();
    let password = [("email", "ann@mail.example"), ("password", PASSWORD)];
    let page = site.browser().post("/console/sign-in", &password).await;
    let ticket = value(&page.text, "ticket").to_owned();
    let mut last = 422;
    for number in 0..30_u8 {
        let form = format!("ticket={ticket}&code=wrong");
        let request = site.browser().request("POST", "/console/sign-in/code");
        let request = request.header("origin", crate::support::ORIGIN);
        let app = site.router.for_peer(std::net::Ipv4Addr::new(203, 0, 113, number).into());
        let sent = request.body(axum::body::Body::from(form)).unwrap();
        last = tower::ServiceExt::oneshot(app, sent).await.unwrap().status().as_u16();
        assert!(last == 422 || last == 429, "{last}");
    }
    assert_eq!(last, 429);
}
