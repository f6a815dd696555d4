//! Spans for traces: what a request did, and how long its parts took.
//!
//! A span has no place for what clients send: names and attributes are texts of this program,
//! numbers, and the template of a route. So no answer, identity, key or URL can be in a trace.
//!
//! The span of a request is current while its future is polled ([`in_span`]); what the request
//! calls adds children to it ([`current`]). In a process without a [`Tracer`] that costs one
//! branch. Ended spans wait in a bounded queue for an exporter; one that finds it full is dropped
//! and counted.

use std::borrow::Cow;
use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Instant, SystemTime};

use tokio::sync::mpsc;

use crate::ids::random_bits;
use crate::metrics::SpanMetrics;

/// Whether this process has a tracer.
static IS_TRACING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The span of the request that this thread polls.
    static CURRENT: RefCell<Option<ActiveSpan>> = const { RefCell::new(None) };
}

/// The step of the generator of ids (SplitMix64).
const ID_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A request to this server.
    Server,
    /// A request of this server to another.
    Client,
    /// A part of a request.
    Internal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Text(&'static str),
    Number(i64),
}

pub type Attributes = Vec<(&'static str, Value)>;

/// A span that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    pub parent: Option<Parent>,
    pub kind: Kind,
    pub name: &'static str,
    /// The template of the route of a request.
    pub route: Option<Cow<'static, str>>,
    pub attributes: Attributes,
    pub has_failed: bool,
    pub start: SystemTime,
    pub end: SystemTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    pub span_id: [u8; 8],
    /// It is a span of the client.
    pub is_remote: bool,
}

/// The share of traces that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRatio(u64);

impl SampleRatio {
    /// `None` unless it is from 0 to 1.
    pub fn new(ratio: f64) -> Option<Self> {
        let bound = |ratio: f64| (ratio * (1_u64 << 63) as f64) as u64;
        (0.0..=1.0).contains(&ratio).then(|| Self(bound(ratio)))
    }

    /// By the trace id, as other implementations do, so that services with one ratio agree.
    fn takes(self, trace_id: [u8; 16]) -> bool {
        let [.., a, b, c, d, e, f, g, h] = trace_id;
        (u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1) < self.0
    }
}

/// Starts spans, and hands them to the exporter when they have ended.
#[derive(Debug, Clone)]
pub struct Tracer(Arc<TracerParts>);

#[derive(Debug)]
struct TracerParts {
    ratio: SampleRatio,
    ids: AtomicU64,
    queue: mpsc::Sender<Span>,
    metrics: SpanMetrics,
}

impl Tracer {
    /// A tracer, and the spans that it records; at most `queue_max` of them wait.
    pub fn new(ratio: SampleRatio, queue_max: usize) -> (Self, mpsc::Receiver<Span>) {
        IS_TRACING.store(true, Ordering::Relaxed);
        let (queue, spans) = mpsc::channel(queue_max);
        let (ids, metrics) = (AtomicU64::new(random_bits() as u64), SpanMetrics::default());
        (Self(Arc::new(TracerParts { ratio, ids, queue, metrics })), spans)
    }

    pub fn metrics(&self) -> &SpanMetrics {
        &self.0.metrics
    }

    /// The span of a request, if it is recorded. It continues the trace of its client. A client can
    /// ask not to be recorded, but cannot exceed the ratio: as it chooses the trace id too, the
    /// decision is made by a random number of this process.
    pub fn request(&self, name: &'static str, traceparent: Option<&[u8]>) -> Option<OpenSpan> {
        let Some(remote) = traceparent.and_then(Traceparent::parse) else {
            return self.root(name, Kind::Server);
        };
        if !remote.is_sampled || !self.0.ratio.takes(self.new_trace_id()) {
            return None;
        }
        let parent = Parent { span_id: remote.span_id, is_remote: true };
        Some(self.open(name, Kind::Server, remote.trace_id, Some(parent)))
    }

    /// The span of a request to another server: a part of the current request, or the start of a
    /// separate trace.
    pub fn outgoing(&self, name: &'static str) -> Option<OpenSpan> {
        match current() {
            Some(span) => {
                let (trace_id, parent) = (span.0.trace_id, Some(span.as_parent()));
                Some(self.open(name, Kind::Client, trace_id, parent))
            }
            None => self.root(name, Kind::Client),
        }
    }

    fn root(&self, name: &'static str, kind: Kind) -> Option<OpenSpan> {
        let trace_id = self.new_trace_id();
        self.0.ratio.takes(trace_id).then(|| self.open(name, kind, trace_id, None))
    }

    fn new_trace_id(&self) -> [u8; 16] {
        (u128::from(self.next_id()) << 64 | u128::from(self.next_id())).to_be_bytes()
    }

    fn open(
        &self,
        name: &'static str,
        kind: Kind,
        trace_id: [u8; 16],
        parent: Option<Parent>,
    ) -> OpenSpan {
        let active = ActiveSpan(Arc::new(ActiveParts {
            tracer: self.clone(),
            trace_id,
            span_id: self.next_id().to_be_bytes(),
            started: Instant::now(),
            started_at: SystemTime::now(),
        }));
        OpenSpan { active, name, kind, parent, has_ended: false }
    }

