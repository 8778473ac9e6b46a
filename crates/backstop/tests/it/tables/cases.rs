//! Real failures of agents and tools, C01 to C40, as far as they are about calls: each on every surface.

use std::time::Duration;

use backstop::{Action, Strategy, ToolError, ToolErrorKind, ToolPolicy, When, schema::ArgumentRules};
use backstop_test::Reply;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    kit::{Row, check},
    server::Answer,
    surface::{Body, Case, Failure, Surface, Tool},
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Grep {
    pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
}

/// Nothing of it is required.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Weather {
    lat: Option<f64>,
    lon: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Path {
    path: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Line,
    Char,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Edit {
    new_text: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edits {
    path: String,
    old_string: String,
    unit: Option<Unit>,
    #[serde(default)]
    edits: Vec<Edit>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Task {
    title: String,
    rank: i64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tasks {
    tasks: Vec<Task>,
    note: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Query {
    q: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Filter {
    filter: String,
    page: Option<i64>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Numbered {
    n: i64,
}

/// The run ends where the arguments are no JSON, and nowhere else.
fn stop_on_malformed(policy: &mut ToolPolicy) {
    stop_on(policy, ToolErrorKind::MalformedArguments);
}

fn stop_on(policy: &mut ToolPolicy, kind: ToolErrorKind) {
    let message = Some(format!("stopped on {kind}"));
    policy.strategies = vec![Strategy { when: When::kind(kind), action: Action::Stop { message } }];
}

fn coerces(policy: &mut ToolPolicy) {
    policy.arguments = ArgumentRules::default().coerce();
}

fn grep(arguments: &str) -> Case {
    Case::one(Tool::new::<Grep>("grep"), arguments)
}

pub(super) fn rows() -> Vec<Row> {
    [no_json(), no_fit(), unknown(), raised(), again(), siblings()].into_iter().flatten().collect()
}

fn no_json() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "C01",
            "bad escapes are told with place and echo, and nothing runs",
            || grep(r#"{"pattern":"\d+\.rs","root":"C:\proj"}"#),
            &[
                "grep malformed_arguments",
                r#"The arguments of tool "grep" are not valid JSON: invalid escape at column 14; got {"pattern":"\\d+\\.rs","root":"C:\\proj"}"#,
                "Send all arguments again as one JSON object.",
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "C01",
            "a backslash and an n outside of strings look different from a line break",
            || grep("{\"pattern\": \"/w/q.py\", \"root\": \\n\"x\"\n}"),
            &[
                "grep malformed_arguments",
                r#"The arguments of tool "grep" are not valid JSON: expected value at column 32; got {"pattern": "/w/q.py", "root": \\n"x"\n}"#,
                "Send all arguments again as one JSON object.",
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "C01",
            "a cut object never runs as an empty one where all is optional",
            || Case::one(Tool::new::<Weather>("weather"), "{lat: 48.2, lon:"),
            &[
                "weather malformed_arguments",
                r#"The arguments of tool "weather" are not valid JSON: key must be a string at column 2; got {lat: 48.2, lon:"#,
                "Send all arguments again as one JSON object.",
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "C01",
            "legal escapes are what they say",
            || grep(r#"{"pattern":"C:\new\report.txt"}"#),
            &["grep ok", r#"{"pattern":"C:\new\report.txt"}"#, r#"ran grep {"pattern":"C:\new\report.txt"}"#],
        ),
        Row::on_surfaces(
            "C01",
            "a strategy for arguments that are no JSON is met",
            || grep("{").policy(stop_on_malformed),
            &[
                "grep malformed_arguments",
                r#"The arguments of tool "grep" are not valid JSON: EOF while parsing an object at column 1; got {"#,
                "Send all arguments again as one JSON object.",
                "ran nothing",
                "stopped: stopped on malformed_arguments",
            ],
        ),
        Row::on_surfaces(
            "C01",
            "a strategy for arguments that are no JSON is not met by arguments that do not fit",
            || grep("{}").policy(stop_on_malformed),
            &[
                "grep invalid_arguments",
                r#"Parameter "pattern" is mandatory for tool "grep"."#,
                r#"Call grep again with "pattern" added."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "C03",
            "nothing is the empty object, for a tool without parameters",
            || {
                let calls = [("list", ""), ("list", " \n"), ("list", "null"), ("list", "{}")];
                Case::new(vec![Tool::new::<()>("list")], &calls)
            },
            &[
                "list ok",
                "{}",
                "list ok",
                "{}",
                "list ok",
                "{}",
                "list ok",
                "{}",
                "ran list {}",
                "ran list {}",
                "ran list {}",
                "ran list {}",
            ],
        ),
        Row::on_surfaces(
            "C03",
            "nothing misses what is required, and is not malformed",
            || Case::new(vec![Tool::new::<Path>("open")], &[("open", ""), ("open", "null")]),
            &[
                "open invalid_arguments",
                r#"Parameter "path" is mandatory for tool "open"."#,
                r#"Call open again with "path" added."#,
                "open invalid_arguments",
                r#"Parameter "path" is mandatory for tool "open"."#,
                r#"Call open again with "path" added."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "C18",
            "half a surrogate pair is no text, a whole one is",
            || {
                Case::new(
                    vec![Tool::new::<Query>("ask")],
                    &[("ask", r#"{"q":"\ud83d"}"#), ("ask", r#"{"q":"\ud83d\ude00"}"#)],
                )
            },
            &[
                "ask malformed_arguments",
                r#"The arguments of tool "ask" are not valid JSON: unexpected end of hex escape at column 13; got {"q":"\\ud83d"}"#,
                "Send all arguments again as one JSON object.",
                "ask ok",
                r#"{"q":"😀"}"#,
                r#"ran ask {"q":"😀"}"#,
            ],
        ),
    ]
}

fn no_fit() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "C04",
            "numbers as strings are told all at once",
            || Case::one(Tool::new::<Sum>("sum"), r#"{"a":"3","b":"1","id":"12345678901234567890"}"#),
            &[
                "sum invalid_arguments",
                r#"Invalid value for parameter "a" of tool "sum": must be an integer; got "3" (a string)"#,
                r#"Invalid value for parameter "b" of tool "sum": must be an integer; got "1" (a string)"#,
                r#"Call it again with: sum {"a":3,"b":1,"id":"12345678901234567890"}"#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "C04",
            "where coercion is declared the numbers are taken, the string stays one, and the model is told",
            || {
                Case::one(Tool::new::<Sum>("sum"), r#"{"a":"3","b":"1","id":"12345678901234567890"}"#)
                    .policy(coerces)
            },
            &[
                "sum ok",
                r#"The call was made as: sum {"a":3,"b":1,"id":"12345678901234567890"} (changed: a, b)"#,
                r#"{"a":3,"b":1,"id":"12345678901234567890"}"#,
                r#"ran sum {"a":3,"b":1,"id":"12345678901234567890"}"#,
            ],
        ),
        Row::on_surfaces(
            "C04",
            "what is no whole number is none with coercion either",
            || {
                let calls = [
                    ("sum", r#"{"a":"3.0","b":1}"#),
                    ("sum", r#"{"a":"0x3","b":1}"#),
                    ("sum", r#"{"a":"three","b":1}"#),
                    ("sum", r#"{"a":1e400,"b":1}"#),
                ];
                Case::new(vec![Tool::new::<Sum>("sum")], &calls).policy(coerces)
            },
            &[
                "sum invalid_arguments",
                r#"Invalid value for parameter "a" of tool "sum": must be an integer; got "3.0" (a string)"#,
                r#"Call sum again with "a" corrected."#,
                "sum invalid_arguments",
                r#"Invalid value for parameter "a" of tool "sum": must be an integer; got "0x3" (a string)"#,
                r#"Call sum again with "a" corrected."#,
                "sum invalid_arguments",
                r#"Invalid value for parameter "a" of tool "sum": must be an integer; got "three" (a string)"#,
                r#"Call sum again with "a" corrected."#,
                "sum malformed_arguments",
                r#"The arguments of tool "sum" are not valid JSON: number out of range at column 10; got {"a":1e400,"b":1}"#,
                "Send all arguments again as one JSON object.",
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "C04",
            "a whole number above 2^53 arrives as it is",
            || Case::one(Tool::new::<Sum>("sum"), r#"{"a":9007199254740993,"b":1}"#),
            &["sum ok", r#"{"a":9007199254740993,"b":1}"#, r#"ran sum {"a":9007199254740993,"b":1}"#],
        ),
        Row::on_surfaces(
            "C05",
            "all four problems are told in one go, with what was meant",
            || {
                Case::one(
                    Tool::new::<Edits>("edit").mutating(),
                    r#"{"path":"a.rs","old-string":"x","unit":"lines","edits":[{"newText":"y"}]}"#,
                )
            },
            &[
                "edit invalid_arguments",
                r#"Parameter "old_string" is mandatory for tool "edit"."#,
                r#"Invalid value for parameter "unit" of tool "edit": must be one of "line", "char", null; got "lines". Did you mean "line"?"#,
                r#"Parameter "edits[0].new_text" is mandatory for tool "edit"."#,
                r#"Parameter "old-string" does not exist for tool "edit", please use one of these: path, old_string, unit, edits. Did you mean "old_string"?"#,
                r#"Call edit again with "old-string" renamed to "old_string", "unit" corrected and "edits[0].new_text" added."#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "C06",
            "an array in a string is told, and spelled out without the quotes",
            || {
                Case::one(
                    Tool::new::<Tasks>("plan"),
                    r#"{"tasks":"[{\"title\":\"A\",\"rank\":3}]","note":"[1,2]"}"#,
                )
            },
            &[
                "plan invalid_arguments",
                r#"Invalid value for parameter "tasks" of tool "plan": must be an array; got "[{\"title\":\"A\",\"rank\":3}]" (a string)"#,
                r#"Call it again with: plan {"tasks":[{"title":"A","rank":3}],"note":"[1,2]"}"#,
                "ran nothing",
            ],
        ),
        Row::on_surfaces(
            "C06",
            "where coercion is declared it is the array, and the string stays one",
            || {
                Case::one(
                    Tool::new::<Tasks>("plan"),
                    r#"{"tasks":"[{\"title\":\"A\",\"rank\":3}]","note":"[1,2]"}"#,
                )
                .policy(coerces)
            },
            &[
                "plan ok",
                r#"The call was made as: plan {"tasks":[{"title":"A","rank":3}],"note":"[1,2]"} (changed: tasks)"#,
                r#"{"tasks":[{"title":"A","rank":3}],"note":"[1,2]"}"#,
                r#"ran plan {"tasks":[{"title":"A","rank":3}],"note":"[1,2]"}"#,
            ],
        ),
        Row::on_surfaces(
            "C06",
            "a string that is not such an array stays a problem with coercion too",
            || Case::one(Tool::new::<Tasks>("plan"), r#"{"tasks":"[{\"title\":\"A\"}]"}"#).policy(coerces),
            &[
                "plan invalid_arguments",
                r#"Invalid value for parameter "tasks" of tool "plan": must be an array; got "[{\"title\":\"A\"}]" (a string)"#,
                r#"Call plan again with "tasks" corrected."#,
                "ran nothing",
            ],
        ),
    ]
}

fn unknown() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "C07",
            "an invented name is told with those there are, and its sibling runs",
            || {
                let tools = vec![Tool::new::<Query>("search_docs"), Tool::new::<Path>("read_page")];
                Case::new(
                    tools,
                    &[("get_US_A PresidentService", "{}"), ("search_docs", r#"{"q":"x"}"#), ("", "{}")],
                )
            },
            &[
                "get_US_A PresidentService unknown_tool",
                r#"Tool "get_US_A PresidentService" was not found, please use one of these: search_docs, read_page."#,
                "Call one of these tools instead, or answer without a tool.",
                "search_docs ok",
                r#"{"q":"x"}"#,
                " unknown_tool",
                r#"Tool "" was not found, please use one of these: search_docs, read_page."#,
                "Call one of these tools instead, or answer without a tool.",
                r#"ran search_docs {"q":"x"}"#,
            ],
        ),
        Row::on_surfaces(
            "C07",
            "invented names in a row have a limit of their own",
            || {
                let turns = ["one", "two", "three", "four"].map(|name| Reply::calls(&[(name, "{}")]));
                Case::new(vec![Tool::new::<Query>("ask")], &[])
                    .script(turns.to_vec())
                    .limits(|limits| limits.failures_of.model = Some(3))
            },
            &[
                "one unknown_tool",
                r#"Tool "one" was not found, please use one of these: ask."#,
                "Call one of these tools instead, or answer without a tool.",
                "two unknown_tool",
                r#"Tool "two" was not found, please use one of these: ask."#,
                "Call one of these tools instead, or answer without a tool.",
                "three unknown_tool",
                r#"Tool "three" was not found, please use one of these: ask."#,
                "Call one of these tools instead, or answer without a tool.",
                "ran nothing",
                "limit_reached: model_failures after 3 turns",
            ],
        ),
    ]
}

/// Fails with an error of no known type, and with what a service that does the same says.
fn boom() -> Tool {
    Tool::new::<()>("explode")
        .does(|_| Err("boom".into()), |_| Answer::json("422 Unprocessable Entity", r#"{"error":"boom"}"#))
}

fn raised() -> Vec<Row> {
    const WORDS_OF_A_SERVICE: &str = "a service that answers says something to its caller";
    vec![
        Row::on_surfaces(
            "C08",
            "an error of no known type is answered, and its text is for operators",
            || Case::one(boom(), "{}"),
            &[
                "explode internal",
                r#"An error occurred while executing tool "explode". (error reference: REF)"#,
                "ran explode {}",
            ],
        )
        .differs("only words that are meant for the model reach it")
        .except(
            Surface::Http,
            WORDS_OF_A_SERVICE,
            &[
                "explode rejected",
                "POST /explode answered 422 Unprocessable Entity: boom",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran explode {}",
            ],
        ),
        Row::on_surfaces(
            "C08",
            "words for the model are told",
            || {
                let tool = Tool::new::<()>("explode").does(
                    |_| Err(Failure::from(ToolError::rejected("x").with_status(422).say("boom"))),
                    |_| Answer::json("422 Unprocessable Entity", r#"{"error":"boom"}"#),
                );
                Case::one(tool, "{}")
            },
            &[
                "explode rejected",
                "boom (status 422)",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran explode {}",
            ],
        )
        .except(
            Surface::Http,
            "who answered is said in front of the words",
            &[
                "explode rejected",
                "POST /explode answered 422 Unprocessable Entity: boom",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran explode {}",
            ],
        ),
        Row::on_surfaces(
            "C08",
            "an error without a text is told all the same",
            || {
                let tool = Tool::new::<()>("explode")
                    .does(|_| Err("".into()), |_| Answer::json("500 Internal Server Error", ""));
                Case::one(tool, "{}").limits(|limits| limits.call_retries = 0)
            },
            &[
                "explode internal",
                r#"An error occurred while executing tool "explode". (error reference: REF)"#,
                "ran explode {}",
            ],
        )
        .except(
            Surface::Http,
            "a failing service is told apart from a failing tool",
            &[
                "explode upstream_failure",
                "POST /explode answered 500 Internal Server Error",
                "There is no result: use another tool or tell the user, and do not make one up.",
                "ran explode {}",
            ],
        ),
        Row::on_surfaces(
            "C08",
            "a panic is answered, and its sibling runs",
            || {
                let panics = Tool::new::<()>("explode").does(|_| panic!("boom"), |_| Answer::Cut).mutating();
                Case::new(
                    vec![panics, Tool::new::<Query>("ask")],
                    &[("explode", "{}"), ("ask", r#"{"q":"x"}"#)],
                )
            },
            &[
                "explode internal",
                r#"An error occurred while executing tool "explode". (error reference: REF)"#,
                "The call may have taken effect: verify before repeating it, or tell the user.",
                "ask ok",
                r#"{"q":"x"}"#,
                r#"ran ask {"q":"x"}"#,
                "ran explode {}",
            ],
        )
        .except(
            Surface::Http,
            "of a service that dies only the broken connection is seen",
            &[
                "explode unavailable",
                r#"Tool "explode" is unavailable."#,
                "The call may have taken effect: verify before repeating it, or tell the user.",
                "ask ok",
                r#"{"q":"x"}"#,
                r#"ran ask {"q":"x"}"#,
                "ran explode {}",
            ],
        ),
        Row::on_surfaces(
            "C08",
            "two retries are three attempts, then the last error",
            || {
                let tool = Tool::new::<()>("flaky").does(
                    |_| Err(Failure::from(ToolError::upstream_failure("x").with_status(500))),
                    |_| Answer::json("500 Internal Server Error", ""),
                );
                Case::one(tool, "{}").policy(|policy| {
                    let backoff = backstop::Backoff {
                        base: Duration::from_millis(1),
                        max: Duration::from_millis(1),
                        jitter: false,
                    };
                    policy.strategies =
                        vec![Strategy { when: When::always(), action: Action::Retry { max: 2, backoff } }];
                })
            },
            &[
                "flaky upstream_failure",
                r#"The service behind tool "flaky" failed. (status 500)"#,
                "There is no result: use another tool or tell the user, and do not make one up.",
                "ran flaky {}",
                "ran flaky {}",
                "ran flaky {}",
            ],
        )
        .except(
            Surface::Http,
            "who answered is said in front of the words",
            &[
                "flaky upstream_failure",
                "POST /flaky answered 500 Internal Server Error",
                "There is no result: use another tool or tell the user, and do not make one up.",
                "ran flaky {}",
                "ran flaky {}",
                "ran flaky {}",
            ],
        ),
    ]
}

fn again() -> Vec<Row> {
    vec![Row::on_surfaces(
        "C27",
        "the same call with the same result is refused at the limit, whatever the order of its keys, and ends the run",
        || {
            let one = Reply::calls(&[("list", r#"{"filter":"x","page":1}"#)]);
            let other = Reply::calls(&[("list", r#"{"page":1,"filter":"x"}"#)]);
            let tool = Tool::new::<Filter>("list")
                .does(|_| Ok(Value::Array(Vec::new()).into()), |_| Answer::json("200 OK", "[]"));
            Case::new(vec![tool], &[])
                .script(vec![one.clone(), other.clone(), one.clone(), other, one])
                .limits(|limits| limits.same_results = 2)
        },
        &[
            "list ok",
            "[]",
            "list ok",
            "[]",
            "list limit_reached",
            r#"The call of tool "list" was not made: the same call with the same arguments gave the same result 2 times."#,
            "Use other arguments or another tool, or answer with what you have.",
            "list limit_reached",
            r#"The call of tool "list" was not made: the same call with the same arguments gave the same result 2 times."#,
            "Use other arguments or another tool, or answer with what you have.",
            r#"ran list {"filter":"x","page":1}"#,
            r#"ran list {"filter":"x","page":1}"#,
            "limit_reached: repeats after 4 turns",
        ],
    )
    .except(
        Surface::Plain,
        "a raw toolset is given the arguments in the order of the model",
        &[
            "list ok",
            "[]",
            "list ok",
            "[]",
            "list limit_reached",
            r#"The call of tool "list" was not made: the same call with the same arguments gave the same result 2 times."#,
            "Use other arguments or another tool, or answer with what you have.",
            "list limit_reached",
            r#"The call of tool "list" was not made: the same call with the same arguments gave the same result 2 times."#,
            "Use other arguments or another tool, or answer with what you have.",
            r#"ran list {"filter":"x","page":1}"#,
            r#"ran list {"page":1,"filter":"x"}"#,
            "limit_reached: repeats after 4 turns",
        ],
    )]
}

fn siblings() -> Vec<Row> {
    vec![
        Row::on_surfaces(
            "C40",
            "one fails and one stalls: each call has its own result, in the order of the calls",
            || {
                let stalls = Tool::new::<()>("stalls").body(Body::Hangs);
                let calls = [
                    ("ok_fast", r#"{"n":1}"#),
                    ("explode", "{}"),
                    ("ok_fast", r#"{"n":2}"#),
                    ("stalls", "{}"),
                    ("ok_fast", r#"{"n":3}"#),
                ];
                Case::new(vec![Tool::new::<Numbered>("ok_fast"), boom(), stalls], &calls).limits(|limits| {
                    limits.tool_timeout = Duration::from_millis(300);
                    limits.call_retries = 0;
                })
            },
            &[
                "ok_fast ok",
                r#"{"n":1}"#,
                "explode internal",
                r#"An error occurred while executing tool "explode". (error reference: REF)"#,
                "ok_fast ok",
                r#"{"n":2}"#,
                "stalls timeout",
                r#"Tool call "stalls" timed out after 300 milliseconds."#,
                "There is no result: use another tool or tell the user, and do not make one up.",
                "ok_fast ok",
                r#"{"n":3}"#,
                "ran explode {}",
                r#"ran ok_fast {"n":1}"#,
                r#"ran ok_fast {"n":2}"#,
                r#"ran ok_fast {"n":3}"#,
                "ran stalls {}",
            ],
        )
        .except(
            Surface::Http,
            "a service that answers says something to its caller",
            &[
                "ok_fast ok",
                r#"{"n":1}"#,
                "explode rejected",
                "POST /explode answered 422 Unprocessable Entity: boom",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ok_fast ok",
                r#"{"n":2}"#,
                "stalls timeout",
                r#"Tool call "stalls" timed out after 300 milliseconds."#,
                "There is no result: use another tool or tell the user, and do not make one up.",
                "ok_fast ok",
                r#"{"n":3}"#,
                "ran explode {}",
                r#"ran ok_fast {"n":1}"#,
                r#"ran ok_fast {"n":2}"#,
                r#"ran ok_fast {"n":3}"#,
                "ran stalls {}",
            ],
        ),
        Row::on_surfaces(
            "C40",
            "where one ends the run its siblings are closed, each with a result",
            || {
                let stalls = Tool::new::<()>("stalls").body(Body::Hangs);
                Case::new(vec![boom(), stalls], &[("stalls", "{}"), ("explode", "{}")]).policy(|policy| {
                    let mut when = When::kind(ToolErrorKind::Internal);
                    when.kinds.push(ToolErrorKind::Rejected);
                    let action = Action::Stop { message: Some("It is broken.".into()) };
                    policy.strategies = vec![Strategy { when, action }];
                })
            },
            &[
                "stalls cancelled",
                r#"The call of tool "stalls" was interrupted while it was running: the run has ended."#,
                "There is no result: do not make one up.",
                "explode internal",
                r#"An error occurred while executing tool "explode". (error reference: REF)"#,
                "ran explode {}",
                "ran stalls {}",
                "stopped: It is broken.",
            ],
        )
        .except(
            Surface::Http,
            "a service that answers says something to its caller",
            &[
                "stalls cancelled",
                r#"The call of tool "stalls" was interrupted while it was running: the run has ended."#,
                "There is no result: do not make one up.",
                "explode rejected",
                "POST /explode answered 422 Unprocessable Entity: boom",
                "Change the call accordingly, or tell the user: the same call fails again.",
                "ran explode {}",
                "ran stalls {}",
                "stopped: It is broken.",
            ],
        ),
    ]
}

#[tokio::test]
async fn real_failures_come_out_right() {
    check(rows()).await;
}
