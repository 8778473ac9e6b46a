//! One thing that is wrong with the arguments of a call.

use serde::{Deserialize, Serialize};

/// One thing that is wrong with the arguments of a call, in the words that the model reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Violation {
    /// Where: a JSON Pointer (RFC 6901) into the arguments; of a missing argument, where it should be.
    pub pointer: String,
    /// The keyword of JSON Schema that is not met, such as `required` or `enum`.
    pub keyword: String,
    /// What is wrong, as one line.
    pub message: String,
}

/// A JSON Pointer as people write the place: `/items/2/id` as `items[2].id`. The whole is `arguments`.
///
/// # Example
///
/// ```
/// use backstop_core::schema::place_in_words;
/// assert_eq!(place_in_words("/items/2/id"), "items[2].id");
/// assert_eq!(place_in_words("/a~1b"), "a/b");
/// assert_eq!(place_in_words(""), "arguments");
/// ```
pub fn place_in_words(pointer: &str) -> String {
    let mut words = String::new();
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        if !words.is_empty() && !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit()) {
            words.push_str(&format!("[{token}]"));
        } else {
            if !words.is_empty() {
                words.push('.');
            }
            words.push_str(&token);
        }
    }
    if words.is_empty() { "arguments".into() } else { crate::text::escaped(&words, 120) }
}

/// `token` as a part of a JSON Pointer.
pub(crate) fn pointer_token(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
