//! The rules of the crate from outside: data-driven cases, properties, and hostile input.

mod allocations;
mod bind;
mod cases;
mod hostile;
mod localize;
mod localize_properties;
mod message_sets;
mod messages;
mod properties;
mod tasks;
mod when;
