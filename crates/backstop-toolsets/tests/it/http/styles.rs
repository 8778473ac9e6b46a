//! Arrays and objects in paths, queries, headers and cookies: every cell of OpenAPI's table of styles.

use backstop_core::{ToolErrorKind, ToolSpec};
use backstop_test::server::{Reply, Server};
use backstop_toolsets::http::{Auth, Endpoint, HttpConfig, HttpToolset, Method, Parameter, Place, Style};
use serde_json::{Value, json};

use super::{client, dead};
use crate::support::call;

fn any() -> ToolSpec {
    ToolSpec::new("t", json!({"type": "object"}))
}

/// An endpoint with one parameter `color` in this form.
fn endpoint(place: Place, style: Style, explode: bool) -> Endpoint {
    let path = if place == Place::Path { "/x{color}" } else { "/x" };
    Endpoint::new(any(), Method::GET, path).parameter(Parameter::new("color", place).style(style, explode))
}

/// What is sent of the parameter, as it is on the wire.
async fn sent(endpoint: Endpoint, value: &Value) -> String {
    let place = endpoint.parameters[0].place;
    let server = Server::start([Reply::json("200 OK", "{}")]);
    let mut config = HttpConfig::new("s", server.url.parse().unwrap(), client());
    config.endpoints = vec![endpoint];
    if let Err(error) = call(&HttpToolset::new(config).unwrap(), "t", json!({"color": value})).await {
        return format!("refused at {}", error.pointer().unwrap_or("nothing"));
    }
    let seen = server.only();
    match place {
        Place::Path => seen.target().strip_prefix("/x").unwrap().to_owned(),
        Place::Query => seen.target().strip_prefix("/x").unwrap().to_owned(),
        Place::Header => seen.header("color").unwrap_or("nothing").to_owned(),
        _ => seen.header("cookie").unwrap_or("nothing").to_owned(),
    }
}

