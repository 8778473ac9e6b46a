//! Manifest version 1: what it holds, and how it is read.

mod answer;
mod arguments;
mod auth;
mod breaker;
mod by_name;
mod connection;
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
mod places;
mod template;
mod toolset;
mod url;
mod when;

pub use answer::{AnswerSettings, AnswerTest, LargeResults};
pub use auth::{ApiKeyPlace, Auth, OAuth2};
pub use breaker::CircuitBreaker;
pub use by_name::ByName;
pub use connection::{Connection, Network, ProxyChoice};
pub use fallback::Fallback;
pub use header::Header;
pub use http::{Body, HttpConfig, HttpEndpoint, Method};
pub use manifest::Manifest;
pub use model::{ModelConfig, ModelProfile, OpenAiModel, ScriptedModel};
pub use openapi::{DocumentPlace, OpenApiConfig, OperationSelector};
pub use parameter::{Constant, Parameter, ParameterPlace, ParameterStyle};
pub use toolset::{ToolSettings, ToolsetConfig, ToolsetKind};
pub use url::HttpUrl;
