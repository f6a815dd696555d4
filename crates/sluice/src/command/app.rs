//! `sluice app list` and `create`.

use serde_json::{Value, json};

use crate::args::AppCommand;
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
    }
    Ok(Exit::Done)
}

/// The id, the publishable keys and the name.
fn app_line(app: &Value) -> String {
    let keys = app["apiKeys"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let keys: Vec<&str> = keys.collect();
    format!("{}  {}  {}", field(app, "appId"), keys.join(","), quoted(field(app, "name")))
}
