//! From the validator's errors to problems that can be explained and mended.

use jsonschema::{JsonType, ValidationError, error::ValidationErrorKind as Kind};
use serde_json::Value;

use super::{
    expected::{self, quoted},
    mend::{Mend, retyped},
    violation::{place_in_words, pointer_token},
};
use crate::text::nearest;

/// One problem, before it is put into words for a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) pointer: String,
    pub(crate) keyword: &'static str,
    pub(crate) fault: Fault,
    /// How it is surely mended.
    pub(crate) mend: Option<Mend>,
}

impl Problem {
    /// Place and fault, for operators.
    pub(super) fn in_words(&self) -> String {
        let place = match self.pointer.as_str() {
            "" => "it".to_owned(),
            pointer => format!("`{}`", place_in_words(pointer)),
        };
        match &self.fault {
            Fault::Missing => format!("{place} is missing"),
            Fault::Unknown { .. } => format!("{place} is not declared"),
            Fault::Unfit { must, got, .. } => format!("{place} {must}; got {got}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    Missing,
    /// The schema forbids it; the names it accepts there, and what may have been meant.
    Unknown {
        accepted: Vec<String>,
        meant: Vec<String>,
    },
    /// What the value must be, what came, and what may have been meant.
    Unfit {
        must: String,
        got: String,
        meant: Vec<String>,
    },
}

/// Nesting of `anyOf` and `oneOf` that is followed.
const DEPTH: usize = 8;

pub(super) fn problems_of(
    root: &Value,
    arguments: &Value,
    error: &ValidationError<'_>,
    depth: usize,
) -> Vec<Problem> {
    let pointer = error.instance_path().as_str().to_owned();
    let value = error.instance().as_ref();
    let owner = owner_schema(root, error);
    let unfit = |keyword: &'static str, must: String, meant: Vec<String>, mend: Option<Mend>| {
        let fault = Fault::Unfit { must, got: expected::got(value, owner), meant };
        vec![Problem { pointer: pointer.clone(), keyword, fault, mend }]
    };
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let pointer = format!("{pointer}/{}", pointer_token(name));
            vec![Problem { pointer, keyword: "required", fault: Fault::Missing, mend: None }]
        }
        // Without `properties` the validator says only that the first name is too much.
        Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
            let object = arguments.pointer(&pointer).unwrap_or(value);
            let unexpected: Vec<String> =
                object.as_object().map(|object| object.keys().cloned().collect()).unwrap_or_default();
            unknown("additionalProperties", &pointer, &unexpected, owner, object)
        }
        Kind::AdditionalProperties { unexpected } => {
            unknown("additionalProperties", &pointer, unexpected, owner, value)
        }
        Kind::UnevaluatedProperties { unexpected } => {
            unknown("unevaluatedProperties", &pointer, unexpected, owner, value)
        }
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            vec![not_an_option("enum", &pointer, value, options, owner)]
        }
        Kind::Constant { expected_value } => {
            let mend = Mend::guessed(&pointer, expected_value.as_ref().clone());
            unfit("const", format!("must be {}", quoted(expected_value)), Vec::new(), Some(mend))
        }
        Kind::Type { kind } => {
            vec![of_another_type("type", &pointer, value, &expected::types(kind), owner)]
        }
        Kind::AnyOf { context } => match branches(root, arguments, context, depth) {
            Branches::Best(problems) => problems,
            Branches::Types(types) => vec![of_another_type("anyOf", &pointer, value, &types, owner)],
            Branches::TooDeep => unfit("anyOf", "must fit one of the allowed forms".into(), Vec::new(), None),
        },
        Kind::OneOfNotValid { context } => match branches(root, arguments, context, depth) {
            Branches::Best(problems) => problems,
            Branches::Types(types) => vec![of_another_type("oneOf", &pointer, value, &types, owner)],
            Branches::TooDeep => unfit("oneOf", "must fit one of the allowed forms".into(), Vec::new(), None),
        },
        Kind::PropertyNames { error } => {
            let mut problems = problems_of(root, arguments, error, depth + 1);
            for problem in &mut problems {
                problem.pointer.clone_from(&pointer);
                problem.mend = None;
                if let Fault::Unfit { must, .. } = &mut problem.fault {
                    *must = format!("each of its names {must}");
                }
            }
            problems
        }
        kind => unfit(expected::keyword(kind), expected::must(kind, owner), Vec::new(), None),
    }
}

