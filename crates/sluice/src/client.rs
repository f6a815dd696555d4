//! Calls the admin API of a running server, and turns its errors into sentences.

mod reply;

use std::time::Duration;

use reqwest::header::{ETAG, IF_MATCH};
use reqwest::{Method, Url};
use serde_json::Value;
use sluice_flow::definition::Fault;
use sluice_flow::id::AppId;
use sluice_web::client_builder;

pub(crate) use self::reply::{faults_in, faults_of, field};
use crate::args::ServerArgs;
use crate::failure::{Failure, with_cause};
use crate::profile::Connection;

/// How long one call may take.
const CALL_MAX: Duration = Duration::from_secs(30);
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long a download may pause: a format that is built as a whole starts late.
const PAUSE_MAX: Duration = Duration::from_secs(600);
const ADMIN_BASE: &str = "/api/admin/v1";
const PUBLIC_BASE: &str = "/api/v1";
/// The reply header of calls that stored nothing, because earlier ones did.
const REPLAYED: &str = "idempotency-replayed";
/// Page size of list requests.
const PAGE_ITEMS: usize = 100;

/// A server, and the token to authenticate with.
#[derive(Debug)]
pub(crate) struct Server {
    http: reqwest::Client,
    /// For calls without a time limit.
    downloads: reqwest::Client,
    base: Url,
    token: String,
    /// The app of commands that name none, from the profile.
    pub(crate) app: Option<AppId>,
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The server is down, overloaded or restarting: the same call may succeed later.
    Away(Failure),
    /// The server answered that it cannot do it now.
    Later(Failure),
    /// The request has faults.
    Faults(Vec<Fault>),
    /// The resource does not exist.
    Missing(Failure),
    /// The resource is no longer in the state that the change is based on.
    Changed(Failure),
    Refused(Failure),
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Away(failure)
            | CallError::Later(failure)
            | CallError::Missing(failure)
            | CallError::Changed(failure)
            | CallError::Refused(failure) => failure,
            CallError::Faults(faults) => {
                let listed: Vec<String> = faults
                    .iter()
                    .map(|fault| format!("{}: {}", fault.pointer, fault.message))
                    .collect();
                Self::new("the server found faults in the request", listed.join("\n  "))
            }
        }
    }
}

impl Server {
    pub(crate) fn new(args: ServerArgs) -> Result<Self, Failure> {
        let Connection { server, token, app } = Connection::new(args)?;
        let base = server_address(&server)?;
        let token = token.filter(|token| !token.is_empty()).ok_or_else(|| {
            Failure::usage(
                "an admin token is needed",
                "set SLUICE_TOKEN or give --token; the server printed one at its first start",
            )
        })?;
        // Loopback addresses never go through a proxy, whatever the environment says.
        let local = matches!(base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let client = |builder: reqwest::ClientBuilder| {
            let builder = builder
                .connect_timeout(CONNECT_MAX)
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("sluice/", env!("CARGO_PKG_VERSION")));
            let builder = if local { builder.no_proxy() } else { builder };
            // Reading the certificates of the system takes longer than most commands.
            let is_plain = local && base.scheme() == "http";
            let builder = if is_plain { builder.tls_certs_only([]) } else { builder };
            builder.build().map_err(|error| no_client(&error))
        };
        let http = client(client_builder().timeout(CALL_MAX))?;
        let downloads = client(client_builder().read_timeout(PAUSE_MAX))?;
        Ok(Self { http, downloads, base, token, app })
    }

