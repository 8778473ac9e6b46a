//! Runtime for LLM agents and the tools they call, built around the moment a tool call fails
