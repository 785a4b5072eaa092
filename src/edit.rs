//! Edits: deliberate defects of messages.
//! A negative case is a valid message and a list of edits, and so is a generated message of the fuzzer. Since the
//! defect is a separate list, the same message can be sent without it: the
//! twin.

mod keys;
#[cfg(test)]
mod tests;

pub use keys::EDIT;

use std::borrow::Cow;

use crate::source::{Diagnostic, Fields, Located, Node, Problems, Span, Yaml};
use crate::template::{Expr, read_path};
use crate::value::{ChangeError, Path, Shared, Value, remove, set};
use crate::wire::{json, show};

/// A defect of a message.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The stage at which it is applied.
    pub stage: Stage,
    /// The change.
    pub change: Change,
    /// Where it is written.
    pub span: Span,
}

/// The stage at which an edit is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// On the message, before it is signed or sealed.
    Built,
    /// On the message after it is signed or sealed, before it is encoded.
    Protected,
    /// On the encoded bytes.
    Encoded,
}

/// The change of an edit.
#[derive(Clone, Debug)]
pub enum Change {
    /// Removes the value at the place.
    Remove(Path),
    /// Writes a value at the place.
    Set(Path, Expr),
    /// Gives a member another name, at its place in the order.
    Rename(Path, String),
    /// Writes a member a second time, after the first, with this value.
    Repeat(Path, Expr),
    /// Sends a value instead of the whole message.
    Whole(Expr),
    /// Keeps the first bytes only.
    Truncate(usize),
    /// Sends bytes instead of the whole body.
    Bytes(Bytes),
    /// Replaces the first occurrence of one text in the bytes by other bytes.
    Replace(Vec<u8>, Bytes),
    /// Inverts one bit of one byte; the index wraps at the end.
    Flip(usize, u8),
    /// Inserts bytes before the byte with this index; at the end without one.
    Insert(Bytes, Option<usize>),
    /// Removes this many bytes, from the byte with this index on, which wraps at the end.
    Cut(usize, usize),
    /// Overwrites as many bytes with these, from the byte with this index on, which wraps at the end.
    Overwrite(Bytes, usize),
    /// Sets a header field, or removes it.
    Header(String, Option<Expr>),
}

/// The new bytes of an edit.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// As they are written.
    Written(Vec<u8>),
    /// The value of an expression: a byte string, a text in UTF-8, or any other value as JSON.
    Of(Expr),
}

