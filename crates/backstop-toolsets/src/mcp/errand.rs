//! How far one request got.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use backstop_core::{Applied, CallerHeaders};

/// Travels with a request, as one of its extensions: a transport tells with it that the server may have the request,
/// and finds in it what whoever started the run sent along.
#[derive(Clone, Debug, Default)]
pub(super) struct Errand {
    left: Arc<AtomicBool>,
    pub(super) caller_headers: CallerHeaders,
}

impl Errand {
    pub(super) fn new(caller_headers: CallerHeaders) -> Self {
        Self { left: Arc::default(), caller_headers }
    }

    /// From now on the server may have the request.
    pub(super) fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Whether the server may have acted on the request, as long as it did not answer.
    pub(super) fn applied(&self) -> Applied {
        if self.left.load(Ordering::Acquire) { Applied::Unknown } else { Applied::No }
    }
}
