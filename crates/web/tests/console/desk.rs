//! A signed-in console session, with requests as its browser sends them.

use crate::use_cases::UseCases as _;
use axum::body::Body;
use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sluice_engine::NewToken;
use sluice_engine::rows::Scope;

use crate::shop::{Reply, Site, actor, request};

const HOST: &str = "sluice.example";
const ORIGIN: &str = "https://sluice.example";

/// A browser with its session cookie.
pub(crate) struct Desk<'s> {
    pub(crate) site: &'s Site,
    cookie: String,
}

impl<'s> Desk<'s> {
    /// Signs in with a new token with these scopes; only for the site's app if `bound`.
    pub(crate) async fn sign_in(site: &'s Site, scopes: &[Scope], bound: bool) -> Self {
        let new = NewToken {
            name: "Desk".to_owned(),
            scopes: scopes.to_vec(),
            app_id: bound.then_some(site.app),
            expires_at: None,
        };
        let (_, secret) = site.engine.create_token(&actor(), new).await.unwrap();
        let signing_in = Self { site, cookie: String::new() };
        let reply = signing_in.post("/console/sign-in", &[("token", secret.0.as_str())]).await;
        assert_eq!(reply.status, 303, "{}", reply.text());
        let cookie = reply.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        Self { site, cookie }
    }

    /// Signs in as an owner of everything.
    pub(crate) async fn owner(site: &'s Site) -> Self {
        Self::sign_in(site, &[Scope::Admin], false).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        let headers = [("host", HOST), ("cookie", self.cookie.as_str())];
        self.site.send(request(Method::GET, path, &headers, Body::empty())).await
    }

    /// Goes where a form redirects to, with the cookie that its reply sets.
    pub(crate) async fn follow(&self, reply: &Reply) -> Reply {
        let set = reply.header("set-cookie").unwrap_or_default();
        let set = set.split(';').next().unwrap_or_default();
        let cookies = format!("{}; {set}", self.cookie);
        let headers = [("host", HOST), ("cookie", cookies.as_str())];
        let to = Self::led_to(reply);
        self.site.send(request(Method::GET, &to, &headers, Body::empty())).await
    }

    /// Sends a form from a page of the console.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        let headers = [
            ("host", HOST),
            ("origin", ORIGIN),
            ("cookie", self.cookie.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        self.site.send(request(Method::POST, path, &headers, Body::from(pairs.join("&")))).await
    }

    /// Sends a request as the console's script does.
    pub(crate) async fn send_json(&self, path: &str, body: String) -> Reply {
        let headers = [
            ("host", HOST),
            ("origin", ORIGIN),
            ("cookie", self.cookie.as_str()),
            ("content-type", "application/json"),
        ];
        self.site.send(request(Method::POST, path, &headers, Body::from(body))).await
    }

    /// Sends a form as the console's script does.
    pub(crate) async fn send_form_for_json(&self, path: &str, body: &str) -> Reply {
        let headers = [
            ("host", HOST),
            ("origin", ORIGIN),
            ("cookie", self.cookie.as_str()),
            ("accept", "application/json"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        self.site.send(request(Method::POST, path, &headers, Body::from(body.to_owned()))).await
    }

    /// The page that a form redirects to.
    #[track_caller]
    pub(crate) fn led_to(reply: &Reply) -> String {
        assert_eq!(reply.status, 303, "{}", reply.text());
        reply.header("location").unwrap()
    }
}
