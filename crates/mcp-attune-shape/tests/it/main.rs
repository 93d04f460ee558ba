//! The shaping of answers from outside: properties, golden files, bounds and hostile input.

mod allocations;
mod hostile_schemas;
mod render;
mod render_properties;
mod shape;
mod shape_properties;
mod tasks;
mod template;
mod template_bounds;
mod values;
mod views;
