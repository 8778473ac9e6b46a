//! Cutting and quoting text for a reader.

/// The text a model may see of one result, in bytes.
pub const MODEL_TEXT_CAP: usize = 64 * 1024;

/// Keeps the head of `text` within `cap` bytes, cut at a character, with an ellipsis where something is missing.
///
/// # Example
///
/// ```
/// assert_eq!(backstop_core::text::head("übersicht", 6), "üb…");
/// assert_eq!(backstop_core::text::head("kurz", 6), "kurz");
/// ```
pub fn head(text: &str, cap: usize) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let cut = text.floor_char_boundary(cap.saturating_sub('…'.len_utf8()));
    format!("{}…", text.get(..cut).unwrap_or_default())
}

/// Keeps head and tail of `text` within about `cap` bytes and says in between how much is left out.
///
/// # Example
///
/// ```
/// let long = "a".repeat(100) + &"z".repeat(100);
/// let cut = backstop_core::text::head_and_tail(&long, 60);
/// assert!(cut.starts_with("aaaa") && cut.ends_with("zzzz"));
/// assert!(cut.contains("[… 182 of 200 bytes left out …]"));
/// ```
pub fn head_and_tail(text: &str, cap: usize) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    const MARKER: usize = 42;
    let side = cap.saturating_sub(MARKER) / 2;
    let head_end = text.floor_char_boundary(side);
    let tail_start = text.ceil_char_boundary(text.len().saturating_sub(side));
    let left_out = tail_start - head_end;
    format!(
        "{}\n[… {left_out} of {} bytes left out …]\n{}",
        text.get(..head_end).unwrap_or_default(),
        text.len(),
        text.get(tail_start..).unwrap_or_default()
    )
}

/// `text` as one line with control characters and backslashes escaped, capped: safe to echo to a reader, and a
/// literal `\n` looks different from a line break.
///
/// # Example
///
/// ```
/// assert_eq!(backstop_core::text::escaped("a\nb\\n", 80), r"a\nb\\n");
/// ```
pub fn escaped(text: &str, cap: usize) -> String {
    let mut out = String::with_capacity(text.len().min(cap));
    for c in text.chars() {
        if out.len() >= cap {
            out.push('…');
            break;
        }
        match c {
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Control characters other than line breaks and tabs taken out, blank ends trimmed: upstream words made fit for
/// a reader.
pub fn clean(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim().to_owned()
}

/// A number of bytes in words: `1 byte`, `700 bytes`, `2 KiB`, `1.5 MiB`.
///
/// # Example
///
/// ```
/// use backstop_core::text::size;
/// assert_eq!([size(1), size(1023), size(1024), size(1_600_000)], ["1 byte", "1023 bytes", "1 KiB", "1.5 MiB"]);
/// ```
pub fn size(bytes: usize) -> String {
    const UNITS: [(usize, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = bytes.saturating_mul(10) / unit;
            match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                tenth => format!("{}.{tenth} {name}", tenths / 10),
            }
        }
        None if bytes == 1 => "1 byte".into(),
        None => format!("{bytes} bytes"),
    }
}

/// A duration in words: `30 seconds`, `1 second`, `250 milliseconds`, `2 minutes`.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// assert_eq!(backstop_core::text::duration(Duration::from_secs(30)), "30 seconds");
/// assert_eq!(backstop_core::text::duration(Duration::from_millis(1500)), "1.5 seconds");
/// ```
pub fn duration(duration: std::time::Duration) -> String {
    let millis = duration.as_millis();
    let (number, unit) = match millis {
        0..1000 => (millis.to_string(), "millisecond"),
        m if m >= 120_000 && m.is_multiple_of(60_000) => ((m / 60_000).to_string(), "minute"),
        m if m.is_multiple_of(1000) => ((m / 1000).to_string(), "second"),
        m => (format!("{}.{}", m / 1000, m % 1000 / 100), "second"),
    };
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

/// The word of `candidates` that `word` was most likely meant to be: equal but for case and separators, or
/// within a third of its length in edits. All equally near ones are returned, at most three.
///
/// # Example
///
/// ```
/// use backstop_core::text::nearest;
/// assert_eq!(nearest("quik", ["quick", "slow"]), ["quick"]);
/// assert_eq!(nearest("old-string", ["path", "old_string"]), ["old_string"]);
/// assert!(nearest("zebra", ["quick", "slow"]).is_empty());
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let folded = fold(word);
    let limit = (folded.len() / 3).max(1);
    let mut best = limit + 1;
    let mut found: Vec<&str> = Vec::new();
    for candidate in candidates {
        let other = fold(candidate);
        if other.len().abs_diff(folded.len()) > limit || folded.is_empty() {
            continue;
        }
        let distance = edits(&folded, &other);
        // Short words share letters by chance: half of the letters at least must be the same.
        if distance > limit || distance * 2 > folded.len() {
            continue;
        }
        if distance < best {
            best = distance;
            found.clear();
        }
        if distance == best {
            found.push(candidate);
        }
    }
    found.truncate(3);
    found
}

fn fold(word: &str) -> Vec<char> {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(64).collect()
}

/// Edit distance with transpositions of neighbours counted once (optimal string alignment).
fn edits(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut before = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    let mut previous_a = None;
    for (i, &ca) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(width);
        row.push(i + 1);
        let mut previous_b = None;
        for (j, &cb) in b.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX - 1);
            let mut cost =
                (at(&last, j) + usize::from(ca != cb)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            if j > 0 && previous_a == Some(cb) && previous_b == Some(ca) {
                cost = cost.min(at(&before, j - 1) + 1);
            }
            row.push(cost);
            previous_b = Some(cb);
        }
        before = std::mem::replace(&mut last, row);
        previous_a = Some(ca);
    }
    last.last().copied().unwrap_or(0)
}
