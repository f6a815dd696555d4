//! A browser without scripts, reduced to forms: it loads a page, fills in fields, and presses a
//! button.

use crate::use_cases::UseCases as _;
use axum::body::Body;
use http::Method;
use serde_json::{Value, json};
use sluice_engine::rows::Order;
use sluice_engine::rows::ResponseRow;
use sluice_engine::{Paging, ResponseFilter};
use sluice_flow::id::FlowId;

use crate::support::{Reply, Site, actor, request};

/// A page and the form in it.
pub(crate) struct Browser<'s> {
    site: &'s Site,
    path: String,
    headers: Vec<(&'static str, String)>,
    pub(crate) page: Reply,
}

impl<'s> Browser<'s> {
    pub(crate) async fn open(site: &'s Site, path: &str) -> Self {
        Self::open_with(site, path, &[]).await
    }

    pub(crate) async fn open_with(
        site: &'s Site,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Self {
        let page = site.get(path, headers).await;
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self { site, path: path.to_owned(), headers, page }
    }

    /// The state that the page's `<main>` declares.
    pub(crate) fn state(&self) -> String {
        attribute(&self.html(), "data-state=\"")
    }

    pub(crate) fn html(&self) -> String {
        self.page.text()
    }

    /// The value of a hidden field.
    pub(crate) fn hidden(&self, name: &str) -> String {
        let fields = hidden_fields(&self.html());
        fields
            .into_iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
            .unwrap_or_default()
    }

    /// Presses a button, with these fields in addition to the hidden ones.
    pub(crate) async fn press(&mut self, go: &str, filled: &[(&str, &str)]) -> &Reply {
        let hidden = hidden_fields(&self.html());
        let hidden = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let filled = filled.iter().copied().chain([("go", go)]);
        let body: Vec<String> = hidden.chain(filled).map(pair).collect();
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .chain([("content-type", "application/x-www-form-urlencoded")])
            .collect();
        let body = Body::from(body.join("&"));
        self.page = self.site.send(request(Method::POST, &self.path, &headers, body)).await;
        &self.page
    }
}

fn pair((name, value): (&str, &str)) -> String {
    let escaped = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    format!("{}={}", escaped(name), escaped(value))
}

/// The hidden fields outside of templates, as a browser would send them.
fn hidden_fields(html: &str) -> Vec<(String, String)> {
    let inputs = html.split("<input type=\"hidden\" ").skip(1);
    inputs.map(|rest| (attribute(rest, "name=\""), attribute(rest, "value=\""))).collect()
}

/// The value of the first attribute with this name, unescaped.
pub(crate) fn attribute(html: &str, start: &str) -> String {
    let value = html.split(start).nth(1).and_then(|rest| rest.split('"').next());
    let value = value.unwrap_or_default();
    value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// All responses to a flow, the oldest first.
pub(crate) async fn stored(site: &Site, flow: FlowId) -> Vec<ResponseRow> {
    let paging = Paging { after: None, order: Order::Asc, limit: 100 };
    let all = ResponseFilter::default();
    site.engine.list_responses(&actor(), flow, &all, paging).await.unwrap().rows
}

/// The answers of the only response.
pub(crate) async fn answers(site: &Site, flow: FlowId) -> Value {
    let rows = stored(site, flow).await;
    assert_eq!(rows.len(), 1);
    serde_json::from_str(&rows[0].answers).unwrap()
}

/// A flow with one published version of this definition.
pub(crate) async fn published(site: &Site, definition: Value) -> FlowId {
    let flow = site.flow(definition).await;
    site.publish(flow).await;
    flow
}

/// Enough time after [`crate::support::START`] for a human to have read a form.
pub(crate) const READ: i64 = 5_000;

pub(crate) fn path(flow: FlowId) -> String {
    format!("/f/{flow}")
}

/// A flow of one question.
pub(crate) fn one(question: Value) -> Value {
    json!({"title": "One", "respondentAnalytics": "never", "questions": [question]})
}
