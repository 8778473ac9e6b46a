//! A program that was built without MCP.

use std::path::Path;

use backstop::{
    Overrides, agent_from_manifest,
    manifest::{Manifest, MapEnvironment},
};

#[tokio::test]
async fn a_server_can_not_be_used_and_why_is_said() {
    let text = "
version: 1
name: a
model: { name: m, base_url: 'http://127.0.0.1:9/v1' }
toolsets: { clock: { mcp: { command: [mcp-server-time] } } }
";
    let (manifest, _) = Manifest::load(text, "a.yaml", Path::new("."), &MapEnvironment::new());
    let error = agent_from_manifest(&manifest.unwrap(), &Overrides::default()).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "the toolset `clock` needs the feature `mcp`, and this program was built without it"
    );
}
