//! YAML or JSON text to a tree of nodes, with every limit that keeps a hostile text harmless.

use std::{
    collections::{HashMap, hash_map},
    rc::Rc,
};

use backstop_core::text;
use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, Tag};

use crate::{
    diagnostic::{Diagnostic, Problems, code},
    mask::Masked,
    span::Span,
    tree::{Entry, Node, Scalar, Value, Weight},
};

/// Bytes of the text.
const TEXT_CAP: usize = 1024 * 1024;
/// Levels of nesting.
const DEPTH_CAP: usize = 64;
/// Values, with every alias unfolded.
const NODE_CAP: usize = 100_000;
/// Bytes of all values, with every alias unfolded.
const UNFOLDED_CAP: usize = 8 * 1024 * 1024;

/// Reads the text into a tree. `None` when that can't be done; a duplicate key or a tag is reported and passed
/// over, so that the rest is still checked.
pub(crate) fn parse(source: &str, problems: &Problems) -> Option<Rc<Node>> {
    match read(source, problems) {
        Ok(Some(root)) => Some(root),
        Ok(None) => {
            let start = Span { start: 0, end: 0, line: 1, column: 1 };
            let message = "expected a mapping, got an empty text";
            let hint = "a manifest starts with `version: 1`";
            problems.push(Diagnostic::error(code::WRONG_TYPE, message).at(start, "").hint(hint));
            None
        }
        Err(problem) => {
            problems.push(*problem);
            None
        }
    }
}

fn read(source: &str, problems: &Problems) -> Result<Option<Rc<Node>>, Box<Diagnostic>> {
    if source.len() > TEXT_CAP {
        let message = format!("the text has {} bytes, more than {TEXT_CAP}", source.len());
        return Err(Box::new(Diagnostic::error(code::TOO_LARGE, message)));
    }
    let masked = Masked::new(source);
    let mut options = granit_parser::options! {
        disallow_directives: true,
        simple_key_max_lookahead: TEXT_CAP,
        flow_nesting_limit: DEPTH_CAP + 2,
        block_nesting_limit: DEPTH_CAP + 2,
    };
    options.set_emit_comments(false);
    let mut builder = Builder::new(&masked, problems);
    for item in Parser::new_from_str_with_options(&masked.text, options) {
        match item {
            Ok((event, span)) => builder.event(event, place(&span))?,
            Err(error) => {
                let mark = error.marker();
                let start = mark.byte_offset().unwrap_or_default();
                let next = source.get(start..).and_then(|rest| rest.chars().next());
                let end = start + next.map_or(0, char::len_utf8);
                let at = Span { start, end, line: mark.line(), column: mark.col() + 1 };
                return Err(Box::new(syntax(&error, at, &builder.path())));
            }
        }
    }
    Ok(builder.root)
}

fn syntax(error: &granit_parser::ScanError, at: Span, path: &str) -> Diagnostic {
    let info = error.info();
    let message = match error.kind() {
        ErrorKind::RecursionLimitExceeded => return too_deep(at, path),
        ErrorKind::UnknownAnchor => "an alias of an anchor that does not exist",
        ErrorKind::DirectiveDisallowed => "YAML directives are not supported",
        _ => info.trim_end_matches('.'),
    };
    let hint = (*error.kind() == ErrorKind::ExpectedFlowMappingSeparator)
        .then(|| "between braces, quote text that holds `{`, `}`, `[`, `]` or `,`".to_owned());
    Diagnostic::error(code::SYNTAX, message).at(at, path).maybe_hint(hint)
}

fn too_deep(at: Span, path: &str) -> Diagnostic {
    Diagnostic::error(code::TOO_DEEP, format!("nested deeper than {DEPTH_CAP} levels")).at(at, path)
}

fn place(span: &granit_parser::Span) -> Span {
    let start = span.start.byte_offset().unwrap_or_default();
    let end = span.end.byte_offset().unwrap_or_default().max(start);
    Span { start, end, line: span.start.line(), column: span.start.col() + 1 }
}

/// A list or mapping that is not closed yet.
struct Frame {
    open: Open,
    span: Span,
    anchor: usize,
    weight: Weight,
}

enum Open {
    List(Vec<Rc<Node>>),
    Map { entries: Vec<Entry>, lines: HashMap<String, usize>, key: Option<(String, Span)> },
}

struct Builder<'s> {
    masked: &'s Masked<'s>,
    problems: &'s Problems,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Rc<Node>>,
    root: Option<Rc<Node>>,
    documents: usize,
    nodes: usize,
    bytes: usize,
}

