//! Backstop's adapters: typed functions, HTTP endpoints, and model deployments
