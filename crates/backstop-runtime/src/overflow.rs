//! A toolset that keeps results which are too large to show, and the tool that reads them back.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use async_trait::async_trait;
use backstop_core::{
    CallContext, Effect, Part, Redactor, RunId, ToolError, ToolErrorKind, ToolOutput, ToolSpec, Toolset,
    ValidCall,
    text::{MODEL_TEXT_CAP, size},
};
use serde_json::{Value, json};

/// The tool that reads results back, by its own name.
pub const READ_RESULT: &str = "read_result";
/// Bytes of all results that are kept.
const KEPT_CAP: usize = 32 * 1024 * 1024;
/// What the ids of runs begin with that are one call by hand.
pub(crate) const BY_HAND: &str = "call-";
/// Bytes for what is said between head and tail, and behind a part.
const MARKER_CAP: usize = 256;
/// Bytes of a part that is read, unless said otherwise, and at most.
const PART: usize = 16 * 1024;
const PART_CAP: usize = 48 * 1024;

/// The results that are too large to show: 32 MiB of text, the oldest out first, in memory. A run reads only its
/// own, and a [call by hand](crate::Agent::call) those of all calls by hand. Clone it to share it.
#[derive(Clone, Default)]
pub struct LargeResults(Arc<Shared>);

#[derive(Default)]
struct Shared {
    redactor: Redactor,
    /// The name of the tool that reads them, as the model knows it.
    reader: OnceLock<String>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    texts: HashMap<(RunId, String), Arc<str>>,
    /// The oldest first.
    order: VecDeque<(RunId, String)>,
    bytes: usize,
}

impl LargeResults {
    /// A store for results, out of which these secrets are taken before anything of them is cut.
    pub fn new(redactor: Redactor) -> Self {
        Self(Arc::new(Shared { redactor, ..Shared::default() }))
    }

    /// Says how the model calls the tool that reads them, where that is not [`READ_RESULT`].
    pub(crate) fn read_with(&self, name: &str) {
        // Said once, when the catalog is built.
        let _ = self.0.reader.set(name.to_owned());
    }

    fn reader(&self) -> &str {
        self.0.reader.get().map_or(READ_RESULT, String::as_str)
    }

    /// Keeps a text; `None` where it is larger than all that may be kept.
    fn keep(&self, run: &RunId, call: &str, text: String) -> Option<(String, Arc<str>)> {
        if text.len() > KEPT_CAP {
            return None;
        }
        let text: Arc<str> = text.into();
        let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let scope = scope(run);
        // Calls by hand have one id, each in a run of its own.
        let handle = if scope == *run { handle(call) } else { handle(&format!("{run} {call}")) };
        let key = (scope, handle);
        // A call that is made again, as after a crash, takes the place of the one before.
        if let Some(before) = kept.texts.insert(key.clone(), Arc::clone(&text)) {
            kept.bytes -= before.len();
            kept.order.retain(|other| *other != key);
        }
        kept.bytes += text.len();
        kept.order.push_back(key.clone());
        while kept.bytes > KEPT_CAP
            && let Some(oldest) = kept.order.pop_front()
        {
            let gone = kept.texts.remove(&oldest);
            kept.bytes -= gone.map_or(0, |text| text.len());
        }
        Some((key.1, text))
    }

    fn find(&self, run: &RunId, handle: &str) -> Option<Arc<str>> {
        let kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.texts.get(&(scope(run), handle.to_owned())).map(Arc::clone)
    }

    /// The order that reads on.
    fn order(&self, handle: &str, from: usize) -> String {
        let arguments = json!({"result": handle, "from": from});
        format!("{} {arguments}", self.reader())
    }

    /// What is shown of a text that is kept: its head and its tail.
    fn shown(&self, handle: &str, text: &str) -> String {
        let side = (MODEL_TEXT_CAP - MARKER_CAP) / 2;
        let head = text.floor_char_boundary(side);
        let tail = text.ceil_char_boundary(text.len() - side);
        let (left_out, all) = (size(tail - head), size(text.len()));
        format!(
            "{}\n[… {left_out} of {all} left out; read them with {} …]\n{}",
            text.get(..head).unwrap_or_default(),
            self.order(handle, head),
            text.get(tail..).unwrap_or_default()
        )
    }
}

/// Whose results a run reads: its own, and those of all other calls by hand where it is one.
fn scope(run: &RunId) -> RunId {
    match run.as_str().starts_with(BY_HAND) {
        true => RunId::new(BY_HAND),
        false => run.clone(),
    }
}

/// The same for each attempt of a call.
fn handle(call: &str) -> String {
    // FNV-1a: stable over versions and machines, unlike the hashers of the standard library.
    let hash = call.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("r{:08x}", (hash >> 32) as u32 ^ hash as u32)
}