impl<'s> Builder<'s> {
    fn new(masked: &'s Masked<'s>, problems: &'s Problems) -> Self {
        let (frames, anchors) = (Vec::new(), HashMap::new());
        Self { masked, problems, frames, anchors, root: None, documents: 0, nodes: 0, bytes: 0 }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Box<Diagnostic>> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "a second document starts here";
                    let hint = "a manifest is one document: put the other one into a file of its own";
                    let problem = Diagnostic::error(code::MULTIPLE_DOCUMENTS, message).hint(hint);
                    return Err(Box::new(problem.at(span, "")));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let forced = self.tag(tag.as_deref(), span);
                let plain = style == ScalarStyle::Plain && !forced;
                // The parser says `~` where there is nothing.
                let blank = style == ScalarStyle::Plain && span.start == span.end;
                let text =
                    if blank { String::new() } else { self.masked.restore(text, span.start..span.end) };
                let weight = Weight::scalar(&text);
                self.count(weight, span)?;
                self.add(Node { value: Value::Scalar(Scalar { text, plain }), span, weight }, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.tag(tag.as_deref(), span);
                self.open(Open::List(Vec::new()), span, anchor)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.tag(tag.as_deref(), span);
                let open = Open::Map { entries: Vec::new(), lines: HashMap::new(), key: None };
                self.open(open, span, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span)?,
            Event::Alias(id) => {
                let Some(node) = self.anchors.get(&id).cloned() else {
                    let message = "an alias inside of what it stands for";
                    return Err(Box::new(Diagnostic::error(code::SYNTAX, message).at(span, self.path())));
                };
                self.count(node.weight, span)?;
                if self.frames.len() + node.weight.height > DEPTH_CAP {
                    return Err(Box::new(too_deep(span, &self.path())));
                }
                self.insert(node, span)?;
            }
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            // Not asked for.
            _ => {}
        }
        Ok(())
    }

    /// Whether a tag makes a scalar text.
    fn tag(&self, tag: Option<&Tag>, span: Span) -> bool {
        let Some(tag) = tag else { return false };
        match tag.core_suffix() {
            Some("str") => true,
            Some("map" | "seq") => false,
            _ => {
                let name = text::escaped(&tag.original(), 40);
                let message = format!("the tag `{name}` is not supported");
                let hint = "take the tag away; quote what shall be text";
                self.problems
                    .push(Diagnostic::error(code::UNSUPPORTED_TAG, message).at(span, self.path()).hint(hint));
                false
            }
        }
    }

    fn count(&mut self, weight: Weight, span: Span) -> Result<(), Box<Diagnostic>> {
        self.nodes = self.nodes.saturating_add(weight.nodes);
        self.bytes = self.bytes.saturating_add(weight.bytes);
        let message = if self.nodes > NODE_CAP {
            format!("more than {NODE_CAP} values, aliases unfolded")
        } else if self.bytes > UNFOLDED_CAP {
            format!("more than {UNFOLDED_CAP} bytes, aliases unfolded")
        } else {
            return Ok(());
        };
        Err(Box::new(Diagnostic::error(code::TOO_LARGE, message).at(span, self.path())))
    }

    fn open(&mut self, open: Open, span: Span, anchor: usize) -> Result<(), Box<Diagnostic>> {
        self.count(Weight { nodes: 1, ..Weight::default() }, span)?;
        if self.frames.len() >= DEPTH_CAP {
            return Err(Box::new(too_deep(span, &self.path())));
        }
        self.frames.push(Frame { open, span, anchor, weight: Weight { nodes: 1, bytes: 0, height: 0 } });
        Ok(())
    }

    fn close(&mut self, end: Span) -> Result<(), Box<Diagnostic>> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let last = match &frame.open {
            Open::List(items) => items.last().map(|node| node.span.end),
            Open::Map { entries, .. } => entries.last().map(|entry| entry.node.span.end),
        };
        // The end of a block is where the next line starts: its last value ends sooner. Aliases may end
        // anywhere.
        let end = if end.start == end.end { last.unwrap_or(end.end).min(end.end) } else { end.end };
        let span = Span { end: end.max(frame.span.end), ..frame.span };
        let value = match frame.open {
            Open::List(items) => Value::List(items),
            Open::Map { entries, .. } => Value::Map(entries),
        };
        self.add(Node { value, span, weight: frame.weight }, frame.anchor)
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Box<Diagnostic>> {
        let node = Rc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        let span = node.span;
        self.insert(node, span)
    }

    /// Puts a finished value where it belongs. `span` is where it stands, which is not where an alias was
    /// defined.
    fn insert(&mut self, node: Rc<Node>, span: Span) -> Result<(), Box<Diagnostic>> {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        frame.weight.add_child(node.weight);
        let (entries, lines, open_key) = match &mut frame.open {
            Open::List(items) => {
                items.push(node);
                return Ok(());
            }
            Open::Map { entries, lines, key } => (entries, lines, key),
        };
        let Some((key, key_span)) = open_key.take() else {
            let Some(scalar) = node.scalar() else {
                let message = "a key must be text, not a list or a mapping";
                return Err(Box::new(Diagnostic::error(code::SYNTAX, message).at(span, self.path())));
            };
            *open_key = Some((scalar.text.clone(), span));
            return Ok(());
        };
        match lines.entry(key.clone()) {
            hash_map::Entry::Occupied(first) => {
                let name = text::escaped(&key, 80);
                let message = format!("`{name}` is given twice, first on line {}", first.get());
                let mut path = self.path();
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&name);
                self.problems.push(Diagnostic::error(code::DUPLICATE_KEY, message).at(key_span, path));
            }
            hash_map::Entry::Vacant(slot) => {
                slot.insert(key_span.line);
                entries.push(Entry { key, key_span, node });
            }
        }
        Ok(())
    }

    /// Where the parser stands, for diagnostics.
    fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.frames {
            match &frame.open {
                Open::List(items) => path.push_str(&format!("[{}]", items.len())),
                Open::Map { key: Some((key, _)), .. } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&text::escaped(key, 80));
                }
                Open::Map { key: None, .. } => {}
            }
        }
        path
    }
}
