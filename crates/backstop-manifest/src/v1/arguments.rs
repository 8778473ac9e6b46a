//! `arguments`: what may be changed about the arguments of a call; `approve`: whether a person must allow it;
//! `reconcile`: how to find out whether it took effect.

use backstop_core::{Approve, Reconcile, schema::ArgumentRules};

use super::fallback::call_of;
use crate::reader::At;

/// Reads `{ repair: off | syntax, coerce: off | safe }`; what is left out is off.
pub(super) fn arguments(at: &At<'_>) -> Option<ArgumentRules> {
    let fields = at.fields(&["repair", "coerce"])?;
    let is_on = |key: &str, on: &'static str| {
        let choice = fields.get(key).map(|at| at.one_of(&[("off", false), (on, true)]));
        choice.map_or(Some(false), |choice| choice)
    };
    let (repair, coerce) = (is_on("repair", "syntax")?, is_on("coerce", "safe")?);
    let mut rules = ArgumentRules::default();
    rules.repair = repair;
    rules.coerce = coerce;
    Some(rules)
}

/// Reads `never`, `mutating` or `always`.
pub(super) fn approve(at: &At<'_>) -> Option<Approve> {
    at.one_of(&[("never", Approve::Never), ("mutating", Approve::Mutating), ("always", Approve::Always)])
}

/// Reads `{tool, arguments}` of the call that finds out whether a call took effect.
pub(super) fn reconcile(at: &At<'_>) -> Option<Reconcile> {
    let (tool, arguments) = call_of(at)?;
    Some(Reconcile { tool, arguments })
}
