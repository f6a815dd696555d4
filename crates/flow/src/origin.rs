//! The origins of pages that may call an app from a browser or embed its flows.
//!
//! An entry is parsed once and kept in the form that browsers send, so that it is compared without
//! parsing it again and can be used in a header. `https://*.example.com` matches every host below
//! `example.com`, at any depth, but not `example.com` itself, as browsers interpret it in
//! `frame-ancestors`. Apps for phones and desktops have their own schemes
//! (`capacitor://localhost`).

use std::fmt;

use url::{Host, Url};

/// Schemes of pages that have no origin, or that run content of another page.
const SCHEMES_REFUSED: &[&str] = &[
    "about",
    "blob",
    "data",
    "file",
    "filesystem",
    "ftp",
    "javascript",
    "vbscript",
    "view-source",
    "ws",
    "wss",
];
/// The longest entry, in bytes: a host name has at most 253.
pub const ORIGIN_BYTES_MAX: usize = 300;

/// One entry of `allowedOrigins`, in canonical form: lower case, without the default port or a
/// trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin {
    text: String,
    kind: OriginKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OriginKind {
    Web,
    /// Every host below the named one.
    Subdomains,
    /// An app's scheme; browsers differ in the case of its host.
    Native,
}

impl AllowedOrigin {
    /// Parses an origin; the error states what to write instead.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.trim() == "*" {
            return Err("must be an origin such as https://app.example.com; \
                        to allow every origin, leave the list empty");
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err("must be an origin such as https://app.example.com, with its scheme");
        };
        let scheme = scheme.to_ascii_lowercase();
        if !is_scheme(&scheme) || SCHEMES_REFUSED.contains(&scheme.as_str()) {
            return Err(
                "must be an origin such as https://app.example.com or capacitor://localhost; \
                        this scheme has no origin",
            );
        }
        let host = rest.strip_suffix('/').unwrap_or(rest);
        if host.contains(['/', '\\', '?', '#', '@']) {
            return Err("must be an origin such as https://app.example.com, \
                        without a path, query or user name");
        }
        if text.len() > ORIGIN_BYTES_MAX || host.chars().any(char::is_whitespace) {
            return Err("must be one origin such as https://app.example.com, without spaces");
        }
        match (scheme.as_str(), host.strip_prefix("*.")) {
            ("http" | "https", Some(parent)) => Self::subdomains(&scheme, parent),
            ("http" | "https", None) => Self::web(&scheme, host),
            _ => Self::native(&scheme, host),
        }
    }

    fn web(scheme: &str, host: &str) -> Result<Self, &'static str> {
        let url = parsed(scheme, host)?;
        Ok(Self { text: url.origin().ascii_serialization(), kind: OriginKind::Web })
    }

    fn subdomains(scheme: &str, parent: &str) -> Result<Self, &'static str> {
        let url = parsed(scheme, parent)?;
        // A whole top-level domain belongs to no single owner; `localhost` is for developers.
        let is_domain = match url.host() {
            Some(Host::Domain(name)) => name.contains('.') || name == "localhost",
            _ => false,
        };
        if !is_domain {
            return Err(WILDCARD);
        }
        let parent = url.origin().ascii_serialization();
        let text = parent.replacen("://", "://*.", 1);
        Ok(Self { text, kind: OriginKind::Subdomains })
    }

    fn native(scheme: &str, host: &str) -> Result<Self, &'static str> {
        let (name, port) = host.split_once(':').map_or((host, None), |(a, b)| (a, Some(b)));
        if name.contains('*') {
            return Err(WILDCARD);
        }
        if !is_host(name) || port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return Err(HOST);
        }
        let text = format!("{scheme}://{}", host.to_ascii_lowercase());
        Ok(Self { text, kind: OriginKind::Native })
    }

    /// Whether this entry matches the origin of a page, as its browser sends it.
    pub fn allows(&self, origin: &str) -> bool {
        match self.kind {
            OriginKind::Web => self.text == origin,
            OriginKind::Native => self.text.eq_ignore_ascii_case(origin),
            OriginKind::Subdomains => {
                let Some((scheme, parent)) = self.text.split_once('*') else { return false };
                let below = origin.strip_prefix(scheme).and_then(|it| it.strip_suffix(parent));
                below.is_some_and(|labels| labels.split('.').all(is_label))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for AllowedOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

const WILDCARD: &str =
    "must be written https://*.example.com: a wildcard stands for all hosts below a domain";
const HOST: &str =
    "must be an origin such as https://app.example.com; its host or port is not valid";

/// The origins that an app allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedOrigins {
    entries: Vec<AllowedOrigin>,
    is_open: bool,
}

impl AllowedOrigins {
    /// From the stored list. Without entries every origin is allowed; an unreadable entry allows
    /// nothing.
    pub fn from_stored(stored: &[String]) -> Self {
        let entries = stored.iter().filter_map(|text| AllowedOrigin::parse(text).ok()).collect();
        Self { entries, is_open: stored.is_empty() }
    }

    /// Whether every origin is allowed.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    pub fn entries(&self) -> &[AllowedOrigin] {
        &self.entries
    }

    /// Whether the origin of a page is listed, as its browser sends it.
    pub fn lists(&self, origin: &str) -> bool {
        self.entries.iter().any(|entry| entry.allows(origin))
    }
}

/// The origin of an http or https address, in a form that can be used in a header.
///
/// A URL parser accepts hosts with `;`, `,` or quotes in them. These do not exist in the DNS, and
/// in a header they would end one value and begin another.
pub fn web_origin(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    (is_web && has_plain_host(&url)).then(|| url.origin().ascii_serialization())
}

fn parsed(scheme: &str, host: &str) -> Result<Url, &'static str> {
    if host.contains('*') {
        return Err(WILDCARD);
    }
    let url = Url::parse(&format!("{scheme}://{host}")).map_err(|_| HOST)?;
    if has_plain_host(&url) { Ok(url) } else { Err(HOST) }
}