impl Edit {
    /// Reads an edit: one of the changes of [`EDIT`], with the keys that it needs, and an optional `stage`.
    pub fn read(node: &Node, problems: &mut Problems) -> Option<Self> {
        let mut fields = Fields::new(node, &EDIT, problems);
        let stage = fields.text("stage", problems);
        let place = |text: Located<String>, problems: &mut Problems| read_path(&text, &text.span, problems);
        let mut changes = Vec::new();
        if let Some(path) = fields.text("remove", problems) {
            changes.extend(place(path, problems).map(Change::Remove));
        }
        if let Some(path) = fields.text("set", problems) {
            let to = value_of(&mut fields, problems);
            changes.extend(place(path, problems).zip(to).map(|(path, to)| Change::Set(path, to)));
        }
        if let Some(path) = fields.text("rename", problems) {
            let to = fields.required_text("to", problems);
            to.iter().for_each(|to| as_written(to, &to.span, problems));
            changes.extend(place(path, problems).zip(to).map(|(path, to)| Change::Rename(path, to.value)));
        }
        if let Some(path) = fields.text("duplicate", problems) {
            let to = value_of(&mut fields, problems);
            changes.extend(place(path, problems).zip(to).map(|(path, to)| Change::Repeat(path, to)));
        }
        if let Some(whole) = fields.take("replace-message") {
            changes.push(Change::Whole(Expr::read(whole, problems)));
        }
        if let Some(count) = fields.number("truncate", problems) {
            changes.push(Change::Truncate(usize::try_from(count.value).unwrap_or(usize::MAX)));
        }
        if let Some(bytes) = fields.take("bytes") {
            changes.extend(bytes_of(bytes, problems).map(Change::Bytes));
        }
        if let Some(from) = fields.text("replace", problems) {
            as_written(&from, &from.span, problems);
            let to = fields.require("to", problems).and_then(|node| bytes_of(node, problems));
            changes.extend(to.map(|to| Change::Replace(from.value.into_bytes(), to)));
        }
        if let Some(byte) = fields.number("flip", problems) {
            let bit = fields.number("bit", problems).map_or(0, |bit| bit.value % 8);
            changes
                .push(Change::Flip(usize::try_from(byte.value).unwrap_or(usize::MAX), u8::try_from(bit).unwrap_or(0)));
        }
        if let Some(bytes) = fields.take("insert").and_then(|node| bytes_of(node, problems)) {
            let at = index(&mut fields, "at", problems);
            changes.push(Change::Insert(bytes, at));
        }
        if let Some(count) = index(&mut fields, "cut", problems) {
            let at = index(&mut fields, "at", problems);
            changes.push(Change::Cut(count, at.unwrap_or(0)));
        }
        if let Some(bytes) = fields.take("overwrite").and_then(|node| bytes_of(node, problems)) {
            let at = index(&mut fields, "at", problems);
            changes.push(Change::Overwrite(bytes, at.unwrap_or(0)));
        }
        if let Some(name) = fields.text("header", problems) {
            let to = fields.take("to").map(|node| Expr::read(node, problems));
            changes.push(Change::Header(name.value, to));
        }
        let span = fields.span().clone();
        fields.finish(problems);
        if changes.len() != 1 {
            // What is not a map is a mistake already.
            if matches!(node.value, Yaml::Map(_)) {
                let message = format!("an edit needs exactly one change, found {}", changes.len());
                problems.note(Diagnostic::new(&span, message).hint(format!("one of {}", EDIT.choice.list())));
            }
            return None;
        }
        let change = changes.pop()?;
        let natural = change.stage();
        let stage = match stage {
            None => natural,
            Some(word) => match word.as_str() {
                "built" => Stage::Built,
                "protected" => Stage::Protected,
                "encoded" => Stage::Encoded,
                _ => {
                    problems.note(
                        Diagnostic::new(&word.span, format!("unknown stage `{}`", *word))
                            .hint("one of built, protected, encoded"),
                    );
                    natural
                }
            },
        };
        if (stage == Stage::Encoded) != (natural == Stage::Encoded) {
            problems.note(
                Diagnostic::new(&span, "this change cannot be made at this stage")
                    .hint("changes of bytes need stage `encoded`, changes of values `built` or `protected`"),
            );
        }
        Some(Self { stage, change, span })
    }

    /// The expression of its new value, if it has one.
    pub fn expr(&self) -> Option<&Expr> {
        match &self.change {
            Change::Set(_, expr)
            | Change::Repeat(_, expr)
            | Change::Whole(expr)
            | Change::Header(_, Some(expr))
            | Change::Bytes(Bytes::Of(expr))
            | Change::Replace(_, Bytes::Of(expr))
            | Change::Insert(Bytes::Of(expr), _)
            | Change::Overwrite(Bytes::Of(expr), _) => Some(expr),
            _ => None,
        }
    }

    /// The description of the edit, with its new value.
    pub fn describe(&self, rendered: Option<&Value>) -> String {
        let shown = rendered.map(show).unwrap_or_default();
        let bytes = |new: &Bytes| new.with(rendered).into_owned();
        match &self.change {
            Change::Remove(path) => format!("remove {path}"),
            Change::Set(path, _) => format!("set {path} to {shown}"),
            Change::Rename(path, name) => format!("rename {path} to {name}"),
            Change::Repeat(path, _) => format!("duplicate {path} with {shown}"),
            Change::Whole(_) => format!("send {shown} instead of the message"),
            Change::Truncate(count) => format!("keep the first {count} bytes"),
            Change::Bytes(new) => format!("send the bytes {} instead of the body", text(&bytes(new))),
            Change::Replace(from, to) => format!("replace {} by {}", text(from), text(&bytes(to))),
            Change::Flip(byte, bit) => format!("invert bit {bit} of byte {byte}"),
            Change::Insert(new, Some(at)) => format!("insert the bytes {} before byte {at}", hex(&bytes(new))),
            Change::Insert(new, None) => format!("append the bytes {} to the message", hex(&bytes(new))),
            Change::Cut(count, at) => format!("remove {count} bytes from byte {at} on"),
            Change::Overwrite(new, at) => format!("overwrite with the bytes {} from byte {at} on", hex(&bytes(new))),
            Change::Header(name, Some(_)) => format!("set the header {name} to {shown}"),
            Change::Header(name, None) => format!("remove the header {name}"),
        }
    }

