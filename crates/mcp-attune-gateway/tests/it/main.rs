//! The gateway as its users meet it: its configuration, and itself on loopback, with real sockets, scripted servers
//! behind and callers in front.

mod config;
mod config_example;
mod context;

mod support;
mod tasks;
mod tokens;

mod admin;
mod assumed;
mod bound;
mod browser;
mod child;
mod counted;
mod drain;
mod exchange;
mod faults;
mod framing;
mod gone;
mod limits;
mod outage;
mod pass;
mod plain;
mod pool;
mod replicas;
mod shares;
mod shutdown;
mod versions;
mod whole;
mod whole_limits;
mod wire;
