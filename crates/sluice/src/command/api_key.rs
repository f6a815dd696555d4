//! `sluice key create`, `list` and `revoke`: the publishable keys of apps.

use serde_json::{Value, json};
use sluice_flow::id::AppId;

use super::target;
use crate::args::{KeyCreateArgs, KeyListArgs, KeyRevokeArgs};
use crate::client::{Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output;

pub(crate) async fn create(args: KeyCreateArgs) -> Outcome {
    let server = Server::new(args.server)?;
    let app = target::app(&server, args.app).await?;
    let made = server.post(&format!("/apps/{app}/keys"), None).await?;
    output::line(field(&made, "apiKey"));
    Ok(Exit::Done)
}

pub(crate) async fn list(args: KeyListArgs) -> Outcome {
    let server = Server::new(args.server)?;
    for (app, key) in keys(&server, args.app).await? {
        let item = json!({"apiKey": key, "appId": app});
        let line = |item: &Value| format!("{}  {}", field(item, "apiKey"), field(item, "appId"));
        output::line(args.json.shown(&item, line));
    }
    Ok(Exit::Done)
}

pub(crate) async fn revoke(args: KeyRevokeArgs) -> Outcome {
    let server = Server::new(args.server)?;
    let key = args.key.to_string();
    let all = keys(&server, args.app).await?;
    let Some((app, _)) = all.iter().find(|(_, it)| *it == key) else {
        return Err(Failure::new(
            format!("there is no active key {key}"),
            "`sluice key list` shows the keys that this token can see",
        ));
    };
    server.delete(&format!("/apps/{app}/keys/{key}"), &[]).await?;
    output::note(format_args!("{key} is revoked; calls with it are refused within a second"));
    if all.iter().filter(|(of, _)| of == app).count() == 1 {
        output::note("the app has no active key; create one with: sluice key create");
    }
    Ok(Exit::Done)
}

/// The active keys of this app, or of all: each with its app.
async fn keys(server: &Server, app: Option<AppId>) -> Result<Vec<(String, String)>, Failure> {
    let apps = match app {
        Some(app) => vec![server.get(&format!("/apps/{app}"), &[]).await?],
        None => server.list("/apps").await?,
    };
    let of_app = |app: &Value| -> Vec<(String, String)> {
        let id = field(app, "appId").to_owned();
        let keys = app["apiKeys"].as_array().into_iter().flatten().filter_map(Value::as_str);
        keys.map(|key| (id.clone(), key.to_owned())).collect()
    };
    Ok(apps.iter().flat_map(of_app).collect())
}
