//! C08: whatever a function returns as its error, it becomes one typed error.

use std::{fmt, io};

use backstop_core::{Applied, CallContext, Effect, ToolError, ToolErrorKind};
use backstop_toolsets::function::{FnTool, FnToolset};
use serde_json::json;

use crate::support::{call, view};

const NOTHING_MORE: &str = "An error occurred while executing tool \"explode\". (error reference: 1a2b3c4d)";

async fn fails(tool: FnTool) -> (ToolError, String) {
    let toolset: FnToolset = tool.effect(Effect::ReadOnly).into();
    let error = call(&toolset, "explode", json!({})).await.unwrap_err();
    let view = view(&toolset, "explode", &error).await;
    (error, view)
}

#[tokio::test]
async fn an_untyped_error_is_private() {
    let tool = FnTool::new("explode", |(): (), _cx: CallContext| async {
        Err::<(), Box<dyn std::error::Error + Send + Sync>>("boom at 10.1.2.3".into())
    });
    let (error, view) = fails(tool).await;
    assert_eq!((error.kind(), error.applied()), (ToolErrorKind::Internal, Applied::Unknown));
    assert_eq!(error.causes(), ["boom at 10.1.2.3"]);
    assert_eq!(view, NOTHING_MORE);
}

#[tokio::test]
async fn a_text_as_an_error_is_private_even_if_it_is_empty() {
    let tool = FnTool::new("explode", |(): (), _cx: CallContext| async { Err::<(), _>("") });
    let (error, view) = fails(tool).await;
    assert_eq!(error.kind(), ToolErrorKind::Internal);
    assert_eq!(view, NOTHING_MORE);
}

#[tokio::test]
async fn a_tool_error_stays_what_it_is() {
    let tool = FnTool::new("explode", |(): (), _cx: CallContext| async {
        Err::<(), _>(ToolError::rejected("limit of account 7 is 100").say("the limit is 100"))
    });
    let (error, view) = fails(tool).await;
    assert_eq!(error.kind(), ToolErrorKind::Rejected);
    assert!(view.starts_with("the limit is 100\n"), "{view}");
}

#[tokio::test]
async fn the_whole_chain_of_an_anyhow_error_reaches_operators() {
    use anyhow::Context as _;

    async fn read() -> anyhow::Result<()> {
        Err(io::Error::new(io::ErrorKind::NotFound, "no such file"))
            .context("can't read the ledger")
            .context("can't sum up")
    }
    let tool = FnTool::new("explode", |(): (), _cx: CallContext| async {
        read().await?;
        Ok::<_, anyhow::Error>(())
    });
    let (error, view) = fails(tool).await;
    assert_eq!(error.kind(), ToolErrorKind::Internal);
    assert_eq!(error.causes(), ["can't sum up", "can't read the ledger", "no such file"]);
    assert_eq!(view, NOTHING_MORE);
}

#[derive(Debug)]
struct LedgerError(u32);

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ledger {} is locked", self.0)
    }
}

impl std::error::Error for LedgerError {}

impl From<LedgerError> for ToolError {
    fn from(error: LedgerError) -> Self {
        Self::conflict("the ledger is locked").say("somebody else is writing").with_source(error)
    }
}

#[tokio::test]
async fn an_own_error_type_gets_a_kind_by_conversion() {
    let tool = FnTool::new("explode", |(): (), _cx: CallContext| async {
        Err(LedgerError(7))?;
        Ok::<_, ToolError>(())
    });
    let (error, view) = fails(tool).await;
    assert_eq!(error.kind(), ToolErrorKind::Conflict);
    assert_eq!(error.causes(), ["ledger 7 is locked"]);
    assert!(view.starts_with("somebody else is writing\n"), "{view}");
}

#[tokio::test]
async fn a_result_that_does_not_serialise_is_invalid_output() {
    use backstop_toolsets::function::Json;
    use std::collections::HashMap;

    let tool = FnTool::new("explode", |(): (), _cx: CallContext| async {
        Ok::<_, ToolError>(Json(HashMap::from([((1, 2), 3)])))
    });
    assert_eq!(fails(tool).await.0.kind(), ToolErrorKind::InvalidOutput);
}
