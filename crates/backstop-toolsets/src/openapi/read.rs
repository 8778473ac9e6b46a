//! A document as a whole.

use url::Url;

use super::{
    document::{Documents, OpenApiError, Source},
    name::{self, Names},
    operation::{Context, Operation, endpoint},
    pick::{names, picked},
    reference::Node,
    security::{self, SecurityNeed},
    select::Selector,
    server,
};
use crate::http::Endpoint;

/// Operations of one document at most.
const OPERATIONS: usize = 5000;
/// Values of all input schemas, and of all output schemas, at most.
const SCHEMAS: usize = 1_000_000;
const METHODS: [(&str, &str); 7] = [
    ("get", "GET"),
    ("put", "PUT"),
    ("post", "POST"),
    ("delete", "DELETE"),
    ("options", "OPTIONS"),
    ("head", "HEAD"),
    ("patch", "PATCH"),
];

/// What is made of a document.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct OpenApiOptions {
    /// Operations that become tools: those that any of these picks, and all where there is none.
    pub include: Vec<Selector>,
    /// Operations that do not, though they are included.
    pub exclude: Vec<Selector>,
    /// Leaves out operations that are deprecated.
    pub without_deprecated: bool,
    /// New names, by `operationId`, the name that is made where there is none, or method and path: `GET /pets`.
    pub rename: Vec<(String, String)>,
    /// Where requests go; the first server of the document where there is none.
    pub base_url: Option<Url>,
    /// Where the document is from, for servers that are relative to it.
    pub document_url: Option<Url>,
}

/// What a document came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenApi {
    /// The title of the service; empty where it has none.
    pub title: String,
    /// Where requests go; `None` where neither the document nor the options say it.
    pub base_url: Option<Url>,
    /// The tools.
    pub endpoints: Vec<Endpoint>,
    /// The ways in which the service wants to know who calls, of the operations that became tools.
    pub needs: Vec<SecurityNeed>,
    /// What is wrong with the document, and what was left out for it.
    pub problems: Vec<OpenApiProblem>,
}

/// Something that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenApiProblem {
    /// Where: a JSON Pointer, behind `file#` where it is in another file than the document itself.
    pub place: String,
    /// The operation, by its name, where it is about one.
    pub operation: Option<String>,
    /// What.
    pub message: String,
    /// Whether the operation is left out for it.
    pub left_out: bool,
}

impl std::fmt::Display for OpenApiProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(operation) = &self.operation {
            write!(f, "operation `{operation}`{}: ", if self.left_out { " is left out" } else { "" })?;
        }
        write!(f, "{} (at `{}`)", self.message, self.place)
    }
}

