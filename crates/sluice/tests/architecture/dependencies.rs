//! What may enter the dependency tree: the rules of `deny.toml`, for everyone who runs the tests.
//!
//! `cargo deny check bans licenses sources` checks the same and more, but compiling it takes
//! minutes.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

use std::process::Command;

use serde::Deserialize;

use super::source::root;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Deserialize)]
pub(crate) struct Policy {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Banned>,
}

#[derive(Deserialize)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) license: Option<String>,
    /// None for our own crates.
    pub(crate) source: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) req: String,
    pub(crate) source: Option<String>,
}

pub(crate) fn policy() -> Policy {
    basic_toml::from_str(&std::fs::read_to_string(root().join("deny.toml")).unwrap()).unwrap()
}

/// All crates that any feature or platform may need.
pub(crate) fn packages() -> Vec<Package> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--all-features"]);
    let output = cargo.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Metadata>(&output.stdout).unwrap().packages
}

/// What is wrong with these crates. A licence in the list that none of them needs is wrong as well.
pub(crate) fn offences(policy: &Policy, packages: &[Package]) -> Vec<String> {
    let allowed = |licence: &str| policy.licenses.allow.iter().any(|it| it == licence);
    let mut offences = Vec::new();
    for package in packages {
        let name = &package.name;
        let licence = package.license.as_deref().unwrap_or_default();
        if !fits(licence, &allowed) {
            offences.push(format!("{name} has the licence \"{licence}\""));
        }
        if package.source.as_deref().is_some_and(|source| source != REGISTRY) {
            offences.push(format!("{name} comes from {:?}", package.source));
        }
        if let Some(banned) = policy.bans.deny.iter().find(|it| it.name == *name) {
            offences.push(format!("{name} is banned: {}", banned.reason));
        }
        let has_wildcard = |it: &&Dependency| it.req == "*" && it.source.is_some();
        if package.source.is_none()
            && let Some(dependency) = package.dependencies.iter().find(has_wildcard)
        {
            offences.push(format!("{name} takes any version of {}", dependency.name));
        }
    }
    for licence in &policy.licenses.allow {
        let others = |it: &str| it != licence && allowed(it);
        let needs = |it: &Package| {
            let own = it.license.as_deref().unwrap_or_default();
            fits(own, &allowed) && !fits(own, &others)
        };
        if !packages.iter().any(needs) {
            offences.push(format!("no crate needs the licence \"{licence}\" any more"));
        }
    }
    offences
}

/// Whether a licence expression can be fulfilled with these licences. AND binds more tightly than
/// OR.
pub(crate) fn fits(expression: &str, allowed: &impl Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_fits(&mut rest, allowed) && rest.is_empty()
}

fn any_fits(words: &mut &[&str], allowed: &impl Fn(&str) -> bool) -> bool {
    let mut fits = all_fit(words, allowed);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        fits |= all_fit(words, allowed);
    }
    fits
}

fn all_fit(words: &mut &[&str], allowed: &impl Fn(&str) -> bool) -> bool {
    let mut fits = one_fits(words, allowed);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        fits &= one_fits(words, allowed);
    }
    fits
}

fn one_fits(words: &mut &[&str], allowed: &impl Fn(&str) -> bool) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let fits = any_fits(words, allowed);
            *words = words.strip_prefix(&[")"]).unwrap_or_default();
            fits
        }
        // An exception permits more than the licence alone.
        [licence, "WITH", _, rest @ ..] | [licence, rest @ ..] => {
            *words = rest;
            allowed(licence)
        }
        [] => false,
    }
}
