//! Which operations become tools.

use std::fmt;

use globset::{Glob, GlobMatcher};

/// Picks operations; everything that it says must hold. Names and paths may have `*` in them.
///
/// # Example
///
/// ```
/// use backstop_toolsets::openapi::Selector;
/// let reading = Selector { path: Some("/pets/**".into()), method: Some("GET".into()), ..Selector::default() };
/// assert!(reading.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The `operationId`, or the name that is made where there is none.
    pub operation: Option<String>,
    /// One of its tags.
    pub tag: Option<String>,
    /// The path: `*` stands for one segment, `**` for any.
    pub path: Option<String>,
    /// The method.
    pub method: Option<String>,
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, tag, path, method } = self;
        let parts = [("operation", operation), ("tag", tag), ("path", path), ("method", method)];
        let said =
            parts.into_iter().filter_map(|(name, value)| Some(format!("{name} `{}`", value.as_ref()?)));
        f.write_str(&said.collect::<Vec<_>>().join(", "))
    }
}

/// A selector, taken apart once.
pub(super) struct Matcher {
    operation: Option<GlobMatcher>,
    tag: Option<GlobMatcher>,
    path: Option<GlobMatcher>,
    method: Option<String>,
}

/// What a selector looks at.
pub(super) struct Candidate<'o> {
    pub(super) operation: &'o str,
    pub(super) tags: &'o [&'o str],
    pub(super) path: &'o str,
    pub(super) method: &'o str,
}

impl Selector {
    /// Whether its patterns are some.
    ///
    /// # Errors
    ///
    /// What is wrong with a pattern.
    pub fn check(&self) -> Result<(), String> {
        self.matcher().map(|_| ())
    }

    pub(super) fn matcher(&self) -> Result<Matcher, String> {
        let glob = |text: &Option<String>, separator: bool| match text {
            None => Ok(None),
            Some(text) => globset::GlobBuilder::new(text)
                .literal_separator(separator)
                // `{name}` of a path is written as it stands there.
                .build()
                .or_else(|_| Glob::new(&globset::escape(text)))
                .map(|glob| Some(glob.compile_matcher()))
                .map_err(|cause| cause.to_string()),
        };
        Ok(Matcher {
            operation: glob(&self.operation, false)?,
            tag: glob(&self.tag, false)?,
            path: glob(&self.path.as_deref().map(braces_escaped), true)?,
            method: self.method.as_deref().map(str::to_ascii_uppercase),
        })
    }
}

fn braces_escaped(path: &str) -> String {
    path.replace('{', "[{]").replace('}', "[}]")
}

impl Matcher {
    pub(super) fn matches(&self, candidate: &Candidate<'_>) -> bool {
        self.operation.as_ref().is_none_or(|glob| glob.is_match(candidate.operation))
            && self.tag.as_ref().is_none_or(|glob| candidate.tags.iter().any(|tag| glob.is_match(tag)))
            && self.path.as_ref().is_none_or(|glob| glob.is_match(candidate.path))
            && self.method.as_ref().is_none_or(|method| method == candidate.method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(selector: &Selector) -> bool {
        selector.matcher().unwrap().matches(&Candidate {
            operation: "pets/list",
            tags: &["pets", "public"],
            path: "/pets/{petId}/toys",
            method: "GET",
        })
    }

    #[test]
    fn everything_that_is_said_must_hold() {
        let of = |operation: &str, tag: &str, path: &str, method: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Selector { operation: some(operation), tag: some(tag), path: some(path), method: some(method) }
        };
        for good in [
            of("", "", "", ""),
            of("pets/*", "", "", ""),
            of("pets/list", "publ*", "/pets/**", "get"),
            of("", "", "/pets/*/toys", ""),
            of("", "", "/pets/{petId}/toys", ""),
        ] {
            assert!(picks(&good), "{good:?}");
        }
        for bad in [
            of("pets", "", "", ""),
            of("", "shops", "", ""),
            of("", "", "/pets/*", ""),
            of("pets/*", "", "", "POST"),
        ] {
            assert!(!picks(&bad), "{bad:?}");
        }
    }
}
