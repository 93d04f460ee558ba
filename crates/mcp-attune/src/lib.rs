//! The rules of Attune: what each caller of an MCP server gets, and why.
