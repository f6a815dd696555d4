//! An OpenID provider: its metadata, and exchanging a code for claims.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use serde::Deserialize;
use sluice_engine::verify::{IdClaims, IdTokens, KeySource};
use sluice_flow::time::Timestamp;
use sluice_http::{outbound, query};
use tokio::time::Instant;

use super::not_signed_in::NotSignedIn;

const WELL_KNOWN: &str = "/.well-known/openid-configuration";
/// How long an exchange with the provider may take.
const EXCHANGE_MAX: Duration = Duration::from_secs(10);
/// The longest reply of the provider, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// How long its metadata is cached.
const FRESH: Duration = Duration::from_secs(3600);
/// The pause before the next attempt after a failed fetch.
const FAILED_PAUSE: Duration = Duration::from_secs(5);

/// The operator's settings for the provider.
#[derive(Clone, PartialEq, Eq)]
pub struct OidcOptions {
    /// Exactly as the provider writes it.
    pub issuer: String,
    pub client_id: String,
    /// Absent for a public client, which has no secret.
    pub client_secret: Option<String>,
    /// The label of the button on the sign-in page.
    pub button: String,
}

impl std::fmt::Debug for OidcOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OidcOptions({} for {})", self.issuer, self.client_id)
    }
}

pub(in super::super) struct Provider {
    options: OidcOptions,
    client: Option<Client>,
    id_tokens: IdTokens,
    cache: Mutex<MetadataCache>,
    /// Held by the caller that fetches the metadata; one at a time.
    turn: tokio::sync::Mutex<()>,
}

/// The last metadata and the last failure.
#[derive(Default)]
struct MetadataCache {
    found: Option<(Instant, Arc<ProviderMetadata>)>,
    failed: Option<(Instant, String)>,
}

impl MetadataCache {
    /// The result that is available without a fetch.
    fn cached(&self, now: Instant) -> Option<Result<Arc<ProviderMetadata>, String>> {
        let age = |at: Instant| now.saturating_duration_since(at);
        let fresh = self.found.as_ref().filter(|(at, _)| age(*at) < FRESH);
        if let Some((_, found)) = fresh {
            return Some(Ok(Arc::clone(found)));
        }
        let (_, why) = self.failed.as_ref().filter(|(at, _)| age(*at) < FAILED_PAUSE)?;
        // While a fetch fails, old metadata is better than none.
        Some(self.old().ok_or_else(|| why.clone()))
    }

    /// The last metadata, whatever its age.
    fn old(&self) -> Option<Arc<ProviderMetadata>> {
        self.found.as_ref().map(|(_, found)| Arc::clone(found))
    }
}

/// The metadata that a provider publishes.
#[derive(Debug, Deserialize)]
pub(super) struct ProviderMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    userinfo_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl ProviderMetadata {
    fn addresses(&self) -> impl Iterator<Item = &str> {
        let all = [&self.authorization_endpoint, &self.token_endpoint, &self.jwks_uri];
        all.into_iter().chain(&self.userinfo_endpoint).map(String::as_str)
    }

    /// The URL that the browser is redirected to.
    pub(super) fn authorization(&self, parameters: &[(&str, &str)]) -> String {
        let sign = if self.authorization_endpoint.contains('?') { '&' } else { '?' };
        format!("{}{sign}{}", self.authorization_endpoint, query::text(parameters))
    }
}

#[derive(Deserialize)]
struct TokenResponse {
    id_token: String,
    #[serde(default)]
    access_token: Option<String>,
}

/// What the userinfo endpoint adds to the ID token.
#[derive(Deserialize)]
struct UserInfo {
    sub: String,
    #[serde(default)]
    email: Option<String>,
    #[serde(default)]
    email_verified: bool,
}

