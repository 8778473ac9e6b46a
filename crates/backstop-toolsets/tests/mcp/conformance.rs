//! What every toolset does.

use backstop_test::{conformance::toolset::Fixture, mcp::Behaviour, toolset_conformance};

use crate::kit::{Fake, shared};

async fn fixture() -> Fixture {
    let fake = Fake::new(Behaviour::Good);
    let toolset = shared(fake.toolset());
    // The folder of its log is not needed.
    Fixture { toolset, tool: "add", arguments: r#"{"a":1,"b":2}"# }
}

toolset_conformance!(fixture);
