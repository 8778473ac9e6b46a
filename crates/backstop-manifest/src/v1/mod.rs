//! Manifest version 1: what it holds, and how it is read.

mod arguments;
mod auth;
mod breaker;
mod fallback;
mod header;
mod http;
mod limits;
mod lint;
mod manifest;
mod model;
mod name;
mod openapi;
mod parameter;
mod path;
mod toolset;
mod url;
mod when;

pub use auth::{ApiKeyPlace, Auth};
pub use breaker::CircuitBreaker;
pub use fallback::Fallback;
pub use header::Header;
pub use http::{Body, HttpConfig, HttpEndpoint, Method};
pub use manifest::Manifest;
pub use model::{ModelConfig, ModelProfile, OpenAiModel, ScriptedModel};
pub use openapi::{DocumentPlace, OpenApiConfig, OperationSelector};
pub use parameter::{Constant, Parameter, ParameterPlace, ParameterStyle};
pub use toolset::{ToolSettings, ToolsetConfig, ToolsetKind};
pub use url::HttpUrl;
