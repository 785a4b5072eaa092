//! What several modules need to set up a target.

pub(crate) mod http;
pub(crate) mod port;
pub(crate) mod reference;
pub(crate) mod reports;
