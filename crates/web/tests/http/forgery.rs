//! For any input as a token, the check does not panic, and accepts only tokens that a key of the
//! app has signed and the rules allow.
//!
//! Tested through `Engine::identify`, which every transport uses; `fuzz/` does the same without an
//! end. The rules are implemented a second time here, as simply as possible, so that differences
//! show.

use std::sync::{Arc, OnceLock};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use sluice_engine::AppView;
use sluice_engine::rows::{IdentityKeyKind, IdentityVerification};
use sluice_engine::verify::Presented;
use tokio::runtime::Runtime;

use crate::identity::{Verified, new_key};
use crate::support::START;
use crate::support::tokens::Signer;

/// The time, in seconds.
const NOW: i64 = START / 1000;
/// The characters of a token.
const WRITTEN: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";

/// An app that enforces identity tokens, with one key.
struct Gate {
    it: Verified,
    app: Arc<AppView>,
    kid: String,
    signer: Signer,
}

struct Gates {
    runtime: Runtime,
    /// One app for each algorithm.
    all: Vec<Gate>,
}

impl Gates {
    fn get() -> &'static Self {
        static GATES: OnceLock<Gates> = OnceLock::new();
        GATES.get_or_init(|| {
            let runtime = Runtime::new().unwrap();
            let all = runtime.block_on(async {
                let mut all = Vec::new();
                for signer in
                    [None, Some(Signer::rsa()), Some(Signer::p256()), Some(Signer::ed25519())]
                {
                    all.push(gate(signer).await);
                }
                all
            });
            Self { runtime, all }
        })
    }

    /// The user that this token is accepted for.
    fn enter(&self, gate: &Gate, text: &str) -> Option<String> {
        let checked = gate.it.site.engine.identify(&gate.app, Presented::Token(text));
        self.runtime
            .block_on(checked)
            .ok()
            .flatten()
            .and_then(|it| Some(it.proven()?.user_id.clone()))
    }
}

async fn gate(signer: Option<Signer>) -> Gate {
    let it = Verified::start().await;
    let (kid, signer) = match signer {
        None => it.secret().await,
        Some(signer) => {
            let mut key = new_key(IdentityKeyKind::PublicKey);
            key.pem = Some(signer.pem());
            (it.key(&key).await, signer)
        }
    };
    it.mode(IdentityVerification::Enforce).await;
    let app = it.site.engine.app_by_key(&it.site.key).await.unwrap().unwrap();
    Gate { it, app, kid, signer }
}

fn another_of(signer: &Signer) -> Signer {
    match signer {
        Signer::Rsa(_) => Signer::another_rsa(),
        Signer::P256(_) => Signer::p256(),
        Signer::Ed25519(_) => Signer::ed25519(),
        Signer::Secret(_) | Signer::Nothing => Signer::Secret(b"another secret".to_vec()),
    }
}

/// Any text, or one similar to a token.
fn texts() -> impl Strategy<Value = String> {
    let written: Vec<char> = WRITTEN.chars().collect();
    let part = move |most| vec(select(written.clone()), 0..most).prop_map(String::from_iter);
    prop_oneof![
        any::<String>(),
        vec(part(600), 0..5).prop_map(|parts| parts.join(".")),
        (part(100), part(300), part(90)).prop_map(|(one, two, three)| {
            // Common prefixes, so that some pass the first check.
            format!("eyJhbGciOiJIUzI1NiJ9{one}.eyJzdWIiOiJ1In0{two}.{three}")
        }),
    ]
}

/// A change of a text, at a position within its length.
#[derive(Debug, Clone)]
enum Edit {
    Replace(Index, char),
    Insert(Index, char),
    Remove(Index),
    Swap(Index, Index),
    Cut(Index),
    Repeat(Index, Index),
}

fn edits() -> impl Strategy<Value = Edit> {
    let written = || {
        let all: Vec<char> = WRITTEN.chars().collect();
        prop_oneof![4 => select(all), 1 => any::<char>()]
    };
    prop_oneof![
        4 => (any::<Index>(), written()).prop_map(|(at, new)| Edit::Replace(at, new)),
        2 => (any::<Index>(), written()).prop_map(|(at, new)| Edit::Insert(at, new)),
        2 => any::<Index>().prop_map(Edit::Remove),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(one, two)| Edit::Swap(one, two)),
        1 => any::<Index>().prop_map(Edit::Cut),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(one, two)| Edit::Repeat(one, two)),
    ]
}

impl Edit {
    fn apply(&self, text: &mut Vec<char>) {
        let length = text.len().max(1);
        match self {
            _ if text.is_empty() => {}
            Self::Replace(at, new) => text[at.index(length)] = *new,
            Self::Insert(at, new) => text.insert(at.index(length), *new),
            Self::Remove(at) => drop(text.remove(at.index(length))),
            Self::Swap(one, two) => text.swap(one.index(length), two.index(length)),
            Self::Cut(at) => text.truncate(at.index(length)),
            Self::Repeat(one, two) => {
                let (one, two) = (one.index(length), two.index(length));
                let part = text[one.min(two)..one.max(two)].to_vec();
                text.extend(part);
            }
        }
    }
}

