//! Spans as messages of OTLP.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as proto;
use sluice_engine::spans::{Kind, Span, Value};

/// The status of a span whose work has failed.
const FAILED: i32 = 2;
/// Bits of the flags of a span.
const SAMPLED: u32 = 0x1;
const KNOWS_PARENT: u32 = 0x100;
const PARENT_IS_REMOTE: u32 = 0x200;

/// One request with all of these spans.
pub(super) fn request(resource: &Resource, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope = InstrumentationScope {
        name: "sluice".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let spans = proto::ScopeSpans {
        scope: Some(scope),
        spans: spans.into_iter().map(span).collect(),
        ..proto::ScopeSpans::default()
    };
    let resource_spans = proto::ResourceSpans {
        resource: Some(resource.clone()),
        scope_spans: vec![spans],
        ..proto::ResourceSpans::default()
    };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
}

/// What all spans of this process have in common.
pub(super) fn resource(attributes: impl IntoIterator<Item = (String, String)>) -> Resource {
    let attribute = |(key, value): (String, String)| text(&key, value);
    let attributes = attributes.into_iter().map(attribute).collect();
    Resource { attributes, ..Resource::default() }
}

fn span(span: Span) -> proto::Span {
    let mut attributes: Vec<KeyValue> = span.attributes.into_iter().map(attribute).collect();
    let name = match span.route {
        Some(route) => {
            let name = format!("{} {route}", span.name);
            attributes.push(text("http.request.method", span.name.to_owned()));
            attributes.push(text("http.route", route.into_owned()));
            name
        }
        None => span.name.to_owned(),
    };
    let of_parent = match span.parent {
        Some(parent) if parent.is_remote => KNOWS_PARENT | PARENT_IS_REMOTE,
        _ => KNOWS_PARENT,
    };
    let failed = || proto::Status { code: FAILED, ..proto::Status::default() };
    proto::Span {
        trace_id: span.trace_id.to_vec(),
        span_id: span.span_id.to_vec(),
        parent_span_id: span.parent.map(|it| it.span_id.to_vec()).unwrap_or_default(),
        flags: SAMPLED | of_parent,
        name,
        kind: kind(span.kind).into(),
        start_time_unix_nano: nanos(span.start),
        end_time_unix_nano: nanos(span.end),
        attributes,
        status: span.has_failed.then(failed),
        ..proto::Span::default()
    }
}

fn kind(kind: Kind) -> proto::span::SpanKind {
    match kind {
        Kind::Server => proto::span::SpanKind::Server,
        Kind::Client => proto::span::SpanKind::Client,
        Kind::Internal => proto::span::SpanKind::Internal,
    }
}

fn attribute((key, value): (&str, Value)) -> KeyValue {
    match value {
        Value::Text(value) => text(key, value.to_owned()),
        Value::Number(value) => pair(key, any_value::Value::IntValue(value)),
    }
}

fn text(key: &str, value: String) -> KeyValue {
    pair(key, any_value::Value::StringValue(value))
}

fn pair(key: &str, value: any_value::Value) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}

fn nanos(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
