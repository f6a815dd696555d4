//! `sluice token create`.

use serde_json::json;

use crate::args::TokenArgs;
use crate::client::{Server, field};
use crate::failure::{Exit, Outcome};
use crate::output;

pub(crate) async fn create(args: TokenArgs) -> Outcome {
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
