//! Where a reference leads.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// References that lead to nothing but a reference, one after the other, at most.
const HOPS: usize = 512;

/// What a reference leads to.
pub(super) struct Target<'a> {
    /// Where it stands, as a JSON Pointer.
    pub(super) pointer: String,
    pub(super) schema: &'a Value,
    /// What was said beside the references on the way; what was said first holds.
    pub(super) beside: Map<String, Value>,
}

/// Follows `reference` to the first schema that is more than a reference. Nothing where it leads out of the
/// document, nowhere, or around in a circle.
pub(super) fn follow<'a>(root: &'a Value, reference: &str) -> Option<Target<'a>> {
    let mut beside = Map::new();
    let mut reference = reference.to_owned();
    for _ in 0..HOPS {
        let pointer = pointer(&reference)?;
        let schema = root.pointer(&pointer).filter(|schema| schema.is_object() || schema.is_boolean())?;
        let next = schema.get("$ref").and_then(Value::as_str);
        let Some((next, object)) = next.zip(schema.as_object()).filter(|(_, object)| only_annotated(object))
        else {
            return Some(Target { pointer, schema, beside });
        };
        for (keyword, value) in object.iter().filter(|(keyword, _)| *keyword != "$ref") {
            beside.entry(keyword.clone()).or_insert_with(|| value.clone());
        }
        next.clone_into(&mut reference);
    }
    None
}

/// Whether a reference can be sent as it is: one to a whole definition or property, which stays where it is.
pub(super) fn can_be_kept(root: &Value, reference: &str) -> bool {
    let Some(pointer) = pointer(reference) else { return false };
    let mut parts = pointer.split('/').skip(1);
    let parts = (parts.next(), parts.next(), parts.next());
    let stays = matches!(parts, (None, ..) | (Some("$defs" | "definitions" | "properties"), Some(_), None));
    // What may not be there is not told of, so nothing can lead to it.
    stays && follow(root, reference).is_some_and(|target| *target.schema != Value::Bool(false))
}

/// The JSON Pointer in a reference into the same document.
fn pointer(reference: &str) -> Option<String> {
    let fragment = percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()?;
    (fragment.is_empty() || fragment.starts_with('/')).then(|| fragment.into_owned())
}

fn only_annotated(object: &Map<String, Value>) -> bool {
    object.keys().all(|keyword| matches!(keyword.as_str(), "$ref" | "description" | "title" | "default"))
}

/// `name` as a part of a JSON Pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
