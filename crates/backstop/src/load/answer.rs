//! What is declared about answers.

use backstop_core::ToolError;
use backstop_manifest::v1::{self, ToolsetConfig};
use backstop_toolsets::http::{AnswerPath, AnswerRules, AnswerTest, Endpoint, FailWhen};

/// Gives each endpoint what is declared about its answers. `lenient` is how its own declarations are taken where
/// nothing is said of that.
///
/// # Errors
///
/// `misconfigured` for a path that is none.
pub(super) fn apply(
    config: &ToolsetConfig,
    endpoints: &mut [Endpoint],
    lenient: bool,
) -> Result<(), ToolError> {
    for endpoint in endpoints {
        endpoint.answer = rules(&config.settings(&endpoint.spec.name).answer, lenient)?;
    }
    Ok(())
}

/// What is declared about the answers of one tool. `lenient` is how its own declarations are taken where nothing is
/// said of that.
///
/// # Errors
///
/// `misconfigured` for a path that is none.
pub(super) fn rules(declared: &v1::AnswerSettings, lenient: bool) -> Result<AnswerRules, ToolError> {
    let mut rules = AnswerRules::default();
    rules.success_when = declared.success_when.as_ref().map(test).transpose()?;
    for (declared, kind) in declared.fail_when.iter().flatten() {
        rules.fail_when.push(FailWhen { test: test(declared)?, kind: *kind });
    }
    rules.result = declared.result.as_deref().map(path).transpose()?;
    rules.lenient = declared.check_output.map_or(lenient, |check| !check);
    Ok(rules)
}

fn test(declared: &v1::AnswerTest) -> Result<AnswerTest, ToolError> {
    let mut test = AnswerTest::default();
    test.statuses.clone_from(&declared.statuses);
    test.media_types.clone_from(&declared.content_types);
    test.path = declared.path.as_deref().map(path).transpose()?;
    test.equals.clone_from(&declared.equals);
    test.missing = !declared.exists;
    test.contains.clone_from(&declared.contains);
    Ok(test)
}

fn path(text: &str) -> Result<AnswerPath, ToolError> {
    AnswerPath::parse(text).map_err(ToolError::misconfigured)
}
