//! `sluice user add`, `list`, `set`, `reset`, `reset-second-factor` and `disable`.

use serde_json::{Value, json};

use crate::args::{UserAddArgs, UserCommand, UserSetArgs};
use crate::client::{Server, field};
use crate::failure::{Exit, Outcome};
use crate::output::{self, quoted};

pub(crate) async fn run(command: UserCommand) -> Outcome {
    match command {
        UserCommand::Add(args) => add(args).await?,
        UserCommand::List { json, server } => {
            let server = Server::new(server)?;
            let users = server.list("/users").await?;
            for user in &users {
                output::line(json.shown(user, user_line));
            }
            if users.is_empty() {
                output::note(
                    "no users; add one with: sluice user add EMAIL --role owner --instance",
                );
            }
        }
        UserCommand::Set(args) => set(args).await?,
        UserCommand::Reset { user, server } => {
            let server = Server::new(server)?;
            let made = server.post(&format!("/users/{user}/reset"), None).await?;
            print_link(&made);
        }
        UserCommand::ResetSecondFactor { user, server } => {
            let server = Server::new(server)?;
            server.delete(&format!("/users/{user}/second-factor"), &[]).await?;
            output::line(user_line(&server.get(&format!("/users/{user}"), &[]).await?));
        }
        UserCommand::Disable { user, undo, server } => {
            let server = Server::new(server)?;
            let patch = json!({ "disabled": !undo });
            output::line(user_line(&server.patch(&format!("/users/{user}"), &patch).await?));
        }
    }
    Ok(Exit::Done)
}

async fn add(args: UserAddArgs) -> Result<(), crate::failure::Failure> {
    let server = Server::new(args.server)?;
    let name = args.name.unwrap_or_else(|| args.email.clone());
    let body = json!({"email": args.email, "name": name, "role": args.role, "appId": args.app,
        "instance": args.instance});
    let made = server.post("/users", Some(&body)).await?;
    output::line(user_line(&made));
    print_link(&made);
    Ok(())
}

async fn set(args: UserSetArgs) -> Result<(), crate::failure::Failure> {
    let server = Server::new(args.server)?;
    let path = format!("/users/{}", args.user);
    if let Some(role) = args.role {
        let role = Some(role).filter(|role| role != "none");
        let grant = match args.app {
            Some(app) => json!({"appId": app, "role": role}),
            None => json!({"instance": args.instance, "role": role}),
        };
        server.put(&format!("{path}/role"), &grant).await?;
    }
    if let Some(name) = args.name {
        server.patch(&path, &json!({ "name": name })).await?;
    }
    output::line(user_line(&server.get(&path, &[]).await?));
    Ok(())
}

fn print_link(made: &Value) {
    output::line(field(made, "link"));
    output::note(
        "send this link to them and to nobody else: it sets their password, once, within 24 hours",
    );
}

/// The id, the address, the roles and the name.
fn user_line(user: &Value) -> String {
    let grants = user["grants"].as_array().into_iter().flatten();
    let roles: Vec<String> = grants
        .map(|grant| match grant["appId"].as_str() {
            Some(app) => format!("{}:{app}", field(grant, "role")),
            None => field(grant, "role").to_owned(),
        })
        .collect();
    let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(",") };
    let (id, email) = (field(user, "userId"), field(user, "email"));
    let disabled = if user["disabledAt"].is_null() { "" } else { "  disabled" };
    format!("{id}  {email}  {roles}  {}{disabled}", quoted(field(user, "name")))
}
