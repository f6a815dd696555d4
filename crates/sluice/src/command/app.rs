//! `sluice app list`, `create`, `show` and `set`.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::args::{AppCommand, AppSetArgs, NumberOrDefault};
use crate::client::{Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{self, quoted};

pub(crate) async fn run(command: AppCommand) -> Outcome {
    match command {
        AppCommand::List { json, server } => {
            let server = Server::new(server)?;
            let apps = server.list("/apps").await?;
            for app in &apps {
                output::line(json.shown(app, app_line));
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
            let patch = patch(&args)?;
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

/// The app on one line, then one line per setting, with the API's names.
fn settings(app: &Value) -> String {
    let mut text = app_line(app);
    let shown = ["appId", "apiKeys", "name"];
    for (name, value) in app.as_object().into_iter().flatten() {
        if shown.contains(&name.as_str()) {
            continue;
        }
        let value = &without_logo_data(value);
        let value = match value {
            Value::Null => "default".to_owned(),
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        text.push_str(&format!("\n  {name}  {value}"));
    }
    text
}

/// Shortens the logos, which are kilobytes of base64.
fn without_logo_data(value: &Value) -> Value {
    let mut shown = value.clone();
    for name in ["logo", "darkLogo"] {
        if let Some(logo) = shown.get_mut(name)
            && let Some((kind, data)) = logo.as_str().and_then(|text| text.split_once(','))
        {
            *logo = json!(format!("{kind}, about {} bytes", data.len() / 4 * 3));
        }
    }
    shown
}

fn patch(args: &AppSetArgs) -> Result<Value, Failure> {
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
        patch.extend(value.map(|NumberOrDefault(value)| (name.to_owned(), json!(value))));
    }
    match args.allowed_origin.as_slice() {
        [] => {}
        [any] if any == "any" => drop(patch.insert("allowedOrigins".to_owned(), json!([]))),
        origins => drop(patch.insert("allowedOrigins".to_owned(), json!(origins))),
    }
    let hosted = hosted(args)?;
    if !hosted.is_empty() {
        patch.insert("hosted".to_owned(), Value::Object(hosted));
    }
    let limits: Map<String, Value> =
        [("callsPerSecond", args.calls_per_second), ("bytesPerDay", args.bytes_per_day)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), json!(value?.0))))
            .collect();
    if !limits.is_empty() {
        patch.insert("limits".to_owned(), Value::Object(limits));
    }
    Ok(Value::Object(patch))
}

/// The settings of hosted pages; a logo file becomes the `data:` URL that the API takes.
fn hosted(args: &AppSetArgs) -> Result<Map<String, Value>, Failure> {
    let mut hosted = Map::new();
    let or_default = |text: &str| if text == "default" { Value::Null } else { json!(text) };
    if let Some(color) = &args.accent_color {
        hosted.insert("accentColor".to_owned(), or_default(color));
    }
    if let Some(path) = &args.logo {
        let logo =
            if path.as_os_str() == "default" { Value::Null } else { json!(logo_data_url(path)?) };
        hosted.insert("logo".to_owned(), logo);
    }
    if let Some(protection) = args.spam_protection {
        hosted.insert("spamProtection".to_owned(), json!(protection));
    }
    Ok(hosted)
}

/// An image file as a `data:` URL. The server checks whether it is an image.
fn logo_data_url(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::usage(
            format!("cannot read {}: {error}", path.display()),
            "name an image file with --logo",
        )
    })?;
    let ending =
        path.extension().and_then(|it| it.to_str()).unwrap_or_default().to_ascii_lowercase();
    let kind = match ending.as_str() {
        "jpg" | "jpeg" => "jpeg",
        "webp" => "webp",
        "svg" => "svg+xml",
        _ => "png",
    };
    Ok(format!("data:image/{kind};base64,{}", STANDARD.encode(bytes)))
}
