//! Sends webhooks: one POST, no redirects, only to permitted addresses, within a time limit for the
//! whole exchange.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use sluice_engine::webhooks::{
    REPLY_BYTES_MAX, SendFuture, WebhookReply, WebhookRequest, WebhookSender,
};

use super::names::PolicyResolver;
use super::{OutboundPolicy, client_builder, with_causes};

/// The longest time for one exchange, with the whole reply.
const EXCHANGE_MAX: Duration = Duration::from_secs(15);
/// How long a connection is kept for the next request.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Connections that are kept for one host.
const IDLE_PER_HOST_MAX: usize = 8;
const USER_AGENT: &str = concat!("Sluice-Webhooks/", env!("CARGO_PKG_VERSION"));

/// Sends webhooks over HTTP.
#[derive(Debug)]
pub struct WebhookClient {
    policy: Arc<OutboundPolicy>,
    resolver: PolicyResolver,
    limit: Duration,
    /// Created on first use, because that reads the root certificates of the system.
    client: OnceLock<Result<Client, String>>,
}

impl WebhookClient {
    pub fn new(policy: OutboundPolicy) -> Self {
        let policy = Arc::new(policy);
        let resolver = PolicyResolver::new(&policy);
        Self::with(policy, resolver, EXCHANGE_MAX)
    }

    fn with(policy: Arc<OutboundPolicy>, resolver: PolicyResolver, limit: Duration) -> Self {
        Self { policy, resolver, limit, client: OnceLock::new() }
    }

    fn client(&self) -> Result<&Client, String> {
        let created = self.client.get_or_init(|| {
            let client = client_builder()
                .redirect(Policy::none())
                .no_proxy()
                .timeout(self.limit)
                .https_only(!self.policy.plain_http)
                .dns_resolver(self.resolver.clone())
                .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
                .pool_idle_timeout(IDLE_MAX)
                .user_agent(USER_AGENT)
                .build();
            client.map_err(|error| with_causes(&error.without_url()))
        });
        created.as_ref().map_err(Clone::clone)
    }

    async fn post(&self, request: WebhookRequest) -> Result<WebhookReply, String> {
        self.permits(&request.url)?;
        // The error text may contain the whole URL, and the URL a secret.
        let failed = |error: reqwest::Error| match error.is_timeout() {
            true => "there was no complete reply in time".to_owned(),
            false => in_plain_words(error),
        };
        let mut post = self.client()?.post(request.url).body(request.body);
        for (name, value) in request.headers {
            post = post.header(name, value);
        }
        let mut reply = post.send().await.map_err(failed)?;
        let retry_after = reply.headers().get("retry-after").and_then(|it| it.to_str().ok());
        let retry_after = retry_after.map(str::to_owned);
        let mut body = Vec::new();
        while body.len() < REPLY_BYTES_MAX
            && let Some(chunk) = reply.chunk().await.map_err(failed)?
        {
            body.extend_from_slice(chunk.get(..REPLY_BYTES_MAX - body.len()).unwrap_or(&chunk));
        }
        Ok(WebhookReply { status: reply.status().as_u16(), retry_after, body })
    }
}

impl WebhookSender for WebhookClient {
    fn permits(&self, url: &str) -> Result<(), String> {
        self.policy.permits_url(url, "--webhook-allow")
    }

    fn send(&self, request: WebhookRequest) -> SendFuture<'_> {
        Box::pin(self.post(request))
    }
}