/// Leaves out that a value is of another type where the values there are say it too, and keeps the mend.
pub(super) fn without_implied(problems: Vec<Problem>) -> Vec<Problem> {
    let lists_values = |problem: &Problem| matches!(problem.keyword, "enum" | "const");
    let mut kept: Vec<Problem> = Vec::with_capacity(problems.len());
    for problem in problems {
        let same = kept.iter_mut().find(|other| {
            other.pointer == problem.pointer
                && ((lists_values(other) && problem.keyword == "type")
                    || (other.keyword == "type" && lists_values(&problem)))
        });
        match same {
            None => kept.push(problem),
            Some(other) if lists_values(other) => other.mend = other.mend.take().or(problem.mend),
            Some(other) => {
                let mend = problem.mend.clone().or(other.mend.take());
                *other = Problem { mend, ..problem };
            }
        }
    }
    kept
}

/// The schema that holds the keyword which was not met.
fn owner_schema<'a>(root: &'a Value, error: &ValidationError<'_>) -> Option<&'a Value> {
    let path = error.schema_path().as_str();
    root.pointer(path.rsplit_once('/').map_or("", |(owner, _)| owner))
}

fn unknown(
    keyword: &'static str,
    pointer: &str,
    unexpected: &[String],
    owner: Option<&Value>,
    object: &Value,
) -> Vec<Problem> {
    let properties = owner.and_then(|owner| owner.get("properties")).and_then(Value::as_object);
    let accepted: Vec<String> = properties.map(|p| p.keys().cloned().collect()).unwrap_or_default();
    // A name that was given as well can't be what another one was meant to be.
    let free = accepted.iter().map(String::as_str).filter(|name| object.get(*name).is_none());
    let free: Vec<&str> = free.collect();
    unexpected
        .iter()
        .map(|name| {
            let meant = nearest(name, free.iter().copied());
            let at = format!("{pointer}/{}", pointer_token(name));
            let mend = match meant.as_slice() {
                [one] => Some(Mend::rename(&at, one)),
                _ => None,
            };
            let meant = meant.into_iter().map(|name| Value::from(name).to_string()).collect();
            let fault = Fault::Unknown { accepted: accepted.clone(), meant };
            Problem { pointer: at, keyword, fault, mend }
        })
        .collect()
}

/// A value that is none of those allowed.
fn not_an_option(
    keyword: &'static str,
    pointer: &str,
    value: &Value,
    options: &[Value],
    owner: Option<&Value>,
) -> Problem {
    let meant = near_options(value, options);
    let mend = match meant.as_slice() {
        [one] => Some(Mend::guessed(pointer, (*one).clone())),
        _ => retyped_option(value, options).map(|value| Mend::set(pointer, value)),
    };
    let meant = meant.into_iter().map(ToString::to_string).collect();
    let fault = Fault::Unfit { must: expected::one_of(options), got: expected::got(value, owner), meant };
    Problem { pointer: pointer.to_owned(), keyword, fault, mend }
}

/// A value that is of none of the allowed types.
fn of_another_type(
    keyword: &'static str,
    pointer: &str,
    value: &Value,
    types: &[JsonType],
    owner: Option<&Value>,
) -> Problem {
    let fault = Fault::Unfit {
        must: format!("must be {}", expected::types_in_words(types)),
        got: expected::got_with_type(value, owner),
        meant: Vec::new(),
    };
    let mend = retyped(value, types).map(|value| Mend::set(pointer, value));
    Problem { pointer: pointer.to_owned(), keyword, fault, mend }
}