/// Reads a document, of OpenAPI 3.x or Swagger 2.0, in JSON or YAML. Makes no request; `source` gives the other
/// files that it refers to.
///
/// # Errors
///
/// [`OpenApiError`] where the text is no such document. What is wrong with parts of it is in the
/// [problems](OpenApi::problems), and the rest is there.
///
/// # Example
///
/// ```
/// use backstop_toolsets::openapi::{OpenApiOptions, Source, read};
///
/// struct NoFiles;
/// impl Source for NoFiles {
///     fn read(&self, path: &str) -> Result<String, String> {
///         Err(format!("there is no {path}"))
///     }
/// }
///
/// let text = "
/// openapi: 3.1.0
/// info: { title: Pets, version: '1' }
/// servers: [{ url: https://pets.example/v1 }]
/// paths:
///   /pets/{id}:
///     get:
///       operationId: get_pet
///       summary: Finds a pet.
///       parameters: [{ name: id, in: path, required: true, schema: { type: integer } }]
/// ";
/// let pets = read(text, &OpenApiOptions::default(), &NoFiles)?;
/// assert_eq!(pets.endpoints[0].spec.name, "get_pet");
/// assert_eq!(pets.base_url.unwrap().as_str(), "https://pets.example/v1");
/// # Ok::<_, backstop_toolsets::openapi::OpenApiError>(())
/// ```
pub fn read(text: &str, options: &OpenApiOptions, source: &dyn Source) -> Result<OpenApi, OpenApiError> {
    let documents = Documents::open(text, source)?;
    let root = Node::root(&documents);
    let twice = |place| problem(place, "the key is there twice: the last one counts".into());
    let mut problems: Vec<OpenApiProblem> = documents.twice().map(twice).collect();
    let document_url = options.document_url.as_ref();
    let base_url =
        options.base_url.clone().or_else(|| server::servers(&root, document_url).into_iter().next());
    let operations = operations(&root, &mut problems);
    let picked = picked(&operations, options, &mut problems);
    let names = names(&operations, &picked, options, &mut problems);

    let replaced = options.base_url.as_ref().map(|_| server::servers(&root, document_url));
    let mut context = Context {
        keys: security::keys(&root),
        base: base_url.as_ref(),
        replaced: replaced.unwrap_or_default(),
        document: document_url,
        inputs: SCHEMAS,
        outputs: SCHEMAS,
    };
    let (mut endpoints, mut needs) = (Vec::new(), Vec::new());
    for index in picked {
        let (Some(operation), Some(name)) = (operations.get(index), names.get(&index)) else { continue };
        let about = |place: String, message: String, left_out: bool| OpenApiProblem {
            place,
            operation: Some(operation.id.clone()),
            message,
            left_out,
        };
        match endpoint(operation, name, &mut context) {
            Ok(made) => {
                problems.extend(made.problems.into_iter().map(|(place, why)| about(place, why, false)));
                endpoints.push(made.endpoint);
                for need in security::needs(&root, &operation.node) {
                    if !needs.contains(&need) {
                        needs.push(need);
                    }
                }
            }
            Err((place, why)) => problems.push(about(place, why, true)),
        }
    }
    let title = root.child("info").and_then(|info| info.text("title").map(str::to_owned)).unwrap_or_default();
    Ok(OpenApi { title, base_url, endpoints, needs, problems })
}

pub(super) fn problem(place: String, message: String) -> OpenApiProblem {
    OpenApiProblem { place, operation: None, message, left_out: false }
}

/// All operations, with names that are theirs alone, in the order of the document.
fn operations<'d>(root: &Node<'d>, problems: &mut Vec<OpenApiProblem>) -> Vec<Operation<'d>> {
    let mut operations: Vec<Operation<'d>> = Vec::new();
    let paths = root.entries("paths");
    if paths.is_empty() {
        problems.push(problem("/paths".into(), "the document has no paths".into()));
    }
    'paths: for (path, item) in paths.into_iter().filter(|(path, _)| !path.starts_with("x-")) {
        let item = match item.resolved() {
            Ok(item) if item.value.is_object() => item,
            Ok(item) => {
                problems.push(problem(item.place(), "the path is not an object: it is left out".into()));
                continue;
            }
            Err(why) => {
                problems.push(problem(item.place(), format!("{why}: the path is left out")));
                continue;
            }
        };
        for (key, method) in METHODS {
            let Some(node) = item.child(key) else { continue };
            if !node.value.is_object() {
                problems.push(problem(node.place(), "the operation is not an object: it is left out".into()));
                continue;
            }
            if operations.len() >= OPERATIONS {
                let message = format!("there are more than {OPERATIONS} operations: the others are left out");
                problems.push(problem(node.place(), message));
                break 'paths;
            }
            let tags = node.items("tags").iter().filter_map(|tag| tag.value.as_str()).collect();
            operations.push(Operation { method, path, item: item.clone(), node, id: String::new(), tags });
        }
    }
    // A name that is made gives way to one that is written.
    let mut names = Names::default();
    let own = |operation: &Operation<'d>| {
        operation.node.text("operationId").map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned)
    };
    for operation in &mut operations {
        operation.id = own(operation).map(|id| names.free(id)).unwrap_or_default();
    }
    for operation in operations.iter_mut().filter(|operation| operation.id.is_empty()) {
        operation.id = names.free(name::of_path(operation.method, operation.path));
    }
    operations
}
