//! `sluice respondent list`, `responses`, `show`, `export` and `erase`.

use serde_json::Value;
use sluice_engine::rows::AnswersOnErasure;

use crate::args::{RespondentArgs, RespondentCommand};
use crate::client::{CallError, Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{self, counted, quoted};
use crate::progress::Progress;

/// Where to find the respondents that exist.
const LIST: &str = "`sluice respondent list APP_ID` lists the respondents of an app, and \
     `sluice app list` the apps";

pub(crate) async fn run(command: RespondentCommand) -> Outcome {
    match command {
        RespondentCommand::List { app, json, server } => {
            let server = Server::new(server)?;
            let query = [("appId", app.to_string())];
            let print = |item: &Value| output::print(&format!("{}\n", json.shown(item, row)));
            server.each("/respondents", &query, print).await?;
        }
        RespondentCommand::Responses { who, server } => {
            let server = Server::new(server)?;
            let id = id_of(&server, who).await?;
            let path = format!("/respondents/{id}/responses");
            let printed = server.each(&path, &[], |item| output::print(&format!("{item}\n")));
            printed.await.map_err(unknown)?;
        }
        RespondentCommand::Show { who, server } => {
            let server = Server::new(server)?;
            let id = id_of(&server, who).await?;
            let profile = server.get(&format!("/respondents/{id}"), &[]).await;
            output::line(shown(&profile.map_err(unknown)?));
        }
        RespondentCommand::Export { who, server } => {
            let server = Server::new(server)?;
            let whole = match who.respondent {
                Some(id) => server.get(&format!("/respondents/{id}/export"), &[]).await,
                None => server.get("/respondents/export", &known_by(who)).await,
            };
            output::line(format_args!("{:#}", whole.map_err(unknown)?));
        }
        RespondentCommand::Erase { who, answers, server } => {
            let server = Server::new(server)?;
            output::line(erasure_line(&erase(&server, who, answers.into()).await?));
        }
    }
    Ok(Exit::Done)
}

/// Erases a respondent completely. If there is a lot to erase, the server answers before it is
/// done, and the call is repeated.
async fn erase(
    server: &Server,
    who: RespondentArgs,
    answers: AnswersOnErasure,
) -> Result<Value, Failure> {
    let answers = ("answers", answers.as_str().to_owned());
    let erased = match who.respondent {
        Some(id) => {
            server.delete(&format!("/respondents/{id}"), std::slice::from_ref(&answers)).await
        }
        None => {
            let mut query = known_by(who).to_vec();
            query.push(answers.clone());
            server.delete("/respondents", &query).await
        }
    };
    let mut erased = erased.map_err(unknown)?;
    let Some(mut remaining) = erased["remaining"].as_u64() else { return Ok(erased) };
    let done = erased["responses"].as_u64().unwrap_or_default();
    let progress = Progress::start("erasing", done, Some(done + remaining));
    // Responses that the server erases between calls are in no reply, so the total is computed
    // here.
    erased["responses"] = Value::from(done + remaining);
    let path = format!("/respondents/{}", field(&erased, "respondentId"));
    loop {
        let more = match server.delete(&path, std::slice::from_ref(&answers)).await {
            // The server finished between two calls.
            Err(CallError::Missing(_)) => return Ok(erased),
            more => more?,
        };
        let Some(left) = more["remaining"].as_u64() else { return Ok(erased) };
        progress.advance(remaining.saturating_sub(left));
        remaining = left;
    }
}

/// The query for the respondent with this identity.
fn known_by(who: RespondentArgs) -> [(&'static str, String); 3] {
    let (of, value) = match (who.user_id, who.email) {
        (Some(user), _) => ("userId", user),
        (None, email) => ("traits.email", email.unwrap_or_default()),
    };
    let app = who.app.map(|app| app.to_string()).unwrap_or_default();
    [("appId", app), ("type", of.to_owned()), ("value", value)]
}

/// The id as given, or the id of the profile with the given identity.
async fn id_of(server: &Server, who: RespondentArgs) -> Result<String, Failure> {
    if let Some(id) = who.respondent {
        return Ok(id.to_string());
    }
    let query = known_by(who);
    let found = server.get("/respondents", &query).await?;
    let id = found["items"][0]["respondentId"].as_str().map(str::to_owned);
    id.ok_or_else(|| {
        Failure::new(
            format!("no respondent in this app has this {}", query[1].1),
            format!(
                "{LIST}; anonymous respondents (collection_only) cannot be found; an invitee without a \
                 profile cannot be shown, but can be exported and erased in the same way"
            ),
        )
    })
}

/// If the server does not know the respondent, where to find those that it knows.
fn unknown(error: CallError) -> Failure {
    match error {
        CallError::Missing(failure) => failure.with_remedy(LIST),
        other => other.into(),
    }
}

/// What an erasure removed, on one line.
fn erasure_line(erased: &Value) -> String {
    let id = erased["respondentId"].as_str().unwrap_or("no profile");
    let counted = |name: &str, word| counted(erased[name].as_u64().unwrap_or_default(), word);
    format!("{id}  {}  {}", counted("responses", "response"), counted("invitations", "invitation"))
}

/// The id, when the respondent was last seen, and their identities.
fn row(item: &Value) -> String {
    let mut line = format!("{}  {}", field(item, "respondentId"), field(item, "lastSeenAt"));
    for identity in item["identities"].as_array().into_iter().flatten() {
        line.push_str(&format!("  {}", quoted(field(identity, "value"))));
    }
    line
}

/// The id and the times on one line, then one line per identity, flow and consent.
fn shown(profile: &Value) -> String {
    let mut text = format!(
        "{}  first seen {}  last seen {}",
        field(profile, "respondentId"),
        field(profile, "firstSeenAt"),
        field(profile, "lastSeenAt")
    );
    let items = |name: &str| profile[name].as_array().into_iter().flatten();
    for identity in items("identities") {
        let value = quoted(field(identity, "value"));
        text.push_str(&format!("\n  {}  {value}", field(identity, "type")));
    }
    for flow in items("flows") {
        let responses = counted(flow["responses"].as_u64().unwrap_or_default(), "response");
        text.push_str(&format!("\n  {}  {responses}", field(flow, "flowId")));
    }
    for consent in items("consents") {
        text.push_str(&format!(
            "\n  consent  {}  {}  {}",
            field(consent, "givenAt"),
            field(consent, "flowVersionId"),
            field(consent, "responseId")
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_profile_is_shown_with_its_identities_flows_and_consents() {
        let profile = json!({
            "respondentId": "rp_1", "firstSeenAt": "2026-11-15T02:00:00.000Z",
            "lastSeenAt": "2026-11-16T02:00:00.000Z",
            "identities": [{"type": "userId", "value": "u\u{1b}[2J"}],
            "flows": [{"flowId": "fl_1", "responses": 2}, {"flowId": "fl_2", "responses": 1}],
            "consents": [{"givenAt": "2026-11-15T02:00:00.000Z", "flowVersionId": "fv_1",
                "responseId": "rs_1"}],
        });
        let expected = "rp_1  first seen 2026-11-15T02:00:00.000Z  \
             last seen 2026-11-16T02:00:00.000Z\n  userId  \"u\\u{1b}[2J\"\n  fl_1  2 responses\n  \
             fl_2  1 response\n  consent  2026-11-15T02:00:00.000Z  fv_1  rs_1";
        assert_eq!(shown(&profile), expected);
    }

    #[test]
    fn an_erasure_is_one_line_with_its_counts() {
        for (erased, line) in [
            (
                json!({"respondentId": "rp_1", "responses": 1, "invitations": 0}),
                "rp_1  1 response  0 invitations",
            ),
            (
                json!({"respondentId": null, "responses": 0, "invitations": 1}),
                "no profile  0 responses  1 invitation",
            ),
        ] {
            assert_eq!(erasure_line(&erased), line);
        }
    }
}
