//! Setting a password with a link.

use crate::use_cases::UseCases as _;
use sluice_engine::people::NewUser;
use sluice_engine::rows::Role;

use crate::support::{PASSWORD, Site, actor};

const PAGE: &str = "/console/welcome";

#[tokio::test]
async fn a_link_sets_a_password_and_signs_in_once() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    let new = NewUser {
        email: "ann@mail.example".into(),
        name: "Ann".into(),
        role: Role::Editor,
        app_id: Some(app),
    };
    let (_, secret) = site.engine.create_user(&actor(), new).await.unwrap();
    let link = site.engine.accounts().welcome_url(&secret);
    assert_eq!(link, format!("https://ask.example/console/welcome#{}", secret.0));
    let browser = site.browser();
    assert!(browser.get(PAGE).await.ok().contains("name=\"code\""));
    let short = browser.post(PAGE, &[("code", &link), ("password", "short")]).await;
    assert_eq!(short.status, 422);
    assert!(short.text.contains("href=\"#password\"") && short.text.contains("at least 10"));
    let beside = "<p class=\"error\" id=\"password-error\">New password must ";
    assert!(short.text.contains(beside), "{}", short.text);
    // The whole link may be pasted instead of its code.
    let reply = browser.post(PAGE, &[("code", &link), ("password", PASSWORD)]).await;
    assert_eq!(reply.to(), "/console?done=welcome");
    let home = format!("/console/apps/{app}?done=welcome");
    assert_eq!(browser.get("/console?done=welcome").await.to(), home);
    let again = site.browser().post(PAGE, &[("code", &secret.0), ("password", PASSWORD)]).await;
    assert_eq!((again.status, again.cookie("__Host-sluice")), (422, None));
    assert!(again.text.contains("A link works once"), "{}", again.text);
}
