//! The order of the steps, and the bound on size.

use backstop_core::{Catalog, CatalogEntry};
use serde_json::{Value, json};

use super::{
    expand::Walk,
    facts::{SchemaProfile, Shapes},
    note::{Loss, Notes, SchemaNote},
    shape::{self, Shaper},
};

/// References that are followed on one path, from the first try to the last.
const FOLLOWS: [usize; 5] = [16, 4, 2, 1, 0];

/// A schema as a server takes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Converted {
    /// The schema: always an object with `properties`.
    pub schema: Value,
    /// What it does not tell of the declared one.
    pub notes: Vec<SchemaNote>,
}

impl SchemaProfile {
    /// The schema as servers of this profile take it.
    ///
    /// Never fails and never grows beyond a bound: what does not fit is cut, in the end down to an object of which
    /// nothing is said. Descriptions are kept. Converting twice changes nothing more.
    pub fn convert(&self, schema: &Value) -> Converted {
        for follows in FOLLOWS {
            let mut walk = Walk::new(self, schema, follows);
            let Some(mut whole) = walk.whole() else { continue };
            let mut notes = walk.notes;
            shape::top(&mut whole, &mut notes);
            let shaped = match self.shapes {
                Shapes::All => Some(whole.into()),
                Shapes::TypeList | Shapes::OneType => {
                    Shaper { profile: self, room: self.size_cap, notes: &mut notes }.whole(whole)
                }
            };
            if let Some(schema) = shaped.filter(|schema: &Value| schema.to_string().len() <= self.size_cap) {
                return Converted { schema, notes: notes.into_vec() };
            }
        }
        let mut notes = Notes::default();
        notes.add("", Loss::Size);
        Converted { schema: json!({"type": "object", "properties": {}}), notes: notes.into_vec() }
    }

    /// What servers of this profile are not told of these tools, each with the name that the model knows.
    pub fn notes(&self, tools: &Catalog) -> Vec<(String, SchemaNote)> {
        let notes = tools.entries().iter().flat_map(|entry| {
            let (_, notes) = self.tool(entry);
            notes.into_iter().map(|note| (entry.name.clone(), note))
        });
        notes.collect()
    }

    /// The schema of one tool; none where the tool can't be sent.
    pub(in crate::deployment) fn tool(&self, entry: &CatalogEntry) -> (Option<Value>, Vec<SchemaNote>) {
        let refused = |loss| (None, vec![SchemaNote { pointer: String::new(), loss }]);
        if !self.any_first_letter
            && entry.name.starts_with(|first: char| first.is_ascii_digit() || first == '-')
        {
            return refused(Loss::Name);
        }
        if !may_be_object(&entry.spec.input_schema) {
            return refused(Loss::NotAnObject);
        }
        let converted = self.convert(&entry.spec.input_schema);
        (Some(converted.schema), converted.notes)
    }
}

fn may_be_object(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => *schema != Value::Bool(false),
    }
}
