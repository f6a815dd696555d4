//! Finds what a command is about: the app of new flows, or a flow by its id or key.

use serde_json::Value;
use sluice_flow::id::{AppId, FlowId};

use crate::args::FlowRef;
use crate::client::{Server, field};
use crate::failure::Failure;
use crate::output::quoted;

/// This app, that of the profile, or the only app that the token has access to.
pub(crate) async fn app(server: &Server, app: Option<AppId>) -> Result<String, Failure> {
    if let Some(app) = app.or(server.app) {
        return Ok(app.to_string());
    }
    let apps = server.list("/apps").await?;
    if let [app] = apps.as_slice() {
        return Ok(field(app, "appId").to_owned());
    }
    if apps.is_empty() {
        return Err(Failure::new("there is no app", "create one with: sluice app create NAME"));
    }
    Err(Failure::usage("there are several apps", format!("choose one:\n  {}", listed(&apps))))
}

/// A flow by its id, or by its key in this app or in the only app that has it.
pub(crate) async fn flow(
    server: &Server,
    flow: &FlowRef,
    app: Option<AppId>,
) -> Result<Value, Failure> {
    let key = match flow {
        FlowRef::Id(id) => return by_id(server, *id, app).await,
        FlowRef::Key(key) => key,
    };
    let apps = match app.or(server.app) {
        Some(app) => vec![server.get(&format!("/apps/{app}"), &[]).await?],
        None => server.list("/apps").await?,
    };
    let mut found = Vec::new();
    for app in &apps {
        found
            .extend(keyed(server, field(app, "appId"), key).await?.map(|flow| (app.clone(), flow)));
    }
    match found.len() {
        1 => Ok(found.remove(0).1),
        0 => Err(Failure::new(
            format!("there is no flow with the key {key}"),
            "`sluice flow list` shows the flows and keys that this token can see",
        )),
        _ => {
            let apps: Vec<Value> = found.into_iter().map(|(app, _)| app).collect();
            Err(Failure::usage(
                format!("several apps have a flow with the key {key}"),
                format!("choose one:\n  {}", listed(&apps)),
            ))
        }
    }
}

/// The id of a flow that is given by its id or its key; an id alone needs no call.
pub(crate) async fn flow_id(
    server: &Server,
    flow: &FlowRef,
    app: Option<AppId>,
) -> Result<String, Failure> {
    match (flow, app) {
        (FlowRef::Id(id), None) => Ok(id.to_string()),
        _ => Ok(field(&self::flow(server, flow, app).await?, "flowId").to_owned()),
    }
}

async fn by_id(server: &Server, id: FlowId, app: Option<AppId>) -> Result<Value, Failure> {
    let flow = server.get(&format!("/flows/{id}"), &[]).await?;
    match app.filter(|app| field(&flow, "appId") != app.to_string()) {
        None => Ok(flow),
        Some(app) => Err(Failure::usage(
            format!("{id} is not a flow of {app}"),
            format!("leave out --app, or give --app {}", field(&flow, "appId")),
        )),
    }
}

/// The flow of an app with this key.
pub(crate) async fn keyed(server: &Server, app: &str, key: &str) -> Result<Option<Value>, Failure> {
    let query = [("key", key.to_owned()), ("limit", "1".to_owned())];
    let mut page = server.get(&format!("/apps/{app}/flows"), &query).await?;
    let found = page["items"].as_array_mut().and_then(|items| items.pop());
    Ok(found)
}

fn listed(apps: &[Value]) -> String {
    let lines: Vec<String> = apps
        .iter()
        .map(|app| format!("--app {}  {}", field(app, "appId"), quoted(field(app, "name"))))
        .collect();
    lines.join("\n  ")
}
