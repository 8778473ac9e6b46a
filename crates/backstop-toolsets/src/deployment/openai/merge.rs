//! Unknown fields of a message, put together from the pieces of a stream.

use serde_json::{Map, Value};

/// Fields that name something: a repetition replaces them. All other texts grow.
const NAMES: [&str; 8] = ["type", "id", "format", "status", "role", "url", "signature", "reference_url"];
/// Where list items carry an `index` on a stream only.
const INDEXED_ON_STREAM: &str = "custom_content";

/// Adds the fields of one piece to those of the pieces before it.
///
/// Texts are joined, objects are merged, list items with the same `index` are merged and others appended; all else
/// is replaced, and `null` changes nothing.
pub(super) fn merge(into: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (field, value) in piece {
        match into.get_mut(&field) {
            Some(present) => merge_value(&field, present, value),
            None if value.is_null() => {}
            None => {
                into.insert(field, value);
            }
        }
    }
}

fn merge_value(field: &str, into: &mut Value, piece: Value) {
    match (into, piece) {
        (_, Value::Null) => {}
        (Value::String(text), Value::String(more)) if !NAMES.contains(&field) => text.push_str(&more),
        (Value::Object(object), Value::Object(more)) => merge(object, more),
        (Value::Array(items), Value::Array(more)) => {
            for item in more {
                let same = |other: &&mut Value| {
                    item.get("index").is_some_and(|index| other.get("index") == Some(index))
                };
                match items.iter_mut().find(same) {
                    Some(present) => merge_value("", present, item),
                    None => items.push(item),
                }
            }
        }
        (into, piece) => *into = piece,
    }
}

/// Makes fields that came in pieces look as if they had come whole.
pub(super) fn settle(fields: &mut Map<String, Value>) {
    if let Some(content) = fields.get_mut(INDEXED_ON_STREAM) {
        drop_index(content);
    }
}

fn drop_index(value: &mut Value) {
    match value {
        Value::Object(object) => object.values_mut().for_each(drop_index),
        Value::Array(items) => {
            for item in items {
                if let Some(object) = item.as_object_mut() {
                    object.shift_remove("index");
                }
                drop_index(item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(pieces: Vec<Value>) -> Value {
        let mut fields = Map::new();
        for piece in pieces {
            merge(&mut fields, piece.as_object().unwrap().clone());
        }
        settle(&mut fields);
        fields.into()
    }

    #[test]
    fn stages_and_attachments_of_a_stream_become_those_of_a_whole_message() {
        let pieces = vec![
            json!({"custom_content": {"stages": [{"index": 0, "name": "Thinking", "status": null}]}}),
            json!({"custom_content": {"stages": [{"index": 0, "content": "a", "status": null}]}}),
            json!({"custom_content": {"stages": [{"index": 0, "content": "b"}, {"index": 1, "name": "Next"}]}}),
            json!({"custom_content": {"stages": [{"index": 0, "status": "completed"}]}}),
            json!({"custom_content": {"attachments": [{"index": 0, "type": "text/plain", "url": "files/x"}]}}),
            json!({"custom_content": {"state": {"n": 1}}}),
        ];
        assert_eq!(
            merged(pieces),
            json!({"custom_content": {
                "stages": [{"name": "Thinking", "status": "completed", "content": "ab"}, {"name": "Next"}],
                "attachments": [{"type": "text/plain", "url": "files/x"}],
                "state": {"n": 1},
            }})
        );
    }

    #[test]
    fn reasoning_grows_and_its_names_do_not() {
        let pieces = vec![
            json!({"reasoning_content": "a", "reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "a"}]}),
            json!({"reasoning_content": null, "reasoning_details": []}),
            json!({"reasoning_content": "b", "reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "b"}]}),
        ];
        assert_eq!(
            merged(pieces),
            json!({"reasoning_content": "ab", "reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "ab"}]})
        );
    }
}
