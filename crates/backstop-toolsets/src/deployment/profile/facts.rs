//! The facts about what servers take.

use url::Url;

/// The host of Gemini's endpoint for chat completions.
const GEMINI_HOST: &str = "generativelanguage.googleapis.com";
/// Bytes of a schema at most where references are kept: as much as a declared one may have.
const LARGE: usize = 1024 * 1024;
/// Bytes of a schema at most where references are written out.
const WRITTEN_OUT: usize = 64 * 1024;
/// How often a definition stands on one path into the schema, where references are written out.
const DEPTH: usize = 2;

/// What a server takes in the input schema of a tool, and in a few places of a message where servers differ.
///
/// Everything that servers differ in is a fact here; nothing else asks which server it is.
///
/// # Example
///
/// ```
/// use backstop_toolsets::deployment::SchemaProfile;
/// use serde_json::json;
///
/// let declared = json!({"type": "object", "properties": {"to": {"type": "string", "pattern": "^(?!x)"}}});
/// let converted = SchemaProfile::openai().convert(&declared);
/// assert_eq!(converted.schema, json!({"type": "object", "properties": {"to": {"type": "string"}}}));
/// assert_eq!(converted.notes[0].pointer, "/properties/to");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaProfile {
    /// How it is called in a manifest.
    pub(super) name: &'static str,
    /// The name of its wire form in the caches of transcripts and catalogs.
    pub(super) form: &'static str,
    /// Whether `$ref` and `$defs` are sent; otherwise definitions are written out where they are used.
    pub(super) references: bool,
    /// How often one definition is written out on the way from the root to a value, before its next use is cut.
    pub(super) depth: usize,
    /// Which patterns are sent.
    pub(super) patterns: Patterns,
    /// Which keywords are sent; all where there is no list.
    pub(super) keywords: Option<&'static [&'static str]>,
    /// Which formats are sent; all where there is no list.
    pub(super) formats: Option<&'static [&'static str]>,
    /// Which ways there are to say what may be instead of, or besides, what else is said.
    pub(super) shapes: Shapes,
    /// Whether values other than texts may be listed.
    pub(super) any_enum: bool,
    /// Whether a default may be `null`.
    pub(super) null_defaults: bool,
    /// The largest bound on a length or a count.
    pub(super) largest_bound: Option<u64>,
    /// Whether a tool's name may begin with a digit or `-`.
    pub(super) any_first_letter: bool,
    /// Bytes of one schema at most.
    pub(super) size_cap: usize,
    /// How an assistant message that has calls and no text writes its `content`.
    pub(super) no_text: NoText,
}

/// Patterns that a server can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patterns {
    None,
    NoLookaround,
    /// Those of which llama.cpp can make a grammar.
    Grammar,
}

/// What a schema that is not the root may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shapes {
    /// Anything that JSON Schema has.
    All,
    /// A list of types or `anyOf` with nothing beside it, and always one of them.
    TypeList,
    /// One type or `anyOf` with nothing beside it, and always one of them.
    OneType,
}

/// The `content` of an assistant message that has calls and no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::deployment) enum NoText {
    Null,
    Empty,
}

impl SchemaProfile {
    /// OpenAI and the many servers that follow it; the default.
    ///
    /// Also right for Anthropic's endpoint, Azure and Mistral, and for vLLM where it does not force a call.
    pub const fn openai() -> Self {
        Self {
            name: "openai",
            form: "openai.chat openai",
            // Definitions are documented for strict schemas, and taken in all others.
            references: true,
            depth: DEPTH,
            // "regex lookaround is not supported" takes down the request, strict or not: anomalyco/opencode#32073,
            // nicobailon/pi-interactive-shell#69.
            patterns: Patterns::NoLookaround,
            keywords: None,
            formats: None,
            shapes: Shapes::All,
            any_enum: true,
            null_defaults: true,
            largest_bound: None,
            any_first_letter: true,
            size_cap: LARGE,
            // An empty text is an empty block to gateways before Bedrock (vercel/ai#14612), a missing field is refused
            // by vLLM and SGLang (jekalmin/extended_openai_conversation#456).
            no_text: NoText::Null,
        }
    }

