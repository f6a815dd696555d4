//! Outbound requests to URLs that administrators enter: fetches key sets; [`webhooks`] sends
//! events.
//!
//! An administrator must not be able to use a URL to reach hosts that only this machine can reach
//! (SSRF). So every address that a name resolves to is checked, as are addresses in the URL itself,
//! and only public ones are connected to, unless the operator has allowed their network. There are
//! no redirects and no proxies, and time and size are limited.

mod names;
mod webhooks;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ipnet::IpNet;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use sluice_engine::verify::KeySource;

use names::PolicyResolver;
pub use webhooks::WebhookClient;

/// The longest time for one fetch.
const FETCH_MAX: Duration = Duration::from_secs(5);
/// The largest key set, in bytes.
const SET_BYTES_MAX: usize = 64 * 1024;

/// A network such as `10.0.0.0/8`, or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpNet);

impl std::str::FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let single = || text.parse::<IpAddr>().ok().map(IpNet::from);
        let network = text.parse().ok().or_else(single);
        network
            .map(Self)
            .ok_or_else(|| format!("{text:?} is not a network such as 10.0.0.0/8 or fd00::/8"))
    }
}

impl Network {
    pub fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

/// Which addresses fetches may reach besides public ones over https.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboundPolicy {
    pub networks: Vec<Network>,
    pub plain_http: bool,
}

impl OutboundPolicy {
    /// Whether requests may be sent to this URL. `setting` is the name of the operator's setting
    /// that allows networks.
    fn permits_url(&self, url: &str, setting: &str) -> Result<(), String> {
        let url = Url::parse(url).map_err(|_| "must be an https address".to_owned())?;
        let scheme = match url.scheme() {
            "https" => true,
            "http" => self.plain_http,
            _ => false,
        };
        if !scheme {
            return Err("must be an https address".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err("must have no user, password or fragment".to_owned());
        }
        let host = url.host_str().unwrap_or_default();
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        match literal {
            Some(address) if !self.permits(address) => Err(format!(
                "must be a public address; an operator can allow a network with {setting}"
            )),
            None if host.is_empty() => Err("must name a host".to_owned()),
            _ => Ok(()),
        }
    }

    fn permits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address) || self.networks.iter().any(|network| network.contains(address))
    }
}

/// Whether an address is reachable from the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || a >= 224
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b)))
}

/// For IPv6, only addresses allocated for use on the internet, except documentation and everything
/// that maps to an IPv4 address (6to4, Teredo; NAT64 is outside that range anyway).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let given_out = (0x2000..0x4000).contains(&a);
    let detour = a == 0x2002 || (a == 0x2001 && b < 0x200);
    let documentation = (a == 0x2001 && b == 0xdb8) || (a == 0x3fff && b < 0x1000);
    given_out && !detour && !documentation
}

/// A client builder with this process's TLS provider installed. Use this instead of
/// [`Client::builder`], which has none.
pub fn client_builder() -> ClientBuilder {
    // Fails if an earlier client already installed the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
}

/// Fetches key sets over HTTP.
#[derive(Debug)]
pub struct KeyFetcher {
    allowed: Arc<OutboundPolicy>,
    /// Created on first use: most servers never fetch.
    client: OnceLock<Option<Client>>,
}

impl KeyFetcher {
    pub fn new(allowed: OutboundPolicy) -> Self {
        Self { allowed: Arc::new(allowed), client: OnceLock::new() }
    }

    fn client(&self) -> Result<&Client, String> {
        let made = self.client.get_or_init(|| {
            let client = client_builder()
                .redirect(Policy::none())
                .no_proxy()
                .timeout(FETCH_MAX)
                .https_only(!self.allowed.plain_http)
                .dns_resolver(PolicyResolver::new(&self.allowed))
                .pool_max_idle_per_host(0)
                .build();
            client.ok()
        });
        made.as_ref().ok_or_else(|| "there are no certificates to trust".to_owned())
    }

    async fn get(&self, url: String) -> Result<Vec<u8>, String> {
        self.permits(&url)?;
        // The error text may contain the whole URL, and the URL a secret.
        let failed = |error: reqwest::Error| with_causes(&error.without_url());
        let request = self.client()?.get(url).header("accept", "application/json");
        let mut reply = request.send().await.map_err(failed)?;
        let status = reply.status().as_u16();
        if status != 200 {
            return Err(format!("the server answered with status {status}"));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(failed)? {
            if bytes.len() + chunk.len() > SET_BYTES_MAX {
                return Err(format!("the key set is longer than {SET_BYTES_MAX} bytes"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

impl KeySource for KeyFetcher {
    fn permits(&self, url: &str) -> Result<(), String> {
        self.allowed.permits_url(url, "--jwks-allow")
    }

    fn fetch(
        &self,
        url: String,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + '_>> {
        Box::pin(self.get(url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_reached() {
        for (address, public) in [
            ("1.1.1.1", true),
            ("93.184.216.34", true),
            ("2606:4700::1111", true),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("192.0.0.1", false),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("::ffff:1.1.1.1", true),
            ("::7f00:1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b:1::1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("3fff::1", false),
            ("fc00::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(
                OutboundPolicy::default().permits(address.parse().unwrap()),
                public,
                "{address}"
            );
        }
    }

    #[test]
    fn an_operator_can_allow_a_network() {
        let networks = ["10.0.0.0/8", "fd00::/8", "127.0.0.1"].map(|text| text.parse().unwrap());
        let allowed = OutboundPolicy { networks: networks.to_vec(), plain_http: false };
        for (address, permitted) in [
            ("10.255.0.1", true),
            ("::ffff:10.0.0.1", true),
            ("11.0.0.1", true),
            ("127.0.0.1", true),
            ("127.0.0.2", false),
            ("fd12::1", true),
            ("fc12::1", false),
        ] {
            assert_eq!(allowed.permits(address.parse().unwrap()), permitted, "{address}");
        }
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "example.com", "10.0.0.0/x"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn a_url_must_be_https_without_credentials_or_a_private_host() {
        let fetcher = KeyFetcher::new(OutboundPolicy::default());
        for (url, permitted) in [
            ("https://id.example/.well-known/jwks.json", true),
            ("https://1.1.1.1/keys", true),
            ("http://id.example/keys", false),
            ("ftp://id.example/keys", false),
            ("https://user:pass@id.example/keys", false),
            ("https://id.example/keys#x", false),
            ("https://127.0.0.1/keys", false),
            ("https://2130706433/keys", false),
            ("https://0x7f.1/keys", false),
            ("https://[::1]/keys", false),
            ("https://[::ffff:169.254.169.254]/keys", false),
            ("keys", false),
            ("", false),
        ] {
            assert_eq!(fetcher.permits(url).is_ok(), permitted, "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_this_machine_is_not_connected_to() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let fetcher = KeyFetcher::new(OutboundPolicy { networks: Vec::new(), plain_http: true });
        let failed = fetcher.get(format!("http://localhost:{port}/keys")).await.unwrap_err();
        assert!(failed.contains("no public address"), "{failed}");
        let accepted = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(accepted.is_err(), "the fetcher connected to it");
    }
}
