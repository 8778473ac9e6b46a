//! What a server may send. Servers differ in what they leave out, repeat or write in another type, so every field
//! is optional and lenient; what is unknown is kept where it belongs to the message.

use std::fmt;

use backstop_core::{FinishReason, Usage};
use serde::{
    Deserialize, Deserializer,
    de::{
        Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_json::{Map, Value};

use super::surrogates;

/// A whole reply, or one chunk of a stream: they differ only in `message` and `delta`.
#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    #[serde(default)]
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default)]
    pub(super) usage: Option<Tokens>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: Option<i64>,
    #[serde(default)]
    pub(super) message: Option<Said>,
    #[serde(default)]
    pub(super) delta: Option<Said>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) finish_reason: String,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// A message, or a piece of one.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Said {
    #[serde(default, rename = "role")]
    pub(super) _role: IgnoredAny,
    #[serde(default, deserialize_with = "words")]
    pub(super) content: String,
    #[serde(default)]
    pub(super) tool_calls: Option<Vec<Call>>,
    /// What came before `tool_calls`.
    #[serde(default)]
    pub(super) function_call: Option<Function>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Call {
    #[serde(default)]
    pub(super) index: Option<i64>,
    #[serde(default, deserialize_with = "loose")]
    pub(super) id: String,
    #[serde(default, rename = "type")]
    pub(super) _type: IgnoredAny,
    #[serde(default)]
    pub(super) function: Option<Function>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Function {
    #[serde(default, deserialize_with = "loose")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "loose")]
    pub(super) arguments: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Tokens {
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    completion_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
    #[serde(default)]
    completion_tokens_details: Option<Details>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    reasoning_tokens: u64,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            input_tokens: tokens.prompt_tokens,
            output_tokens: tokens.completion_tokens,
            cached_tokens: tokens.prompt_tokens_details.unwrap_or_default().cached_tokens,
            reasoning_tokens: tokens.completion_tokens_details.unwrap_or_default().reasoning_tokens,
        }
    }
}

impl Reply {
    /// Reads a reply or a chunk; the flag says that its texts hold [marks](super::surrogates).
    pub(super) fn read(json: &[u8]) -> Result<(Self, bool), serde_json::Error> {
        // A struct also reads from a list, which no reply is.
        if json.trim_ascii_start().first() != Some(&b'{') {
            return Err(serde_json::Error::custom("expected an object"));
        }
        serde_json::from_slice(json).map(|reply| (reply, false)).or_else(|refused| {
            let marked = std::str::from_utf8(json).ok().and_then(surrogates::mark);
            match marked {
                Some(marked) => serde_json::from_str(&marked).map(|reply| (reply, true)),
                None => Err(refused),
            }
        })
    }

    /// The error that the server reports in it, if it does.
    pub(super) fn error(&self) -> Option<&Value> {
        let of_choice = self.choices.iter().flatten().next().and_then(|choice| choice.error.as_ref());
        self.error.as_ref().into_iter().chain(of_choice).find(|error| is_error(error))
    }
}

/// Why it stopped; `None` for a reason that says that it failed.
pub(super) fn finish(reason: &str) -> Option<FinishReason> {
    match reason {
        "error" => None,
        "tool_calls" | "function_call" => Some(FinishReason::ToolCalls),
        "length" => Some(FinishReason::Length),
        "content_filter" => Some(FinishReason::ContentFilter),
        _ => Some(FinishReason::Stop),
    }
}

/// Whether there is an error in this field: some servers send an empty one along with every reply.
fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(object) => !object.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::Array(_) => true,
    }
}

/// Takes out what says nothing: fields that are `null` and empty lists, which strict servers refuse to get back.
pub(super) fn said_something(extra: &mut Map<String, Value>) {
    extra.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty()));
}

/// Text; nothing where there is none, and compact JSON for anything else.
fn loose<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_any(Loose)
}

struct Loose;

