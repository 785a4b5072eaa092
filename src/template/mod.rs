//! Templates: `${…}` in the texts of a suite, and the values built with them.
//! A suite writes values as [`Expr`]essions; a [`Scope`] renders them to [`Value`](crate::value::Value)s when a case
//! runs. Generated values depend only on the seed of the run and the names of case and binding, so that a run is
//! reproducible byte for byte.

mod error;
mod expr;
mod function;
mod keys;
mod scope;
mod time;

pub use error::RenderError;
pub use expr::{Expr, Template, TemplateError, read_path};
pub use function::{Arguments, FUNCTIONS, Function};
pub use keys::BUILT;
pub use scope::{Objects, Scope, Seed};
pub use time::{Clock, format_time, parse_time};
