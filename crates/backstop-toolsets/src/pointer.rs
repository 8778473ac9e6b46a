//! JSON Pointers (RFC 6901) into the arguments of a call.

/// `pointer` with one more token.
pub(crate) fn child(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"))
}
