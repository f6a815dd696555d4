//! `sluice recount`: rebuilds the counts directly in the store.

use sluice_engine::recount::{self, Which};

use crate::args::RecountArgs;
use crate::failure::{Exit, Failure, Outcome, with_cause};
use crate::logging::{self, LogFormat};
use crate::output::{self, counted};
use crate::progress::Progress;
use crate::tuning::Tuning;
use crate::{backend, config};

pub(crate) async fn run(args: RecountArgs) -> Outcome {
    logging::start("warn", LogFormat::Text)?;
    let (address, _) = config::store_of(args.data, args.store)?;
    let which = match (args.flow, args.app) {
        (Some(flow), _) => Which::Flow(flow),
        (None, Some(app)) => Which::App(app),
        (None, None) => Which::All,
    };
    backend::require_existing(&address)?;
    let store = backend::open(&address, &Tuning::default(), backend::Opening::default()).await?;
    let progress = Progress::start("counting", 0, None);
    let done = recount::recount(&*store, which, |responses| progress.advance(responses)).await;
    drop(progress);
    store.close().await;
    let done = done.map_err(|error| {
        Failure::new(
            format!("not all counts were rebuilt: {}", with_cause(&error)),
            "each day has either its old or its rebuilt counts; run this again once that is fixed",
        )
    })?;
    if done.flows == 0 && which != Which::All {
        return Err(Failure::new(
            "there is no such flow, or the app has none",
            "check the id, and --data or --store; nothing was changed",
        ));
    }
    let (responses, flows) = (counted(done.responses, "response"), counted(done.flows, "flow"));
    output::line(format_args!("{responses} of {flows} counted"));
    Ok(Exit::Done)
}
