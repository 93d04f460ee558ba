//! The demo over real HTTP on loopback, as clients of both eras see it.

mod http;

mod checks;
mod legacy;
mod modern;
mod pipe;
mod schemas;
mod tools;
