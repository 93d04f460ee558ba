//! One MCP message, its HTTP headers, and whether they agree.
#![no_std]

extern crate alloc;

pub mod quality;
