//! Bots and floods: the protections never lose a human's answers.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::body::Body;
use http::Method;
use serde_json::{Value, json};
use sluice_engine::Rates;
use sluice_engine::bucket::Quota;
use sluice_web::{App, AppOptions, HostedOptions, Limits};

use crate::browser::{Browser, READ, one, path, published, stored};
use crate::support::{Site, request};

fn text() -> Value {
    one(json!({"id": "q", "type": "longText", "prompt": "?"}))
}

#[tokio::test]
async fn a_form_sent_at_once_or_with_the_hidden_field_filled_is_shown_again_as_it_was() {
    let site = Site::start().await;
    let flow = published(&site, text()).await;
    for (after, filled) in [(1_999, vec![]), (READ, vec![("website", "https://spam.example")])] {
        site.at(0);
        let mut browser = Browser::open(&site, &path(flow)).await;
        assert!(browser.html().contains("name=\"website\""));
        site.at(after);
        let mut fields = vec![("answers.q", "A real answer.")];
        fields.extend(filled);
        let before = stored(&site, flow).await.len();
        browser.press("send", &fields).await;
        assert_eq!(browser.page.status, 422);
        assert!(browser.html().contains("Please send once more."), "{}", browser.html());
        assert!(browser.html().contains("A real answer."));
        assert!(!browser.html().contains("spam.example"));
        assert_eq!(stored(&site, flow).await.len(), before);
        site.at(READ);
        browser.press("send", &[("answers.q", "A real answer.")]).await;
        assert_eq!(browser.page.status, 303);
        assert_eq!(stored(&site, flow).await.len(), before + 1);
    }
}

#[tokio::test]
async fn a_form_without_a_valid_key_gets_one() {
    let site = Site::start().await;
    let flow = published(&site, text()).await;
    for key in ["", "nonsense", "f_zzz"] {
        let body = Body::from(format!("go=send&answers.q=x&key={key}"));
        let version =
            site.engine.links().flow(&flow.to_string()).await.unwrap().unwrap().current.id();
        let body = match key {
            "" => body,
            _ => Body::from(format!("go=send&answers.q=x&key={key}&version={version}")),
        };
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let reply = site.send(request(Method::POST, &path(flow), &form, body)).await;
        assert_eq!(reply.status, 422, "{key}: {}", reply.text());
        assert!(reply.text().contains("name=\"key\" value=\"f_"));
    }
    assert!(stored(&site, flow).await.is_empty());
}

#[tokio::test]
async fn an_address_that_sends_too_often_waits_and_keeps_its_answers() {
    let mut site = Site::start().await;
    let hosted =
        HostedOptions { sends_per_minute: 2, trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()] };
    let app = App::new(site.engine.clone(), AppOptions { hosted, ..AppOptions::default() });
    site.router = app.for_peer("10.1.2.3".parse().unwrap());
    let flow = published(&site, text()).await;
    let mut outcomes = Vec::new();
    for from in ["203.0.113.7", "203.0.113.7", "203.0.113.7", "198.51.100.1"] {
        site.at(0);
        let mut browser =
            Browser::open_with(&site, &path(flow), &[("x-forwarded-for", from)]).await;
        site.at(READ);
        browser.press("next", &[("answers.q", "Kept.")]).await;
        browser.press("send", &[("answers.q", "Kept.")]).await;
        outcomes.push(browser.page.status);
        if browser.page.status == 429 {
            let seconds: u64 = browser.page.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=31).contains(&seconds), "{seconds}");
            assert!(
                browser.html().contains("Kept.") && browser.html().contains("yours was not saved")
            );
            assert!(browser.html().contains(&wait(seconds)), "{}", browser.html());
        }
    }
    assert_eq!(outcomes, [303, 303, 429, 303]);
    assert_eq!(stored(&site, flow).await.len(), 3);
}

