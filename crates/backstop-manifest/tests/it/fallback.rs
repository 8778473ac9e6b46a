use std::time::Duration;

use backstop_core::{Action, Applied, Backoff, ErrorClass, Strategy, ToolErrorKind, When, policy::TextMatch};
use serde_json::json;

use crate::{good, problems, with};

const TOOLS: &str = r#"toolsets:
  s:
    prefix: p_
    fallback:
      - {stop: {message: toolset}}
    tools:
      c: {fallback: [{stop: {message: override}}]}
      d: {fallback: []}
    http:
      base_url: http://h
      endpoints:
        a: {path: /a}
        b: {path: /b, fallback: [{stop: {message: endpoint}}]}
        c: {path: /c, fallback: [{stop: {message: endpoint}}]}
        d: {path: /d}
  t: {http: {base_url: http://h, endpoints: {a: {path: /a}}}}
fallback:
  - {stop: {message: agent}}
"#;

#[test]
fn the_nearest_list_holds() {
    let manifest = good(&with(TOOLS));
    let message = |toolset: &str, tool: &str| match manifest.strategies_for(toolset, tool).as_slice() {
        [] => "none".to_owned(),
        [Strategy { action: Action::Stop { message }, .. }] => message.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(message("s", "a"), "toolset");
    assert_eq!(message("s", "b"), "endpoint");
    assert_eq!(message("s", "c"), "override");
    assert_eq!(message("s", "d"), "none");
    assert_eq!(message("t", "a"), "agent");
    assert_eq!(message("u", "x"), "agent");
}

#[test]
fn every_strategy_is_read() {
    let manifest = good(&with(
        r#"fallback:
  - when: {kind: [timeout, rate_limited], class: transient, status: 503, applied: no}
    retry: {max: 4, backoff: 1s, max_backoff: 1m, jitter: false}
  - when: {contains: Quota}
    retry: {}
  - retry:
  - {when: {equals: x, matches: 'a.c', case_sensitive: true}, continue: {}}
  - {when: {matches: 'QUOTA'}, use_value: {value: null, note: n}}
  - {when: {kind: conflict}, ask_human: {question: q}}
  - {when: {}, stop: {}}
"#,
    ));
    let fallback = manifest.fallback.unwrap();
    let text = |text: TextMatch| {
        let mut when = When::always();
        when.text = vec![text];
        when
    };
    let mut first = When::always();
    first.kinds = vec![ToolErrorKind::Timeout, ToolErrorKind::RateLimited];
    first.classes = vec![ErrorClass::Transient];
    first.statuses = vec![503];
    first.applied = vec![Applied::No];
    let retry = Action::Retry { max: 2, backoff: Backoff::default() };
    let mut both = text(TextMatch::Equals { text: "x".into(), case_sensitive: true });
    both.text.push(TextMatch::Matches(regex::Regex::new("a.c").unwrap()));
    let long = Backoff { base: Duration::from_secs(1), max: Duration::from_secs(60), jitter: false };
    assert_eq!(
        fallback.strategies,
        [
            Strategy { when: first, action: Action::Retry { max: 4, backoff: long } },
            Strategy {
                when: text(TextMatch::Contains { text: "Quota".into(), case_sensitive: false }),
                action: retry.clone()
            },
            Strategy { when: When::always(), action: retry },
            Strategy { when: both, action: Action::Continue { instructions: None } },
            Strategy {
                when: text(TextMatch::Matches(regex::Regex::new("QUOTA").unwrap())),
                action: Action::UseValue { value: json!(null), note: Some("n".into()) }
            },
            Strategy {
                when: When::kind(ToolErrorKind::Conflict),
                action: Action::AskHuman { question: "q".into() }
            },
            Strategy { when: When::always(), action: Action::Stop { message: None } },
        ]
    );
    let TextMatch::Matches(regex) = &fallback.strategies[4].when.text[0] else { panic!() };
    assert!(regex.is_match("the quota"));
}

#[test]
fn every_mistake_is_reported() {
    insta::assert_snapshot!(problems(&with(
        r#"fallback:
  - {when: {kind: time_out, class: transiant, applied: maybe, status: 99, tool: ''}, retry: {max: 21}}
  - {when: {kind: [], contains: '', matches: '(a', equals: 5}, stop: {}}
  - {when: {case_sensitive: true}}
  - {retry: {backoff: 10s, max_backoff: 5s, tries: 3}, stop: {mesage: x}}
  - {use_value: {}}
  - {use_tool: {arguments: [1]}}
  - {ask_human: {}}
  - {when: {matches: 'a{1000}{1000}'}, continue: text}
  - stop
  - {wenn: {}, stop: {}}
"#
    )));
}

#[test]
fn strategies_that_can_not_be_meant_are_found() {
    insta::assert_snapshot!(problems(&with(
        r#"toolsets:
  s:
    prefix: p_
    fallback:
      - {when: {class: transient, applied: no}, retry: {}}
      - {when: {class: transient}, retry: {}}
      - {when: {tool: p_pay2}, retry: {}}
      - {when: {tool: s_p_get}, retry: {}}
    http:
      base_url: http://h
      endpoints:
        get: {path: /a}
        pay:
          path: /a
          method: POST
          fallback:
            - {when: {kind: rate_limited}, retry: {}}
            - {when: {kind: timeout}, retry: {}}
            - {when: {kind: not_found}, retry: {}}
        pay2: {path: /a, method: POST}
        keyed: {path: /a, method: POST, idempotent_key: true}
        safe: {path: /a, method: POST, effect: idempotent}
    tools:
      get: {fallback: [{when: {kind: timeout, class: answer}, stop: {}}]}
fallback:
  - {when: {class: transient}, retry: {}}
  - {when: {class: transient}, continue: {}}
  - {when: {class: transient}, stop: {}}
  - {when: {tools: [nothing, get]}, stop: {}}
  - {stop: {}}
  - {when: {kind: conflict}, stop: {}}
"#
    )));
}

#[test]
fn another_tool_is_named_with_the_arguments_that_it_gets() {
    let text = with(
        r#"fallback: [{use_tool: {tool: archive, arguments: {text: "{query}", limit: 3}}}, {retry: {max: 0}}]
toolsets:
  s:
    http:
      base_url: http://h
      endpoints:
        find: {path: /a, parameters: {query: {type: string}}}
        archive: {path: /b, parameters: {text: {type: string}, limit: {type: integer}}}
"#,
    );
    let fallback = good(&text).fallback.unwrap();
    let serde_json::Value::Object(arguments) = json!({"text": "{query}", "limit": 3}) else { panic!() };
    let actions: Vec<Action> = fallback.strategies.into_iter().map(|strategy| strategy.action).collect();
    assert_eq!(
        actions,
        [
            Action::UseTool { tool: "archive".into(), arguments },
            Action::Retry { max: 0, backoff: Backoff::default() },
        ]
    );
}

/// A toolset `s` with these strategies, and tools of every effect.
fn of_toolset(strategies: &str) -> String {
    with(&format!(
        "limits: {{wall_clock: 1m, tool_timeout: 20s, retries: 8}}
toolsets:
  s:
    fallback:
{strategies}
    http:
      base_url: http://h
      endpoints:
        get: {{path: /a, check_with: list, find_with: list}}
        list: {{path: /b}}
        pay: {{path: /c, method: POST, effect: idempotent}}
"
    ))
}

#[test]
fn strategies_that_a_broader_one_shadows_are_found() {
    insta::assert_snapshot!(problems(&of_toolset(
        "      - {when: {class: answer}, continue: {}}
      - {when: {kind: [not_found, rejected]}, stop: {}}
      - {when: {kind: not_found, contains: x}, stop: {}}
      - {when: {contains: quota, status: [429, 503]}, stop: {}}
      - {when: {equals: 'Quota exceeded', status: 429}, continue: {}}
      - {when: {tools: [get, pay], applied: [no, unknown]}, stop: {}}
      - {when: {tool: pay, applied: unknown, kind: internal}, continue: {}}
      - {when: {kind: timeout}, retry: {max: 2}}
      - {when: {kind: timeout}, retry: {max: 1}}
"
    )));
}

#[test]
fn strategies_that_have_something_left_are_fine() {
    good(&of_toolset(
        "      - {when: {kind: not_found}, continue: {}}
      - {when: {class: answer}, stop: {}}
      - {when: {contains: quota}, stop: {}}
",
    ));
    good(&of_toolset(
        "      - {when: {contains: Quota, case_sensitive: true}, stop: {}}
      - {when: {contains: quota}, stop: {}}
      - {when: {equals: quot}, continue: {}}
      - {when: {matches: 'a+'}, stop: {}}
      - {when: {contains: aaa}, continue: {}}
      - {when: {kind: timeout}, retry: {max: 1}}
      - {when: {kind: timeout}, retry: {max: 2}}
      - {when: {kind: timeout}, stop: {}}
      - {when: {status: 200}, stop: {}}
",
    ));
}

#[test]
fn conditions_that_nothing_meets_are_found() {
    insta::assert_snapshot!(problems(&of_toolset(
        "      - {when: {kind: cancelled}, stop: {}}
      - {when: {class: stop}, continue: {}}
      - {when: {kind: unknown_tool}, stop: {}}
      - {when: {status: 204, kind: not_found}, stop: {}}
      - {when: {status: 204, class: transient}, stop: {}}
      - {when: {tool: gett}, stop: {}}
"
    )));
    // Names that no toolset has are of the agent.
    good(&with(
        "fallback: [{when: {kind: unknown_tool}, stop: {}}, {when: {kind: [cancelled, timeout]}, stop: {}}]\n",
    ));
}

#[test]
fn the_list_of_a_tool_is_for_no_other() {
    insta::assert_snapshot!(problems(&crate::endpoints(
        "{get: {path: /a, fallback: [{when: {tools: [get, put]}, stop: {}}]}, put: {path: /b}}"
    )));
}

#[test]
fn retries_that_there_is_no_room_for_are_found() {
    insta::assert_snapshot!(problems(&of_toolset(
        "      - {when: {kind: rate_limited}, retry: {max: 9}}
      - {when: {kind: timeout}, retry: {max: 3, backoff: 1s}}
      - {when: {kind: unavailable}, retry: {max: 5, backoff: 20s, jitter: false}}
      - {when: {class: transient, applied: no}, retry: {max: 5}}
"
    )));
}

#[test]
fn instructions_that_repeat_the_usual_step_are_found() {
    insta::assert_snapshot!(problems(&of_toolset(
        "      - when: {kind: timeout, tool: get}
        continue: {instructions: 'there is no result: use another tool or tell the user,  and do not make one up.'}
      - when: {kind: denied}
        continue: {instructions: 'Do not repeat the call: go on without it, or tell the user.'}
      - when: {class: policy}
        continue: {instructions: Do not repeat the call.}
"
    )));
}

#[test]
fn blank_words_are_no_words() {
    insta::assert_snapshot!(problems(&of_toolset(
        "      - {when: {kind: timeout}, continue: {instructions: ' '}}
      - {when: {kind: internal}, stop: {message: ''}}
"
    )));
}

#[test]
fn use_tool_is_not_held_to_what_holds_for_a_retry() {
    good(&of_toolset("      - {when: {kind: not_found}, retry: {max: 0}}\n"));
    good(&of_toolset("      - {when: {kind: not_found, tool: get}, use_tool: {tool: list}}\n"));
    insta::assert_snapshot!(problems(
        &of_toolset("      - {use_tool: {tool: list}}\n").replace("effect: idempotent", "effect: mutating")
    ));
}

/// A strategy is only called unreachable where every failure that it is for is one of an earlier one.
#[test]
fn what_is_called_shadowed_is_shadowed() {
    const WHENS: [&str; 22] = [
        "{}",
        "{class: transient}",
        "{class: [transient, answer]}",
        "{kind: timeout}",
        "{kind: [timeout, not_found]}",
        "{kind: [timeout, not_found], class: answer}",
        "{status: 503}",
        "{status: [503, 429]}",
        "{status: 429, kind: rate_limited}",
        "{applied: [no, yes, unknown]}",
        "{applied: no}",
        "{tool: get}",
        "{tools: [get, pay]}",
        "{contains: quota}",
        "{contains: Quota, case_sensitive: true}",
        "{contains: 'quota exceeded'}",
        "{equals: ' quota exceeded '}",
        "{equals: Quota exceeded, case_sensitive: true}",
        "{matches: 'quo?ta'}",
        "{matches: 'quo?ta', contains: x}",
        "{contains: quota, status: 429}",
        "{equals: quota exceeded, tool: pay, applied: unknown}",
    ];
    let mut errors = Vec::new();
    for (kind, applied) in ToolErrorKind::ALL.into_iter().flat_map(|k| Applied::ALL.map(|a| (k, a))) {
        for words in ["", "quota exceeded", "Quota exceeded", "the quota exceeded x", "QUTA"] {
            let error = backstop_core::ToolError::new(kind, words).say(words).with_applied(applied);
            errors.extend([error.clone(), error.clone().with_status(429), error.with_status(503)]);
        }
    }
    let mut shadowed = 0;
    for (first, second) in WHENS.iter().flat_map(|first| WHENS.map(|second| (first, second))) {
        let list =
            format!("      - {{when: {first}, continue: {{}}}}\n      - {{when: {second}, stop: {{}}}}\n");
        let (manifest, problems) = crate::load(&of_toolset(&list));
        if !problems.iter().any(|problem| problem.code == "unreachable-strategy") {
            continue;
        }
        shadowed += 1;
        let strategies = manifest.unwrap().toolsets[0].fallback.clone().unwrap().strategies;
        for (error, tool) in errors.iter().flat_map(|error| ["get", "list", "pay"].map(|tool| (error, tool)))
        {
            let failure = backstop_core::Failure { error, tool, own_name: tool, attempt: 1, keyed: false };
            let [broad, narrow] = [0, 1].map(|place| strategies[place].when.is_match(&failure));
            assert!(broad || !narrow, "{first} does not take {error:?} of {tool} from {second}");
        }
    }
    assert!(shadowed > 60, "{shadowed}");
}
