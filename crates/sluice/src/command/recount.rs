//! `sluice recount`: rebuilds the counts directly in the store.

use sluice_engine::Store;
use sluice_engine::recount::{self, RecountScope};
use sluice_flow::id::FlowId;

use crate::args::{FlowRef, RecountArgs};
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::logging::{self, LogFormat};
use crate::output::{self, counted};
use crate::progress::Progress;
use crate::tuning::Tuning;
use crate::{backend, config};

pub(crate) async fn run(args: RecountArgs) -> Outcome {
    logging::start("warn", LogFormat::Text)?;
    let (address, _) = config::store_of(args.data, args.store)?;
    backend::require_existing(&address)?;
    let store = backend::open(&address, &Tuning::default(), backend::Opening::default()).await?;
    let scope = match (args.flow, args.app) {
        (Some(FlowRef::Id(flow)), _) => RecountScope::Flow(flow),
        (Some(FlowRef::Key(key)), _) => match keyed(&*store, &key).await {
            Ok(flow) => RecountScope::Flow(flow),
            Err(failure) => {
                store.close().await;
                return Err(failure);
            }
        },
        (None, Some(app)) => RecountScope::App(app),
        (None, None) => RecountScope::All,
    };
    let progress = Progress::start("counting", 0, None);
    let done = recount::recount(&*store, scope, |responses| progress.advance(responses)).await;
    drop(progress);
    store.close().await;
    let done = done.map_err(|error| {
        Failure::new(
            format!("not all counts were rebuilt: {}", with_cause(&error)),
            "each day has either its old or its rebuilt counts; run this again once that is fixed",
        )
    })?;
    if done.flows == 0 && scope != RecountScope::All {
        return Err(Failure::new(
            "there is no such flow, or the app has none",
            "check the id, and --data or --store; nothing was changed",
        ));
    }
    let (responses, flows) = (counted(done.responses, "response"), counted(done.flows, "flow"));
    output::line(format_args!("{responses} of {flows} counted"));
    Ok(Exit::Done)
}

/// The only flow with this key, whichever app it is in.
async fn keyed(store: &dyn Store, key: &str) -> Result<FlowId, Failure> {
    let found = recount::flows_with_key(store, key).await.map_err(|error| {
        Failure::new(
            format!("the flow cannot be found: {}", with_cause(&error)),
            "nothing was changed; run this again once that is fixed",
        )
    })?;
    match found.as_slice() {
        [flow] => Ok(*flow),
        [] => Err(Failure::new(
            format!("there is no flow with the key {key}"),
            "check the key, and --data or --store; nothing was changed",
        )),
        several => {
            let ids: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(Failure::usage(
                format!("several apps have a flow with the key {key}"),
                format!("give one of their ids: {}", ids.join(" ")),
            ))
        }
    }
}
