//! `init` and `new`: files to start from.

use super::args::{InitOptions, NewOptions};
use super::exit::Failure;

/// Writes a target file.
pub(super) fn run(_: &InitOptions) -> Result<u8, Failure> {
    Err(Failure::usage("in the making"))
}

/// Writes a case or the fixture.
pub(super) fn new(_: &NewOptions) -> Result<u8, Failure> {
    Err(Failure::usage("in the making"))
}
