//! Output of the summary: indented, wrapped and coloured lines.

use std::io::{self, Write};

use anstyle::Style;

use crate::report::printable;

pub(super) const PLAIN: Style = Style::new();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const FAINT: Style = Style::new().dimmed();

pub(super) struct Page<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) colour: bool,
    pub(super) width: usize,
    pub(super) verbose: bool,
    /// Whether the last line belongs to a block of fields that more fields may join.
    pub(super) in_block: bool,
}

impl Page<'_> {
    /// `text` in `style`, or plain without colour; hidden characters are escaped.
    pub(super) fn paint(&self, style: Style, text: &str) -> String {
        let text = printable::line(text);
        if self.colour && style != PLAIN && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.into_owned()
        }
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// `label` in its own column, and `text` wrapped in the next.
    pub(super) fn field(
        &mut self,
        indent: usize,
        label: &str,
        column: usize,
        text: &str,
        style: Style,
    ) -> io::Result<()> {
        let columns = self.width.saturating_sub(indent + column);
        for (row, part) in printable::wrap(text, columns).iter().enumerate() {
            let label = if row == 0 { label } else { "" };
            let label = self.paint(FAINT, &format!("{label:column$}"));
            let part = self.paint(style, part);
            writeln!(self.out, "{:indent$}{label}{part}", "")?;
        }
        Ok(())
    }

    /// A field that is never wrapped, so that it can be copied.
    pub(super) fn whole(
        &mut self,
        indent: usize,
        label: &str,
        column: usize,
        text: &str,
        style: Style,
    ) -> io::Result<()> {
        let label = self.paint(FAINT, &format!("{label:column$}"));
        let text = self.paint(style, text);
        writeln!(self.out, "{:indent$}{label}{text}", "")
    }

    pub(super) fn paragraph(&mut self, indent: usize, text: &str, style: Style) -> io::Result<()> {
        self.field(indent, "", 0, text, style)
    }

    /// Begins a block of fields, or goes on in the present one.
    pub(super) fn block(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.in_block, true) { Ok(()) } else { self.blank() }
    }

    pub(super) fn heading(&mut self, text: &str) -> io::Result<()> {
        self.in_block = false;
        self.blank()?;
        self.paragraph(0, text, BOLD)
    }
}

/// The front of `text` that fits into `columns`, with dots if it was cut.
pub(super) fn clip(text: &str, columns: usize) -> String {
    if printable::width(text) <= columns {
        return text.to_owned();
    }
    let mut clipped = String::new();
    for c in text.chars() {
        if printable::width(&clipped) + 5 > columns {
            break;
        }
        clipped.push(c);
    }
    if clipped.is_empty() { clipped } else { clipped + "..." }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coloured_text_contains_no_hidden_characters() {
        let mut out = Vec::new();
        let page = Page { out: &mut out, colour: true, width: 80, verbose: false, in_block: false };
        assert_eq!(page.paint(PLAIN, "L1\u{1b}[2J\r"), "L1\\u{1b}[2J\\r");
        assert_eq!(page.paint(BOLD, "L1"), format!("{BOLD}L1{BOLD:#}"));
    }
}