    /// Applies a change of the stages built and protected. `rendered` is the value of [`Edit::expr`].
    ///
    /// # Errors
    ///
    /// [`ChangeError`] if the value or the bytes to change are missing.
    pub fn apply(&self, value: &mut Value, rendered: Option<Value>) -> Result<(), ChangeError> {
        let new = rendered.unwrap_or(Value::Null);
        match &self.change {
            Change::Remove(path) => remove(value, path),
            Change::Set(path, _) => set(value, path, new),
            Change::Whole(_) => {
                *value = new;
                Ok(())
            }
            Change::Rename(path, name) => {
                with_member(value, path, |members, at| members.make_mut()[at].0 = Value::text(name))
            }
            Change::Repeat(path, _) => with_member(value, path, |members, at| {
                let key = members[at].0.clone();
                members.insert(at + 1, (key, new));
            }),
            Change::Truncate(_)
            | Change::Bytes(_)
            | Change::Replace(..)
            | Change::Flip(..)
            | Change::Insert(..)
            | Change::Cut(..)
            | Change::Overwrite(..)
            | Change::Header(..) => Ok(()),
        }
    }

    /// Applies a change of the stage encoded. `rendered` is the value of [`Edit::expr`].
    ///
    /// # Errors
    ///
    /// [`ChangeError`] if the value or the bytes to change are missing.
    pub fn apply_to_bytes(&self, bytes: &mut Vec<u8>, rendered: Option<&Value>) -> Result<(), ChangeError> {
        match &self.change {
            Change::Truncate(count) => bytes.truncate(*count),
            Change::Bytes(new) => *bytes = new.with(rendered).into_owned(),
            Change::Replace(from, to) => {
                let at = bytes.windows(from.len().max(1)).position(|window| window == from.as_slice());
                let at = at.ok_or(ChangeError::NotThere)?;
                bytes.splice(at..at + from.len(), to.with(rendered).iter().copied());
            }
            Change::Flip(byte, bit) => {
                let length = bytes.len();
                if length == 0 {
                    return Err(ChangeError::NoBody);
                }
                bytes[byte % length] ^= 1 << bit;
            }
            Change::Insert(new, at) => {
                let at = at.unwrap_or(usize::MAX).min(bytes.len());
                bytes.splice(at..at, new.with(rendered).iter().copied());
            }
            Change::Cut(count, at) => {
                let at = wrapped(*at, bytes)?;
                bytes.drain(at..at.saturating_add(*count).min(bytes.len()));
            }
            Change::Overwrite(new, at) => {
                let at = wrapped(*at, bytes)?;
                let new = new.with(rendered);
                let end = (at + new.len()).min(bytes.len());
                bytes.splice(at..end, new.iter().copied());
            }
            Change::Remove(_)
            | Change::Set(..)
            | Change::Rename(..)
            | Change::Repeat(..)
            | Change::Whole(_)
            | Change::Header(..) => {}
        }
        Ok(())
    }
}

