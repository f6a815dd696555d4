//! An endpoint with a delivery, and a receiver.

use sluice_engine::rows::{DeliveryRow, DeliveryState, Scope};
use sluice_engine::webhooks::{SendFuture, WebhookReply, WebhookRequest, WebhookSender};
use sluice_engine::{EndpointPatch, NewEndpoint};
use sluice_flow::event::payload::created_id;
use sluice_flow::id::{AppId, DeliveryId, EndpointId, ResponseId, v7};
use sluice_store::{At, EndpointWrite, Write};
use sluice_web::{OutboundPolicy, WebhookClient};

use crate::support::{Site, actor};

/// Accepts everything, except under a path that says otherwise.
#[derive(Debug)]
pub(crate) struct Receiver;

impl WebhookSender for Receiver {
    fn permits(&self, url: &str) -> Result<(), String> {
        WebhookClient::new(OutboundPolicy::default()).permits(url)
    }

    fn send(&self, request: WebhookRequest) -> SendFuture<'_> {
        let reply = match request.url.as_str() {
            url if url.ends_with("/away") => Err("the connection was refused".to_owned()),
            url if url.ends_with("/broken") => {
                let body = b"<h1>Broken & sorry</h1>".to_vec();
                Ok(WebhookReply { status: 500, retry_after: None, body })
            }
            _ => Ok(WebhookReply { status: 202, retry_after: None, body: b"queued".to_vec() }),
        };
        Box::pin(std::future::ready(reply))
    }
}

/// The row of a failed delivery of a response.
pub(crate) fn failed(
    site: &Site,
    app_id: AppId,
    endpoint_id: EndpointId,
    response: ResponseId,
    number: u32,
) -> DeliveryRow {
    let now = site.engine.now();
    DeliveryRow {
        app_id,
        endpoint_id,
        delivery_id: DeliveryId::from_uuid(v7(now, number, u64::from(number))),
        event_id: created_id(response),
        kind: "response.created".to_owned(),
        state: DeliveryState::Failed,
        attempts: 10,
        next_at: None,
        attempted_at: now,
        status: Some(503),
        latency_millis: 1_234,
        reply: Some("try <later>".to_owned()),
        error: None,
        batch_id: None,
    }
}

/// Adds to the log of deliveries.
pub(crate) async fn put(site: &Site, rows: Vec<DeliveryRow>) {
    let app = rows[0].app_id;
    let expected = site.store.find_app(app).await.unwrap().unwrap().revision;
    let put = |row| Write::Endpoint(EndpointWrite::Delivery(Box::new(row)));
    let writes: Vec<Write> = rows.into_iter().map(put).collect();
    site.store.apply(At::App { app, expected }, writes.into()).await.unwrap();
}

/// A disabled endpoint, on which no worker works, with a failed delivery.
pub(crate) async fn hook(
    site: &Site,
    app: AppId,
    response: ResponseId,
) -> (EndpointId, DeliveryId) {
    let opened = site.engine.app(&actor(), Scope::Admin, app).await.unwrap();
    let url = "https://hooks.example/a".to_owned();
    let new = NewEndpoint { url, ..NewEndpoint::default() };
    let endpoint = opened.create_endpoint(&new).await.unwrap().0.endpoint_id;
    let off = EndpointPatch { enabled: Some(false), ..EndpointPatch::default() };
    opened.change_endpoint(endpoint, &off).await.unwrap();
    let delivery = failed(site, app, endpoint, response, 1);
    let id = delivery.delivery_id;
    put(site, vec![delivery]).await;
    (endpoint, id)
}
