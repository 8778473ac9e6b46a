//! MCP servers of manifests: what becomes of those that are there, slow, silent or gone.

#[cfg(not(feature = "mcp"))]
mod absent;
#[cfg(all(feature = "mcp", unix))]
mod address;
#[cfg(all(feature = "mcp", unix))]
mod c10;
#[cfg(all(feature = "mcp", unix))]
mod declared;
#[cfg(all(feature = "mcp", unix))]
mod kit;
#[cfg(all(feature = "mcp", unix))]
mod required;
