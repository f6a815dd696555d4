//! The sealed secrets of endpoints when the master key changes.

use sluice_flow::id::EndpointId;
use sluice_store::{
    EndpointRow, EndpointWrite, Record, Scope, StoreError, StoreResult, Table, Write,
};

use super::signing;
use crate::admin::{AdminResult, Missing};
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::handle::Permit;
use crate::instance::InstanceHandle;
use crate::verify::NotOpened;
use crate::whole_table::WholeTable;

/// The secrets that cannot be opened, each with the reason. A row that this build cannot decode is
/// only logged.
pub(crate) async fn closed_endpoint_secrets(
    core: &Core,
) -> StoreResult<Vec<(EndpointId, NotOpened)>> {
    let mut closed = Vec::new();
    for row in all(core).await?.readable() {
        let opened = signing::open(&core.verifying.vault, row.endpoint_id, &row.secret);
        closed.extend(opened.err().map(|why| (row.endpoint_id, why)));
    }
    Ok(closed)
}

/// Seals every secret with the current master key; returns how many were sealed again and how many
/// endpoints were removed because their secret cannot be opened, which `revoke` allows. A previous
/// secret that cannot be opened is dropped.
pub(crate) async fn reseal_endpoint_secrets(
    instance: &InstanceHandle,
    revoke: bool,
) -> AdminResult<(usize, usize)> {
    let core = instance.core();
    let vault = &core.verifying.vault;
    let (mut resealed, mut revoked) = (0, 0);
    for row in all(core).await?.complete()? {
        let mut sealed = std::iter::once(&row.secret).chain(&row.previous_secret);
        if sealed.all(|it| vault.is_current(it)) {
            continue;
        }
        let id = row.endpoint_id;
        let again = |sealed: &str| match signing::open(vault, id, sealed) {
            Ok(secret) => signing::seal(vault, id, &secret).map_err(|why| why.to_string()),
            Err(why) => Err(why.to_string()),
        };
        let write = match again(&row.secret) {
            Ok(secret) => {
                let previous_secret = row.previous_secret.as_deref().and_then(|it| again(it).ok());
                resealed += 1;
                let sealed = (secret, previous_secret);
                put_resealed(instance, &row, Some(sealed)).await?;
                continue;
            }
            Err(_) if revoke => put_resealed(instance, &row, None),
            Err(why) => {
                let what = format!("the secret of the endpoint {id} cannot be opened: {why}");
                return Err(StoreError::Failed(what.into()).into());
            }
        };
        write.await?;
        revoked += 1;
    }
    Ok((resealed, revoked))
}

/// Stores the secrets, unless they were replaced in the meantime; without any, removes the
/// endpoint.
async fn put_resealed(
    instance: &InstanceHandle,
    row: &EndpointRow,
    sealed: Option<(String, Option<String>)>,
) -> AdminResult<()> {
    let (core, sealed) = (instance.core(), &sealed);
    let permit = Permit::new(core, instance.actor(), Scope::Admin, row.app_id, Missing::App)?;
    let permit = &permit;
    retry_on_conflict(|_| async move {
        let expected = permit.current_revision().await?;
        let rows = core.store.list_endpoints(row.app_id).await?;
        let now = rows.into_iter().find(|it| it.endpoint_id == row.endpoint_id);
        let Some(now) = now.filter(|it| it.secret == row.secret) else { return Ok(()) };
        let write = match sealed {
            Some((secret, previous_secret)) => EndpointWrite::Put(Box::new(EndpointRow {
                secret: secret.clone(),
                previous_secret: previous_secret.clone(),
                ..now
            })),
            None => EndpointWrite::Delete(row.app_id, row.endpoint_id),
        };
        permit.change_quietly(Scope::Admin, expected, vec![Write::Endpoint(write)]).await
    })
    .await
}

async fn all(core: &Core) -> StoreResult<WholeTable<EndpointRow>> {
    let endpoint = |record: Record| match record {
        Record::Endpoint(row) => Some(*row),
        _ => None,
    };
    WholeTable::read(&*core.store, Table::Endpoints, endpoint).await
}