    pub(crate) async fn get(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<Value, CallError> {
        self.call(Method::GET, path, query, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Option<&Value>) -> Result<Value, CallError> {
        self.call(Method::POST, path, &[], body).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Result<Value, CallError> {
        self.call(Method::PUT, path, &[], Some(body)).await
    }

    /// The same if the draft of the flow still has this tag.
    pub(crate) async fn put_if(
        &self,
        path: &str,
        body: &Value,
        tag: &str,
    ) -> Result<Value, CallError> {
        self.call(Method::PUT, path, &[("draftTag", tag.to_owned())], Some(body)).await
    }

    /// A POST without a body, if the draft of the flow still has this tag.
    pub(crate) async fn post_if(&self, path: &str, tag: &str) -> Result<Value, CallError> {
        self.call(Method::POST, path, &[("draftTag", tag.to_owned())], None).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<Value, CallError> {
        self.call(Method::PATCH, path, &[], Some(body)).await
    }

    /// A resource, and its entity tag.
    pub(crate) async fn get_tagged(&self, path: &str) -> Result<(Value, String), CallError> {
        let request = self.request(Method::GET, path);
        let reply = request.send().await.map_err(|error| self.away(&error))?;
        let status = reply.status();
        let tag = reply.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
        // A server that has no tags cannot compare either.
        let tag = tag.unwrap_or("*").to_owned();
        let bytes = reply.bytes().await.map_err(|error| self.away(&error))?;
        Ok((self.parsed(status, &bytes)?, tag))
    }

    /// A change to the resource, if it still has this entity tag.
    pub(crate) async fn patch_if(
        &self,
        path: &str,
        body: &Value,
        tag: &str,
    ) -> Result<Value, CallError> {
        let request = self.request(Method::PATCH, path).header(IF_MATCH, tag);
        self.reply_to(request.json(body)).await
    }

    pub(crate) async fn delete(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<Value, CallError> {
        self.call(Method::DELETE, path, query, None).await
    }

    /// Posts CSV and returns CSV.
    pub(crate) async fn post_csv(&self, path: &str, body: Vec<u8>) -> Result<Vec<u8>, CallError> {
        let request = self.request(Method::POST, path).header("accept", "text/csv");
        let request = request.header("content-type", "text/csv").body(body);
        let reply = request.send().await.map_err(|error| self.away(&error))?;
        let status = reply.status();
        let bytes = reply.bytes().await.map_err(|error| self.away(&error))?;
        if status.is_success() {
            return Ok(bytes.to_vec());
        }
        self.parsed(status, &bytes).map(|_| Vec::new())
    }

    /// Starts a download. Returns once the server has accepted it.
    pub(crate) async fn download(
        &self,
        path: &str,
        query: &[(String, String)],
    ) -> Result<reqwest::Response, CallError> {
        let mut url = self.url(path);
        add_query(&mut url, query);
        let request = self.downloads.request(Method::GET, url).bearer_auth(&self.token);
        let reply = request.send().await.map_err(|error| self.away(&error))?;
        let status = reply.status();
        if status.is_success() {
            return Ok(reply);
        }
        let bytes = reply.bytes().await.map_err(|error| self.away(&error))?;
        match self.parsed(status, &bytes) {
            Err(error) => Err(error),
            Ok(_) => Err(CallError::Refused(Failure::new(
                format!("the server answered {status} without a file"),
                "check its log",
            ))),
        }
    }

    /// The next chunk of a download; none at its end.
    pub(crate) async fn piece(
        &self,
        download: &mut reqwest::Response,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, CallError> {
        download.chunk().await.map_err(|error| self.away(&error))
    }

    /// Every item of a list, from all its pages.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Value>, CallError> {
        let mut items = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut query = vec![("limit", PAGE_ITEMS.to_string())];
            query.extend(after.map(|after| ("after", after)));
            let mut page = self.get(path, &query).await?;
            if let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) {
                items.extend(more);
            }
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() {
                return Ok(items);
            }
        }
    }

    /// Passes every item of a list to the callback, page by page, until the callback asks to stop.
    pub(crate) async fn each(
        &self,
        path: &str,
        query: &[(&str, String)],
        mut hand_over: impl FnMut(&Value) -> std::io::Result<()>,
    ) -> Result<(), CallError> {
        let mut after: Option<String> = None;
        loop {
            let mut asked = query.to_vec();
            asked.push(("limit", PAGE_ITEMS.to_string()));
            asked.extend(after.map(|after| ("after", after)));
            let page = self.get(path, &asked).await?;
            for item in page["items"].as_array().into_iter().flatten() {
                if hand_over(item).is_err() {
                    return Ok(());
                }
            }
            after = page["next"].as_str().map(str::to_owned);
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&Value>,
    ) -> Result<Value, CallError> {
        let mut url = self.url(path);
        add_query(&mut url, query);
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(body);
        }
        self.reply_to(request).await
    }

    /// One call as the API answers it: the status and the JSON, also of a refusal. A POST with an
    /// idempotency key can be sent again.
    #[cfg(feature = "mcp")]
    pub(crate) async fn exchange(
        &self,
        method: Method,
        path: &str,
        query: &[(String, String)],
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<(u16, Value), CallError> {
        let mut url = self.url(path);
        add_query(&mut url, query);
        let mut request = self.http.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let reply = request.send().await.map_err(|error| self.away(&error))?;
        let status = reply.status();
        let bytes = reply.bytes().await.map_err(|error| self.away(&error))?;
        match serde_json::from_slice(&bytes) {
            Ok(value) => Ok((status.as_u16(), value)),
            Err(_) => self.parsed(status, &bytes).map(|value| (status.as_u16(), value)),
        }
    }

    async fn reply_to(&self, request: reqwest::RequestBuilder) -> Result<Value, CallError> {
        let reply = request.send().await.map_err(|error| self.away(&error))?;
        let status = reply.status();
        let bytes = reply.bytes().await.map_err(|error| self.away(&error))?;
        self.parsed(status, &bytes)
    }

    /// Calls a procedure of the public API once for each input, as one batch. Returns the items of
    /// the reply in their order, and whether all were stored by earlier calls.
    pub(crate) async fn procedure(
        &self,
        api_key: &str,
        name: &str,
        inputs: &[&Value],
    ) -> Result<(Vec<Value>, bool), CallError> {
        let mut url = self.base.clone();
        let names = vec![name; inputs.len()].join(",");
        let base = self.base.path().trim_end_matches('/');
        url.set_path(&format!("{base}{PUBLIC_BASE}/{api_key}/trpc/{names}"));
        url.set_query(Some("batch=1"));
        let numbered = inputs.iter().enumerate();
        let body: serde_json::Map<String, Value> =
            numbered.map(|(at, input)| (at.to_string(), (*input).clone())).collect();
        let request = self.http.request(Method::POST, url).json(&body);
        let reply = request.send().await.map_err(|error| self.away(&error))?;
        let status = reply.status();
        let all_earlier = reply.headers().contains_key(REPLAYED);
        let bytes = reply.bytes().await.map_err(|error| self.away(&error))?;
        match serde_json::from_slice(&bytes) {
            Ok(Value::Array(items)) if items.len() == inputs.len() => Ok((items, all_earlier)),
            _ if status.is_server_error() || status == 429 => Err(CallError::Later(Failure::new(
                format!("{} answered {status}", self.base),
                "try again; see the server's log for details",
            ))),
            _ => Err(CallError::Refused(Failure::new(
                format!("{} answered {status} to a submission", self.base),
                "check the address given by --server or SLUICE_SERVER",
            ))),
        }
    }

    /// A request to a path, which may already contain a query.
    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, self.url(path)).bearer_auth(&self.token)
    }

    fn url(&self, path: &str) -> Url {
        let (path, query) =
            path.split_once('?').map_or((path, None), |(it, rest)| (it, Some(rest)));
        let mut url = self.base.clone();
        url.set_path(&format!("{}{ADMIN_BASE}{path}", self.base.path().trim_end_matches('/')));
        url.set_query(query);
        url
    }

    fn parsed(&self, status: reqwest::StatusCode, bytes: &[u8]) -> Result<Value, CallError> {
        let value: Option<Value> = serde_json::from_slice(bytes).ok();
        match value {
            Some(value) if status.is_success() => Ok(value),
            None if status == 204 => Ok(Value::Null),
            Some(problem) if problem.get("title").is_some() || problem.get("detail").is_some() => {
                Err(refusal(status.as_u16(), &problem))
            }
            _ => Err(CallError::Refused(Failure::new(
                format!("{} answered {status}, but does not look like a Sluice server", self.base),
                "check the address given by --server or SLUICE_SERVER",
            ))),
        }
    }

    fn away(&self, error: &reqwest::Error) -> CallError {
        let base = self.base.as_str().trim_end_matches('/');
        CallError::Away(if error.is_connect() {
            Failure::new(
                format!("no server answers at {base}"),
                "start one with `sluice serve`, or name another with --server or SLUICE_SERVER",
            )
        } else if error.is_timeout() {
            Failure::new(format!("{base} did not answer in time"), "try again, or check its log")
        } else {
            Failure::new(format!("the connection to {base} broke"), "try again")
        })
    }
}

fn add_query(url: &mut Url, pairs: &[(impl AsRef<str>, String)]) {
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
}

fn server_address(text: &str) -> Result<Url, Failure> {
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none()
    });
    url.ok_or_else(|| {
        Failure::usage(
            "the server's address cannot be read",
            "write for example --server http://127.0.0.1:8080",
        )
    })
}

