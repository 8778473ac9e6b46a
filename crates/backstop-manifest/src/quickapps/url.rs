//! The address of an endpoint, taken apart as text: it is a template, and no URL yet.

use percent_encoding::percent_decode_str;

/// The parts of an address.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Address {
    /// `https://host:port`
    pub(super) origin: String,
    /// The user and the password in front of the host.
    pub(super) user: Option<(String, String)>,
    /// The template of the path.
    pub(super) path: String,
    /// What is asked every time.
    pub(super) query: Vec<(String, String)>,
}

/// Takes an address apart; `None` where it is none, or its host is not written out. Braces around anything but
/// `parameters` are letters like others.
pub(super) fn address(text: &str, parameters: &[String]) -> Option<Address> {
    let text = text.trim();
    let (scheme, rest) = text.split_once("://")?;
    let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    if authority.contains(['{', '}']) {
        return None;
    }
    let decoded = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let (user, password) = user.split_once(':').unwrap_or((user, ""));
            (Some((decoded(user), decoded(password))), host)
        }
        None => (None, authority),
    };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let query = url::form_urlencoded::parse(query.as_bytes());
    let query = query.map(|(key, value)| (key.into_owned(), value.into_owned())).collect();
    Some(Address { origin: format!("{scheme}://{host}"), user, path: template(path, parameters), query })
}

fn template(path: &str, parameters: &[String]) -> String {
    let mut out = String::new();
    let mut rest = if path.is_empty() { "/" } else { path };
    while let Some(c) = rest.chars().next() {
        let known = parameters.iter().map(|name| format!("{{{name}}}")).find(|name| rest.starts_with(name));
        if let Some(name) = known {
            out.push_str(&name);
            rest = rest.get(name.len()..).unwrap_or_default();
            continue;
        }
        match c {
            '{' => out.push_str("%7B"),
            '}' => out.push_str("%7D"),
            ' ' => out.push_str("%20"),
            '\\' => out.push_str("%5C"),
            c => out.push(c),
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart() {
        let parameters = ["id".to_owned()];
        let found = address("https://me:p%40ss@h:8/a/{id}/{x}?v=1&q=a%20b#end", &parameters).unwrap();
        assert_eq!(found.origin, "https://h:8");
        assert_eq!(found.user, Some(("me".into(), "p@ss".into())));
        assert_eq!(found.path, "/a/{id}/%7Bx%7D");
        assert_eq!(found.query, [("v".into(), "1".into()), ("q".into(), "a b".into())]);
        assert_eq!(address("https://h?abc={id}", &parameters).unwrap().path, "/");
        assert_eq!(address("https://{h}/a", &parameters), None);
        assert_eq!(address("h/a", &parameters), None);
    }
}
