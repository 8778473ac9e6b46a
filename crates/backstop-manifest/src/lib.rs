//! Backstop manifests: text to data with source spans and diagnostics