/// Claims around the limits of every rule; `true` stands for the app's id in the audience.
fn claims() -> impl Strategy<Value = Value> {
    let subject = prop_oneof![
        4 => any::<String>().prop_map(Value::from),
        1 => (250..260_usize).prop_map(|length| json!("\u{e9}".repeat(length))),
        1 => select(vec![Value::Null, json!(7), json!([]), json!(""), json!("a\0b")]),
    ];
    let audience = select(vec![
        json!(true),
        json!([true]),
        json!(["other", true]),
        json!("other"),
        json!(["other"]),
        json!([true, 7]),
        json!([]),
        Value::Null,
    ]);
    let at = |edges: Vec<i64>| select(edges).prop_map(|seconds| NOW + seconds);
    (
        subject,
        prop_oneof![3 => Just(json!(true)), 1 => audience],
        at(vec![-4000, -3600, -300, 0, 59, 60, 61]),
        at(vec![-61, -60, -59, 0, 1, 300, 3300, 3600, 3601]),
        option::of(at(vec![-10, 0, 60, 61])),
    )
        .prop_map(|(sub, aud, iat, exp, nbf)| match nbf {
            None => json!({"sub": sub, "aud": aud, "iat": iat, "exp": exp}),
            Some(nbf) => json!({"sub": sub, "aud": aud, "iat": iat, "exp": exp, "nbf": nbf}),
        })
}

/// The rules of the guide, implemented again.
fn is_allowed(claims: &Value) -> bool {
    let time = |name: &str| claims[name].as_i64();
    let (issued, expires) = (time("iat").unwrap(), time("exp").unwrap());
    let sub = claims["sub"].as_str();
    let audience = match &claims["aud"] {
        Value::Array(many) => many.contains(&json!(true)) && !many.contains(&json!(7)),
        one => *one == json!(true),
    };
    sub.is_some_and(|sub| (1..=255).contains(&sub.chars().count()) && !sub.contains('\0'))
        && audience
        && issued < expires
        && expires - issued <= 3600
        && issued <= NOW + 60
        && NOW < expires + 60
        && time("nbf").is_none_or(|time| time <= NOW + 60)
}

fn for_app(claims: &Value, app: &str) -> Value {
    let named = |it: &Value| if *it == json!(true) { json!(app) } else { it.clone() };
    let mut claims = claims.clone();
    claims["aud"] = match &claims["aud"] {
        Value::Array(many) => many.iter().map(named).collect(),
        one => named(one),
    };
    claims
}

proptest! {
    #[test]
    fn an_unsigned_text_is_never_accepted(text in texts(), at in any::<Index>()) {
        let gates = Gates::get();
        prop_assert_eq!(gates.enter(at.get(&gates.all), &text), None);
    }

    #[test]
    fn a_token_is_accepted_only_with_the_right_key_and_valid_claims(
        claims in claims(), at in any::<Index>(), by_another in prop::bool::weighted(0.2),
        named in any::<bool>(), algorithm in option::weighted(0.2, select(vec!["HS256", "RS256", "ES256", "EdDSA", "none"])),
    ) {
        let gates = Gates::get();
        let gate = at.get(&gates.all);
        let own = gate.signer.algorithm();
        let mut header = json!({"alg": algorithm.unwrap_or(own)});
        if named {
            header["kid"] = json!(gate.kid);
        }
        let sent = for_app(&claims, &gate.it.site.app.to_string());
        let (header_text, sent_text) = (header.to_string(), sent.to_string());
        let token = match by_another {
            true => another_of(&gate.signer).raw(&header_text, &sent_text),
            false => gate.signer.raw(&header_text, &sent_text),
        };
        let may = !by_another && header["alg"] == own && token.len() <= 4096 && is_allowed(&claims);
        let bearer = may.then(|| sent["sub"].as_str().unwrap().to_owned());
        prop_assert_eq!(gates.enter(gate, &token), bearer);
    }

    #[test]
    fn a_changed_token_is_never_accepted(
        at in any::<Index>(), edits in vec(edits(), 1..4),
    ) {
        let gates = Gates::get();
        let gate = at.get(&gates.all);
        let good = gate.signer.token(Some(&gate.kid), &gate.it.claims());
        prop_assert_eq!(gates.enter(gate, &good), Some("u-7".to_owned()));
        let mut changed: Vec<char> = good.chars().collect();
        edits.iter().for_each(|edit| edit.apply(&mut changed));
        let changed = String::from_iter(changed);
        prop_assume!(changed != good);
        prop_assert_eq!(gates.enter(gate, &changed), None);
    }
}

#[test]
fn no_single_character_of_a_token_can_be_changed() {
    let gates = Gates::get();
    for gate in &gates.all {
        let good = gate.signer.token(Some(&gate.kid), &gate.it.claims());
        for (at, old) in good.char_indices() {
            // Some base64url characters differ only in the unused bits of the last byte.
            for new in ['A', 'B', 'Q', 'g', 'w', '_', '.', '='] {
                let changed = format!("{}{new}{}", &good[..at], &good[at + 1..]);
                let entered = gates.enter(gate, &changed);
                assert_eq!(entered.is_some(), new == old, "{changed} at {at}");
            }
        }
    }
}