impl Bytes {
    /// The bytes; `rendered` is the value of the expression, if there is one.
    fn with(&self, rendered: Option<&Value>) -> Cow<'_, [u8]> {
        match (self, rendered) {
            (Self::Written(bytes), _) => Cow::Borrowed(bytes),
            (Self::Of(_), Some(Value::Bytes(bytes))) => Cow::Owned(bytes.clone()),
            (Self::Of(_), Some(Value::Text(text))) => Cow::Owned(text.as_bytes().to_vec()),
            (Self::Of(_), Some(other)) => Cow::Owned(json::compact(other).into_bytes()),
            (Self::Of(_), None) => Cow::Borrowed(&[]),
        }
    }
}

impl Change {
    fn stage(&self) -> Stage {
        match self {
            Self::Truncate(_)
            | Self::Bytes(_)
            | Self::Replace(..)
            | Self::Flip(..)
            | Self::Insert(..)
            | Self::Cut(..)
            | Self::Overwrite(..) => Stage::Encoded,
            _ => Stage::Built,
        }
    }
}

/// An index that wraps at the end of `bytes`; an error if they are empty.
fn wrapped(at: usize, bytes: &[u8]) -> Result<usize, ChangeError> {
    if bytes.is_empty() { Err(ChangeError::NoBody) } else { Ok(at % bytes.len()) }
}

/// Bytes as a text in quotes, shortened.
fn text(bytes: &[u8]) -> String {
    const SHOWN: usize = 200;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    if bytes.len() > SHOWN { format!("{text:?}… ({} bytes)", bytes.len()) } else { format!("{text:?}") }
}

fn hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 32;
    let mut text = data_encoding::HEXLOWER.encode(&bytes[..bytes.len().min(SHOWN)]);
    if bytes.len() > SHOWN {
        text.push_str(&format!("… ({} bytes)", bytes.len()));
    }
    text
}

/// A count or position of bytes.
fn index(fields: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Option<usize> {
    fields.number(key, problems).map(|number| usize::try_from(number.value).unwrap_or(usize::MAX))
}

fn with_member(
    value: &mut Value,
    path: &Path,
    change: impl FnOnce(&mut Shared<(Value, Value)>, usize),
) -> Result<(), ChangeError> {
    let nothing = || ChangeError::Nothing(path.to_string());
    let (parent, last) = path.split_last().ok_or_else(nothing)?;
    let Some(Value::Map(members)) = parent.resolve_mut(value) else { return Err(nothing()) };
    let at = members.iter().position(|(key, _)| key.as_text() == Some(last)).ok_or_else(nothing)?;
    change(members, at);
    Ok(())
}

/// The new value: `to: YAML`, or `json: TEXT` to keep the spelling.
fn value_of(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Expr> {
    match (fields.take("to"), fields.take("json")) {
        (Some(node), None) => Some(Expr::read(node, problems)),
        (None, Some(node)) => Some(Expr::json(node, problems)),
        _ => {
            problems.note(Diagnostic::new(fields.span(), "the edit needs either `to` or `json`"));
            None
        }
    }
}

/// Reports an expression in a text that is not evaluated, because it would be used as it is written.
fn as_written(text: &str, span: &Span, problems: &mut Problems) {
    if text.contains("${") {
        problems.note(
            Diagnostic::new(span, "an expression has no value here: only `${row.…}` is filled in")
                .hint("give each value its own row"),
        );
    }
}

/// Bytes: text, or `{ hex: TEXT }`.
fn bytes_of(node: &Node, problems: &mut Problems) -> Option<Bytes> {
    match &node.value {
        Yaml::Text(_) => Some(match Expr::read(node, problems) {
            Expr::Constant(Value::Text(text)) => Bytes::Written(text.as_bytes().to_vec()),
            expr => Bytes::Of(expr),
        }),
        Yaml::Map(_) => {
            let mut fields = Fields::new(node, &keys::HEX, problems);
            let hex = fields.required_text("hex", problems)?;
            fields.finish(problems);
            let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(hex.as_bytes());
            if let Err(error) = &bytes {
                problems.note(Diagnostic::new(&hex.span, format!("invalid hex: {error}")));
            }
            bytes.ok().map(Bytes::Written)
        }
        _ => {
            problems.note(Diagnostic::new(&node.span, "bytes must be text or { hex: … }"));
            None
        }
    }
}