/// Turns a problem document into sentences.
fn refusal(status: u16, problem: &Value) -> CallError {
    let text = |name: &str| problem[name].as_str().unwrap_or_default();
    let faults = faults_of(problem);
    if !faults.is_empty() {
        return CallError::Faults(faults);
    }
    let message = if text("detail").is_empty() { text("title") } else { text("detail") };
    let failure = |remedy: &str| Failure::new(format!("the server reports: {message}"), remedy);
    match status {
        401 => CallError::Refused(failure(
            "give a valid admin token with --token or SLUICE_TOKEN; \
             where it is lost, start the server with SLUICE_ADMIN_TOKEN set",
        )),
        403 => CallError::Refused(failure(
            "use a token with more scopes: `sluice token create` creates one",
        )),
        404 => CallError::Missing(failure(
            "`sluice app list` and `sluice flow list` show what this token can see",
        )),
        409 if matches!(text("code"), "draft_changed" | "key_taken") => {
            CallError::Refused(failure("run the command again: it compares with what is there now"))
        }
        412 => {
            CallError::Changed(failure("run the command again: it compares with what is there now"))
        }
        409 if text("code") == "too_many_exports" => {
            CallError::Later(failure("start it again when another export has ended"))
        }
        429 => CallError::Later(failure("wait a moment, then try again")),
        500.. => CallError::Later(failure("try again; see the server's log for details")),
        _ => CallError::Refused(failure("")),
    }
}