impl Provider {
    pub(in super::super) fn new(options: OidcOptions) -> Self {
        let client = outbound::client_builder()
            .redirect(Policy::none())
            .no_proxy()
            .timeout(EXCHANGE_MAX)
            .pool_max_idle_per_host(0)
            .build()
            .ok();
        let source = Arc::new(Source(client.clone()));
        let id_tokens = IdTokens::new(source, &options.issuer, &options.client_id);
        let (cache, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { options, client, id_tokens, cache, turn }
    }

    pub(in super::super) fn button(&self) -> &str {
        &self.options.button
    }

    pub(super) fn client_id(&self) -> &str {
        &self.options.client_id
    }

    /// The provider's metadata: cached for an hour; concurrent callers share one fetch. A caller
    /// for whom older metadata is available does not wait, and a failure is returned to all callers
    /// for a few seconds.
    pub(super) async fn metadata(&self) -> Result<Arc<ProviderMetadata>, String> {
        if let Some(cached) = self.with_cache(|cache| cache.cached(Instant::now())) {
            return cached;
        }
        let _turn = match (self.turn.try_lock(), self.with_cache(|cache| cache.old())) {
            (Ok(turn), _) => turn,
            (Err(_), Some(old)) => return Ok(old),
            (Err(_), None) => self.turn.lock().await,
        };
        // Another caller may have fetched it while this one waited for the lock.
        if let Some(cached) = self.with_cache(|cache| cache.cached(Instant::now())) {
            return cached;
        }
        let fetched = self.fetch_metadata().await.map(Arc::new);
        self.with_cache(|cache| {
            match &fetched {
                Ok(found) => cache.found = Some((Instant::now(), Arc::clone(found))),
                Err(why) => cache.failed = Some((Instant::now(), why.clone())),
            }
            fetched.or_else(|why| cache.old().ok_or(why))
        })
    }

    fn with_cache<T>(&self, read: impl FnOnce(&mut MetadataCache) -> T) -> T {
        read(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn fetch_metadata(&self) -> Result<ProviderMetadata, String> {
        let address = format!("{}{WELL_KNOWN}", self.options.issuer.trim_end_matches('/'));
        let bytes = sent(self.client()?.get(address)).await?;
        let found: ProviderMetadata =
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if found.issuer != self.options.issuer {
            return Err(format!("the issuer is {}, not {}", found.issuer, self.options.issuer));
        }
        // If the issuer uses HTTPS, all its endpoints must.
        let safe = |address: &str| {
            address.starts_with("https://")
                || (self.options.issuer.starts_with("http://") && address.starts_with("http://"))
        };
        let unsafe_one = found.addresses().find(|address| !safe(address)).map(str::to_owned);
        match unsafe_one {
            Some(address) => Err(format!("{address} does not use HTTPS")),
            None => Ok(found),
        }
    }

    fn client(&self) -> Result<&Client, String> {
        self.client.as_ref().ok_or_else(|| "there are no certificates to trust".to_owned())
    }

    /// Whether the issuer in a reply is ours. It may be missing unless the provider always sends
    /// it.
    pub(super) async fn is_issued_by(&self, issuer: Option<&str>) -> bool {
        match issuer {
            Some(issuer) => issuer == self.options.issuer,
            None => {
                let found = self.metadata().await;
                found.is_ok_and(|it| !it.authorization_response_iss_parameter_supported)
            }
        }
    }

    /// Exchanges the code from the browser for the claims of the user.
    pub(super) async fn claims(
        &self,
        code: &str,
        redirect: &str,
        verifier: &str,
        nonce: &str,
        now: Timestamp,
    ) -> Result<IdClaims, NotSignedIn> {
        let away = |reason: String| {
            tracing::warn!(reason, "cannot exchange a code with the OpenID provider");
            NotSignedIn::Away
        };
        let found = self.metadata().await.map_err(away)?;
        let request = self.exchange(&found, code, redirect, verifier).map_err(away)?;
        let bytes = match sent(request).await {
            Ok(bytes) => bytes,
            // The provider refuses an invalid or expired code with a 4xx status.
            Err(reason) if reason.starts_with("the answer is 4") => {
                tracing::info!(reason, "the OpenID provider refused a code");
                return Err(NotSignedIn::Refused);
            }
            Err(reason) => return Err(away(reason)),
        };
        let tokens: TokenResponse = serde_json::from_slice(&bytes)
            .map_err(|_| away("the reply has no ID token".to_owned()))?;
        let checked = self.id_tokens.check(&tokens.id_token, &found.jwks_uri, nonce, now).await;
        let mut claims = checked.map_err(|why| {
            tracing::warn!(why = why.as_str(), "an ID token is not valid");
            NotSignedIn::NotProven
        })?;
        if claims.verified_email.is_none() {
            claims.verified_email = self.verified_email(&found, &tokens, &claims.subject).await;
        }
        Ok(claims)
    }

    /// The address from the userinfo endpoint: many providers do not put it into the ID token.
    async fn verified_email(
        &self,
        found: &ProviderMetadata,
        tokens: &TokenResponse,
        subject: &str,
    ) -> Option<String> {
        let (address, token) = (found.userinfo_endpoint.as_ref()?, tokens.access_token.as_ref()?);
        let request = self.client().ok()?.get(address).bearer_auth(token);
        let info: UserInfo = serde_json::from_slice(&sent(request).await.ok()?).ok()?;
        // Ignored if it is about another subject.
        info.email.filter(|_| info.sub == subject && info.email_verified)
    }

    fn exchange(
        &self,
        found: &ProviderMetadata,
        code: &str,
        redirect: &str,
        verifier: &str,
    ) -> Result<RequestBuilder, String> {
        let id = self.options.client_id.as_str();
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
        ];
        let request = self.client()?.post(&found.token_endpoint);
        let methods = found.token_endpoint_auth_methods_supported.as_deref();
        // The default method if the provider lists none.
        let basic = methods.is_none_or(|them| them.iter().any(|one| one == "client_secret_basic"));
        let request = match self.options.client_secret.as_deref() {
            Some(secret) if basic => {
                let pair = STANDARD.encode(format!("{}:{}", escaped(id), escaped(secret)));
                request.header("authorization", format!("Basic {pair}"))
            }
            Some(secret) => {
                form.extend([("client_id", id), ("client_secret", secret)]);
                request
            }
            None => {
                form.push(("client_id", id));
                request
            }
        };
        let typed = request.header("content-type", "application/x-www-form-urlencoded");
        Ok(typed.body(query::text(&form)))
    }
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Sends a request and reads the reply within the limits.
async fn sent(request: RequestBuilder) -> Result<Vec<u8>, String> {
    // The error text may contain the whole URL.
    let failed = |error: reqwest::Error| error.without_url().to_string();
    let mut reply = request.header("accept", "application/json").send().await.map_err(failed)?;
    let status = reply.status().as_u16();
    if status != 200 {
        return Err(format!("the answer is {status}"));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = reply.chunk().await.map_err(failed)? {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(format!("it is longer than {ANSWER_BYTES_MAX} bytes"));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Fetches the keys of the provider.
#[derive(Debug)]
struct Source(Option<Client>);

impl KeySource for Source {
    fn permits(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn fetch(
        &self,
        url: String,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + '_>> {
        Box::pin(async move {
            let client = self.0.as_ref().ok_or_else(|| "there is no HTTP client".to_owned())?;
            sent(client.get(url)).await
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    fn found() -> Arc<ProviderMetadata> {
        let text = r#"{"issuer": "i", "authorization_endpoint": "a", "token_endpoint": "t", "jwks_uri": "j"}"#;
        Arc::new(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn metadata_is_cached_for_an_hour_and_a_failure_for_a_few_seconds() {
        let begun = Instant::now();
        let (later, much_later) = (begun + FAILED_PAUSE, begun + FRESH);
        let failed = Some((begun, "away".to_owned()));
        let mut cache = MetadataCache { found: None, failed: failed.clone() };
        assert_eq!(cache.cached(begun).unwrap().unwrap_err(), "away");
        assert!(cache.cached(later).is_none(), "it must be fetched again");
        cache = MetadataCache { found: Some((begun, found())), failed: None };
        assert!(cache.cached(later).unwrap().is_ok());
        assert!(cache.cached(much_later).is_none());
        cache.failed = Some((much_later, "away".to_owned()));
        assert!(cache.cached(much_later).unwrap().is_ok(), "old metadata is better than none");
    }

    #[tokio::test]
    async fn concurrent_callers_share_one_fetch_and_its_failure() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                let _ = stream.read(&mut [0; 1024]).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
                let reply = b"HTTP/1.1 500 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(reply).await;
            }
        });
        let client_id = "sluice".to_owned();
        let options = OidcOptions { issuer, client_id, client_secret: None, button: String::new() };
        let provider = Provider::new(options);
        let all = futures_util::future::join_all((0..20).map(|_| provider.metadata())).await;
        assert!(all.iter().all(Result::is_err));
        assert!(provider.metadata().await.is_err());
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
