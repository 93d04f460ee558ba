//! The cases of `spec/cases/exchange.json` without any host: what only a host can get is answered from the case.
//!
//! It is a target of its own, so that `cargo xtask mutants exchange` builds and runs it alone, beside the unit tests of
//! the module. The tests stand in a module of its name, so that one filter picks both.

#[path = "."]
mod exchange {
    mod assume;
    mod headers;
    mod http;
    mod lines;
    mod pipe;
    mod request;
}