/// The client reads the certificates of the system, except for a server on this machine without
/// TLS.
fn no_client(error: &reqwest::Error) -> Failure {
    Failure::new(
        format!("cannot set up an HTTP client: {}", with_cause(error)),
        "install the root certificates of the system; on Debian: apt-get install ca-certificates",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::failure::Exit;

    #[test]
    fn a_refusal_becomes_a_sentence_and_a_remedy() {
        for (status, problem, message, remedy) in [
            (401, json!({"title": "Unauthorized"}), "reports: Unauthorized", "SLUICE_TOKEN"),
            (403, json!({"detail": "lacks write", "title": "x"}), "reports: lacks write", "scopes"),
            (404, json!({"title": "x", "detail": "there is no such flow"}), "no such flow", "list"),
            (503, json!({"title": "Overloaded"}), "Overloaded", "log"),
        ] {
            let failure = Failure::from(refusal(status, &problem));
            let shown = failure.to_string();
            assert!(shown.contains(message) && shown.contains(remedy), "{shown}");
            assert_eq!(failure.exit, Exit::Failed);
        }
    }

    #[test]
    fn only_temporary_failures_are_retried() {
        for (status, away) in [(400, false), (401, false), (404, false), (429, true), (503, true)] {
            let error = refusal(status, &json!({"title": "t"}));
            assert_eq!(matches!(error, CallError::Later(_)), away, "{status}");
        }
    }

    #[test]
    fn a_server_is_named_by_an_http_address() {
        assert!(server_address("http://127.0.0.1:8080").is_ok());
        assert!(server_address("https://feedback.example.com/base/").is_ok());
        for text in ["127.0.0.1:8080", "localhost", "ftp://x", "http://x?y=1", ""] {
            assert!(server_address(text).is_err(), "{text}");
        }
    }
}