    /// Gemini's endpoint for chat completions, which turns schemas into the messages of its own API.
    pub const fn gemini() -> Self {
        Self {
            name: "gemini",
            form: "openai.chat gemini",
            // "Unknown name \"ref\"": anomalyco/opencode#22473.
            references: false,
            depth: DEPTH,
            // The documented `Schema` has `pattern`; Google's engine, RE2, knows no lookaround.
            patterns: Patterns::NoLookaround,
            // The fields of the documented `Schema`; "Unknown name" refuses each other one, as `const`
            // (zed-industries/zed#44875), `additionalProperties` (tashfeenahmed/freellmapi#97) and `exclusiveMinimum`
            // (hideya/langchain-mcp-tools-ts#36).
            keywords: Some(&[
                "type",
                "title",
                "description",
                "enum",
                "format",
                "pattern",
                "minLength",
                "maxLength",
                "minimum",
                "maximum",
                "items",
                "minItems",
                "maxItems",
                "properties",
                "required",
                "anyOf",
                "default",
            ]),
            // "only 'enum' and 'date-time' are supported for STRING type": google-gemini/gemini-cli#3178; those of
            // numbers are documented.
            formats: Some(&["date-time", "float", "double", "int32", "int64"]),
            // A list of types is refused, `anyOf` with `null` is taken: aoci-spec/aoci-code#61. Arrays need items
            // here, too: TokenRhythm/opensquilla#1263; and items a type: spiritledsoftware/caplets#178.
            shapes: Shapes::OneType,
            // "Invalid value at '…enum[0]' (TYPE_STRING), 6": chrisdoc/hevy-mcp#1161.
            any_enum: false,
            null_defaults: false,
            largest_bound: None,
            // "Must start with a letter or an underscore": kaitranntt/ccs#25.
            any_first_letter: false,
            size_cap: WRITTEN_OUT,
            // "Value is not a string: null": lastmile-ai/mcp-agent#121.
            no_text: NoText::Empty,
        }
    }

    /// The server of llama.cpp, which makes one grammar of all tools.
    pub const fn llama_cpp() -> Self {
        Self {
            name: "llama_cpp",
            form: "openai.chat llama_cpp",
            // Its converter takes only `#/…`, and no escapes in it ("Unsupported ref").
            references: false,
            depth: DEPTH,
            // `^…$` or 400 (ggml-org/llama.cpp#26930), no `\d` (#27580), no lookaround (codefuturist/email-mcp#73).
            patterns: Patterns::Grammar,
            // Others are passed over.
            keywords: None,
            formats: None,
            // "Unrecognized schema" for one without a type, and for `true` (mezmo/aura#358); `{}` is an object to it,
            // and beside `anyOf` nothing is read. Lists of types are taken.
            shapes: Shapes::TypeList,
            any_enum: true,
            null_defaults: true,
            // Repetitions stop at 2000, a bound counting for up to one more: ggml-org/llama.cpp#17473, #27087.
            largest_bound: Some(1_998),
            any_first_letter: true,
            size_cap: WRITTEN_OUT,
            no_text: NoText::Null,
        }
    }

    /// The least that all of them take, for a server of which nothing is known.
    pub const fn portable() -> Self {
        Self {
            name: "portable",
            form: "openai.chat portable",
            references: false,
            depth: DEPTH,
            patterns: Patterns::None,
            keywords: Some(&[
                "type",
                "description",
                "enum",
                "minimum",
                "maximum",
                "items",
                "properties",
                "required",
                "anyOf",
            ]),
            formats: Some(&[]),
            shapes: Shapes::OneType,
            any_enum: false,
            null_defaults: false,
            largest_bound: None,
            any_first_letter: false,
            size_cap: WRITTEN_OUT,
            // No form is taken by all: LM Studio refuses `null` as Gemini does (lmstudio-ai/lmstudio-bug-tracker#261),
            // others a missing field. The empty text is refused least.
            no_text: NoText::Empty,
        }
    }

    /// The profile of the server at this address: Gemini's where it is Gemini's own host, otherwise OpenAI's.
    pub fn of_address(url: &Url) -> Self {
        if url.host_str() == Some(GEMINI_HOST) { Self::gemini() } else { Self::openai() }
    }

    /// How it is called in a manifest.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(in crate::deployment) fn form(&self) -> &'static str {
        self.form
    }

    pub(in crate::deployment) fn no_text(&self) -> NoText {
        self.no_text
    }
}

impl Default for SchemaProfile {
    fn default() -> Self {
        Self::openai()
    }
}