#[tokio::test]
async fn every_style_of_the_table() {
    use Place::{Cookie, Header, Path, Query};
    use Style::{DeepObject, Form, Json, Label, Matrix, PipeDelimited, Simple, SpaceDelimited};
    let one = json!("blue");
    let list = json!(["blue", "black", null, "br,own"]);
    let object = json!({"R": 100, "G": 200, "none": null});
    let refused = "refused at /color";
    // Style, explode, place; one value, a list, an object.
    let table = [
        (Matrix, false, Path, [";color=blue", ";color=blue,black,br%2Cown", ";color=R,100,G,200"]),
        (Matrix, true, Path, [";color=blue", ";color=blue;color=black;color=br%2Cown", ";R=100;G=200"]),
        (Label, false, Path, [".blue", ".blue,black,br%2Cown", ".R,100,G,200"]),
        (Label, true, Path, [".blue", ".blue.black.br%2Cown", ".R=100.G=200"]),
        (Simple, false, Path, ["blue", "blue,black,br%2Cown", "R,100,G,200"]),
        (Simple, true, Path, ["blue", "blue,black,br%2Cown", "R=100,G=200"]),
        (Simple, false, Header, ["blue", "blue,black,br,own", "R,100,G,200"]),
        (Simple, true, Header, ["blue", "blue,black,br,own", "R=100,G=200"]),
        (Form, false, Query, ["?color=blue", "?color=blue,black,br%2Cown", "?color=R,100,G,200"]),
        (Form, true, Query, ["?color=blue", "?color=blue&color=black&color=br%2Cown", "?R=100&G=200"]),
        (Form, false, Cookie, ["color=blue", "color=blue,black,br%2Cown", "color=R,100,G,200"]),
        (Form, true, Cookie, ["color=blue", "color=blue; color=black; color=br%2Cown", "R=100; G=200"]),
        (
            SpaceDelimited,
            false,
            Query,
            ["?color=blue", "?color=blue%20black%20br%2Cown", "?color=R%20100%20G%20200"],
        ),
        (
            PipeDelimited,
            false,
            Query,
            ["?color=blue", "?color=blue%7Cblack%7Cbr%2Cown", "?color=R%7C100%7CG%7C200"],
        ),
        (
            DeepObject,
            true,
            Query,
            ["?color=blue", "?color=blue&color=black&color=br%2Cown", "?color%5BR%5D=100&color%5BG%5D=200"],
        ),
        (
            Json,
            false,
            Query,
            [
                "?color=%22blue%22",
                "?color=%5B%22blue%22%2C%22black%22%2Cnull%2C%22br%2Cown%22%5D",
                "?color=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22none%22%3Anull%7D",
            ],
        ),
        (
            Json,
            false,
            Header,
            ["\"blue\"", "[\"blue\",\"black\",null,\"br,own\"]", "{\"R\":100,\"G\":200,\"none\":null}"],
        ),
        (
            Json,
            false,
            Path,
            [
                "%22blue%22",
                "%5B%22blue%22%2C%22black%22%2Cnull%2C%22br%2Cown%22%5D",
                "%7B%22R%22%3A100%2C%22G%22%3A200%2C%22none%22%3Anull%7D",
            ],
        ),
    ];
    let mut wrong = Vec::new();
    for (style, explode, place, expected) in table {
        for (value, expected) in [&one, &list, &object].into_iter().zip(expected) {
            let got = sent(endpoint(place, style, explode), value).await;
            if got != expected {
                wrong.push(format!("{style:?} {explode} {place:?} {value}\n  {expected}\n  {got}"));
            }
        }
    }
    // Nothing is sent for nothing, but in a path, where nothing can stand.
    for nothing in [json!(null), json!([]), json!({}), json!([null])] {
        for (style, place, expected) in [
            (Form, Query, ""),
            (DeepObject, Query, ""),
            (Simple, Header, "nothing"),
            (Form, Cookie, "nothing"),
            (SpaceDelimited, Query, ""),
            (PipeDelimited, Query, ""),
            (Simple, Path, refused),
            (Label, Path, refused),
            (Matrix, Path, refused),
        ] {
            let got = sent(endpoint(place, style, true), &nothing).await;
            if got != expected {
                wrong.push(format!("{style:?} {place:?} {nothing}\n  {expected}\n  {got}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_empty_text_is_sent_but_for_paths() {
    use Style::{DeepObject, Form, Json, Label, Matrix, PipeDelimited, Simple, SpaceDelimited};
    let refused = "refused at /color";
    for (style, place, expected) in [
        (Matrix, Place::Path, refused),
        (Label, Place::Path, refused),
        (Simple, Place::Path, refused),
        (Form, Place::Query, "?color="),
        (SpaceDelimited, Place::Query, "?color="),
        (PipeDelimited, Place::Query, "?color="),
        (DeepObject, Place::Query, "?color="),
        (Form, Place::Cookie, "color="),
        (Json, Place::Path, "%22%22"),
    ] {
        assert_eq!(sent(endpoint(place, style, false), &json!("")).await, expected, "{style:?} {place:?}");
    }
    // Absent in each of them, JSON included.
    assert_eq!(sent(endpoint(Place::Path, Json, false), &json!(null)).await, refused);
    assert_eq!(sent(endpoint(Place::Query, Json, false), &json!(null)).await, "");
    assert_eq!(sent(endpoint(Place::Header, Json, false), &json!(null)).await, "nothing");
}

/// C37, with the arguments of the case.
#[tokio::test]
async fn the_parameters_of_one_query_each_have_their_style() {
    let endpoint = ["plain", "flag", "opt", "empty"].iter().fold(
        Endpoint::new(any(), Method::GET, "/x")
            .parameter(Parameter::new("tags", Place::Query).style(Style::Form, false))
            .parameter(Parameter::new("ids", Place::Query).style(Style::PipeDelimited, false))
            .parameter(Parameter::new("filter", Place::Query).style(Style::DeepObject, true)),
        |endpoint, name| endpoint.parameter(Parameter::new(*name, Place::Query)),
    );
    let server = Server::start([Reply::json("200 OK", "{}")]);
    let mut config = HttpConfig::new("s", server.url.parse().unwrap(), client());
    config.endpoints = vec![endpoint];
    let arguments = json!({
        "tags": ["red", "bl,ue"], "ids": [1, 2], "filter": {"eq": "x y", "n": {"gt": 1}},
        "plain": ["a", "b"], "flag": true, "opt": null, "empty": []
    });
    call(&HttpToolset::new(config).unwrap(), "t", arguments).await.unwrap();
    assert_eq!(
        server.only().target(),
        "/x?tags=red,bl%2Cue&ids=1%7C2&filter%5Beq%5D=x%20y&filter%5Bn%5D%5Bgt%5D=1&plain=a&plain=b&flag=true"
    );
}

#[tokio::test]
async fn a_deep_object_goes_as_deep_as_it_is() {
    let value = json!({"eq": "x y", "n": {"gt": 1, "in": ["a", "b"]}, "l": [{"k": true}], "none": null});
    assert_eq!(
        sent(endpoint(Place::Query, Style::DeepObject, true), &value).await,
        "?color%5Beq%5D=x%20y&color%5Bn%5D%5Bgt%5D=1&color%5Bn%5D%5Bin%5D%5B%5D=a&color%5Bn%5D%5Bin%5D%5B%5D=b\
         &color%5Bl%5D%5B%5D%5Bk%5D=true"
    );
    let deep = (0..20).fold(json!(1), |inner, _| json!({"a": inner}));
    assert_eq!(
        sent(endpoint(Place::Query, Style::DeepObject, true), &deep).await,
        "refused at /color/a/a/a/a/a/a/a/a"
    );
}

#[tokio::test]
async fn reserved_characters_stay_where_that_is_declared_and_never_end_a_pair() {
    let mut parameter = Parameter::new("color", Place::Query);
    parameter.allow_reserved = true;
    let endpoint = Endpoint::new(any(), Method::GET, "/x").parameter(parameter);
    assert_eq!(sent(endpoint, &json!("a/b?c:d@e&f=g#h+i%j")).await, "?color=a/b?c:d@e%26f%3Dg%23h%2Bi%25j");
}

#[tokio::test]
async fn the_keys_of_an_object_are_no_way_to_another_parameter() {
    let endpoint = endpoint(Place::Query, Style::Form, true)
        .parameter(Parameter::new("admin", Place::Query).constant("no"));
    let mut config = HttpConfig::new("s", "http://127.0.0.1:1/?fixed=1".parse().unwrap(), client());
    config.auth = Auth::ApiKeyQuery { name: "key".into(), value: "sesame-1".to_owned().into() };
    config.endpoints = vec![endpoint];
    let toolset = HttpToolset::new(config).unwrap();
    for key in ["admin", "key", "fixed", "color", ""] {
        let error = call(&toolset, "t", json!({"color": {key: "yes"}})).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.pointer()),
            (ToolErrorKind::InvalidArguments, Some(format!("/color/{key}").as_str()))
        );
    }
}

#[tokio::test]
async fn the_keys_of_a_deep_object_are_no_way_to_another_parameter() {
    let endpoint = endpoint(Place::Query, Style::DeepObject, true)
        .parameter(Parameter::new("owner", Place::Query).wire_name("color[owner]").constant("me"));
    let error = call(&dead(endpoint), "t", json!({"color": {"owner": "you"}})).await.unwrap_err();
    assert_eq!(error.pointer(), Some("/color/owner"));
}

#[tokio::test]
async fn the_keys_of_a_matrix_are_no_way_to_another_parameter() {
    let endpoint = Endpoint::new(any(), Method::GET, "/x{color}{admin}")
        .parameter(Parameter::new("color", Place::Path).style(Style::Matrix, true))
        .parameter(Parameter::new("admin", Place::Path).style(Style::Matrix, true).constant(false));
    let error = call(&dead(endpoint), "t", json!({"color": {"admin": true}})).await.unwrap_err();
    assert_eq!(error.pointer(), Some("/color/admin"));
}

#[tokio::test]
async fn an_argument_never_takes_the_place_of_a_key() {
    for (place, auth) in [
        (Place::Query, Auth::ApiKeyQuery { name: "color".into(), value: "sesame-1".to_owned().into() }),
        (Place::Cookie, Auth::ApiKeyCookie { name: "color".into(), value: "sesame-1".to_owned().into() }),
    ] {
        let server = Server::start([Reply::json("200 OK", "{}")]);
        let mut config = HttpConfig::new("s", server.url.parse().unwrap(), client());
        config.endpoints = vec![endpoint(place, Style::Form, true)];
        config.auth = auth;
        call(&HttpToolset::new(config).unwrap(), "t", json!({"color": "mine"})).await.unwrap();
        let seen = server.only();
        let sent = format!("{}{}", seen.target(), seen.header("cookie").unwrap_or_default());
        assert_eq!(sent.matches("color=").count(), 1, "{sent}");
        assert!(sent.contains("color=sesame-1"), "{sent}");
    }
}

#[tokio::test]
async fn cookies_hold_nothing_that_ends_them() {
    assert_eq!(
        sent(endpoint(Place::Cookie, Style::Form, true), &json!("a; b=c\r\nd\"é")).await,
        "color=a%3B%20b%3Dc%0D%0Ad%22%C3%A9"
    );
    let bad = Endpoint::new(any(), Method::GET, "/x").parameter(Parameter::new("a b", Place::Cookie));
    assert_eq!(bad.check().unwrap_err().detail(), "tool `t`: `a b` can't be the name of a cookie");
    let error =
        call(&dead(endpoint(Place::Header, Style::Simple, true)), "t", json!({"color": {"a\r\nb": 1}})).await;
    assert_eq!(error.unwrap_err().pointer(), Some("/color"));
}