/// A toolset whose results are kept where they are too large to show.
///
/// The model reads head and tail of such a result, and how to read the rest; an output with content that is no text
/// keeps that content. What it gives is never larger than what any output may show.
pub struct Overflow {
    inner: Arc<dyn Toolset>,
    results: LargeResults,
}

impl Overflow {
    /// Keeps the large results of a toolset.
    pub fn new(inner: Arc<dyn Toolset>, results: LargeResults) -> Self {
        Self { inner, results }
    }
}

#[async_trait]
impl Toolset for Overflow {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        self.inner.list().await
    }

    fn changes(&self) -> u64 {
        self.inner.changes()
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let output = self.inner.call(call, cx).await?;
        if output.whole_text().len() <= MODEL_TEXT_CAP {
            return Ok(output);
        }
        // A secret that is cut in two is found by nobody.
        let output = self.results.0.redactor.result(Ok(output))?;
        let (whole, rest) = split(output);
        let id = call.id().as_str();
        let shown = match self.results.keep(&cx.run, id, whole.clone()) {
            Some((handle, text)) => ToolOutput::Text(self.results.shown(&handle, &text)),
            None => ToolOutput::Text(whole),
        };
        if rest.is_empty() {
            return Ok(shown);
        }
        let text = Part::Text { text: shown.model_text() };
        Ok(ToolOutput::Parts([vec![text], rest].concat()))
    }
}

/// The text of an output, and its content that is none.
fn split(output: ToolOutput) -> (String, Vec<Part>) {
    match output {
        ToolOutput::Parts(parts) => {
            let is_text = |part: &Part| matches!(part, Part::Text { .. } | Part::Json { .. });
            let (texts, rest): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_text);
            let texts: Vec<_> = texts.iter().map(Part::model_text).collect();
            (texts.join("\n"), rest)
        }
        output => (output.whole_text().into_owned(), Vec::new()),
    }
}

/// The tool that reads results back, as a toolset.
pub struct ReadResult {
    results: LargeResults,
}

impl ReadResult {
    /// Reads these results.
    pub fn new(results: LargeResults) -> Self {
        Self { results }
    }

    fn read(&self, call: &ValidCall, run: &RunId) -> Result<ToolOutput, ToolError> {
        let number = |name: &str| {
            let number = call.arguments().get(name).and_then(Value::as_u64);
            number.map(|number| usize::try_from(number).unwrap_or(usize::MAX))
        };
        let handle = call.arguments().get("result").and_then(Value::as_str).unwrap_or_default();
        let Some(text) = self.results.find(run, handle) else {
            return Err(ToolError::not_found("no result of this run is kept under that handle")
                .at("/result")
                .say("no such result is kept; the oldest ones are given up first"));
        };
        let from = number("from").unwrap_or(0);
        if from >= text.len() {
            return Err(ToolError::invalid_arguments("the result ends before it")
                .at("/from")
                .say(format!("the result has {} bytes", text.len())));
        }
        let from = text.floor_char_boundary(from);
        let end = text.len().min(from.saturating_add(number("length").unwrap_or(PART).min(PART_CAP)));
        let end = text.ceil_char_boundary(end);
        let part = text.get(from..end).unwrap_or_default();
        let behind = if end < text.len() {
            format!("go on with {}", self.results.order(handle, end))
        } else {
            "the result ends here".into()
        };
        Ok(ToolOutput::Text(format!("{part}\n[bytes {from} to {end} of {}; {behind}]", text.len())))
    }
}

#[async_trait]
impl Toolset for ReadResult {
    fn name(&self) -> &str {
        "results"
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let schema = json!({
            "type": "object",
            "properties": {
                "result": {"type": "string", "description": "The result, such as r1a2b3c4d."},
                "from": {"type": "integer", "minimum": 0, "default": 0, "description": "The first byte."},
                "length": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": PART_CAP,
                    "default": PART,
                    "description": "How many bytes."
                },
            },
            "required": ["result"],
            "additionalProperties": false,
        });
        let spec = ToolSpec::new(READ_RESULT, schema)
            .description("Reads a part of a result of another tool that was too large to be shown whole.")
            .effect(Effect::ReadOnly);
        Ok(vec![spec])
    }

    async fn call(&self, call: &ValidCall, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        match call.own_name() {
            READ_RESULT => self.read(call, &cx.run),
            name => {
                let name = backstop_core::text::escaped(name, 200);
                Err(ToolError::new(
                    ToolErrorKind::UnknownTool,
                    format!("toolset `results` has no tool `{name}`"),
                ))
            }
        }
    }
}
