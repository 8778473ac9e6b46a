//! Scalars: text, numbers, durations, words.

use std::time::Duration;

use backstop_core::text;

use super::{at::At, json::json_number, suggest::suggest};
use crate::{
    context::{Expanded, Secrets},
    diagnostic::{Diagnostic, code},
    interpolate::{Piece, pieces},
    secret::SecretText,
    tree::{Scalar, Value},
};

impl At<'_> {
    pub(crate) fn is_scalar(&self) -> bool {
        self.node.scalar().is_some()
    }

    /// Whether it is text with a reference in it.
    pub(crate) fn is_reference(&self) -> bool {
        let refers = |piece: &Piece<'_>| !matches!(piece, Piece::Text(_) | Piece::Escape);
        self.node.scalar().is_some_and(|scalar| pieces(&scalar.text).iter().any(refers))
    }

    /// Whether it is text that refers to a secret.
    pub(crate) fn has_secret(&self) -> bool {
        let secret = |piece: &Piece<'_>| matches!(piece, Piece::Secret { .. } | Piece::SecretFile { .. });
        self.node.scalar().is_some_and(|scalar| pieces(&scalar.text).iter().any(secret))
    }

    pub(crate) fn is_null(&self) -> bool {
        self.node.scalar().is_some_and(Scalar::is_null)
    }

    pub(super) fn is_blank(&self) -> bool {
        self.node.scalar().is_some_and(Scalar::is_blank)
    }

    /// A scalar with its references replaced, where something is there at all.
    pub(super) fn expanded(&self, expected: &str, secrets: Secrets) -> Option<Expanded> {
        match self.node.scalar() {
            Some(scalar) if !scalar.is_blank() && !scalar.is_null() => {
                self.cx.expand(self.node, scalar, secrets, &|| self.path())
            }
            _ => {
                self.report(self.wrong_type(expected));
                None
            }
        }
    }

    /// Text as written: `no`, `1.10` and `0123` stay what they are.
    pub(crate) fn text(&self) -> Option<String> {
        self.expanded("text", Secrets::Forbidden).map(|found| found.text)
    }

    /// Text with something in it.
    pub(crate) fn some_text(&self) -> Option<String> {
        let text = self.text()?;
        if text.trim().is_empty() {
            self.error(code::INVALID_VALUE, "it is empty");
            return None;
        }
        Some(text)
    }

    /// Text that may refer to secrets, and whether it does refer to anything.
    pub(crate) fn secret(&self, secrets: Secrets) -> Option<Expanded> {
        match &self.node.value {
            Value::Scalar(_) => self.expanded("text", secrets),
            // Never what stands there: it may be the secret.
            Value::List(_) | Value::Map(_) => self.expanded("text or a secret reference", secrets),
        }
    }

    /// Reads an unquoted scalar; `parse` gets the text.
    pub(super) fn plain<T>(&self, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let found = self.expanded(expected, Secrets::Forbidden)?;
        let value = found.plain.then(|| parse(&found.text)).flatten();
        if value.is_none() {
            let hint = if !found.plain && found.referenced {
                Some("take the quotes away: a quoted value is text")
            } else if !found.plain {
                Some("a quoted value is text: take the quotes away")
            } else if found.referenced {
                Some("the value of the reference is not shown; look at the variable")
            } else {
                None
            };
            self.report(self.wrong_type(expected).maybe_hint(hint.map(str::to_owned)));
        }
        value
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        self.plain("`true` or `false`", |text| match text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        })
    }

    /// A whole number within these bounds.
    pub(crate) fn count(&self, least: u32, most: u32) -> Option<u32> {
        let number = self.plain("a whole number", |text| {
            let number = json_number(text)?;
            // Too large for the type is still a whole number.
            let is_whole = !text.contains(['.', 'e', 'E']);
            number.as_i64().or(is_whole.then_some(i64::MAX))
        })?;
        let fits = u32::try_from(number).ok().filter(|number| (least..=most).contains(number));
        if fits.is_none() {
            self.error(code::OUT_OF_RANGE, format!("must be {least} to {most}, got {}", self.found()));
        }
        fits
    }

    pub(crate) fn number(&self, least: f64, most: f64) -> Option<f64> {
        let number = self.plain("a number", |text| json_number(text)?.as_f64())?;
        if !(least..=most).contains(&number) {
            self.error(code::OUT_OF_RANGE, format!("must be {least} to {most}, got {}", self.found()));
            return None;
        }
        Some(number)
    }

    /// A duration with a unit, more than nothing and at most `most`.
    pub(crate) fn duration(&self, most: Duration) -> Option<Duration> {
        let found = self.expanded("a duration such as `30s`", Secrets::Forbidden)?;
        let text = found.text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: Option<u64> = number.parse().ok();
        let millis = match (number, unit.trim_start()) {
            (Some(number), "ms") => Some(number),
            (Some(number), "s") => number.checked_mul(1000),
            (Some(number), "m") => number.checked_mul(60_000),
            (Some(number), "h") => number.checked_mul(3_600_000),
            (Some(_), "") => {
                let problem = format!("the duration {} has no unit", self.found());
                let hint = if found.referenced {
                    "units are `ms`, `s`, `m` and `h`".into()
                } else {
                    format!("write `{text}s` for seconds, or `{text}ms` for milliseconds")
                };
                self.report(Diagnostic::error(code::INVALID_DURATION, problem).hint(hint));
                return None;
            }
            _ => {
                let problem = format!("expected a duration such as `30s`, got {}", self.found());
                let hint = "a whole number and one of the units `ms`, `s`, `m` and `h`";
                self.report(Diagnostic::error(code::INVALID_DURATION, problem).hint(hint));
                return None;
            }
        };
        let duration = Duration::from_millis(millis.unwrap_or(u64::MAX));
        if duration.is_zero() || duration > most {
            let most = text::duration(most);
            let problem = format!("must be more than nothing and at most {most}, got {}", self.found());
            self.error(code::OUT_OF_RANGE, problem);
            return None;
        }
        Some(duration)
    }

    /// A size with a unit, within these bounds.
    pub(crate) fn size(&self, least: usize, most: usize) -> Option<usize> {
        let found = self.expanded("a size such as `8MiB`", Secrets::Forbidden)?;
        let text = found.text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let unit = match unit.trim_start() {
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            _ => None,
        };
        let Some((number, unit)) = Some(number).filter(|number| !number.is_empty()).zip(unit) else {
            let problem = format!("expected a size such as `8MiB`, got {}", self.found());
            let hint = "a whole number and one of the units `KiB` and `MiB`";
            self.report(Diagnostic::error(code::INVALID_VALUE, problem).hint(hint));
            return None;
        };
        let size = number.parse().unwrap_or(usize::MAX).saturating_mul(unit);
        if !(least..=most).contains(&size) {
            let (least, most) = (text::size(least), text::size(most));
            self.error(code::OUT_OF_RANGE, format!("must be {least} to {most}, got {}", self.found()));
            return None;
        }
        Some(size)
    }

    /// One of these words.
    pub(crate) fn one_of<T: Copy>(&self, known: &[(&'static str, T)]) -> Option<T> {
        let found = self.text()?;
        if let Some((_, value)) = known.iter().find(|(name, _)| *name == found) {
            return Some(*value);
        }
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let problem = Diagnostic::error(code::UNKNOWN_VALUE, format!("unknown value {}", self.found()));
        self.report(problem.maybe_hint(suggest(&found, &names)));
        None
    }
}

/// A secret out of what was read.
pub(crate) fn secret_text(found: Expanded) -> SecretText {
    SecretText::new(found.text)
}