impl<'de> Visitor<'de> for Loose {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<String, E> {
        Ok(text)
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_bool<E>(self, value: bool) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_i64<E>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_u64<E>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E>(self, number: f64) -> Result<String, E> {
        Ok(Value::from(number).to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<String, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(|value| value.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<String, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(seq)).map(|value| value.to_string())
    }
}

/// The words of a message: a text, or the texts of its parts.
fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_any(Words)
}

struct Words;

impl<'de> Visitor<'de> for Words {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a list of parts or null")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<String, E> {
        Ok(text)
    }

    fn visit_unit<E>(self) -> Result<String, E> {
        Ok(String::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<String, A::Error> {
        let mut words = String::new();
        while let Some(part) = seq.next_element::<Value>()? {
            let text = part.get("text").unwrap_or(&part);
            words.push_str(text.as_str().unwrap_or_default());
        }
        Ok(words)
    }
}

/// A number of tokens. What is none counts as zero: a reply is not given up for its statistics.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Count;

    impl<'de> Visitor<'de> for Count {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number of tokens")
        }

        fn visit_u64<E>(self, count: u64) -> Result<u64, E> {
            Ok(count)
        }

        fn visit_i64<E>(self, count: i64) -> Result<u64, E> {
            Ok(u64::try_from(count).unwrap_or(0))
        }

        fn visit_f64<E>(self, count: f64) -> Result<u64, E> {
            // A cast of a float saturates.
            Ok(count as u64)
        }

        fn visit_str<E: Error>(self, _: &str) -> Result<u64, E> {
            Ok(0)
        }

        fn visit_bool<E>(self, _: bool) -> Result<u64, E> {
            Ok(0)
        }

        fn visit_unit<E>(self) -> Result<u64, E> {
            Ok(0)
        }
    }
    deserializer.deserialize_any(Count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(json: &str) -> Said {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn arguments_come_in_any_type() {
        let cases = [
            (r#"{"name":"t","arguments":""}"#, ""),
            (r#"{"name":"t"}"#, ""),
            (r#"{"name":"t","arguments":null}"#, ""),
            (r#"{"name":"t","arguments":{}}"#, "{}"),
            (
                r#"{"name":"t","arguments": {"z": [1, 9007199254740993], "a": "ü"} }"#,
                r#"{"z":[1,9007199254740993],"a":"ü"}"#,
            ),
            (r#"{"name":"t","arguments":[1, 2]}"#, "[1,2]"),
            (r#"{"name":"t","arguments":"{\"a\": 1}"}"#, r#"{"a": 1}"#),
            (r#"{"name":"t","arguments":true}"#, "true"),
            (r#"{"name":"t","arguments":-1.5}"#, "-1.5"),
        ];
        for (json, expected) in cases {
            assert_eq!(serde_json::from_str::<Function>(json).unwrap().arguments, expected, "{json}");
        }
    }

    #[test]
    fn content_comes_as_text_parts_or_not_at_all() {
        assert_eq!(said(r#"{"content":"a"}"#).content, "a");
        assert_eq!(said(r#"{"content":null}"#).content, "");
        assert_eq!(said("{}").content, "");
        let parts = r#"{"content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{}},"b",{"type":"text","text":"c"}]}"#;
        assert_eq!(said(parts).content, "abc");
    }

    #[test]
    fn only_unknown_fields_are_kept() {
        let mut said = said(
            r#"{"role":"assistant","content":"a","tool_calls":null,"function_call":null,"refusal":null,"annotations":[],"reasoning_content":"r"}"#,
        );
        said_something(&mut said.extra);
        assert_eq!(Value::Object(said.extra), serde_json::json!({"reasoning_content": "r"}));
    }

    #[test]
    fn odd_token_counts_do_not_cost_the_reply() {
        let tokens: Tokens = serde_json::from_str(
            r#"{"prompt_tokens":-1,"completion_tokens":2.0,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":"x"},"cost":0.1}"#,
        )
        .unwrap();
        assert_eq!(Usage::from(tokens), Usage { output_tokens: 2, ..Usage::default() });
    }
}
