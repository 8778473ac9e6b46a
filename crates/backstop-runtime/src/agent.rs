//! A model, toolsets, and what was declared for them.

use std::{collections::HashSet, sync::Arc, time::Duration};

use backstop_core::{
    Catalog, CatalogProblem, Definition, DeltaSink, Limits, Message, Model, ModelError, ModelReply,
    ModelRequest, Redactor, RunId, RunStore, Strategy, ToolCall, ToolError, ToolPolicy, ToolSpec, Toolset,
    run::{Question, QuestionKind, Started},
    text,
};
use uuid::Uuid;

use crate::{
    answerer::{Answer, Answerer},
    driver::RunError,
    offer::{Offer, Source},
    overflow::{BY_HAND, LargeResults, Overflow, ReadResult},
    report::RunReport,
    start::{Options, Resume, Start},
};

/// A model, toolsets, and what was declared for them: starts runs. Make one and share it.
pub struct Agent {
    pub(crate) name: String,
    pub(crate) offer: Offer,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) redactor: Redactor,
    instructions: Option<String>,
}

/// What a run begins with: a question, or a whole conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input(Vec<Message>);

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self(vec![Message::user(text)])
    }
}

impl From<String> for Input {
    fn from(text: String) -> Self {
        Self(vec![Message::user(text)])
    }
}

impl From<Vec<Message>> for Input {
    fn from(messages: Vec<Message>) -> Self {
        Self(messages)
    }
}

impl Agent {
    /// An agent that asks this model.
    pub fn builder(model: impl Model) -> AgentBuilder {
        Self::builder_with(Arc::new(model))
    }

    /// An agent that asks this model, which others may share.
    pub fn builder_with(model: Arc<dyn Model>) -> AgentBuilder {
        AgentBuilder {
            name: "agent".into(),
            model,
            instructions: None,
            limits: Limits::default(),
            fallback: Vec::new(),
            redactor: Redactor::default(),
            toolsets: Vec::new(),
        }
    }

    /// Runs the agent on this input to its end.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the conversation is not balanced. What goes wrong with the model or a tool is in the
    /// report's [outcome](RunReport::outcome).
    pub async fn run(&self, input: impl Into<Input>) -> Result<RunReport, RunError> {
        self.start(input).drive().await
    }

    /// Prepares a run, with a store, an observer or a cancellation token.
    pub fn start(&self, input: impl Into<Input>) -> Start<'_> {
        let mut messages = input.into().0;
        if let Some(instructions) = &self.instructions
            && !matches!(messages.first(), Some(Message::System { .. }))
        {
            messages.insert(0, Message::system(instructions.clone()));
        }
        self.prepare(self.definition(), self.model.as_ref(), messages)
    }

    /// Prepares a run to go on from its journal in `store`.
    pub fn resume(&self, store: Arc<dyn RunStore>, run: RunId) -> Resume<'_> {
        Resume { agent: self, run, answer: None, options: Options::with_store(store) }
    }

    /// Makes one tool call under the whole contract, without a model: validation, retries, strategies, both
    /// readings of a failure. The report has the one call. Whoever makes it by hand has allowed it.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the call can't be driven at all.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &str,
        cancel: Option<tokio_util::sync::CancellationToken>,
    ) -> Result<RunReport, RunError> {
        self.call_for(tool, arguments, Arc::new(ByHand), cancel).await
    }

    /// As [`call`](Self::call), for somebody whose questions this answers: nothing is allowed but what it allows.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the call can't be driven at all.
    pub async fn call_for(
        &self,
        tool: &str,
        arguments: &str,
        answerer: Arc<dyn Answerer>,
        cancel: Option<tokio_util::sync::CancellationToken>,
    ) -> Result<RunReport, RunError> {
        self.offer.refresh().await;
        let offered = self.definition();
        let name = offered.catalog.find(tool).map_or(tool, |entry| entry.name.as_str());
        let model = OneCall(ToolCall::new("call_1", name, arguments));
        let mut limits = offered.limits.clone();
        limits.turns = 1;
        let definition =
            Definition::new(Arc::clone(&offered.catalog)).limits(limits).fallback(offered.fallback.clone());
        let mut start = self.prepare(Arc::new(definition), &model, Vec::new()).answerer(answerer);
        start.started.run = RunId::new(format!("{BY_HAND}{}", start.started.run));
        match cancel {
            Some(token) => start.cancel(token).drive().await,
            None => start.drive().await,
        }
    }

    fn prepare<'a>(
        &'a self,
        definition: Arc<Definition>,
        model: &'a dyn Model,
        input: Vec<Message>,
    ) -> Start<'a> {
        let id = Uuid::now_v7();
        // The last 62 bits of a version 7 UUID are random (RFC 9562, section 5.7).
        let seed = id.as_u64_pair().1;
        let started = Started { run: RunId::new(id.to_string()), seed, input: Arc::new(input) };
        Start { agent: self, definition, model, started, options: Options::default() }
    }

    /// The agent's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its runs are made from. Where a toolset has other tools by now, runs offer them from their next turn on,
    /// and this is another one then.
    pub fn definition(&self) -> Arc<Definition> {
        self.offer.definition()
    }

    /// The tools as the model sees them.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.definition().catalog)
    }

    /// Whether a toolset is known to have other tools than those on offer.
    pub fn has_changed(&self) -> bool {
        self.offer.has_changed()
    }

    /// Offers the tools that toolsets have by now, where they are known to have others. Runs see to it by themselves.
    pub async fn refresh(&self) {
        self.offer.refresh().await;
    }

    /// The name of the model it asks.
    pub fn model_name(&self) -> &str {
        self.model.name()
    }
}

