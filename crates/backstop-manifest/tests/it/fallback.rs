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
        r#"fallback: [{use_tool: {tool: archive, arguments: {text: "{query}", limit: 3}}}, {retry: {max: 0}}]"#,
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
