//! Templates: `${…}` in the texts of a suite, and the values built with them.
//!
//! A suite says values as [`Expr`]essions; a [`Scope`] turns them into [`Value`](crate::value::Value)s when a case runs. Everything generated
//! comes from the run's seed and the names of case and binding, so that a run can be repeated byte for byte.

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