/// Puts an [`Agent`] together.
#[must_use = "a builder does nothing until it is built"]
pub struct AgentBuilder {
    name: String,
    model: Arc<dyn Model>,
    instructions: Option<String>,
    limits: Limits,
    fallback: Vec<Strategy>,
    redactor: Redactor,
    toolsets: Vec<(Arc<dyn Toolset>, ToolsetOptions)>,
}

/// Changes what a toolset says of one tool, and what is declared for it.
pub(crate) type Adjust = Box<dyn Fn(&mut ToolSpec, &mut ToolPolicy) + Send + Sync>;

/// What is declared for a toolset.
#[derive(Default)]
#[must_use = "options do nothing until they are given to a builder"]
pub struct ToolsetOptions {
    pub(crate) prefix: String,
    pub(crate) adjust: Option<Adjust>,
    pub(crate) list_timeout: Option<Duration>,
    declared: Vec<String>,
    pub(crate) keep_large_results: bool,
    pub(crate) reads_results: bool,
}

impl ToolsetOptions {
    /// Puts a prefix in front of each name.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Keeps results that are too large to show, and gives the agent a tool to read them: see [`Overflow`].
    pub fn keep_large_results(mut self) -> Self {
        self.keep_large_results = true;
        self
    }

    /// Gives it this time to list its tools, where the usual 10 s are not meant.
    pub fn list_timeout(mut self, limit: Duration) -> Self {
        self.list_timeout = Some(limit);
        self
    }

    /// Says for which tools, by their own names, something is declared: those that it does not list are reported.
    pub fn declared(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.declared = tools.into_iter().map(Into::into).collect();
        self
    }

    /// Changes the spec and the policy of each tool.
    pub fn adjust(mut self, adjust: impl Fn(&mut ToolSpec, &mut ToolPolicy) + Send + Sync + 'static) -> Self {
        self.adjust = Some(Box::new(adjust));
        self
    }
}

/// A part of an agent that is missing; the rest works.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildProblem {
    /// A tool is left out.
    #[error(transparent)]
    Tool(#[from] CatalogProblem),
    /// A part of a toolset's source can't be used.
    #[error("toolset `{toolset}`: {reason}")]
    Source {
        /// The toolset.
        toolset: String,
        /// What, where and why.
        reason: String,
        /// Whether a tool is left out for it.
        left_out: bool,
    },
    /// A toolset did not list its tools.
    #[error("toolset `{toolset}` is left out: it did not list its tools")]
    Toolset {
        /// The toolset.
        toolset: String,
        /// Why.
        #[source]
        error: ToolError,
    },
}

impl AgentBuilder {
    /// Names the agent, for logs.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Tells the model what it is for.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a toolset.
    pub fn toolset(self, toolset: impl Toolset) -> Self {
        self.toolset_with(Arc::new(toolset), ToolsetOptions::default())
    }

