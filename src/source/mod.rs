//! Data files with the places of their nodes, and diagnostics.
//!
//! A loader never stops at the first mistake: it collects [`Diagnostic`]s, each of which points at a span of a file, and
//! `cli` prints them all. [`Node`] is a YAML tree with spans. A [`Shape`] is the table of the keys of one kind of
//! map, and [`Fields`] reads a map with it and reports missing, malformed and unknown keys.

mod fields;
mod json;
mod keys;
mod node;
mod quick;
mod yaml;

use std::borrow::Cow;
use std::sync::Arc;

#[cfg(test)]
pub(crate) use fields::asked;
pub use fields::{Fields, Problems};
pub use json::parse_json;
pub use keys::{Choice, KeyRow, Kind, Others, Shape, reachable};
pub use node::{Key, Node, Yaml};
pub use yaml::parse;

/// A data file.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name in reports: a path relative to the working directory, or to the folder of the suite if embedded.
    pub name: String,
    /// Its text; that of an embedded file is not copied.
    pub text: Cow<'static, str>,
}

/// A range of bytes in a data file.
#[derive(Clone, PartialEq, Eq)]
pub struct Span {
    source: Arc<Source>,
    // In 32 bits, because a suite has a span for each word: a file of 4 GiB is no data file.
    start: u32,
    end: u32,
}

impl Span {
    /// A span from byte `start` to byte `end`, clamped to the text and to character boundaries.
    pub fn new(source: &Arc<Source>, start: usize, end: usize) -> Self {
        let clamp = |offset: usize| {
            let mut offset = offset.min(source.text.len());
            while !source.text.is_char_boundary(offset) {
                offset -= 1;
            }
            offset
        };
        let offset = |at: usize| u32::try_from(clamp(at)).unwrap_or_default();
        let start = offset(start);
        Self { source: Arc::clone(source), start, end: offset(end).max(start) }
    }

    /// An empty span for a whole file.
    pub fn file(source: &Arc<Source>) -> Self {
        Self::new(source, 0, 0)
    }

    /// The text it covers.
    pub fn text(&self) -> &str {
        &self.source.text[self.start()..self.end()]
    }

    /// Its file.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Its first byte.
    pub fn start(&self) -> usize {
        self.start as usize
    }

    fn end(&self) -> usize {
        self.end as usize
    }

    /// Line and column of its start, counted from 1, the column in characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = &self.source.text[..self.start()];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1, before[line_start..].chars().count() + 1)
    }

    /// `file:line:column`.
    pub fn place(&self) -> String {
        let (line, column) = self.line_column();
        format!("{}:{line}:{column}", self.source.name)
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place())
    }
}

/// A value and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it is written.
    pub span: Span,
}

impl<T> std::ops::Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A mistake in a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The place.
    pub span: Span,
    /// The message: a fragment that starts in lower case, without advice.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A mistake at `span`.
    pub fn new(span: &Span, message: impl Into<String>) -> Self {
        Self { span: span.clone(), message: message.into(), hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the hint that `nearest` was probably meant, if any.
    #[must_use]
    pub fn did_you_mean(self, nearest: Option<&str>) -> Self {
        match nearest {
            Some(name) => self.hint(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Sorts mistakes by file and place. Mistakes at the same place keep their order.
    pub fn sort(mistakes: &mut [Self]) {
        mistakes.sort_by(|a, b| (&a.span.source.name, a.span.start).cmp(&(&b.span.source.name, b.span.start)));
    }

    /// The mistake with an excerpt of its file and a caret under the place.
    pub fn render(&self, colour: bool) -> String {
        use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
        let source = &self.span.source;
        let end = if self.span.end > self.span.start {
            self.span.end()
        } else {
            (self.span.start() + 1).min(source.text.len())
        };
        let range = Span::new(source, self.span.start(), end);
        let snippet = Snippet::source(&*source.text)
            .path(source.name.as_str())
            .annotation(AnnotationKind::Primary.span(range.start()..range.end()));
        let mut group = Level::ERROR.primary_title(self.message.as_str()).element(snippet);
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.span.place(), self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, " ({hint})"))
    }
}
