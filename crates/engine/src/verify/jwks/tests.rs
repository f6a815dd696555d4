//! How long sets are cached, and how often they are fetched, with a paused clock.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::weak_point::tests::weak_points;
use super::*;

/// Two Ed25519 public keys.
const X: [&str; 2] =
    ["11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw"];

/// Publishes a set that the test provides, and counts the fetches.
#[derive(Debug, Default)]
struct Publisher {
    set: Mutex<Option<String>>,
    fetches: AtomicUsize,
    seconds_to_fetch: AtomicUsize,
}

impl Publisher {
    fn publish(&self, kids: &[&str]) {
        let key = |(kid, x): (&&str, &&str)| {
            format!(r#"{{"kty":"OKP","crv":"Ed25519","use":"sig","kid":"{kid}","x":"{x}"}}"#)
        };
        let keys: Vec<String> = kids.iter().zip(&X).map(key).collect();
        *self.set.lock().unwrap() = Some(format!(r#"{{"keys":[{}]}}"#, keys.join(",")));
    }

    fn go_away(&self) {
        *self.set.lock().unwrap() = None;
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::SeqCst)
    }
}

impl KeySource for Publisher {
    fn permits(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn fetch(
        &self,
        _: String,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + '_>> {
        Box::pin(async {
            self.fetches.fetch_add(1, Ordering::SeqCst);
            let seconds = self.seconds_to_fetch.load(Ordering::SeqCst) as u64;
            tokio::time::sleep(Duration::from_secs(seconds) + Duration::from_millis(20)).await;
            self.set.lock().unwrap().clone().map(String::into_bytes).ok_or_else(|| "away".into())
        })
    }
}

const URL: &str = "https://id.example/keys";

fn sets(kids: &[&str]) -> (Arc<Publisher>, KeySets) {
    let publisher = Arc::new(Publisher::default());
    publisher.publish(kids);
    (Arc::clone(&publisher), KeySets::new(Some(publisher)))
}

async fn found(sets: &KeySets, kid: Option<&str>) -> &'static str {
    match sets.find(URL, kid).await {
        Found::Keys(_) => "found",
        Found::Unknown => "unknown",
        Found::Unavailable => "unavailable",
    }
}

async fn pass(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_set_is_fetched_once_in_ten_minutes() {
    let (publisher, sets) = sets(&["a"]);
    for _ in 0..100 {
        assert_eq!(found(&sets, Some("a")).await, "found");
        pass(4).await;
    }
    assert_eq!(publisher.fetches(), 1);
    pass(300).await;
    assert_eq!(found(&sets, Some("a")).await, "found");
    assert_eq!(publisher.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_set_in_use_is_refreshed_in_the_background() {
    let (publisher, sets) = sets(&["a"]);
    found(&sets, Some("a")).await;
    pass(500).await;
    let before = Instant::now();
    assert_eq!(found(&sets, Some("a")).await, "found");
    assert_eq!(before.elapsed(), Duration::ZERO, "no caller waits for it");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(publisher.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn concurrent_lookups_of_an_unknown_kid_share_one_fetch() {
    let (publisher, sets) = sets(&["a"]);
    found(&sets, Some("a")).await;
    pass(60).await;
    publisher.publish(&["a", "b"]);
    let asking = (0..50).map(|_| found(&sets, Some("b")));
    let all = futures_util::future::join_all(asking).await;
    assert!(all.iter().all(|it| *it == "found"), "{all:?}");
    assert_eq!(publisher.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn unknown_kids_do_not_cause_repeated_fetches() {
    let (publisher, sets) = sets(&["a"]);
    found(&sets, Some("a")).await;
    for kid in 0..200 {
        assert_eq!(found(&sets, Some(&format!("guess {kid}"))).await, "unknown");
    }
    assert_eq!(publisher.fetches(), 1);
    pass(31).await;
    assert_eq!(found(&sets, Some("guess")).await, "unknown");
    assert_eq!(publisher.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_key_removed_from_the_set_is_refused_after_ten_minutes() {
    let (publisher, sets) = sets(&["a", "b"]);
    assert_eq!(found(&sets, Some("b")).await, "found");
    publisher.publish(&["a"]);
    pass(601).await;
    assert_eq!(found(&sets, Some("b")).await, "unknown");
}

#[tokio::test(start_paused = true)]
async fn a_set_is_used_for_a_day_if_the_publisher_is_unavailable() {
    let (publisher, sets) = sets(&["a"]);
    found(&sets, Some("a")).await;
    publisher.go_away();
    pass(601).await;
    assert_eq!(found(&sets, Some("a")).await, "found");
    pass(23 * 3600).await;
    assert_eq!(found(&sets, Some("a")).await, "found");
    pass(3600).await;
    assert_eq!(found(&sets, Some("a")).await, "unavailable");
    publisher.publish(&["a"]);
    pass(31).await;
    assert_eq!(found(&sets, Some("a")).await, "found");
}

#[tokio::test(start_paused = true)]
async fn no_caller_waits_for_a_publisher_that_recently_failed() {
    let (publisher, sets) = sets(&["a"]);
    found(&sets, Some("a")).await;
    publisher.go_away();
    publisher.seconds_to_fetch.store(5, Ordering::SeqCst);
    pass(601).await;
    assert_eq!(
        found(&sets, Some("a")).await,
        "found",
        "the first caller waits until the fetch fails"
    );
    for _ in 0..10 {
        pass(31).await;
        let before = Instant::now();
        assert_eq!(found(&sets, Some("a")).await, "found");
        assert_eq!(before.elapsed(), Duration::ZERO);
        tokio::time::sleep(Duration::from_secs(6)).await;
    }
    assert_eq!(publisher.fetches(), 12, "it is retried in the background");
    publisher.publish(&["b"]);
    pass(3600).await;
    assert_eq!(found(&sets, Some("a")).await, "unknown", "after a while a caller waits again");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_caller_does_not_cancel_the_fetch() {
    let (publisher, sets) = sets(&["a"]);
    publisher.seconds_to_fetch.store(2, Ordering::SeqCst);
    let one_second = Duration::from_secs(1);
    tokio::time::timeout(one_second, found(&sets, Some("a"))).await.unwrap_err();
    assert_eq!(found(&sets, Some("a")).await, "found");
    assert_eq!(publisher.fetches(), 1);
}

#[test]
fn only_the_host_of_a_set_is_logged() {
    for (url, host) in [
        ("https://id.example/keys?secret=1", "id.example"),
        ("https://me:secret@id.example:8443/keys", "id.example:8443"),
        ("https://id.example?x", "id.example"),
    ] {
        assert_eq!(host_of(url), host);
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_unavailable_if_no_fetch_ever_succeeded() {
    let (publisher, sets) = sets(&["a"]);
    publisher.go_away();
    for _ in 0..10 {
        assert_eq!(found(&sets, Some("a")).await, "unavailable");
    }
    assert_eq!(publisher.fetches(), 1, "an unavailable publisher is not retried at once");
}

#[tokio::test(start_paused = true)]
async fn a_token_without_kid_needs_a_set_of_one_key() {
    assert_eq!(found(&sets(&["a"]).1, None).await, "found");
    assert_eq!(found(&sets(&["a", "b"]).1, None).await, "unknown");
}

#[test]
fn weak_ed25519_keys_in_a_set_are_not_used() {
    for point in weak_points() {
        let x = URL_SAFE_NO_PAD.encode(point);
        let set = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"a","x":"{x}"}}]}}"#);
        assert_eq!(keys_of(set.as_bytes()).unwrap().len(), 0, "{point:02x?}");
    }
}

#[test]
fn keys_of_other_types_and_for_other_purposes_are_skipped() {
    let x = X[0];
    let jwk = |more: &str| format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"{more}}}"#);
    for (key, usable) in [
        (jwk(r#","kid":"a""#), 1),
        (jwk(r#","alg":"EdDSA""#), 1),
        (jwk(r#","alg":"RS256""#), 0),
        (jwk(r#","use":"enc""#), 0),
        (jwk(r#","key_ops":["sign"]"#), 0),
        (jwk(r#","d":"AAAA""#), 0),
        (r#"{"kty":"oct","k":"AAAA"}"#.to_owned(), 0),
        (r#"{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}"#.to_owned(), 0),
        (r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#.to_owned(), 0),
        (r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#.to_owned(), 0),
        ("7".to_owned(), 0),
    ] {
        let found = keys_of(format!(r#"{{"keys":[{key}]}}"#).as_bytes()).unwrap();
        assert_eq!(found.len(), usable, "{key}");
    }
    for broken in ["", "[]", "{}", r#"{"keys":{}}"#] {
        assert!(keys_of(broken.as_bytes()).is_err(), "{broken}");
    }
}
