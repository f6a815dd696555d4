//! Assets: images with their bytes, found by id alone.

use sluice_flow::id::AssetId;
use sluice_flow::lifecycle::VersionTimes;

use super::world::{
    Shop, TheStore, app_row, apply, asset_row, at, draft_row, flow_row, public_revision,
    published_row, try_apply,
};
use crate::{App, AssetInfo, AssetRow, FlowRow, Record, StoreError, VersionRow, Write};

pub(super) async fn an_asset_is_found_by_its_id_and_listed_without_its_bytes(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let rows = [asset_row(shop.app()), asset_row(shop.app())];
    assert_eq!(store.find_asset(rows[0].asset_id).await.unwrap(), None);
    assert_eq!(store.list_assets(shop.app()).await.unwrap(), []);
    apply(&store, shop.app(), rows.clone().map(Write::Asset).into()).await;
    apply(&store, other.app(), vec![Write::Asset(asset_row(other.app()))]).await;
    for row in &rows {
        assert_eq!(store.find_asset(row.asset_id).await.unwrap().as_ref(), Some(row));
        assert!(row.is_intact());
    }
    let newest_first: Vec<AssetInfo> = rows.iter().rev().map(AssetRow::info).collect();
    assert_eq!(store.list_assets(shop.app()).await.unwrap(), newest_first);
}

pub(super) async fn an_asset_of_an_app_that_does_not_exist_is_refused(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = asset_row(app_row().app_id);
    let refused = try_apply(&store, shop.app(), vec![Write::Asset(row.clone())]).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert_eq!(store.find_asset(row.asset_id).await.unwrap(), None);
}

pub(super) async fn the_same_bytes_are_stored_once_per_app(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let row = asset_row(shop.app());
    apply(&store, shop.app(), vec![Write::Asset(row.clone())]).await;
    let again = AssetRow { asset_id: asset_row(shop.app()).asset_id, ..row.clone() };
    let refused = try_apply(&store, shop.app(), vec![Write::Asset(again)]).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    let elsewhere =
        AssetRow { bytes: row.bytes.clone(), digest: row.digest, ..asset_row(other.app()) };
    apply(&store, other.app(), vec![Write::Asset(elsewhere)]).await;
}

pub(super) async fn the_deletion_of_an_asset_is_a_change_that_the_public_can_see(store: TheStore) {
    let shop = Shop::open(&store).await;
    let (row, kept) = (asset_row(shop.app()), asset_row(shop.app()));
    let before = public_revision(&store, shop.app()).await;
    apply(&store, shop.app(), vec![Write::Asset(row.clone()), Write::Asset(kept.clone())]).await;
    assert_eq!(public_revision(&store, shop.app()).await, before);
    for _ in 0..2 {
        let before = public_revision(&store, shop.app()).await;
        let gone = Write::DeleteAsset(shop.app(), row.asset_id);
        apply(&store, shop.app(), vec![gone]).await;
        assert!(public_revision(&store, shop.app()).await > before);
        assert_eq!(store.find_asset(row.asset_id).await.unwrap(), None);
    }
    assert_eq!(store.list_assets(shop.app()).await.unwrap(), [kept.info()]);
    // Another app cannot delete it.
    let other = Shop::open(&store).await;
    apply(&store, other.app(), vec![Write::DeleteAsset(other.app(), kept.asset_id)]).await;
    assert_eq!(store.find_asset(kept.asset_id).await.unwrap(), Some(kept));
}

