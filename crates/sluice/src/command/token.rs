//! `sluice token create`, `list` and `revoke`.

use serde_json::{Value, json};

use crate::args::{TokenArgs, TokenCommand};
use crate::client::{Server, field};
use crate::failure::{Exit, Outcome};
use crate::output::{self, quoted};

pub(crate) async fn run(command: TokenCommand) -> Outcome {
    match command {
        TokenCommand::Create(args) => create(args).await,
        TokenCommand::List { json, server } => {
            let server = Server::new(server)?;
            let tokens = server.list("/tokens").await?;
            tokens.iter().for_each(|token| output::line(json.shown(token, token_line)));
            if tokens.is_empty() {
                output::note("no tokens; create one with: sluice token create");
            }
            Ok(Exit::Done)
        }
        TokenCommand::Revoke { id, server } => {
            let server = Server::new(server)?;
            server.delete(&format!("/tokens/{id}"), &[]).await?;
            output::note(format_args!("{id} is revoked"));
            Ok(Exit::Done)
        }
    }
}

async fn create(args: TokenArgs) -> Outcome {
    let server = Server::new(args.server)?;
    let mut body = json!({"name": args.name, "scopes": args.scopes});
    if let Some(app) = args.app {
        body["appId"] = json!(app);
    }
    if let Some(expires) = args.expires {
        body["expiresAt"] = json!(expires);
    }
    let made = server.post("/tokens", Some(&body)).await?;
    output::line(field(&made, "token"));
    output::note(format_args!(
        "this is {}; the token is not stored and cannot be shown again",
        field(&made, "tokenId")
    ));
    Ok(Exit::Done)
}

/// The id, the scopes, the app, whether it is active, and the name.
fn token_line(token: &Value) -> String {
    let scopes = token["scopes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let scopes: Vec<&str> = scopes.collect();
    let state = match (token["revokedAt"].as_str(), token["expiresAt"].as_str()) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) => format!("until {at}"),
        (None, None) => "active".to_owned(),
    };
    let (id, app) = (field(token, "tokenId"), token["appId"].as_str().unwrap_or("all-apps"));
    format!("{id}  {}  {app}  {state}  {}", scopes.join(","), quoted(field(token, "name")))
}
