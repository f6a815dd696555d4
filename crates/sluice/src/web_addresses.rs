//! The addresses of the server: what it listens on, and the URLs by which it is reached.

use crate::args::ServeArgs;
use crate::failure::Failure;

const LISTEN_DEFAULT: &str = "127.0.0.1:8080";

/// The settings of addresses, each in a form that can be used.
pub(crate) struct WebAddresses {
    pub(crate) listen: String,
    pub(crate) admin_listen: Option<String>,
    pub(crate) metrics_listen: Option<String>,
    /// Without a trailing slash.
    pub(crate) public_url: Option<String>,
    /// Without a trailing slash.
    pub(crate) admin_url: Option<String>,
}

impl WebAddresses {
    pub(crate) fn resolve(given: &ServeArgs, file: &ServeArgs) -> Result<Self, Failure> {
        let choose = |given: &Option<String>, file: &Option<String>| {
            given.as_ref().or(file.as_ref()).cloned()
        };
        let listen = choose(&given.listen, &file.listen).unwrap_or_else(|| LISTEN_DEFAULT.into());
        let admin_listen = choose(&given.admin_listen, &file.admin_listen);
        let metrics_listen = choose(&given.metrics_listen, &file.metrics_listen);
        let public_url = choose(&given.public_url, &file.public_url);
        let admin_url = choose(&given.admin_url, &file.admin_url);
        let addresses = Self {
            listen: listen_address(listen)?,
            admin_listen: admin_listen.map(listen_address).transpose()?,
            metrics_listen: metrics_listen.map(listen_address).transpose()?,
            public_url: public_url.map(|url| checked_url("public", url)).transpose()?,
            admin_url: admin_url.map(|url| checked_url("admin", url)).transpose()?,
        };
        addresses.must_fit()?;
        Ok(addresses)
    }

    /// The URL of the console, if it is set.
    pub(crate) fn console_url(&self) -> Option<String> {
        self.admin_url.as_ref().or(self.public_url.as_ref()).cloned()
    }

    /// The pages of the console show those of flows, so both are below the same path.
    fn must_fit(&self) -> Result<(), Failure> {
        let Some(admin_url) = &self.admin_url else { return Ok(()) };
        if self.admin_listen.is_none() {
            return Err(Failure::usage(
                "an admin URL needs a separate address for the administration",
                "add for example --admin-listen 127.0.0.1:8081, or leave --admin-url out",
            ));
        }
        let Some(public_url) = &self.public_url else {
            return Err(Failure::usage(
                "an admin URL needs a public URL as well",
                "add the URL at which respondents reach this server: --public-url https://feedback.example.com",
            ));
        };
        if path_of(public_url) == path_of(admin_url) {
            return Ok(());
        }
        Err(Failure::usage(
            "the public URL and the admin URL have different paths",
            "use different hosts or ports with the same path",
        ))
    }
}

/// The path of a URL without a trailing slash, or nothing.
fn path_of(url: &str) -> &str {
    let host_at = url.find("://").map_or(0, |at| at + "://".len());
    url[host_at..].find('/').map_or("", |at| &url[host_at + at..])
}

fn listen_address(text: String) -> Result<String, Failure> {
    let fits = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if fits {
        return Ok(text);
    }
    Err(Failure::usage(
        format!("the address to listen on is not ADDRESS:PORT: {text:?}"),
        "write for example --listen 127.0.0.1:8080, or 0.0.0.0:8080 for all interfaces",
    ))
}

fn checked_url(what: &str, text: String) -> Result<String, Failure> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let fits = |rest: &str| {
        let plain =
            |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '"' | '<' | '>' | ' ');
        !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(plain)
    };
    if let Some(rest) = rest.filter(|rest| fits(rest)) {
        let path = rest.trim_end_matches('/').split_once('/').map_or("", |(_, path)| path);
        must_be_plain_path(what, path)?;
        return Ok(text.trim_end_matches('/').to_owned());
    }
    Err(Failure::usage(
        format!("the {what} URL is not an http or https URL: {text:?}"),
        format!("write for example --{what}-url https://feedback.example.com"),
    ))
}

/// The path is compared with those of requests as they are sent, so it must have one form only.
fn must_be_plain_path(what: &str, path: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    let fits = |part: &str| !matches!(part, "" | "." | "..") && part.chars().all(is_plain);
    if path.is_empty() || path.split('/').all(fits) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("the path of the {what} URL cannot be used: {path:?}"),
        format!(
            "use letters, digits, and - . _ ~ in it, such as --{what}-url https://example.com/feedback"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        public_url: Option<&str>,
        admin: Option<(&str, Option<&str>)>,
    ) -> Result<WebAddresses, Failure> {
        let given = ServeArgs {
            public_url: public_url.map(str::to_owned),
            admin_listen: admin.map(|(listen, _)| listen.to_owned()).filter(|it| !it.is_empty()),
            admin_url: admin.and_then(|(_, url)| url).map(str::to_owned),
            ..ServeArgs::default()
        };
        WebAddresses::resolve(&given, &ServeArgs::default())
    }

    #[test]
    fn a_public_url_may_have_a_plain_path() {
        for (given, kept) in [
            ("https://x.example", Some("https://x.example")),
            ("https://x.example/", Some("https://x.example")),
            ("https://x.example/feedback/", Some("https://x.example/feedback")),
            ("https://x.example/a/b-c_1.2~", Some("https://x.example/a/b-c_1.2~")),
            ("https://x.example//a", None),
            ("https://x.example/a//b", None),
            ("https://x.example/a/../b", None),
            ("https://x.example/caf%C3%A9", None),
            ("https://x.example/a?b", None),
            ("x.example/feedback", None),
        ] {
            let found = read(Some(given), None).ok().and_then(|it| it.public_url);
            assert_eq!(found.as_deref(), kept, "{given}");
        }
    }

    #[test]
    fn an_admin_url_needs_its_listener_a_public_url_and_the_same_path() {
        let public = Some("https://x.example/feedback");
        let listen = "127.0.0.1:8081";
        for (public_url, admin, is_right) in [
            (public, (listen, Some("https://admin.example/feedback")), true),
            (public, (listen, None), true),
            (None, (listen, None), true),
            (public, (listen, Some("https://admin.example")), false),
            (public, ("", Some("https://admin.example/feedback")), false),
            (None, (listen, Some("https://admin.example")), false),
            (public, ("8081", None), false),
        ] {
            assert_eq!(read(public_url, Some(admin)).is_ok(), is_right, "{admin:?}");
        }
    }
}
