//! `sluice app list`, `create`, `show` and `set`.

use serde_json::{Map, Value, json};

use crate::args::{AppCommand, AppSetArgs, Setting};
use crate::client::{Server, field};
use crate::failure::{Exit, Outcome};
use crate::output::{self, quoted};

pub(crate) async fn run(command: AppCommand) -> Outcome {
    match command {
        AppCommand::List { server } => {
            let server = Server::new(server)?;
            let apps = server.list("/apps").await?;
            for app in &apps {
                output::line(app_line(app));
            }
            if apps.is_empty() {
                output::note("no apps; create one with: sluice app create NAME");
            }
        }
        AppCommand::Create { name, server } => {
            let server = Server::new(server)?;
            let app = server.post("/apps", Some(&json!({"name": name}))).await?;
            output::line(app_line(&app));
        }
        AppCommand::Show { app, server } => {
            let server = Server::new(server)?;
            output::line(settings(&server.get(&format!("/apps/{app}"), &[]).await?));
        }
        AppCommand::Set(args) => {
            let path = format!("/apps/{}", args.app);
            let patch = patch(&args);
            let server = Server::new(args.server)?;
            output::line(settings(&server.patch(&path, &patch).await?));
        }
    }
    Ok(Exit::Done)
}

/// The id, the publishable keys and the name.
fn app_line(app: &Value) -> String {
    let keys = app["apiKeys"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let keys: Vec<&str> = keys.collect();
    format!("{}  {}  {}", field(app, "appId"), keys.join(","), quoted(field(app, "name")))
}

/// The app on a line, then a line a setting, by the name that the API has for it.
fn settings(app: &Value) -> String {
    let mut text = app_line(app);
    let shown = ["appId", "apiKeys", "name"];
    for (name, value) in app.as_object().into_iter().flatten() {
        if shown.contains(&name.as_str()) {
            continue;
        }
        let value = match value {
            Value::Null => "default".to_owned(),
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        text.push_str(&format!("\n  {name}  {value}"));
    }
    text
}

fn patch(args: &AppSetArgs) -> Value {
    let mut patch = Map::new();
    let texts = [("name", &args.name), ("identityVerification", &args.identity_verification)];
    for (name, value) in texts {
        patch.extend(value.as_ref().map(|value| (name.to_owned(), json!(value))));
    }
    for (name, value) in [
        ("tokenLifetimeSeconds", args.token_lifetime_seconds),
        ("retentionDays", args.retention_days),
        ("graceWindowSeconds", args.grace_window_seconds),
    ] {
        patch.extend(value.map(|Setting(value)| (name.to_owned(), json!(value))));
    }
    match args.allowed_origin.as_slice() {
        [] => {}
        [any] if any == "any" => drop(patch.insert("allowedOrigins".to_owned(), json!([]))),
        origins => drop(patch.insert("allowedOrigins".to_owned(), json!(origins))),
    }
    Value::Object(patch)
}