#[tokio::test]
async fn a_body_that_is_too_large_gets_a_page() {
    let site = Site::start().await;
    let flow = published(&site, text()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    let long = "x".repeat(4 * 1024 * 1024);
    browser.press("send", &[("answers.q", &long)]).await;
    assert_eq!((browser.page.status, browser.state().as_str()), (413, "failed"));
}

#[tokio::test]
async fn over_the_daily_bytes_a_form_explains_it_and_keeps_its_answers() {
    let rates = Rates { calls: None, bytes_per_day: Some(1) };
    let site = Site::with_rates(Limits::default(), rates).await;
    let flow = published(&site, text()).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    site.at(READ);
    browser.press("send", &[("answers.q", "First.")]).await;
    assert_eq!(browser.page.status, 303);
    site.at(0);
    let mut browser = Browser::open(&site, &path(flow)).await;
    site.at(READ);
    browser.press("send", &[("answers.q", "Kept.")]).await;
    assert_eq!(browser.page.status, 429);
    let html = browser.html();
    assert!(
        html.contains("No more responses can be saved today.") && html.contains("Kept."),
        "{html}"
    );
    // The page has that text for its script.
    assert!(!html.contains("<p>Too many responses came from your network"));
    assert!(html.contains("Try again in "), "{html}");
    assert_eq!(stored(&site, flow).await.len(), 1);
}

#[tokio::test]
async fn over_the_calls_of_its_app_a_form_explains_it_and_keeps_its_answers() {
    let rates = Rates { calls: burst(1), bytes_per_day: None };
    let site = Site::with_rates(Limits::default(), rates).await;
    let flow = published(&site, text()).await;
    for (answer, status) in [("First.", 303), ("Kept.", 429)] {
        site.at(0);
        let mut browser = Browser::open(&site, &path(flow)).await;
        site.at(READ);
        browser.press("send", &[("answers.q", answer)]).await;
        let html = browser.html();
        assert_eq!(browser.page.status, status, "{html}");
        if status == 429 {
            assert!(html.contains("Too many people are answering") && html.contains("Kept."));
            let seconds = browser.page.header("retry-after").unwrap().parse().unwrap();
            assert!(html.contains(&wait(seconds)), "{html}");
        }
    }
    assert_eq!(stored(&site, flow).await.len(), 1);
}

/// What a page says about the value of its `Retry-After`.
fn wait(seconds: u64) -> String {
    match seconds {
        1 => "Try again in 1 second.".to_owned(),
        2..120 => format!("Try again in {seconds} seconds."),
        120..7_200 => format!("Try again in {} minutes.", seconds.div_ceil(60)),
        _ => format!("Try again in {} hours.", seconds.div_ceil(3_600)),
    }
}

#[tokio::test]
async fn forms_count_toward_the_bytes_of_their_address() {
    let quota = Quota::with_period(Duration::from_secs(3600)).unwrap();
    let quota = quota.allow_burst(NonZeroU32::new(2_000).unwrap());
    let limits = Limits { bytes_per_address: Some(quota), ..Limits::default() };
    let mut site = Site::with_limits(limits).await;
    site.router = site.router.for_peer("203.0.113.7".parse().unwrap());
    let flow = published(&site, text()).await;
    let long = "x".repeat(1_200);
    let mut outcomes = Vec::new();
    for _ in 0..2 {
        site.at(0);
        let mut browser = Browser::open(&site, &path(flow)).await;
        site.at(READ);
        browser.press("send", &[("answers.q", &long)]).await;
        outcomes.push(browser.page.status);
    }
    assert_eq!(outcomes, [303, 429]);
}

const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

fn burst(amount: u32) -> Option<Quota> {
    let quota = Quota::with_period(Duration::from_secs(3600)).unwrap();
    Some(quota.allow_burst(NonZeroU32::new(amount).unwrap()))
}

async fn limited(limits: Limits) -> Site {
    let mut site = Site::with_limits(limits).await;
    site.router = site.router.for_peer("203.0.113.7".parse().unwrap());
    site
}

#[tokio::test]
async fn every_page_counts_toward_the_calls_of_its_address() {
    let limits = Limits { calls_per_address: burst(5), ..Limits::default() };
    let site = limited(limits).await;
    let flow = published(&site, text()).await;
    let requests: [(Method, String); 5] = [
        (Method::GET, "/u/nonsense".to_owned()),
        (Method::GET, path(flow)),
        (Method::GET, format!("{}/done", path(flow))),
        (Method::POST, format!("{}/opened", path(flow))),
        (Method::POST, path(flow)),
    ];
    let send = async |(method, path): &(Method, String), headers: &[(&str, &str)]| {
        site.send(request(method.clone(), path, headers, Body::empty())).await
    };
    for request in &requests {
        assert_ne!(send(request, &FORM).await.status, 429, "{request:?}");
    }
    for request in &requests {
        let refused = send(request, &FORM).await;
        assert_eq!(refused.status, 429, "{request:?}");
        let page = refused.text();
        assert!(page.contains("Too many requests came from your network."), "{page}");
        assert!(page.contains("Saved answers are not lost."), "{page}");
        let seconds = refused.header("retry-after").unwrap().parse().unwrap();
        assert!(page.contains(&wait(seconds)), "{seconds}: {page}");
        assert!(refused.header("ratelimit").is_some());
        // The script keeps the form, and the answers in it.
        let scripted = send(request, &[FORM[0], ("sluice-script", "1")]).await;
        scripted.assert_problem(429, "rate_limited");
    }
}

#[tokio::test]
async fn images_and_logos_count_toward_the_calls_of_their_address() {
    let limits = Limits { calls_per_address: burst(2), ..Limits::default() };
    let site = limited(limits).await;
    let flow = published(&site, text()).await;
    let paths = [format!("{}/logo-none.png", path(flow)), "/a/as_none".to_owned()];
    let get = async |path: &str| site.send(request(Method::GET, path, &[], Body::empty())).await;
    for path in &paths {
        assert_eq!(get(path).await.status, 404, "{path}");
    }
    for path in &paths {
        get(path).await.assert_problem(429, "rate_limited");
    }
}

#[tokio::test]
async fn the_bytes_of_a_form_count_before_it_is_read_and_a_small_one_is_shown_again() {
    let site = limited(Limits { bytes_per_address: burst(100_000), ..Limits::default() }).await;
    let flow = published(&site, text()).await;
    let browser = Browser::open(&site, &path(flow)).await;
    let (version, key) = (browser.hidden("version"), browser.hidden("key"));
    let send = async |announced: usize, body: Body| {
        let length = announced.to_string();
        let headers = [FORM[0], ("content-length", length.as_str())];
        site.send(request(Method::POST, &path(flow), &headers, body)).await
    };
    site.at(READ);
    let form = format!("go=next&version={version}&key={key}&answers.q=Kept.");
    let first = send(form.len(), Body::from(form.clone())).await;
    assert_eq!(first.status, 200, "{}", first.text());
    // A form that never arrives takes what it announces, and no more is read.
    let never =
        || Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let stalled = tokio::time::timeout(Duration::from_millis(100), send(99_000, never())).await;
    assert!(stalled.is_err(), "it waits for its body");
    assert_eq!(send(99_000, never()).await.status, 429);
    let large = format!("{form}{}", "x".repeat(2_000));
    let again = send(large.len(), Body::from(large)).await;
    assert_eq!(again.status, 429);
    assert!(again.text().contains("Kept.") && again.text().contains("yours was not saved"));
    assert!(stored(&site, flow).await.is_empty());
}
