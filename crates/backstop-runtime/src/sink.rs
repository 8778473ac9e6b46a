//! What an observer sees of a streamed reply: no secret, not even one that comes in pieces.

use std::sync::{Mutex, PoisonError};

use backstop_core::{Delta, DeltaSink, Redactor};

use crate::observer::Observer;

/// Hands deltas on to an observer. Text that may be the beginning of a secret is held back until it shows what it
/// is.
pub(crate) struct ObserverSink<'a> {
    observer: &'a dyn Observer,
    redactor: &'a Redactor,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    text: String,
    reasoning: String,
}

impl<'a> ObserverSink<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, redactor: &'a Redactor) -> Self {
        Self { observer, redactor, held: Mutex::default() }
    }

    /// Hands on what is held back: no more is coming.
    pub(crate) fn finish(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        if !held.reasoning.is_empty() {
            self.observer.delta(Delta::Reasoning(&held.reasoning));
        }
        if !held.text.is_empty() {
            self.observer.delta(Delta::Text(&held.text));
        }
    }

    /// What can be shown of the held text and this piece.
    fn shown(&self, held: &mut String, piece: &str) -> String {
        held.push_str(piece);
        let clean = self.redactor.redact(held).unwrap_or_else(|| std::mem::take(held));
        let shown = clean.len() - self.redactor.held_back(&clean);
        let (shown, rest) = clean.split_at(shown);
        *held = rest.to_owned();
        shown.to_owned()
    }
}

impl DeltaSink for ObserverSink<'_> {
    fn delta(&self, delta: Delta<'_>) {
        if self.redactor.is_empty() {
            self.observer.delta(delta);
            return;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match delta {
            Delta::Text(piece) => {
                let shown = self.shown(&mut held.text, piece);
                drop(held);
                if !shown.is_empty() {
                    self.observer.delta(Delta::Text(&shown));
                }
            }
            Delta::Reasoning(piece) => {
                let shown = self.shown(&mut held.reasoning, piece);
                drop(held);
                if !shown.is_empty() {
                    self.observer.delta(Delta::Reasoning(&shown));
                }
            }
            Delta::CallStarted { name } => {
                drop(held);
                let name = self.redactor.redact(name).unwrap_or_else(|| name.to_owned());
                self.observer.delta(Delta::CallStarted { name: &name });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Seen(Mutex<String>);

    impl Observer for Seen {
        fn delta(&self, delta: Delta<'_>) {
            if let Delta::Text(text) = delta {
                self.0.lock().unwrap().push_str(text);
            }
        }
    }

    #[test]
    fn a_secret_that_is_streamed_in_any_two_pieces_is_not_shown() {
        let text = "über sk-Live/42 and sk-Li, sk-Live%2f42!";
        let redactor = Redactor::new(["sk-Live/42"]);
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let seen = Seen::default();
            let sink = ObserverSink::new(&seen, &redactor);
            let (a, b) = text.split_at(cut);
            sink.delta(Delta::Text(a));
            sink.delta(Delta::Text(b));
            sink.finish();
            assert_eq!(*seen.0.lock().unwrap(), "über [secret] and sk-Li, [secret]!", "cut at {cut}");
        }
    }

    #[test]
    fn a_secret_that_is_streamed_letter_by_letter_is_not_shown() {
        let redactor = Redactor::new(["sk-Live/42"]);
        let seen = Seen::default();
        let sink = ObserverSink::new(&seen, &redactor);
        "key sk-Live/42, end".chars().for_each(|c| sink.delta(Delta::Text(c.encode_utf8(&mut [0; 4]))));
        sink.finish();
        assert_eq!(*seen.0.lock().unwrap(), "key [secret], end");
    }
}
