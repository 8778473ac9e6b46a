//! Event streams of a server, within bounds.

use backstop_core::text::size;
use futures_util::{StreamExt as _, stream::BoxStream};
use reqwest::Response;
use sse_stream::{Error, Sse, SseStream};

use crate::events::EventBudget;

/// The events of an answer, each of at most `max` bytes.
pub(super) fn events(response: Response, max: usize) -> BoxStream<'static, Result<Sse, Error>> {
    let mut budget = EventBudget::new(max);
    let pieces = response.bytes_stream().map(move |piece| {
        let piece = piece.map_err(|cause| std::io::Error::other(cause.without_url()))?;
        match budget.fits(&piece) {
            true => Ok(piece),
            false => Err(std::io::Error::other(format!("an event is larger than {}", size(max)))),
        }
    });
    // After a piece that can't be read nothing can be.
    let pieces = pieces.scan(false, |over, piece| {
        let next = (!*over).then_some(piece);
        *over = next.as_ref().is_none_or(Result::is_err);
        std::future::ready(next)
    });
    SseStream::from_bytes_stream(pieces).boxed()
}
