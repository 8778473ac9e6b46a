//! The parts of a request body that are the same in every request, made once.

use serde_json::{Map, Value, json};

use super::config::OpenAiConfig;

/// Fields that make no sense without tools; strict servers refuse them then.
const WITH_TOOLS: [&str; 2] = ["tool_choice", "parallel_tool_calls"];
/// Fields that the client alone sets.
const OURS: [&str; 3] = ["messages", "tools", "stream"];

/// What stands around messages and tools in a body.
#[derive(Debug)]
pub(super) struct Head {
    /// `{"model":…,"messages":[`
    start: Vec<u8>,
    /// `,"tool_choice":…`
    with_tools: Vec<u8>,
    /// `,"stream":true,"stream_options":…`
    streamed: Vec<u8>,
}

impl Head {
    pub(super) fn new(config: &OpenAiConfig) -> Self {
        let mut fields = Map::new();
        fields.insert("model".into(), config.model.as_str().into());
        if let Some(temperature) = config.temperature {
            fields.insert("temperature".into(), temperature.into());
        }
        if let Some(tokens) = config.max_tokens {
            fields.insert("max_tokens".into(), tokens.into());
        }
        fields.extend(config.extra.clone());
        fields.retain(|field, _| !OURS.contains(&field.as_str()));
        let options = fields.shift_remove("stream_options").unwrap_or(json!({"include_usage": true}));
        fields.retain(|_, value| !value.is_null());
        let (with_tools, always): (Map<_, _>, Map<_, _>) =
            fields.into_iter().partition(|(field, _)| WITH_TOOLS.contains(&field.as_str()));

        let mut start = b"{".to_vec();
        for (field, value) in &always {
            start.extend(member(field, value));
            start.push(b',');
        }
        start.extend(br#""messages":["#);
        let mut streamed = br#","stream":true"#.to_vec();
        if !options.is_null() {
            streamed.push(b',');
            streamed.extend(member("stream_options", &options));
        }
        let with_tools = with_tools
            .iter()
            .flat_map(|(field, value)| std::iter::once(b',').chain(member(field, value)))
            .collect();
        Self { start, with_tools, streamed }
    }

    /// The whole body, in one allocation. `tools` is an array in brackets, or empty where there are no tools.
    pub(super) fn body(&self, messages: &[u8], tools: &[u8], streamed: bool) -> Vec<u8> {
        const TOOLS: &[u8] = br#","tools":"#;
        let (tools_field, with_tools): (&[u8], &[u8]) =
            if tools.is_empty() { (b"", b"") } else { (TOOLS, &self.with_tools) };
        let stream: &[u8] = if streamed { &self.streamed } else { b"" };
        [&self.start, messages, b"]", tools_field, tools, with_tools, stream, b"}"].concat()
    }
}

fn member(field: &str, value: &Value) -> Vec<u8> {
    format!("{}:{value}", Value::from(field)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(change: impl FnOnce(OpenAiConfig) -> OpenAiConfig) -> Head {
        let client = crate::client::http_client().unwrap();
        Head::new(&change(OpenAiConfig::new("http://h/v1".parse().unwrap(), "m", client)))
    }

    fn text(head: &Head, tools: &[u8], streamed: bool) -> String {
        String::from_utf8(head.body(b"{}", tools, streamed)).unwrap()
    }

    #[test]
    fn a_field_is_never_written_twice_and_null_takes_it_out() {
        let head = head(|config| {
            config
                .temperature(0.5)
                .max_tokens(10)
                .extra("temperature", 1)
                .extra("max_tokens", Value::Null)
                .extra("stream", false)
                .extra("messages", json!([]))
                .extra("top_p", 0.1)
        });
        assert_eq!(text(&head, b"", false), r#"{"model":"m","temperature":1,"top_p":0.1,"messages":[{}]}"#);
    }

    #[test]
    fn tool_and_stream_options_go_only_where_they_belong() {
        let head = head(|config| config.extra("tool_choice", "auto"));
        assert_eq!(text(&head, b"", false), r#"{"model":"m","messages":[{}]}"#);
        assert_eq!(
            text(&head, b"[1]", true),
            r#"{"model":"m","messages":[{}],"tools":[1],"tool_choice":"auto","stream":true,"stream_options":{"include_usage":true}}"#
        );
    }

    #[test]
    fn a_server_without_stream_options_can_be_spared_them() {
        let head = head(|config| config.extra("stream_options", Value::Null));
        assert_eq!(text(&head, b"", true), r#"{"model":"m","messages":[{}],"stream":true}"#);
    }
}
