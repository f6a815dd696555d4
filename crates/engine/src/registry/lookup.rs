//! A lookup in the registry: answered from the cache at once, or by a load that the caller awaits.
//!
//! It is a value, not an `async fn`, whose code would be compiled into every crate that awaits it.
//! A load is boxed, so that requests that find everything in the cache need no memory for it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use sluice_store::StoreResult;

type Load<'a, V> = Pin<Box<dyn Future<Output = StoreResult<Option<Arc<V>>>> + Send + 'a>>;

pub(crate) enum Lookup<'a, V> {
    /// What the cache has; it may know that there is nothing.
    Known(Option<Arc<V>>),
    Load(Load<'a, V>),
}

impl<V> Future for Lookup<'_, V> {
    type Output = StoreResult<Option<Arc<V>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Known(known) => Poll::Ready(Ok(known.take())),
            Self::Load(load) => load.as_mut().poll(context),
        }
    }
}
