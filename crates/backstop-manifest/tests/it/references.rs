use backstop_manifest::v1::ModelConfig;

use crate::{good, http, load, problems, with};

fn instructions(text: &str) -> String {
    good(&with(&format!("instructions: {text}"))).instructions.unwrap()
}

#[test]
fn variables_defaults_and_escapes() {
    assert_eq!(instructions("at ${HOST}"), "at shop.example.test");
    assert_eq!(instructions("at ${NO_HOST:-localhost:80/a, b}"), "at localhost:80/a, b");
    assert_eq!(instructions("'[${EMPTY:-default}] [${EMPTY}]'"), "[default] []");
    assert_eq!(instructions("'[${NO_HOST:-}]'"), "[]");
    assert_eq!(
        instructions("'$5 $ $$ $HOST {HOST} $${HOST} $$${HOST}'"),
        "$5 $ $$ $HOST {HOST} ${HOST} $${HOST}"
    );
    assert_eq!(instructions("${NESTED}"), "${TOKEN}");
}

#[test]
fn they_stand_in_every_form_of_text() {
    assert_eq!(instructions("\"\\u00e4 ${HOST}\\n\""), "ä shop.example.test\n");
    assert_eq!(
        instructions("|\n  a ${HOST}\n  b: ${HOST} # no comment\n"),
        "a shop.example.test\nb: shop.example.test # no comment\n"
    );
    assert_eq!(instructions(">\n  a\n  ${HOST}\n"), "a shop.example.test\n");
    assert_eq!(instructions("a\n  ${HOST}\n  b"), "a shop.example.test b");
    assert_eq!(instructions("$_x ${HOST} $x_ # ${HOST}"), "$_x shop.example.test $x_");
}

#[test]
fn they_need_no_quotes_in_flow_mappings() {
    let text = with(
        "toolsets: {s: {http: {base_url: https://${HOST}, auth: { bearer: ${secret:TOKEN} }, \
         headers: {A: ${NO_HOST:-x, y: z}, B: ${HOST}}, endpoints: {a: {path: '/${HOST}/{id}', parameters: {id: {}}}}}}}",
    );
    let manifest = good(&text);
    let http = http(&manifest);
    assert_eq!(http.headers[0].value.expose(), "x, y: z");
    assert_eq!(http.headers[1].value.expose(), "shop.example.test");
    assert_eq!(*http.endpoints[0].path, "/shop.example.test/{id}");
}

#[test]
fn an_expanded_plain_value_is_read_like_a_written_one() {
    let manifest = good(&with("limits: {turns: ${NO_TURNS:-7}, wall_clock: ${NO_CLOCK:-90s}}"));
    assert_eq!(manifest.limits.turns, 7);
    assert_eq!(manifest.limits.wall_clock.as_secs(), 90);
    insta::assert_snapshot!(problems(&with(
        "limits: {turns: \"${NO_TURNS:-7}\", tool_calls: ${HOST}, wall_clock: ${HOST}}"
    )));
}

#[test]
fn keys_are_not_expanded() {
    insta::assert_snapshot!(problems(&with("${HOST}: 1")));
}

#[test]
fn every_bad_reference_is_located() {
    let text = with(
        "description: 'ää ${NO_A} and ${NO_B}, ${HOST} ${NO_A}'\ninstructions: |\n  line ${1x}\n  next ${NO_C} ${HOST\n",
    );
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn a_key_may_be_unset_where_it_says_so() {
    let key = |text: &str| {
        let text = format!("version: 1\nname: a\nmodel: {{name: m, api_key: {text}}}\n");
        match good(&text).model {
            ModelConfig::OpenAi(model) => model.api_key.map(|key| key.expose().to_owned()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(key("${secret:NO_KEY:-}"), None);
    assert_eq!(key("${secret:KEY:-}").as_deref(), Some("key-SECRET-2"));
    assert_eq!(key("${secret:DB_PASSWORD}").as_deref(), Some("file-SECRET-3"));
    assert_eq!(key("${secret:file:keys/shop.txt}").as_deref(), Some("file-SECRET-4"));
    assert_eq!(key("null"), None);
    let (manifest, _) = load("version: 1\nname: a\nmodel: {name: m, api_key: ${secret:NO_KEY}}\n");
    assert!(manifest.is_none());
}
