//! `sluice identity add`, `list`, `revoke` and `counts`.

use std::path::Path;

use serde_json::{Value, json};

use crate::args::{IdentityAddArgs, IdentityCommand};
use crate::client::{Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output;

pub(crate) async fn run(command: IdentityCommand) -> Outcome {
    match command {
        IdentityCommand::Add(args) => {
            let body = new_key(&args)?;
            let server = Server::new(args.server)?;
            let key =
                server.post(&format!("/apps/{}/identity-keys", args.app), Some(&body)).await?;
            output::line(key_line(&key));
            if let Some(secret) = key["secret"].as_str() {
                output::note("the secret is shown this once; sign tokens with these bytes:");
                output::line(secret);
            }
        }
        IdentityCommand::List { app, json, server } => {
            let server = Server::new(server)?;
            for key in server.list(&format!("/apps/{app}/identity-keys")).await? {
                output::line(json.shown(&key, key_line));
            }
        }
        IdentityCommand::Revoke { app, kid, server } => {
            let server = Server::new(server)?;
            server.delete(&format!("/apps/{app}/identity-keys/{kid}"), &[]).await?;
            output::note("revoked; tokens signed with it are refused within a second");
        }
        IdentityCommand::Counts { app, json, server } => {
            let server = Server::new(server)?;
            let path = format!("/apps/{app}/identity-verification");
            let counts = server.get(&path, &[]).await?;
            output::line(json.shown(&counts, |counts| format!("{counts:#}")));
        }
    }
    Ok(Exit::Done)
}

fn new_key(args: &IdentityAddArgs) -> Result<Value, Failure> {
    let mut key = if let Some(file) = &args.pem {
        json!({"type": "publicKey", "pem": read(file)?})
    } else if let Some(file) = &args.jwk {
        let jwk: Value = serde_json::from_str(&read(file)?).map_err(|error| {
            Failure::new(format!("{} is not JSON: {error}", file.display()), "give a JWK file")
        })?;
        json!({"type": "publicKey", "jwk": jwk})
    } else if let Some(url) = &args.jwks {
        json!({"type": "jwks", "url": url})
    } else {
        json!({"type": "hs256"})
    };
    for (name, value) in [("kid", &args.kid), ("issuer", &args.issuer)] {
        if let Some(value) = value {
            key[name] = json!(value);
        }
    }
    Ok(key)
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| {
        Failure::new(
            format!("cannot read {}: {error}", file.display()),
            "name a file that can be read",
        )
    })
}

/// The name, the kind, and whether the key is active.
fn key_line(key: &Value) -> String {
    let state = match key["revokedAt"].as_str() {
        Some(at) => format!("revoked {at}"),
        None => "active".to_owned(),
    };
    let mut line = format!("{}  {}  {state}", field(key, "kid"), field(key, "type"));
    for name in ["algorithm", "url", "issuer"] {
        if let Some(text) = key[name].as_str() {
            line.push_str(&format!("  {text}"));
        }
    }
    line
}