    /// Unique and evenly distributed, not secret; never 0.
    fn next_id(&self) -> u64 {
        let mut id = self.0.ids.fetch_add(ID_STEP, Ordering::Relaxed);
        id = (id ^ (id >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        id = (id ^ (id >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (id ^ (id >> 31)).max(1)
    }

    fn record(&self, span: Span) {
        if self.0.queue.try_send(span).is_err() {
            self.0.metrics.count_dropped();
        }
    }
}

/// A recorded span that may get children.
#[derive(Debug, Clone)]
pub struct ActiveSpan(Arc<ActiveParts>);

#[derive(Debug)]
struct ActiveParts {
    tracer: Tracer,
    trace_id: [u8; 16],
    span_id: [u8; 8],
    started: Instant,
    /// The same moment; the times of children are counted from it, so that they fit.
    started_at: SystemTime,
}

impl ActiveSpan {
    fn as_parent(&self) -> Parent {
        Parent { span_id: self.0.span_id, is_remote: false }
    }

    fn time_of(&self, at: Instant) -> SystemTime {
        self.0.started_at + at.saturating_duration_since(self.0.started)
    }

    /// Records a part of it that has ended.
    pub(crate) fn child(&self, name: &'static str, from: Instant, to: Instant, part: Part) {
        let tracer = &self.0.tracer;
        tracer.record(Span {
            trace_id: self.0.trace_id,
            span_id: tracer.next_id().to_be_bytes(),
            parent: Some(self.as_parent()),
            kind: Kind::Internal,
            name,
            route: None,
            attributes: part.attributes,
            has_failed: part.has_failed,
            start: self.time_of(from),
            end: self.time_of(to),
        });
    }
}

/// What is known about a span when it ends.
#[derive(Debug, Default)]
pub struct Part {
    pub attributes: Attributes,
    pub has_failed: bool,
}

/// A span that has not ended.
#[derive(Debug)]
pub struct OpenSpan {
    active: ActiveSpan,
    name: &'static str,
    kind: Kind,
    parent: Option<Parent>,
    has_ended: bool,
}

impl OpenSpan {
    pub fn active(&self) -> &ActiveSpan {
        &self.active
    }

    /// Ends the span of a request to this route.
    pub fn end_at(mut self, route: Option<Cow<'static, str>>, part: Part) {
        self.record(route, part);
    }

    pub fn end(mut self, part: Part) {
        self.record(None, part);
    }

    fn record(&mut self, route: Option<Cow<'static, str>>, part: Part) {
        self.has_ended = true;
        let ActiveParts { tracer, trace_id, span_id, started_at, .. } = &*self.active.0;
        tracer.record(Span {
            trace_id: *trace_id,
            span_id: *span_id,
            parent: self.parent,
            kind: self.kind,
            name: self.name,
            route,
            attributes: part.attributes,
            has_failed: part.has_failed,
            start: *started_at,
            end: self.active.time_of(Instant::now()),
        });
    }
}

impl Drop for OpenSpan {
    /// Nobody waits for it any more.
    fn drop(&mut self) {
        if !self.has_ended {
            let attributes = vec![("sluice.outcome", Value::Text("abandoned"))];
            self.record(None, Part { attributes, has_failed: false });
        }
    }
}

/// The span of the request that is being polled, if it is recorded.
pub fn current() -> Option<ActiveSpan> {
    if !IS_TRACING.load(Ordering::Relaxed) {
        return None;
    }
    CURRENT.with_borrow(Clone::clone)
}

/// Runs a future with this span as the current one.
pub fn in_span<F: Future + Unpin>(span: Option<&ActiveSpan>, future: F) -> InSpan<'_, F> {
    InSpan { span, future }
}

#[derive(Debug)]
pub struct InSpan<'s, F> {
    span: Option<&'s ActiveSpan>,
    future: F,
}

impl<F: Future + Unpin> Future for InSpan<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(span) = self.span else { return Pin::new(&mut self.future).poll(context) };
        let _also_after_a_panic = Restore(CURRENT.replace(Some(span.clone())));
        Pin::new(&mut self.future).poll(context)
    }
}

/// Restores the previous current span.
struct Restore(Option<ActiveSpan>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Records how long this took, as a part of the current request.
pub(crate) async fn timed<T, E>(
    name: &'static str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let Some(span) = current() else { return work.await };
    let from = Instant::now();
    let done = work.await;
    let part = Part { attributes: Vec::new(), has_failed: done.is_err() };
    span.child(name, from, Instant::now(), part);
    done
}

/// The header `traceparent` of W3C Trace Context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Traceparent {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    is_sampled: bool,
}