fn near_options<'a>(value: &Value, options: &'a [Value]) -> Vec<&'a Value> {
    let Some(word) = value.as_str() else { return Vec::new() };
    let near = nearest(word, options.iter().filter_map(Value::as_str));
    options.iter().filter(|option| option.as_str().is_some_and(|option| near.contains(&option))).collect()
}

/// The option that is this value written as another type: `"5"` for `5`.
fn retyped_option(value: &Value, options: &[Value]) -> Option<Value> {
    let same_text = |option: &&Value| match (value, option) {
        (Value::String(text), Value::Number(number)) => number.to_string() == *text,
        (Value::Number(number), Value::String(text)) => number.to_string() == *text,
        _ => false,
    };
    options.iter().find(same_text).cloned()
}

/// What a value misses that fits none of several branches.
enum Branches {
    /// The problems of the branch that was meant.
    Best(Vec<Problem>),
    /// It is of none of these types.
    Types(Vec<JsonType>),
    /// Nested too deep to be followed.
    TooDeep,
}

/// The problems of the branch that fits best; the types where it is of none of them.
fn branches(
    root: &Value,
    arguments: &Value,
    context: &[Vec<ValidationError<'static>>],
    depth: usize,
) -> Branches {
    // A branch whose type is wrong as a whole is not the one that was meant.
    let is_type_miss = |errors: &&Vec<ValidationError<'static>>| matches!(errors.as_slice(), [only] if matches!(only.kind(), Kind::Type { .. }));
    let here = context.iter().flatten().map(|error| error.instance_path().as_str().len()).min().unwrap_or(0);
    let misses_here = |errors: &&Vec<ValidationError<'static>>| {
        is_type_miss(errors) && errors.iter().all(|error| error.instance_path().as_str().len() == here)
    };
    let candidates: Vec<_> = context.iter().filter(|errors| !misses_here(errors)).collect();
    if let Some(problem) = no_such_tag(root, arguments, &candidates) {
        return Branches::Best(vec![problem]);
    }
    let best = candidates
        .into_iter()
        // A constant that does not match tells the branches of a union apart: it was not meant.
        .min_by_key(|errors| {
            let tag_misses = errors.iter().filter(|e| matches!(e.kind(), Kind::Constant { .. })).count();
            (tag_misses, errors.len())
        });
    match best {
        Some(errors) if depth < DEPTH => Branches::Best(
            errors.iter().flat_map(|error| problems_of(root, arguments, error, depth + 1)).collect(),
        ),
        Some(_) => Branches::TooDeep,
        None => {
            let mut types = Vec::new();
            for error in context.iter().flatten() {
                if let Kind::Type { kind } = error.kind() {
                    for kind in expected::types(kind) {
                        if !types.contains(&kind) {
                            types.push(kind);
                        }
                    }
                }
            }
            Branches::Types(types)
        }
    }
}

/// Where every branch of a union wants another constant at one place, that place is all that is known to be wrong:
/// which branch was meant can't be said before it is right.
fn no_such_tag(
    root: &Value,
    arguments: &Value,
    branches: &[&Vec<ValidationError<'static>>],
) -> Option<Problem> {
    let tag = |errors: &Vec<ValidationError<'static>>, place: &str| {
        errors.iter().find_map(|error| match error.kind() {
            Kind::Constant { expected_value } if error.instance_path().as_str() == place => {
                Some(expected_value.as_ref().clone())
            }
            _ => None,
        })
    };
    let (first, rest) = branches.split_first()?;
    if rest.is_empty() {
        return None;
    }
    first.iter().find_map(|error| {
        let place = error.instance_path().as_str();
        let options: Vec<Value> = branches.iter().map(|errors| tag(errors, place)).collect::<Option<_>>()?;
        let value = arguments.pointer(place)?;
        Some(not_an_option("const", place, value, &options, owner_schema(root, error)))
    })
}