/// Why there was no reply. An administrator reads it.
fn in_plain_words(error: reqwest::Error) -> String {
    let is_connect = error.is_connect();
    let text = with_causes(&error.without_url());
    match is_connect {
        true if text.contains("onnection refused") => {
            "nothing listens at this address (connection refused)".to_owned()
        }
        true => format!("no connection: {}", text.rsplit(": ").next().unwrap_or(&text)),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Mutex;

    use tokio::net::TcpListener;

    use super::super::names::{LookUp, Names};
    use super::*;

    /// Answers of a resolver, one after another; the last one is repeated.
    #[derive(Debug)]
    struct Rebinding(Mutex<Vec<&'static str>>);

    impl Names for Rebinding {
        fn look_up(&self, _: String) -> LookUp {
            let mut answers = self.0.lock().unwrap();
            let next = if answers.len() > 1 { answers.remove(0) } else { answers[0] };
            Box::pin(async move { Ok(vec![SocketAddr::new(next.parse().unwrap(), 0)]) })
        }
    }

    fn request(url: String) -> WebhookRequest {
        WebhookRequest { url, headers: vec![("webhook-id", "evt_1".to_owned())], body: "{}".into() }
    }

    /// Every way to write an address that only this machine or its network can reach.
    const PRIVATE: &[&str] = &[
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.255.255.254",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",
        "0x0",
        "10.0.0.1",
        "10.255.255.255",
        "167772161",
        "100.64.0.1",
        "100.127.255.255",
        "169.254.0.1",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "127.0.0.1.",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:10.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::a00:1]",
        "[100::1]",
        "[2001::1]",
        "[2001:db8::1]",
        "[2002:7f00:1::]",
        "[3fff::1]",
        "[5f00::1]",
        "[fc00::1]",
        "[fd00::1]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "\u{ff11}27.0.0.1",
        "127。0。0。1",
    ];

    #[test]
    fn private_addresses_are_refused_in_every_form() {
        assert!(PRIVATE.len() >= 40);
        let client = WebhookClient::new(OutboundPolicy::default());
        for host in PRIVATE {
            let refused = client.permits(&format!("https://{host}/hook"));
            assert!(refused.is_err(), "{host} is permitted");
        }
        for host in ["example.com", "1.1.1.1", "[2606:4700::1111]", "hooks.example:8443"] {
            assert_eq!(client.permits(&format!("https://{host}/hook")), Ok(()), "{host}");
        }
        for url in [
            "http://example.com/",
            "ftp://example.com/",
            "https://user@example.com/",
            "https://:pass@example.com/",
            "https://example.com/#x",
            "https://",
            "example.com",
        ] {
            assert!(client.permits(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_that_is_rebound_to_a_private_address_is_not_connected_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let policy = Arc::new(OutboundPolicy { networks: Vec::new(), plain_http: true });
        // The documentation network is allowed here, so that the first request is let through to
        // it.
        let open =
            OutboundPolicy { networks: vec!["192.0.2.0/24".parse().unwrap()], ..(*policy).clone() };
        let open = Arc::new(open);
        let names = Arc::new(Rebinding(Mutex::new(vec!["192.0.2.1", "127.0.0.1"])));
        let resolver = PolicyResolver::with_names(&open, names);
        let client = WebhookClient::with(open, resolver, Duration::from_millis(300));
        let url = || format!("http://rebound.example:{port}/hook");
        let first = client.send(request(url())).await.unwrap_err();
        assert!(!first.contains("no public address"), "{first}");
        let second = client.send(request(url())).await.unwrap_err();
        assert!(second.contains("no public address"), "{second}");
        let accepted = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(accepted.is_err(), "the client connected to this machine");
    }

    /// Has one name, with an internal address.
    #[derive(Debug)]
    struct Internal;

    impl Names for Internal {
        fn look_up(&self, name: String) -> LookUp {
            Box::pin(async move {
                match name == "wiki.internal" {
                    true => Ok(vec!["10.0.0.7:0".parse().unwrap()]),
                    false => Err(std::io::Error::other("Name or service not known")),
                }
            })
        }
    }

    #[tokio::test]
    async fn the_error_for_an_internal_name_is_that_for_a_name_that_does_not_exist() {
        let policy = Arc::new(OutboundPolicy { networks: Vec::new(), plain_http: true });
        let resolver = PolicyResolver::with_names(&policy, Arc::new(Internal));
        let client = WebhookClient::with(policy, resolver, Duration::from_secs(5));
        let send = async |host: &str| client.send(request(format!("http://{host}/"))).await;
        let internal = send("wiki.internal").await.unwrap_err();
        assert_eq!(internal, send("none.internal").await.unwrap_err());
        assert!(internal.contains("no public address"), "{internal}");
    }
}
