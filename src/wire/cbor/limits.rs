//! Bounds of a reader.

/// Maximum input of a reader; beyond it, reading fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Levels of nesting: the outermost item is level 1; arrays, maps and tags each add one.
    pub depth: usize,
    /// Data items in all: keys, values, tags and chunks of strings count one each.
    pub items: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 128, items: 1 << 19 }
    }
}