pub(super) async fn flows_that_name_an_asset_are_found(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let (asset, unused) = (asset_row(shop.app()), asset_row(shop.app()));
    let background = asset_row(shop.app());
    let definition =
        format!("{{\"questions\":[{{\"image\":{{\"assetId\":\"{}\"}}}}]}}", asset.asset_id);
    let flow = flow_row(shop.app());
    let naming = |row: VersionRow| VersionRow { definition: definition.clone(), ..row };
    let (published, draft) = (naming(published_row(&flow, 3)), naming(draft_row(&flow)));
    // The design also has a picture, which is not read.
    let design = |more: &str| Some(format!("{{\"background\":\"{}\"{more}}}", background.asset_id));
    let designed = FlowRow { archived_at: Some(at(1)), design: design(""), ..flow_row(shop.app()) };
    let stored = FlowRow { design: design(",\"logo\":\"data:,\""), ..designed.clone() };
    let mut writes = vec![
        Write::Asset(asset.clone()),
        Write::Asset(unused.clone()),
        Write::Asset(background.clone()),
        Write::Flow(flow.clone()),
        Write::Flow(stored),
        Write::Version(published.clone()),
        Write::Version(draft.clone()),
        Write::Version(draft_row(&designed)),
    ];
    // Two that are over, and one that ends its grace at 5.
    let ended = |number, times| naming(VersionRow { times, ..published_row(&flow, number) });
    let superseded = VersionTimes { superseded_at: Some(at(1)), ..published.times };
    let in_grace = ended(2, VersionTimes { grace_ends_at: Some(at(5)), ..superseded });
    let retired = VersionTimes { retired_at: Some(at(1)), ..published.times };
    let over = [ended(1, superseded), ended(4, retired)];
    writes.extend(over.into_iter().chain([in_grace.clone()]).map(Write::Version));
    apply(&store, shop.app(), writes).await;
    let of_other = flow_row(other.app());
    let elsewhere = Write::Version(naming(draft_row(&of_other)));
    apply(&store, other.app(), vec![Write::Flow(of_other), elsewhere]).await;

    let sorted = |mut rows: Vec<VersionRow>| {
        rows.sort_by_key(|row| row.flow_version_id);
        rows
    };
    let found =
        async |assets: &[AssetId], now| store.flows_naming(shop.app(), assets, now).await.unwrap();
    let (before, after) =
        (sorted(vec![published.clone(), draft.clone(), in_grace]), sorted(vec![published, draft]));
    assert_eq!(found(&[asset.asset_id], at(4)).await, [(flow.clone(), before)]);
    assert_eq!(found(&[asset.asset_id], at(5)).await, [(flow.clone(), after.clone())]);
    assert_eq!(found(&[unused.asset_id], at(4)).await, []);
    assert_eq!(found(&[], at(4)).await, []);
    let mut both = [(flow, after), (designed, Vec::new())];
    both.sort_by_key(|(flow, _)| flow.flow_id);
    let named = [unused.asset_id, asset.asset_id, background.asset_id];
    assert_eq!(found(&named, at(5)).await, both);
}

pub(super) async fn pages_of_assets_stay_within_their_byte_limit(store: TheStore) {
    const ASSETS: u8 = 12;
    const LONG_BYTES: usize = 1_500_000;
    /// The bound of a backend, plus the record that exceeds it.
    const PAGE_BYTES_MAX: usize = 10_000_000;
    let app = app_row();
    let id = app.app_id;
    store
        .import_records(vec![Record::App(App { row: app, revision: 1, public_revision: 1 })])
        .await
        .unwrap();
    let mut expected = Vec::new();
    for number in 0..ASSETS {
        let bytes = vec![number; LONG_BYTES];
        let row = AssetRow { digest: AssetRow::digest_of(&bytes), bytes, ..asset_row(id) };
        expected.push(row.asset_id);
        store.import_records(vec![Record::Asset(row)]).await.unwrap();
    }
    let (mut after, mut read) = (None, Vec::new());
    loop {
        let page = store.export_records(after.as_ref(), 10_000).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.cursor());
        assert!(page.iter().map(Record::weight_bytes).sum::<usize>() < PAGE_BYTES_MAX);
        read.extend(page.iter().filter_map(|record| match record {
            Record::Asset(row) if row.is_intact() => Some(row.asset_id),
            _ => None,
        }));
    }
    assert_eq!(read, expected);
}
