//! Where the arguments of a call go, and in which form.

use std::fmt;

use serde_json::Value;

/// Where a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// Into the `{placeholder}` of the path.
    Path,
    /// Into the query.
    Query,
    /// Into a header.
    Header,
    /// Into the header `Cookie`.
    Cookie,
    /// A field of the body.
    Body,
}

/// How an array or an object is written outside of a JSON body: the `style` of
/// [OpenAPI](https://spec.openapis.org/oas/v3.1.1#style-values), which follows RFC 6570.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Style {
    /// `a,b`; for paths and headers.
    Simple,
    /// `.a.b`; for paths.
    Label,
    /// `;name=a;name=b`; for paths.
    Matrix,
    /// `name=a&name=b`; for queries, cookies and forms.
    Form,
    /// `name=a%20b`; for queries.
    SpaceDelimited,
    /// `name=a|b`; for queries.
    PipeDelimited,
    /// `name[key]=a`; for queries.
    DeepObject,
    /// The value as JSON text, whatever it is: OpenAPI's `content: application/json` of a parameter.
    Json,
}

impl Style {
    /// The style of a place where nothing is said.
    pub const fn usual(place: Place) -> Self {
        match place {
            Place::Path | Place::Header => Self::Simple,
            Place::Query | Place::Cookie | Place::Body => Self::Form,
        }
    }
}

/// How the parameters of the body make it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyForm {
    /// One JSON object with a field for each parameter.
    #[default]
    Json,
    /// `application/x-www-form-urlencoded`, each parameter in its style.
    UrlEncoded,
    /// `multipart/form-data`, one part or more for each parameter.
    Multipart,
    /// The only parameter is the whole body: as JSON if the media type is one, text as it is, and what is no
    /// text as base64.
    Whole {
        /// The content type.
        media_type: String,
    },
}

/// One parameter of an endpoint. `Debug` does not show a constant, which may be a secret.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name of the argument.
    pub name: String,
    /// The name on the wire.
    pub wire_name: String,
    /// Where it goes.
    pub place: Place,
    /// How arrays and objects are written, outside of a JSON body.
    pub style: Style,
    /// Whether each item of an array and each entry of an object is written by itself.
    pub explode: bool,
    /// Whether the reserved characters of URLs are sent as they are (OpenAPI's `allowReserved`); only in queries.
    pub allow_reserved: bool,
    /// The content type of a part of a multipart body, where one is declared.
    pub media_type: Option<String>,
    /// What is sent instead of an argument.
    pub constant: Option<Value>,
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parameter")
            .field("name", &self.name)
            .field("wire_name", &self.wire_name)
            .field("place", &self.place)
            .field("style", &self.style)
            .field("explode", &self.explode)
            .field("constant", &self.constant.as_ref().map(|_| "…"))
            .finish_non_exhaustive()
    }
}

impl Parameter {
    /// A parameter that has the same name as its argument, in the usual style of its place.
    pub fn new(name: impl Into<String>, place: Place) -> Self {
        let name = name.into();
        let style = Style::usual(place);
        Self {
            wire_name: name.clone(),
            name,
            place,
            style,
            explode: style == Style::Form,
            allow_reserved: false,
            media_type: None,
            constant: None,
        }
    }

    /// Sets the name on the wire.
    #[must_use]
    pub fn wire_name(mut self, name: impl Into<String>) -> Self {
        self.wire_name = name.into();
        self
    }

    /// Sets how arrays and objects are written, and whether item by item.
    #[must_use]
    pub fn style(mut self, style: Style, explode: bool) -> Self {
        self.style = style;
        self.explode = explode;
        self
    }

    /// Sends this value always: no argument of the model replaces it.
    #[must_use]
    pub fn constant(mut self, value: impl Into<Value>) -> Self {
        self.constant = Some(value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_that_may_be_a_secret_is_not_shown() {
        let shown = format!("{:?}", Parameter::new("key", Place::Query).constant("hunter2"));
        assert_eq!(
            shown,
            r#"Parameter { name: "key", wire_name: "key", place: Query, style: Form, explode: true, constant: Some("…"), .. }"#
        );
    }
}
