//! Calls of other tools for a call that failed: one that serves it, one that finds out whether it took effect.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    Run,
    call_state::{Call, FailureFacts, Standby},
};
use crate::{
    call::{ToolCall, ValidCall},
    catalog::Reconcile,
};

/// Tools that may serve one call, one after the other.
const MOST: usize = 3;

impl Run {
    /// The call of `tool` that serves a failed call; why there is none where the tool is not on offer, was used
    /// for this call before, or does not take these arguments.
    pub(super) fn standby(
        &self,
        call: &Call,
        tool: &str,
        arguments: &Map<String, Value>,
        failure: FailureFacts,
    ) -> Result<Standby, String> {
        let catalog = &self.definition.catalog;
        let entry =
            catalog.find(tool).map_err(|_| format!("there is no tool `{tool}` to use in its place"))?;
        let mut used = call.standby.as_ref().map(|standby| standby.used.clone()).unwrap_or_default();
        used.push(call.tool().to_owned());
        if used.contains(&entry.name) || used.len() > MOST {
            return Err(format!(
                "tool `{tool}` can't serve a call that it failed, or that {MOST} others did"
            ));
        }
        let valid = self.call_instead(call, &entry.name, arguments)?;
        Ok(Standby { valid, attempts_before: call.attempts, used, failure })
    }

    /// The call that finds out whether `call` took effect.
    pub(super) fn reconcile(&self, call: &Call, reconcile: &Reconcile) -> Result<Arc<ValidCall>, String> {
        let entry = self.definition.catalog.find(&reconcile.tool);
        let entry = entry.map_err(|_| format!("there is no tool `{}` to find out with", reconcile.tool))?;
        self.call_instead(call, &entry.name, &reconcile.arguments)
    }

    /// A call of `tool` with the declared arguments, which may take up those of `call`.
    fn call_instead(
        &self,
        call: &Call,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Arc<ValidCall>, String> {
        let given = call.serving().map(|valid| valid.arguments.clone());
        let given = given.or_else(|| crate::schema::object(&call.asked.arguments.0)).unwrap_or_default();
        let arguments = Value::Object(mapped(arguments, given));
        let asked = ToolCall::new(call.id.as_str(), tool, arguments.to_string());
        let valid = self.definition.catalog.validate(&asked);
        valid
            .map(Arc::new)
            .map_err(|error| format!("tool `{tool}` does not take the declared arguments: {error}"))
    }
}

/// The declared arguments with those of the failed call in place of `{name}`.
fn mapped(declared: &Map<String, Value>, given: Map<String, Value>) -> Map<String, Value> {
    if declared.is_empty() {
        return given;
    }
    let placeholder = |value: &Value| -> Option<String> {
        let name = value.as_str()?.strip_prefix('{')?.strip_suffix('}')?;
        (!name.contains(['{', '}'])).then(|| name.to_owned())
    };
    declared
        .iter()
        .filter_map(|(name, value)| match placeholder(value) {
            Some(from) => given.get(&from).map(|value| (name.clone(), value.clone())),
            None => Some((name.clone(), value.clone())),
        })
        .collect()
}
