//! Any bytes as a token, through `Engine::identify` (as every transport does) for an app that
//! enforces identity tokens.
//!
//! The first byte selects what the rest is: a raw token; a header and claims that are signed with
//! the right key, so that the checks after the signature are reached, too; or changes to a valid
//! token. No unsigned token may be accepted, and an accepted token must be for the user in its
//! claims.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};
use sluice_engine::clock::ManualClock;
use sluice_engine::rows::{IdentityKeyKind, IdentityVerification, Scope};
use sluice_engine::verify::{MasterKey, Presented};
use sluice_engine::{Actor, AppPatch, AppView, Engine, NewIdentityKey, Options};
use sluice_flow::time::Timestamp;
use sluice_store::sqlite::{self, SqliteStore};
use tokio::runtime::Runtime;

use super::site::{NOW_SECONDS, folder, runtime};

/// Separates the header from the claims in the input to sign.
const BETWEEN: char = '\n';
/// The placeholder for the app's id in claims, since the id differs in each run.
const APP: &str = "APP";

struct Gate {
    runtime: Runtime,
    engine: Arc<Engine>,
    app: Arc<AppView>,
    app_id: String,
    key: hmac::Key,
    good: String,
    _folder: tempfile::TempDir,
}

fn gate() -> &'static Gate {
    static GATE: OnceLock<Gate> = OnceLock::new();
    GATE.get_or_init(|| {
        let (runtime, folder) = (runtime(), folder());
        let store = SqliteStore::open(&folder.path().join("sluice.db"), sqlite::Options::default());
        let store = Arc::new(store.unwrap());
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(NOW_SECONDS * 1000)));
        let options = Options {
            master_keys: Some(Arc::new(vec![MasterKey::random()])),
            ..Options::default()
        };
        let (engine, app, app_id, secret) = runtime.block_on(async {
            let engine = Engine::start(store, clock, options).await.unwrap();
            let actor = Actor::trusted("fuzz");
            let made = engine.instance(&actor).unwrap().create_app("Fuzzed").await.unwrap();
            let id = made.row.app_id;
            let kind = IdentityKeyKind::Hs256;
            let new =
                NewIdentityKey { kind, pem: None, jwk: None, url: None, kid: None, issuer: None };
            let app = engine.app(&actor, Scope::Admin, id).await.unwrap();
            let (_, secret) = app.create_identity_key(&new).await.unwrap();
            let enforce = Some(IdentityVerification::Enforce);
            let patch = AppPatch { identity_verification: enforce, ..AppPatch::default() };
            app.update(&patch).await.unwrap();
            let app = engine.app_by_key(made.api_keys[0].as_str()).await.unwrap().unwrap();
            (engine, app, id.to_string(), secret.unwrap().0)
        });
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let claims =
            json!({"sub": "u", "aud": app_id, "iat": NOW_SECONDS, "exp": NOW_SECONDS + 300});
        let good = signed(&key, r#"{"alg":"HS256"}"#, &claims.to_string());
        Gate { runtime, engine, app, app_id, key, good, _folder: folder }
    })
}

fn signed(key: &hmac::Key, header: &str, claims: &str) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(key, message.as_bytes()));
    format!("{message}.{signature}")
}

impl Gate {
    /// The user that this token is accepted for.
    fn enter(&self, text: &str) -> Option<String> {
        let checked = self.engine.identify(&self.app, Presented::Token(text));
        let bearer = self.runtime.block_on(checked).ok().flatten()?;
        Some(bearer.proven()?.user_id.clone())
    }

    /// Signed with the right key: if accepted, the claims must name this user and this app.
    fn check_signed(&self, text: &str) {
        let (header, claims) = text.split_once(BETWEEN).unwrap_or((text, ""));
        let claims = claims.replace(APP, &self.app_id);
        let Some(bearer) = self.enter(&signed(&self.key, header, &claims)) else { return };
        let header: Value = serde_json::from_str(header).unwrap();
        let claims: Value = serde_json::from_str(&claims).unwrap();
        assert_eq!(header["alg"], "HS256");
        assert_eq!(claims["sub"], bearer);
        assert!(claims["aud"].to_string().contains(&self.app_id));
        let seconds = |name: &str| claims[name].as_f64().unwrap();
        let now = NOW_SECONDS as f64;
        assert!(seconds("exp") > now - 61.0 && seconds("iat") < now + 61.0);
        assert!(seconds("exp") - seconds("iat") <= 3600.001);
    }

    /// A valid token with some bytes replaced: each change is a position (two bytes) and a value.
    fn check_changed(&self, changes: &[u8]) {
        let mut bytes = self.good.clone().into_bytes();
        for change in changes.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
            bytes[at] = change[2];
        }
        let Ok(text) = String::from_utf8(bytes) else { return };
        assert_eq!(self.enter(&text).is_some(), text == self.good);
    }
}

pub(super) fn run(data: &[u8]) {
    let Some((&kind, rest)) = data.split_first() else { return };
    let gate = gate();
    match (kind % 3, std::str::from_utf8(rest)) {
        (0, Ok(text)) => assert_eq!(gate.enter(text), None),
        (1, Ok(text)) => gate.check_signed(text),
        (2, _) => gate.check_changed(rest),
        _ => {}
    }
}
