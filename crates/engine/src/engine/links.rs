//! What a link alone gives access to: hosted pages, test links, reports, unsubscribing from
//! e-mails.

use std::sync::Arc;

use sluice_store::StoreResult;

use crate::admin::AdminResult;
use crate::boxed;
use crate::core::Core;
use crate::hosted::HostedFlow;
use crate::mail::Unsubscription;
use crate::registry::NoFlow;
use crate::reports::LockedReport;
use crate::shown_images::ServedImage;
use crate::test_mode::TestedFlow;

/// Finds what a link leads to.
#[derive(Clone, Copy)]
pub struct Links<'e> {
    pub(super) core: &'e Arc<Core>,
}

impl std::fmt::Debug for Links<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Links").finish_non_exhaustive()
    }
}

impl Links<'_> {
    /// The flow of a hosted page, if there is one.
    #[boxed]
    pub async fn flow(&self, flow_id: &str) -> StoreResult<Result<HostedFlow, NoFlow>> {
        self.core.hosted(flow_id).await
    }

    /// The flow of a test link that still works.
    #[boxed]
    pub async fn tested_flow(&self, flow: &str, token: &str) -> StoreResult<Option<TestedFlow>> {
        self.core.tested_flow(flow, token).await
    }

    /// An image of any app, if the text is the id of one.
    #[boxed]
    pub async fn image(&self, asset: &str) -> StoreResult<Option<Arc<ServedImage>>> {
        self.core.asset(asset).await
    }

    /// The recipient of an e-mail, who may unsubscribe.
    #[boxed]
    pub async fn unsubscription(&self, mail: &str) -> StoreResult<Option<Unsubscription>> {
        self.core.unsubscription(mail).await
    }

    /// The report with this secret in its link, unless it is expired or revoked.
    #[boxed]
    pub async fn report(&self, secret: &str) -> AdminResult<Option<LockedReport>> {
        self.core.report(secret).await
    }
}
