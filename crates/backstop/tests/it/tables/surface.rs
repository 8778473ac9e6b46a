//! One tool as a typed function, as an HTTP endpoint and as a tool of a plain toolset; and a run that calls it.

use std::{error::Error, sync::Arc, time::Duration};

use async_trait::async_trait;
use backstop::{
    Agent, Answer, Answerer, CallContext, Effect, Limits, Question, Redactor, ToolError, ToolOutput,
    ToolPolicy, ToolSpec, Toolset, ToolsetOptions,
    function::{FnTool, FnToolset},
    http::{Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place},
};
use backstop_test::{Reply, TestModel, TestToolset};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    kit::Lines,
    report::{Heard, Log, told},
    server::{Answer as HttpAnswer, Server, client},
};

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    Function,
    Http,
    Plain,
}

impl Surface {
    pub(crate) const ALL: [Self; 3] = [Self::Function, Self::Http, Self::Plain];

    /// These tools, and the service behind them where there is one.
    pub(crate) async fn toolset(self, tools: &[Tool], log: &Log) -> (Arc<dyn Toolset>, Option<Server>) {
        match self {
            Self::Function => (Arc::new(functions(tools, log)), None),
            Self::Http => {
                let server = serve(tools.to_vec(), log.clone()).await;
                (Arc::new(endpoints(tools, &server.url).unwrap()), Some(server))
            }
            Self::Plain => (Arc::new(plain(tools, log)), None),
        }
    }
}

/// An error of any type.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// What a tool does.
#[derive(Clone, Copy)]
pub(crate) enum Body {
    /// It gives back what it was given.
    Echo,
    /// Code of the tool, and what a service answers that does the same.
    Does(fn(&Value) -> Result<ToolOutput, Failure>, fn(&Value) -> HttpAnswer),
    /// It gives back what it was given, after this time.
    Late(Duration),
    /// It never ends.
    Hangs,
}

impl Body {
    async fn run(self, arguments: Value) -> Result<ToolOutput, Failure> {
        match self {
            Self::Echo => Ok(ToolOutput::Json(arguments)),
            Self::Does(code, _) => code(&arguments),
            Self::Late(time) => {
                tokio::time::sleep(time).await;
                Ok(ToolOutput::Json(arguments))
            }
            Self::Hangs => std::future::pending().await,
        }
    }

    fn answer(self, arguments: &Value) -> HttpAnswer {
        match self {
            Self::Echo => HttpAnswer::json("200 OK", arguments.to_string()),
            Self::Does(_, answer) => answer(arguments),
            Self::Late(time) => HttpAnswer::After(time, Box::new(Self::Echo.answer(arguments))),
            Self::Hangs => HttpAnswer::Silence,
        }
    }
}

/// A tool that only reads and echoes, until said otherwise.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    name: &'static str,
    effect: Effect,
    body: Body,
    typed: fn(Tool, Log) -> FnTool,
}

impl Tool {
    /// A tool that takes these arguments.
    pub(crate) fn new<A>(name: &'static str) -> Self
    where
        A: DeserializeOwned + JsonSchema + Serialize + Send + 'static,
    {
        Self { name, effect: Effect::ReadOnly, body: Body::Echo, typed: typed::<A> }
    }

    pub(crate) fn mutating(mut self) -> Self {
        self.effect = Effect::Mutating;
        self
    }

    pub(crate) fn body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// Its code, and what a service answers that does the same.
    pub(crate) fn does(
        self,
        code: fn(&Value) -> Result<ToolOutput, Failure>,
        answer: fn(&Value) -> HttpAnswer,
    ) -> Self {
        self.body(Body::Does(code, answer))
    }

    pub(super) fn function(self, log: &Log) -> FnTool {
        (self.typed)(self, log.clone())
    }

    /// The schema of the typed arguments is that of all surfaces.
    fn spec(self) -> ToolSpec {
        self.function(&Log::default()).spec().clone()
    }
}

fn typed<A>(tool: Tool, log: Log) -> FnTool
where
    A: DeserializeOwned + JsonSchema + Serialize + Send + 'static,
{
    let function = move |arguments: A, _: CallContext| {
        let log = log.clone();
        async move {
            let arguments = match serde_json::to_value(arguments)? {
                Value::Null => json!({}),
                arguments => arguments,
            };
            log.note(tool.name, &arguments);
            tool.body.run(arguments).await
        }
    };
    FnTool::new(tool.name, function).effect(tool.effect)
}

/// A run that calls tools, and is otherwise as usual.
pub(super) struct Case {
    tools: Vec<Tool>,
    script: Vec<Reply>,
    limits: Limits,
    policy: fn(&mut ToolPolicy),
    answer: Option<Answer>,
    secrets: &'static [&'static str],
    shows_journal: bool,
}

