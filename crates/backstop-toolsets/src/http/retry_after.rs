//! How long a service asks to wait.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The wait that `Retry-After` asks for: seconds, or a date against the service's own clock, `now` where it
/// tells no time. What can't be read is as good as nothing.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    let since = date.and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    Some(until.duration_since(since).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(retry_after_header: &str, date: Option<&str>, now: &str) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, retry_after_header.parse().unwrap());
        if let Some(date) = date {
            headers.insert(DATE, date.parse().unwrap());
        }
        retry_after(&headers, httpdate::parse_http_date(now).unwrap()).map(|wait| wait.as_secs())
    }

    #[test]
    fn all_forms_are_read() {
        const AT_00: &str = "Wed, 21 Oct 2026 07:28:00 GMT";
        const AT_05: &str = "Wed, 21 Oct 2026 07:28:05 GMT";
        // Our clock is an hour ahead: the service's counts.
        const OURS: &str = "Wed, 21 Oct 2026 08:28:00 GMT";
        assert_eq!(wait("3", None, AT_00), Some(3));
        assert_eq!(wait("1.5", None, AT_00), Some(1));
        assert_eq!(wait("86400", None, AT_00), Some(86_400));
        assert_eq!(wait(AT_05, Some(AT_00), OURS), Some(5));
        assert_eq!(wait(AT_05, None, AT_00), Some(5));
        assert_eq!(wait(AT_05, None, OURS), Some(0));
        assert_eq!(wait("soon", None, AT_00), None);
        assert_eq!(wait("-5", None, AT_00), None);
        assert_eq!(wait("NaN", None, AT_00), None);
    }
}
