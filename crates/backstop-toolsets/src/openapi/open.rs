//! A document from a file or an address, with the files that it refers to.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    time::Duration,
};

use reqwest::header::ACCEPT;
use url::Url;

use super::{DOCUMENT_CAP, OpenApi, OpenApiError, OpenApiOptions, Source, read};
use crate::http::{body, shown};

/// Time for one file.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a document with all its files.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Times that files are fetched which others refer to.
const ROUNDS: usize = 16;

/// Reads the document in a file, and the files of the same folder that it refers to.
///
/// # Errors
///
/// [`OpenApiError`] where the file can't be read, or is no such document.
pub fn open_file(path: &Path, options: &OpenApiOptions) -> Result<OpenApi, OpenApiError> {
    let failed = |cause: std::io::Error| OpenApiError::Unreadable(format!("`{}`: {cause}", path.display()));
    let text = read_capped(path).map_err(failed)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = Folder(folder.canonicalize().map_err(failed)?);
    read(&text, options, &folder)
}

fn read_capped(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let cap = DOCUMENT_CAP as u64;
    std::fs::File::open(path)?.take(cap + 1).read_to_string(&mut text)?;
    if text.len() as u64 > cap {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "it is larger than 64 MiB"));
    }
    Ok(text)
}

/// Files of one folder, wherever their links lead.
struct Folder(PathBuf);

impl Source for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        let found = self.0.join(path).canonicalize().map_err(|cause| cause.to_string())?;
        if !found.starts_with(&self.0) {
            return Err("it is a link out of the folder of the document".into());
        }
        read_capped(&found).map_err(|cause| cause.to_string())
    }
}

/// Fetches the document at an address, and the files below the same address that it refers to: 30 seconds at most
/// for each, 2 minutes for all.
///
/// # Errors
///
/// [`OpenApiError`] where it can't be fetched, or is no such document.
pub async fn fetch(
    url: &Url,
    options: &OpenApiOptions,
    client: &reqwest::Client,
) -> Result<OpenApi, OpenApiError> {
    let fetched = tokio::time::timeout(WHOLE_TIMEOUT, fetch_all(url, options, client));
    let late = |_| OpenApiError::Unreadable(format!("{} did not come in 2 minutes", shown(url)));
    fetched.await.map_err(late)?
}

async fn fetch_all(
    url: &Url,
    options: &OpenApiOptions,
    client: &reqwest::Client,
) -> Result<OpenApi, OpenApiError> {
    let mut options = options.clone();
    options.document_url.get_or_insert_with(|| url.clone());
    let text = get(client, url.clone()).await.map_err(OpenApiError::Unreadable)?;
    let mut room = DOCUMENT_CAP.saturating_sub(text.len());
    let mut files: HashMap<String, Result<String, String>> = HashMap::new();
    for _ in 0..ROUNDS {
        let source = Fetched { files: &files, wanted: RefCell::default() };
        let api = read(&text, &options, &source)?;
        let wanted = source.wanted.into_inner();
        if wanted.is_empty() {
            return Ok(api);
        }
        for path in wanted {
            let got = match below(url, &path) {
                Some(url) => get(client, url).await,
                None => Err("it is at no address".into()),
            };
            // What is too much is not kept, and told when it is wanted.
            let got = got.and_then(|text| {
                room = room.checked_sub(text.len()).ok_or("all files together are larger than 64 MiB")?;
                Ok(text)
            });
            files.insert(path, got);
        }
    }
    Err(OpenApiError::Unreadable(format!("{} refers to files that refer to others, and so on", shown(url))))
}

/// The address of a file in the folder of a document. What stands in its path stays there: nothing leads up again
/// or into a query.
fn below(document: &Url, path: &str) -> Option<Url> {
    let mut url = document.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.path_segments_mut().ok()?.pop().extend(path.split('/'));
    Some(url)
}

/// Files that were fetched, and those that are wanted.
struct Fetched<'f> {
    files: &'f HashMap<String, Result<String, String>>,
    wanted: RefCell<BTreeSet<String>>,
}

impl Source for Fetched<'_> {
    fn read(&self, path: &str) -> Result<String, String> {
        match self.files.get(path) {
            Some(read) => read.clone(),
            None => {
                self.wanted.borrow_mut().insert(path.to_owned());
                Err("it is not there yet".into())
            }
        }
    }
}

/// The text at an address. Redirects are not followed.
async fn get(client: &reqwest::Client, url: Url) -> Result<String, String> {
    let place = shown(&url);
    let request = client
        .get(url)
        .header(ACCEPT, "application/vnd.oai.openapi+json, application/json, application/yaml, */*;q=0.5")
        .timeout(TIMEOUT);
    let failed = |cause: reqwest::Error| {
        let cause = cause.without_url();
        let more = std::iter::successors(std::error::Error::source(&cause), |cause| cause.source());
        let more: String = more.map(|cause| format!(": {cause}")).collect();
        format!("{place}: {cause}{more}")
    };
    let mut response = request.send().await.map_err(failed)?;
    if !response.status().is_success() {
        return Err(format!("{place} answered {}", response.status()));
    }
    let body = body::read(&mut response, DOCUMENT_CAP).await.map_err(failed)?;
    if body.cut {
        return Err(format!("{place} is larger than 64 MiB"));
    }
    String::from_utf8(body.bytes).map_err(|_| format!("{place} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_below_the_document() {
        let document = "https://h.example/docs/v1/openapi.yaml?key=1#x".parse().unwrap();
        for (path, url) in [
            ("pet.yaml", "https://h.example/docs/v1/pet.yaml"),
            ("a b/ü.json", "https://h.example/docs/v1/a%20b/%C3%BC.json"),
            ("%2e%2e/secret.yaml", "https://h.example/docs/v1/%252e%252e/secret.yaml"),
            ("a#b?c", "https://h.example/docs/v1/a%23b%3Fc"),
        ] {
            assert_eq!(below(&document, path).unwrap().as_str(), url);
        }
    }
}