impl Traceparent {
    /// `None` if it is not valid; then the trace begins here. Later versions may add fields.
    fn parse(header: &[u8]) -> Option<Self> {
        let mut fields = header.split(|&byte| byte == b'-');
        let [version] = hex(fields.next()?)?;
        let trace_id = hex(fields.next()?)?;
        let span_id = hex(fields.next()?)?;
        let [flags] = hex(fields.next()?)?;
        let is_valid = version != 0xFF
            && (version > 0 || fields.next().is_none())
            && trace_id != [0; 16]
            && span_id != [0; 8];
        is_valid.then_some(Self { trace_id, span_id, is_sampled: flags & 1 == 1 })
    }
}

/// Lower-case hexadecimal digits of exactly `N` bytes.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn tracer(ratio: f64) -> (Tracer, mpsc::Receiver<Span>) {
        Tracer::new(SampleRatio::new(ratio).unwrap(), 16)
    }

    #[test]
    fn only_a_valid_traceparent_is_continued() {
        let parsed = Traceparent::parse(HEADER.as_bytes()).unwrap();
        assert_eq!(u128::from_be_bytes(parsed.trace_id), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!(u64::from_be_bytes(parsed.span_id), 0x00f0_67aa_0ba9_02b7);
        let changed = |from: &str, to: &str| HEADER.replacen(from, to, 1);
        for (header, is_valid) in [
            (changed("-01", "-00"), true),
            (changed("00-", "cc-"), true),
            (changed("00-", "cc-") + "-more", true),
            (HEADER.to_owned() + "-more", false),
            (changed("00-", "ff-"), false),
            (changed("4b", "4B"), false),
            (changed("4b", "4"), false),
            (changed("4b", "4b4b"), false),
            (changed("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)), false),
            (changed("00f067aa0ba902b7", &"0".repeat(16)), false),
            (changed("-01", "-1"), false),
            (changed("-01", ""), false),
            (String::new(), false),
        ] {
            assert_eq!(Traceparent::parse(header.as_bytes()).is_some(), is_valid, "{header}");
        }
    }

    #[test]
    fn the_ratio_limits_all_traces_and_a_client_can_only_decline() {
        for (ratio, is_recorded) in [(0.0, false), (1.0, true)] {
            let (tracer, _spans) = tracer(ratio);
            for header in [None, Some("nonsense"), Some(HEADER)] {
                let span = tracer.request("GET", header.map(str::as_bytes));
                assert_eq!(span.is_some(), is_recorded, "{header:?}");
            }
            let not = HEADER.replace("-01", "-00");
            assert!(tracer.request("GET", Some(not.as_bytes())).is_none());
        }
        let (tracer, _spans) = tracer(0.25);
        // The last id is the lowest, so a decision by the id would record it with any ratio.
        let lowest = HEADER.replace("4bf92f3577b34da6a3ce929d0e0e4736", &format!("{:032x}", 1));
        for header in [None, Some(HEADER), Some(lowest.as_str())] {
            let request = |_: &i32| tracer.request("GET", header.map(str::as_bytes)).is_some();
            let taken = (0..8_000).filter(request).count();
            assert!((1_700..2_300).contains(&taken), "{taken} {header:?}");
        }
        for wrong in [-0.1, 1.1, f64::NAN] {
            assert_eq!(SampleRatio::new(wrong), None);
        }
    }

    #[tokio::test]
    async fn a_span_is_current_only_while_its_future_is_polled() {
        let (tracer, mut spans) = tracer(1.0);
        let open = tracer.request("GET", Some(HEADER.as_bytes())).unwrap();
        let work = pin!(async {
            let read = timed("read", async { Err::<(), ()>(()) }).await;
            tracer.outgoing("call").unwrap().end(Part::default());
            read
        });
        let worked = in_span(Some(open.active()), work).await;
        assert!(worked.is_err() && current().is_none());
        open.end_at(Some("/x/{id}".into()), Part::default());
        drop(tracer.outgoing("other"));
        let found: Vec<Span> = std::iter::from_fn(|| spans.try_recv().ok()).collect();
        let names: Vec<_> = found.iter().map(|it| (it.name, it.kind, it.has_failed)).collect();
        let expected = [
            ("read", Kind::Internal, true),
            ("call", Kind::Client, false),
            ("GET", Kind::Server, false),
            ("other", Kind::Client, false),
        ];
        assert_eq!(names, expected);
        let request = &found[2];
        assert_eq!(request.parent.unwrap().span_id, 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes());
        for child in &found[..2] {
            assert_eq!(child.trace_id, request.trace_id);
            assert_eq!(child.parent.unwrap().span_id, request.span_id);
            assert!(request.start <= child.start && child.end <= request.end);
        }
        assert_ne!(found[3].trace_id, request.trace_id);
        assert_eq!(found[3].attributes, [("sluice.outcome", Value::Text("abandoned"))]);
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let (tracer, mut spans) = Tracer::new(SampleRatio::new(1.0).unwrap(), 2);
        for _ in 0..5 {
            tracer.request("GET", None).unwrap().end(Part::default());
        }
        assert_eq!(std::iter::from_fn(|| spans.try_recv().ok()).count(), 2);
        assert_eq!(tracer.metrics().dropped(), 3);
    }
}