    /// Adds a toolset with what is declared for it.
    pub fn toolset_with(mut self, toolset: Arc<dyn Toolset>, options: ToolsetOptions) -> Self {
        self.toolsets.push((toolset, options));
        self
    }

    /// Limits what a run may spend.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Says what happens with failures of tools that have no strategies of their own.
    pub fn fallback(mut self, strategies: Vec<Strategy>) -> Self {
        self.fallback = strategies;
        self
    }

    /// Takes these secrets out of everything that leaves a run.
    pub fn redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Asks all toolsets for their tools, at the same time and each with its deadline, and compiles their schemas.
    /// What can't be used is reported, in the order of the toolsets, and left out.
    pub async fn build(mut self) -> (Agent, Vec<BuildProblem>) {
        let results = self.keep_results();
        let declared: Vec<_> = self
            .toolsets
            .iter()
            .map(|(toolset, options)| (toolset.name().to_owned(), options.declared.clone()))
            .collect();
        let sources =
            self.toolsets.into_iter().map(|(toolset, options)| Source { toolset, options }).collect();
        let bare = Definition::default().limits(self.limits).fallback(self.fallback);
        let (offer, lists, left_out) = Offer::build(sources, bare, self.redactor.clone(), results).await;
        let mut problems = Vec::new();
        for ((toolset, declared), (result, specs)) in declared.into_iter().zip(lists) {
            match result {
                Ok(()) => problems.extend(missing(&toolset, &declared, &specs)),
                Err(error) => problems.push(BuildProblem::Toolset { toolset, error }),
            }
        }
        problems.extend(left_out.into_iter().map(BuildProblem::from));
        let agent = Agent {
            name: self.name,
            offer,
            model: self.model,
            redactor: self.redactor,
            instructions: self.instructions,
        };
        (agent, problems)
    }
}

impl AgentBuilder {
    /// Wraps the toolsets whose large results are kept, and adds the tool that reads them behind all others.
    fn keep_results(&mut self) -> Option<LargeResults> {
        let results = LargeResults::new(self.redactor.clone());
        let mut kept = self.toolsets.iter_mut().filter(|(_, options)| options.keep_large_results).peekable();
        kept.peek()?;
        for (toolset, _) in kept {
            *toolset = Arc::new(Overflow::new(Arc::clone(toolset), results.clone()));
        }
        let reader = Arc::new(ReadResult::new(results.clone()));
        self.toolsets.push((reader, ToolsetOptions { reads_results: true, ..ToolsetOptions::default() }));
        Some(results)
    }
}

/// The tools that something is declared for and that a toolset does not have.
fn missing(toolset: &str, declared: &[String], specs: &[ToolSpec]) -> Vec<BuildProblem> {
    let known: HashSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let missing = declared.iter().filter(|tool| !known.contains(tool.as_str()));
    missing
        .map(|tool| {
            let near: Vec<String> = text::nearest(tool, specs.iter().map(|spec| spec.name.as_str()))
                .into_iter()
                .map(|name| format!("`{}`", text::escaped(name, 80)))
                .collect();
            let hint = match near.is_empty() {
                true => String::new(),
                false => format!(": did you mean {}?", near.join(" or ")),
            };
            let reason = format!(
                "there is no tool `{}`, for which something is declared{hint}",
                text::escaped(tool, 80)
            );
            BuildProblem::Source { toolset: toolset.to_owned(), reason, left_out: false }
        })
        .collect()
}

/// A model that makes one call and is not asked again.
struct OneCall(ToolCall);

#[async_trait::async_trait]
impl Model for OneCall {
    fn name(&self) -> &str {
        "none"
    }

    async fn respond(
        &self,
        _: ModelRequest<'_>,
        _: Option<&dyn DeltaSink>,
    ) -> Result<ModelReply, ModelError> {
        Ok(ModelReply::calls(vec![self.0.clone()]))
    }
}

/// Who makes a call by hand allows it.
struct ByHand;

#[async_trait::async_trait]
impl Answerer for ByHand {
    async fn ask(&self, question: &Question) -> Option<Answer> {
        match question.kind {
            QuestionKind::Approval => Some(Answer::Approve),
            QuestionKind::Answer => None,
        }
    }
}
