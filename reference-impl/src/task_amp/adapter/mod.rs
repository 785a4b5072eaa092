//! The library adapter (binding.md, section 11): `pure` has the functions, `engine` the roles in memory, `library` calls them
//! by name.

mod engine;
mod library;
mod params;
mod pure;

pub(crate) use library::Adapter;
