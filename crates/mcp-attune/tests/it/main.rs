//! The rules of the crate from outside: data-driven cases, properties, and hostile input.

mod allocations;
mod bind;
mod bundle;
mod bundle_cases;
mod cases;
mod format;
mod hostile;
mod hostile_schemas;
mod localize;
mod localize_properties;
mod messages;
mod properties;
mod render;
mod render_properties;
mod shape;
mod shape_properties;
mod tasks;
mod template;
mod template_bounds;
mod values;
mod views;
mod when;
