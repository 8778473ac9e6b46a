//! Problems put into the fixed words: one line each, then one next step for all of them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    CompiledSchema, Violation, place_in_words,
    problem::{Fault, Problem},
};
use crate::{
    error::{ToolError, ToolErrorKind},
    spec::Effect,
};

/// Bytes of a mended call that are spelled out.
const MENDED_CAP: usize = 700;
/// Parameter names that are listed.
const NAMES_CAP: usize = 30;
/// Places that one order names.
const PLACES_CAP: usize = 10;

/// The tool whose arguments are reported on.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) tool: &'a str,
    pub(crate) effect: Effect,
    pub(crate) schema: &'a CompiledSchema,
}

impl Subject<'_> {
    /// The call spelled out with these arguments; not where one of them is a secret, which is echoed nowhere.
    pub(crate) fn spelled_out(&self, arguments: &Map<String, Value>) -> Option<String> {
        if self.schema.has_secrets() {
            return None;
        }
        let arguments = serde_json::to_string(arguments).ok()?;
        let fits = self.tool.len() + arguments.len() <= MENDED_CAP;
        fits.then(|| format!("Call it again with: {} {arguments}", self.tool))
    }
}

impl Subject<'_> {
    /// What the model reads about a call that was made with other arguments than it wrote.
    pub(crate) fn mended_note(&self, arguments: &Map<String, Value>, changes: &[String]) -> String {
        let changes = listed(changes);
        let whole = serde_json::to_string(arguments).ok();
        let whole = whole.filter(|text| !self.schema.has_secrets() && text.len() <= MENDED_CAP);
        match whole {
            Some(whole) => format!("The call was made as: {} {whole} (changed: {changes})", self.tool),
            None => format!("The call was made with changes of: {changes}"),
        }
    }
}

/// The error for arguments that do not fit.
pub(crate) fn invalid_arguments(subject: &Subject<'_>, arguments: &Value) -> ToolError {
    let problems = subject.schema.problems(arguments);
    let violations: Vec<Violation> = problems
        .iter()
        .map(|problem| Violation {
            pointer: problem.pointer.clone(),
            keyword: problem.keyword.to_owned(),
            message: line(subject.tool, problem),
        })
        .collect();
    let step = mended_call(subject, &problems, arguments).unwrap_or_else(|| order(subject.tool, &problems));
    let places: Vec<&str> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    let detail = format!("the arguments do not fit the schema at {}", places.join(", "));
    let error = ToolError::new(ToolErrorKind::InvalidArguments, detail).with_next_step(step);
    match places.as_slice() {
        [only] => error.at(*only),
        _ => error,
    }
    .with_violations(violations)
}

fn line(tool: &str, problem: &Problem) -> String {
    let place = place_in_words(&problem.pointer);
    match &problem.fault {
        Fault::Missing => format!("Parameter \"{place}\" is mandatory for tool \"{tool}\"."),
        Fault::Unknown { accepted, meant } => {
            let known = match accepted.as_slice() {
                [] => "which takes none there".to_owned(),
                names => format!("please use one of these: {}", listed(names)),
            };
            format!(
                "Parameter \"{place}\" does not exist for tool \"{tool}\", {known}.{}",
                did_you_mean(meant)
            )
        }
        Fault::Unfit { must, got, meant } => {
            let meant = did_you_mean(meant);
            let stop = if meant.is_empty() { "" } else { "." };
            if problem.pointer.is_empty() {
                format!("The arguments of tool \"{tool}\" are not valid: {must}; got {got}{stop}{meant}")
            } else {
                format!(
                    "Invalid value for parameter \"{place}\" of tool \"{tool}\": {must}; got {got}{stop}{meant}"
                )
            }
        }
    }
}

fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_CAP).map(String::as_str).collect();
    let more = names.len().saturating_sub(NAMES_CAP);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// ` Did you mean "a"?`, of values already quoted; nothing where there are none.
pub(crate) fn did_you_mean(meant: &[String]) -> String {
    if meant.is_empty() { String::new() } else { format!(" Did you mean {}?", meant.join(" or ")) }
}

/// The whole call mended, if each problem has one reading and the result fits. A value that nobody wrote is never
/// put into a call that changes the world.
fn mended_call(subject: &Subject<'_>, problems: &[Problem], arguments: &Value) -> Option<String> {
    let mut mended = arguments.clone();
    for mend in problems.iter().filter_map(|problem| problem.mend.as_ref()) {
        if mend.is_guess() && subject.effect == Effect::Mutating {
            return None;
        }
        mend.apply(&mut mended)?;
    }
    if !subject.schema.is_valid(&mended) {
        return None;
    }
    subject.spelled_out(mended.as_object()?)
}

/// The order for all problems: what to correct, add and remove.
fn order(tool: &str, problems: &[Problem]) -> String {
    let (mut corrected, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    let renamed: Vec<String> =
        problems.iter().filter_map(|problem| problem.mend.as_ref()).map(|mend| mend.target()).collect();
    let mut renames = Vec::new();
    for problem in problems {
        let place = format!("\"{}\"", place_in_words(&problem.pointer));
        match &problem.fault {
            Fault::Missing if renamed.contains(&problem.pointer) => {}
            Fault::Missing => added.push(place),
            Fault::Unknown { .. } => match &problem.mend {
                Some(mend) => {
                    renames.push(format!("{place} renamed to \"{}\"", place_in_words(&mend.target())))
                }
                None => removed.push(place),
            },
            Fault::Unfit { .. } if problem.pointer.is_empty() => corrected.push("the arguments".to_owned()),
            Fault::Unfit { .. } if problem.keyword == "false" => removed.push(place),
            Fault::Unfit { .. } => corrected.push(place),
        }
    }
    let mut parts = renames;
    for (mut places, verb) in [(corrected, "corrected"), (added, "added"), (removed, "removed")] {
        // Several rules may not be met by one value.
        let mut named = HashSet::new();
        places.retain(|place| named.insert(place.clone()));
        if !places.is_empty() {
            if places.len() > PLACES_CAP {
                places.truncate(PLACES_CAP);
                places.push("the others".into());
            }
            parts.push(format!("{} {verb}", and(&places)));
        }
    }
    format!("Call {tool} again with {}.", and(&parts))
}

fn and(parts: &[String]) -> String {
    match parts {
        [] => "corrected arguments".into(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
