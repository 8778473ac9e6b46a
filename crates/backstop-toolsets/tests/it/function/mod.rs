mod arguments;
mod errors;
mod toolset;
