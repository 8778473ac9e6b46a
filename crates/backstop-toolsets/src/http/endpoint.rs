//! One endpoint, and where the arguments of its calls go.

use std::collections::HashSet;

use backstop_core::{Effect, ToolError, ToolSpec};
use reqwest::{Method, header::HeaderName};

use super::{
    AnswerRules, BodyForm, Parameter, Place, Templates,
    compose::names_in,
    payload::{declared, is_media_type, sent_as},
    template::Template,
};

/// Headers that belong to the connection or the message, and that no argument may set.
pub(crate) const RESERVED: [&str; 10] = [
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// One endpoint as a tool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Endpoint {
    /// The tool. Whether it [honours idempotency keys](ToolSpec::honours_idempotency_key) is set from
    /// `sends_idempotency_key`.
    pub spec: ToolSpec,
    /// The method.
    pub method: Method,
    /// The path behind the base URL, with `{placeholders}` for parameters in the path.
    pub path: String,
    /// Where the arguments go; an argument without a parameter is not sent.
    pub parameters: Vec<Parameter>,
    /// How the parameters of the body are written.
    pub body: BodyForm,
    /// Queries, headers and a body with arguments in them, beside what the parameters say.
    pub templates: Templates,
    /// Content types that answers are declared to have; empty where nothing is declared.
    pub answers: Vec<String>,
    /// What is declared about answers beside that. The output schema of the tool is that of the whole answer; where
    /// only a part of it is the result, it is not offered.
    pub answer: AnswerRules,
    /// Whether the idempotency key of the call is sent, because the service honours it.
    pub sends_idempotency_key: bool,
}

impl Endpoint {
    /// An endpoint without parameters.
    pub fn new(spec: ToolSpec, method: Method, path: impl Into<String>) -> Self {
        Self {
            spec,
            method,
            path: path.into(),
            parameters: Vec::new(),
            body: BodyForm::default(),
            templates: Templates::default(),
            answers: Vec::new(),
            answer: AnswerRules::default(),
            sends_idempotency_key: false,
        }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn parameter(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// Sets how the parameters of the body are written.
    #[must_use]
    pub fn body(mut self, form: BodyForm) -> Self {
        self.body = form;
        self
    }

    /// Declares that the service honours idempotency keys.
    #[must_use]
    pub fn sends_idempotency_key(mut self) -> Self {
        self.sends_idempotency_key = true;
        self
    }

    /// What a method usually does to the world, for a tool of which nobody said it.
    pub fn usual_effect(method: &Method) -> Effect {
        if method.is_safe() {
            Effect::ReadOnly
        } else if method.is_idempotent() {
            Effect::Idempotent
        } else {
            Effect::Mutating
        }
    }

    /// Checks that requests can be made from it. [`HttpToolset::new`](super::HttpToolset::new) does so too;
    /// whoever imports many endpoints leaves out the bad ones with it.
    ///
    /// # Errors
    ///
    /// `misconfigured` when the path can't be one, a placeholder has no parameter or a parameter no placeholder,
    /// two parameters go to the same place, or a header can't be sent.
    pub fn check(&self) -> Result<(), ToolError> {
        let fail =
            |reason: String| Err(ToolError::misconfigured(format!("tool `{}`: {reason}", self.spec.name)));
        let template = match Template::parse(&self.path) {
            Ok(template) => template,
            Err(reason) => return fail(format!("path `{}` {reason}", self.path)),
        };
        let mut taken = HashSet::new();
        for parameter in &self.parameters {
            let wire = parameter.wire_name.as_str();
            let key = match parameter.place {
                Place::Header => wire.to_ascii_lowercase(),
                Place::Path | Place::Query | Place::Cookie | Place::Body => wire.to_owned(),
            };
            if wire.is_empty() || !taken.insert((parameter.place, key.clone())) {
                return fail(format!("parameter `{wire}` is there twice, or has no name"));
            }
            match parameter.place {
                Place::Path if !template.names().any(|name| name == wire) => {
                    return fail(format!("path `{}` has no `{{{wire}}}`", self.path));
                }
                Place::Header if HeaderName::from_bytes(key.as_bytes()).is_err() => {
                    return fail(format!("`{wire}` can't be the name of a header"));
                }
                Place::Cookie
                    if !wire
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&b)) =>
                {
                    return fail(format!("`{wire}` can't be the name of a cookie"));
                }
                Place::Header if RESERVED.contains(&key.as_str()) => {
                    return fail(format!("header `{wire}` can't be set by a parameter"));
                }
                Place::Path | Place::Header | Place::Query | Place::Cookie | Place::Body => {}
            }
        }
        if let Some(media_type) = self.parameters.iter().filter_map(declared).find(|it| !is_media_type(it)) {
            return fail(format!("`{media_type}` can't be a content type"));
        }
        self.check_body().or_else(fail)?;
        self.check_templates(&mut taken).or_else(fail)?;
        match template.names().find(|name| !taken.contains(&(Place::Path, (*name).to_owned()))) {
            Some(name) => fail(format!("nothing is declared for `{{{name}}}` of path `{}`", self.path)),
            None => Ok(()),
        }
    }

