//! Test kit for Backstop: conformance suites, fault servers, scripted models
