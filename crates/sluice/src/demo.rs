//! What a server creates in an empty store: an admin token, and a demo app with a published survey.
//!
//! Several servers may start concurrently on one empty database. The store lets only one of them
//! create the first app and the first token; the others find them.

use sluice_engine::rows::{Page, Scope};
use sluice_engine::{Actor, AdminError, Engine, NewFlow, NewToken, TokenSecret};
use sluice_flow::definition::Kind;
use sluice_flow::id::{ApiKey, FlowId, FlowVersionId};

use crate::failure::{Failure, with_cause};
use crate::flow_file;

/// The demo survey is the example used in the documentation.
const SURVEY: &str = include_str!("../../../examples/product-feedback.yaml");
const APP_NAME: &str = "Demo";
const SURVEY_NAME: &str = "Product feedback";
const TOKEN_NAME: &str = "first start";
/// The actor in the audit log.
const ACTOR: &str = "first-start";

/// What this start created.
#[derive(Debug, Default)]
pub(crate) struct FirstStart {
    pub(crate) token: Option<TokenSecret>,
    pub(crate) demo: Option<Demo>,
}

#[derive(Debug)]
pub(crate) struct Demo {
    pub(crate) api_key: ApiKey,
    pub(crate) flow_id: FlowId,
    pub(crate) flow_version_id: FlowVersionId,
}

/// Creates what an empty store lacks. The token is last, so that it is shown as soon as it exists.
pub(crate) async fn first_start(
    engine: &Engine,
    with_demo: bool,
    has_environment_token: bool,
) -> Result<FirstStart, Failure> {
    prepare(engine, with_demo, has_environment_token).await.map_err(|error| {
        tracing::error!(error = &error as &dyn std::error::Error, "the first start failed");
        Failure::new(
            format!("the store cannot be prepared: {}", with_cause(&error)),
            "free disk space if the disk is full, check that the database responds, then start again",
        )
    })
}

async fn prepare(
    engine: &Engine,
    with_demo: bool,
    has_environment_token: bool,
) -> Result<FirstStart, AdminError> {
    let actor = Actor::trusted(ACTOR);
    let mut made = FirstStart::default();
    let no_apps = engine.list_apps(&actor, Page { after: None, limit: 1 }).await?.is_empty();
    if with_demo && no_apps {
        made.demo = create_demo(engine, &actor).await?;
    }
    let instance = engine.instance(&actor)?;
    if !has_environment_token && instance.list_tokens().await?.is_empty() {
        let new = NewToken {
            name: TOKEN_NAME.to_owned(),
            scopes: vec![Scope::Admin],
            app_id: None,
            expires_at: None,
        };
        let token = instance.create_first_token(new).await?;
        made.token = token.map(|(_, secret)| secret);
    }
    Ok(made)
}

async fn create_demo(engine: &Engine, actor: &Actor) -> Result<Option<Demo>, AdminError> {
    let Some(app) = engine.instance(actor)?.create_first_app(APP_NAME).await? else {
        return Ok(None);
    };
    let definition = flow_file::parse(SURVEY, "yaml").ok().map(|file| file.definition);
    let new = NewFlow { name: SURVEY_NAME.to_owned(), kind: Kind::Survey, definition };
    let flow = engine.app(actor, Scope::Write, app.row.app_id).await?.create_flow(&new).await?;
    let flow_id = flow.flow.flow_id;
    let published = engine.flow(actor, Scope::Write, flow_id).await?.publish().await?;
    let api_key = app
        .api_keys
        .into_iter()
        .next()
        .ok_or(AdminError::NotFound(sluice_engine::Missing::ApiKey))?;
    Ok(Some(Demo { api_key, flow_id, flow_version_id: published.flow_version_id }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_survey_has_no_faults() {
        assert_eq!(flow_file::parse(SURVEY, "yaml").unwrap().faults(), []);
    }
}