fn has_plain_host(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_host(name),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    }
}

fn is_scheme(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
}

fn is_host(text: &str) -> bool {
    // A trailing dot denotes the DNS root.
    text.strip_suffix('.').unwrap_or(text).split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    !text.is_empty() && text.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_stored_as_browsers_send_it() {
        for (text, canonical) in [
            ("https://app.example.com", "https://app.example.com"),
            ("https://app.example.com/", "https://app.example.com"),
            ("HTTPS://App.Example.COM:443", "https://app.example.com"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://example.com:80", "http://example.com"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("https://münchen.example", "https://xn--mnchen-3ya.example"),
            ("https://*.example.com", "https://*.example.com"),
            ("https://*.Example.com:8443/", "https://*.example.com:8443"),
            ("http://*.localhost:3000", "http://*.localhost:3000"),
            ("capacitor://localhost", "capacitor://localhost"),
            ("ionic://localhost", "ionic://localhost"),
            ("app://Obsidian.md", "app://obsidian.md"),
            ("tauri://localhost:1420", "tauri://localhost:1420"),
            ("chrome-extension://abcdefgh", "chrome-extension://abcdefgh"),
        ] {
            let parsed = AllowedOrigin::parse(text).map(|origin| origin.to_string());
            assert_eq!(parsed.as_deref(), Ok(canonical), "{text}");
            assert_eq!(AllowedOrigin::parse(canonical).unwrap().as_str(), canonical);
        }
    }

    #[test]
    fn an_invalid_origin_is_refused_with_a_correction() {
        for (text, part) in [
            ("*", "leave the list empty"),
            ("example.com", "with its scheme"),
            ("null", "with its scheme"),
            ("", "with its scheme"),
            ("javascript:alert(1)", "with its scheme"),
            ("javascript://alert", "scheme"),
            ("data://x", "scheme"),
            ("blob://x", "scheme"),
            ("file://x", "scheme"),
            ("https 1://x", "scheme"),
            ("https://example.com/path", "without a path"),
            ("https://example.com?x", "without a path"),
            ("https://example.com#x", "without a path"),
            ("https://ada:secret@example.com", "user name"),
            ("https://a.example https://b.example", "without a path"),
            ("https://a.example b.example", "without spaces"),
            (" https://a.example", "scheme"),
            ("https://a.example;sandbox", "host"),
            ("https://a.example,b", "host"),
            ("https://a'b", "host"),
            ("https://", "host"),
            ("https://a:b:c", "host"),
            ("https://a..b", "host"),
            ("capacitor://local;host", "host"),
            ("capacitor://", "host"),
            ("app://x:port", "host"),
            ("https://*", "https://*.example.com"),
            ("https://*.com", "https://*.example.com"),
            ("https://*.1.2.3.4", "https://*.example.com"),
            ("https://a.*.example.com", "https://*.example.com"),
            ("https://a*.example.com", "https://*.example.com"),
            ("https://*.*.example.com", "https://*.example.com"),
            ("https://example.com:*", "https://*.example.com"),
            ("capacitor://*.localhost", "https://*.example.com"),
        ] {
            let message = AllowedOrigin::parse(text).unwrap_err();
            assert!(message.contains(part), "{text:?}: {message}");
        }
        assert!(AllowedOrigin::parse(&format!("https://{}.example", "a".repeat(400))).is_err());
    }

    #[test]
    fn a_wildcard_allows_every_host_below_and_nothing_else() {
        let stored = |text: &str| AllowedOrigins::from_stored(&[text.to_owned()]);
        for (entry, origin, is_allowed) in [
            ("https://*.example.com", "https://a.example.com", true),
            ("https://*.example.com", "https://a.b.example.com", true),
            ("https://*.example.com", "https://example.com", false),
            ("https://*.example.com", "https://.example.com", false),
            ("https://*.example.com", "https://a..example.com", false),
            ("https://*.example.com", "http://a.example.com", false),
            ("https://*.example.com", "https://a.example.com:8443", false),
            ("https://*.example.com", "https://aexample.com", false),
            ("https://*.example.com", "https://a.example.com.evil", false),
            ("https://*.example.com", "https://evil/.example.com", false),
            ("https://*.example.com", "null", false),
            ("https://*.example.com:8443", "https://a.example.com:8443", true),
            ("https://app.example", "https://app.example", true),
            ("https://app.example", "https://app.example.evil", false),
            ("capacitor://localhost", "capacitor://localhost", true),
            ("app://myapp", "app://MyApp", true),
            ("capacitor://localhost", "http://localhost", false),
        ] {
            assert_eq!(stored(entry).lists(origin), is_allowed, "{entry} {origin}");
        }
    }

    #[test]
    fn an_unreadable_stored_entry_allows_nothing() {
        let stored = AllowedOrigins::from_stored(&["https://a.example; sandbox".to_owned()]);
        assert!(!stored.is_open() && stored.entries().is_empty());
        assert!(!stored.lists("https://a.example; sandbox"));
        assert!(AllowedOrigins::from_stored(&[]).is_open());
    }

    #[test]
    fn the_origin_of_an_address_is_safe_in_a_header() {
        for (address, origin) in [
            ("https://example.com/a?b=c#d", Some("https://example.com")),
            ("http://localhost:3000", Some("http://localhost:3000")),
            ("http://[::1]:8080/x", Some("http://[::1]:8080")),
            ("https://user:secret@example.com/", Some("https://example.com")),
            ("https://münchen.example/", Some("https://xn--mnchen-3ya.example")),
            ("https://a.example;sandbox/", None),
            ("https://a.example,b/", None),
            ("/relative", None),
            ("javascript:alert(1)", None),
        ] {
            assert_eq!(web_origin(address).as_deref(), origin, "{address}");
        }
    }
}
