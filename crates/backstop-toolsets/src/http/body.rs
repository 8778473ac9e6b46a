//! Bodies, read no further than they are wanted.

use reqwest::Response;

/// A body as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    /// There was more, or its end did not come.
    pub(crate) cut: bool,
}

/// Reads at most `cap` bytes, after decompression; what is behind them stays unread.
///
/// # Errors
///
/// When the connection breaks or the time is over.
pub(crate) async fn read(response: &mut Response, cap: usize) -> Result<Body, reqwest::Error> {
    let mut body = Body::default();
    read_into(&mut body, response, cap).await?;
    Ok(body)
}

/// As [`read`], but what came before a failure counts: for error bodies, which only explain a status.
pub(crate) async fn read_some(response: &mut Response, cap: usize) -> Body {
    let mut body = Body::default();
    if read_into(&mut body, response, cap).await.is_err() {
        body.cut = true;
    }
    body
}

async fn read_into(body: &mut Body, response: &mut Response, cap: usize) -> Result<(), reqwest::Error> {
    while let Some(chunk) = response.chunk().await? {
        let room = cap.saturating_sub(body.bytes.len());
        match chunk.get(..room) {
            Some(fits) if fits.len() < chunk.len() => {
                body.bytes.extend_from_slice(fits);
                body.cut = true;
                break;
            }
            _ => body.bytes.extend_from_slice(&chunk),
        }
    }
    Ok(())
}
