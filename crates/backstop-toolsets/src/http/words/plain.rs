//! Texts made fit for a caller.

use super::super::media::looks_like_html;

/// Bytes of a title that are kept.
const TITLE_CAP: usize = 200;
/// Tags that are taken out; others may be meant, as in `expected <id>`.
const TAGS: [&str; 34] = [
    "a",
    "b",
    "big",
    "blockquote",
    "br",
    "center",
    "code",
    "div",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "script",
    "small",
    "span",
    "strong",
    "style",
    "sub",
    "sup",
    "table",
    "td",
    "th",
    "tr",
    "u",
    "ul",
];

/// A message without markup and without the stack trace behind it; nothing where it is a page, or a trace alone.
pub(crate) fn fit(text: &str) -> Option<String> {
    if looks_like_html(text) {
        return None;
    }
    let kept: Vec<&str> = text.lines().take_while(|line| !is_trace_line(line)).collect();
    let kept = without_markup(&kept.join("\n"));
    let kept = kept.trim();
    (!kept.is_empty()).then(|| kept.to_owned())
}

/// The title of a page.
pub(super) fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let open = start + lower.get(start..)?.find('>')? + 1;
    let end = open + lower.get(open..)?.find("</title")?;
    let title = unescaped(page.get(open..end)?);
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = backstop_core::text::head(&title, TITLE_CAP);
    (!title.is_empty()).then_some(title)
}

pub(super) fn is_trace(text: &str) -> bool {
    text.lines().any(is_trace_line)
}

fn is_trace_line(line: &str) -> bool {
    let line = line.trim_start();
    (line.starts_with("at ") && (line.contains('(') || line.contains(".rs:") || line.contains(".js:")))
        || line.starts_with("Traceback (most recent call last)")
        || (line.starts_with("File \"") && line.contains(", line "))
        || line.starts_with("stack backtrace:")
        || (line.starts_with("goroutine ") && line.ends_with(":"))
}

/// The text between known tags, and nothing of scripts and styles.
fn without_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut found = false;
    while let Some((before, from)) = rest.split_once('<') {
        out.push_str(before);
        match tag(from) {
            Some((name, behind)) => {
                found = true;
                rest = match name.as_str() {
                    "script" | "style" => {
                        let end = behind.to_ascii_lowercase().find(&format!("</{name}"));
                        let end = end.and_then(|end| behind.get(end..)).unwrap_or_default();
                        end.split_once('>').map_or("", |(_, behind)| behind)
                    }
                    _ => behind,
                };
                if matches!(name.as_str(), "br" | "p" | "div" | "li" | "tr" | "h1" | "h2" | "h3" | "h4")
                    && !out.is_empty()
                    && !out.ends_with(char::is_whitespace)
                {
                    out.push(' ');
                }
            }
            None => {
                out.push('<');
                rest = from;
            }
        }
    }
    out.push_str(rest);
    if found { unescaped(&out) } else { out }
}

/// A known tag, whose `<` is gone: its name, and what is behind it.
fn tag(from: &str) -> Option<(String, &str)> {
    let (tag, behind) = from.split_once('>')?;
    let name = tag.trim_start_matches('/').split(|c: char| c.is_whitespace() || c == '/').next()?;
    let name = name.to_ascii_lowercase();
    (TAGS.contains(&name.as_str()) && !tag.contains('<')).then_some((name, behind))
}

fn unescaped(text: &str) -> String {
    let known =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    known.iter().fold(text.to_owned(), |text, (entity, letter)| text.replace(entity, letter))
}