impl Case {
    /// The model makes these calls in one turn, then answers `done`.
    pub(super) fn new(tools: Vec<Tool>, calls: &[(&str, &str)]) -> Self {
        Self {
            tools,
            script: vec![Reply::calls(calls), Reply::text("done")],
            limits: Limits::default(),
            policy: |_| {},
            answer: None,
            secrets: &[],
            shows_journal: false,
        }
    }

    /// The model calls the tool with these arguments, then answers `done`.
    pub(super) fn one(tool: Tool, arguments: &str) -> Self {
        Self::new(vec![tool], &[(tool.name, arguments)])
    }

    pub(super) fn limits(mut self, change: fn(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    /// What the model does, in place of these calls and the answer.
    pub(super) fn script(mut self, script: Vec<Reply>) -> Self {
        self.script = script;
        self
    }

    /// What is declared for each tool.
    pub(super) fn policy(mut self, policy: fn(&mut ToolPolicy)) -> Self {
        self.policy = policy;
        self
    }

    /// What a person says to each question.
    pub(super) fn answered(mut self, answer: Answer) -> Self {
        self.answer = Some(answer);
        self
    }

    pub(super) fn secrets(mut self, secrets: &'static [&'static str]) -> Self {
        self.secrets = secrets;
        self
    }

    /// Ends with the names of the run's events.
    pub(super) fn with_journal(mut self) -> Self {
        self.shows_journal = true;
        self
    }

    pub(super) async fn run(self, surface: Surface) -> Lines {
        let (model, log, heard) = (TestModel::new(self.script), Log::default(), Arc::new(Heard::default()));
        let (toolset, _server) = surface.toolset(&self.tools, &log).await;
        let policy = self.policy;
        let options = ToolsetOptions::default().adjust(move |_, declared| policy(declared));
        let (agent, problems) = Agent::builder(model.clone())
            .limits(self.limits)
            .redactor(Redactor::new(self.secrets.iter().copied()))
            .toolset_with(toolset, options)
            .build()
            .await;
        assert!(problems.is_empty(), "{problems:?}");
        let person = Arc::new(Person(self.answer));
        let run = agent.start("go").observer(Arc::clone(&heard) as _).answerer(person);
        let report = run.drive().await.unwrap();
        let mut lines = told(&report, &model, &log);
        lines.extend(self.shows_journal.then(|| heard.journal()));
        lines
    }
}

pub(super) fn functions(tools: &[Tool], log: &Log) -> FnToolset {
    tools.iter().fold(FnToolset::new("table"), |toolset, tool| toolset.tool(tool.function(log)))
}

/// Each argument is a property of the body.
pub(super) fn endpoints(tools: &[Tool], url: &str) -> Result<HttpToolset, ToolError> {
    let mut config = HttpConfig::new("table", url.parse().unwrap(), client());
    config.endpoints = tools.iter().map(|tool| endpoint(*tool)).collect();
    HttpToolset::new(config)
}

fn endpoint(tool: Tool) -> Endpoint {
    let spec = tool.spec();
    let names: Vec<String> = spec.input_schema["properties"].as_object().unwrap().keys().cloned().collect();
    let endpoint = Endpoint::new(spec, Method::POST, format!("/{}", tool.name));
    names.into_iter().fold(endpoint, |endpoint, name| endpoint.parameter(Parameter::new(name, Place::Body)))
}

pub(super) fn plain(tools: &[Tool], log: &Log) -> TestToolset {
    tools.iter().fold(TestToolset::new("table"), |toolset, tool| {
        let (tool, log) = (*tool, log.clone());
        toolset.tool(tool.spec(), move |call, _| {
            let arguments = Value::Object(call.into_arguments());
            log.note(tool.name, &arguments);
            async move { tool.body.run(arguments).await.map_err(ToolError::from_any) }
        })
    })
}

async fn serve(tools: Vec<Tool>, log: Log) -> Server {
    Server::start(move |path, arguments| {
        let tool = tools.iter().find(|tool| path.trim_start_matches('/') == tool.name).unwrap();
        log.note(tool.name, arguments);
        tool.body.answer(arguments)
    })
    .await
}

/// Says the same to every question.
struct Person(Option<Answer>);

#[async_trait]
impl Answerer for Person {
    async fn ask(&self, _: &Question) -> Option<Answer> {
        self.0.clone()
    }
}