    fn check_body(&self) -> Result<(), String> {
        let in_body = self.parameters.iter().filter(|parameter| parameter.place == Place::Body).count();
        if self.templates.body.is_some() && in_body > 0 {
            return Err("its body is a template, so no parameter goes there".into());
        }
        match &self.body {
            BodyForm::Whole { .. } if in_body > 1 => Err("a whole body is one parameter".into()),
            BodyForm::Whole { media_type } if !is_media_type(sent_as(media_type)) => {
                Err(format!("`{media_type}` can't be a content type"))
            }
            BodyForm::Whole { .. } | BodyForm::Json | BodyForm::UrlEncoded | BodyForm::Multipart => Ok(()),
        }
    }

    /// `taken` are the places of the parameters, and of the templates in the end.
    fn check_templates(&self, taken: &mut HashSet<(Place, String)>) -> Result<(), String> {
        let properties = self.spec.input_schema.get("properties");
        let is_known = |name: &str| properties.is_some_and(|properties| properties.get(name).is_some());
        if let Some(name) = self.templates.names()?.iter().find(|name| !is_known(name)) {
            return Err(format!("a template names `{{{name}}}`, which is no argument"));
        }
        for (name, _) in &self.templates.query {
            if name.is_empty() || !taken.insert((Place::Query, name.clone())) {
                return Err(format!("query `{name}` is there twice, or has no name"));
            }
        }
        for (name, template) in &self.templates.headers {
            let key = name.to_ascii_lowercase();
            if HeaderName::from_bytes(key.as_bytes()).is_err() || RESERVED.contains(&key.as_str()) {
                return Err(format!("header `{name}` can't be set by a template"));
            }
            if template.as_str().is_some_and(|text| text.chars().any(char::is_control)) {
                return Err(format!("the template of header `{name}` holds control characters"));
            }
            if !taken.insert((Place::Header, key)) {
                return Err(format!("header `{name}` is there twice"));
            }
        }
        Ok(())
    }

    /// The only argument that names something in the path: what a "not found" is about.
    pub(super) fn named_by(&self) -> Option<&str> {
        let mut path = self.arguments().filter(|parameter| parameter.place == Place::Path);
        match (path.next(), path.next()) {
            (Some(only), None) => Some(&only.name),
            _ => None,
        }
    }

    /// Whether an argument can name what is not allowed.
    pub(super) fn takes_arguments(&self) -> bool {
        let in_templates = self.templates.query.iter().map(|(_, value)| value).chain(&self.templates.body);
        self.arguments().any(|parameter| parameter.place != Place::Header)
            || in_templates.into_iter().any(|template| !names_in(template).is_empty())
    }

    fn arguments(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.constant.is_none())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn endpoint(path: &str) -> Endpoint {
        Endpoint::new(ToolSpec::new("t", json!({"type": "object"})), Method::GET, path)
    }

    #[test]
    fn a_placeholder_without_a_parameter_is_refused_by_name() {
        let endpoint =
            endpoint("/orders/{orderId}/{action}").parameter(Parameter::new("action", Place::Path));
        assert_eq!(
            endpoint.check().unwrap_err().detail(),
            "tool `t`: nothing is declared for `{orderId}` of path `/orders/{orderId}/{action}`"
        );
    }

    #[test]
    fn endpoints_that_no_request_can_be_made_from_are_refused() {
        for bad in [
            endpoint("orders"),
            endpoint("/a/../b"),
            endpoint("/a?b=c"),
            endpoint("/a/{b"),
            endpoint("/a/{}"),
            endpoint("/a/{b}/{b}").parameter(Parameter::new("b", Place::Path)),
            endpoint("/a").parameter(Parameter::new("b", Place::Path)),
            endpoint("/a").parameter(Parameter::new("Host", Place::Header)),
            endpoint("/a").parameter(Parameter::new("a b", Place::Header)),
            endpoint("/a")
                .parameter(Parameter::new("b", Place::Query))
                .parameter(Parameter::new("c", Place::Query).wire_name("b")),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn methods_have_their_usual_effect() {
        assert_eq!(Endpoint::usual_effect(&Method::GET), Effect::ReadOnly);
        assert_eq!(Endpoint::usual_effect(&Method::PUT), Effect::Idempotent);
        assert_eq!(Endpoint::usual_effect(&Method::POST), Effect::Mutating);
        assert_eq!(Endpoint::usual_effect(&Method::PATCH), Effect::Mutating);
    }
}
