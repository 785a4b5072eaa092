//! The configuration of a node (sections 4.1 and 4.2; the node object of binding.md, 9).

use crate::json::{Object, Value};

/// The place of header blocks (E01).
pub(crate) const HEADERS: &str = "/Envelope/Header/headers";
/// Another place for them (E01, reading b).
pub(crate) const HEADER_BLOCKS: &str = "/Envelope/Header/headerBlocks";

/// What a node does with messages (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It processes the body.
    UltimateReceiver,
    /// It processes header blocks and forwards the message.
    Intermediary,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::UltimateReceiver, Self::Intermediary];

    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UltimateReceiver => "ultimateReceiver",
            Self::Intermediary => "intermediary",
        }
    }
}

/// The semantics of a type of header blocks (binding.md, 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Does nothing.
    Noop,
    /// Does nothing; the block is reinserted.
    Reinsert,
    /// Fails if its content says so.
    Fail,
    /// Adds processing history to the nodes of the MemoryGram.
    Annotate,
    /// Adds a node and an edge to the MemoryGram.
    Augment,
    /// Removes a member of Body.context.
    Redact,
    /// As `Annotate`, and the block is reinserted, so that every node of a chain gets it (binding.md, 8).
    AnnotateReinsert,
}

impl Behaviour {
    /// Those of binding.md, 6.
    pub(crate) const ALL: [Self; 6] =
        [Self::Noop, Self::Reinsert, Self::Fail, Self::Annotate, Self::Augment, Self::Redact];

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::AnnotateReinsert]).find(|behaviour| behaviour.name() == name)
    }

    /// Whether a processed block is put back into the message.
    #[must_use]
    pub(crate) fn reinserts(self) -> bool {
        matches!(self, Self::Reinsert | Self::AnnotateReinsert)
    }

    /// The type by which the blocks of this behaviour are known (binding.md, 6).
    #[must_use]
    pub(crate) fn block_type(self) -> String {
        format!("urn:proofmark:mesh:block:{}", self.name())
    }

    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Reinsert => "reinsert",
            Self::Fail => "fail",
            Self::Annotate => "annotate",
            Self::Augment => "augment",
            Self::Redact => "redact",
            Self::AnnotateReinsert => "annotate-reinsert",
        }
    }
}

/// A node: its URI, the roles that it assumes, the blocks that it understands, and how it processes messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// 4.1: its own URI.
    pub(crate) uri: String,
    pub(crate) kind: Kind,
    /// 4.2: the user-defined roles that it assumes.
    pub(crate) roles: Vec<String>,
    /// 4.4: the types of blocks that it understands.
    pub(crate) understands: Vec<(String, Behaviour)>,
    /// 4.9: the supported versions of the envelope.
    pub(crate) versions: Vec<String>,
    /// 4.6: whether it checks the content of MemoryGrams. Otherwise it ignores them.
    pub(crate) validates: bool,
    /// A JSON Pointer to the array of header blocks (E01).
    pub(crate) blocks_at: String,
    /// 4.5: the tasks with an agreed meaning, and whether they are accepted. Other tasks are accepted.
    pub(crate) tasks: Vec<(String, bool)>,
    /// 4.8.4: whether it does more to a message than its header blocks ask for.
    pub(crate) active: bool,
}

impl Node {
    /// A node that understands the blocks and tasks of binding.md, 6.
    pub(crate) fn new(uri: &str, kind: Kind) -> Self {
        let understood = |behaviour: Behaviour| (behaviour.block_type(), behaviour);
        Self {
            uri: uri.to_owned(),
            kind,
            roles: Vec::new(),
            understands: Behaviour::ALL.into_iter().map(understood).collect(),
            versions: vec!["1.0".to_owned()],
            validates: true,
            blocks_at: HEADERS.to_owned(),
            tasks: vec![("echo".to_owned(), true), ("proofmark-refuse".to_owned(), false)],
            active: false,
        }
    }

    /// The same node with the members of a node object; absent members keep their value.
    ///
    /// # Errors
    ///
    /// A sentence about the first member that is invalid.
    pub(crate) fn with(mut self, object: &Object) -> Result<Self, String> {
        if let Some(uri) = object.present("uri") {
            let uri = uri.as_text().filter(|uri| is_uri(uri)).ok_or("uri: expected an absolute URI")?;
            self.uri = uri.to_owned();
        }
        if let Some(name) = object.present("kind") {
            let known = Kind::ALL.into_iter().find(|kind| name.as_text() == Some(kind.name()));
            self.kind = known.ok_or("kind: expected ultimateReceiver or intermediary")?;
        }
        if let Some(roles) = object.present("roles") {
            self.roles = texts(roles).ok_or("roles: expected an array of URIs")?;
        }
        if let Some(blocks) = object.present("understands") {
            self.understands = understands(blocks)?;
        }
        if let Some(versions) = object.present("versions") {
            self.versions = texts(versions).ok_or("versions: expected an array of strings")?;
        }
        if let Some(word) = object.present("memorygram") {
            self.validates = match word.as_text() {
                Some("validates") => true,
                Some("ignores") => false,
                _ => return Err("memorygram: expected validates or ignores".to_owned()),
            };
        }
        if let Some(place) = object.present("header_blocks_at") {
            let place = place.as_text().filter(|place| place.starts_with("/Envelope/"));
            self.blocks_at = place.ok_or("header_blocks_at: expected a JSON Pointer below /Envelope")?.to_owned();
        }
        if let Some(tasks) = object.present("tasks") {
            self.tasks = self::tasks(tasks).ok_or("tasks: expected an object of accept and refuse")?;
        }
        if let Some(Value::Bool(active)) = object.present("active") {
            self.active = *active;
        }
        Ok(self)
    }

    /// The node object.
    #[must_use]
    pub(crate) fn object(&self) -> Object {
        let list = |texts: &[String]| Value::List(texts.iter().map(|text| text.as_str().into()).collect());
        let block = |(kind, behaviour): &(String, Behaviour)| {
            Object::from([("type", kind.as_str().into()), ("behaviour", behaviour.name().into())]).into()
        };
        let task =
            |(name, accepted): &(String, bool)| (name.clone(), if *accepted { "accept" } else { "refuse" }.into());
        Object::from([
            ("uri", self.uri.as_str().into()),
            ("kind", self.kind.name().into()),
            ("roles", list(&self.roles)),
            ("understands", Value::List(self.understands.iter().map(block).collect())),
            ("versions", list(&self.versions)),
            ("memorygram", if self.validates { "validates" } else { "ignores" }.into()),
            ("header_blocks_at", self.blocks_at.as_str().into()),
            ("tasks", self.tasks.iter().map(task).collect::<Object>().into()),
            ("active", self.active.into()),
        ])
    }

    /// What it does with blocks of a type, if it understands them. Types are compared exactly (E49).
    #[must_use]
    pub(crate) fn behaviour(&self, kind: &str) -> Option<Behaviour> {
        self.understands.iter().find(|(known, _)| known == kind).map(|(_, behaviour)| *behaviour)
    }

    /// The last part of its URI.
    #[must_use]
    pub(crate) fn short_name(&self) -> &str {
        self.uri.rsplit([':', '/']).next().unwrap_or(&self.uri)
    }

    #[must_use]
    pub(crate) fn is_receiver(&self) -> bool {
        self.kind == Kind::UltimateReceiver
    }
}

/// Whether a text has the form of an absolute URI: a scheme, a colon, and something behind it (RFC 3986, 4.3).
#[must_use]
pub(crate) fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
            && !rest.is_empty()
            && !text.contains(char::is_whitespace)
    })
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_list()?.iter().map(|item| item.as_text().map(str::to_owned)).collect()
}

/// An array of `{type, behaviour}`.
pub(crate) fn understands(value: &Value) -> Result<Vec<(String, Behaviour)>, String> {
    let expected = || "blocks: expected an array of {type, behaviour}".to_owned();
    let rows = value.as_list().ok_or_else(expected)?;
    let row = |row: &Value| {
        let row = row.as_object().ok_or_else(expected)?;
        let kind = row.text("type").ok_or_else(expected)?;
        let name = row.text("behaviour").ok_or_else(expected)?;
        let known = Behaviour::parse(name).ok_or_else(|| format!("blocks: unknown behaviour `{name}`"))?;
        Ok((kind.to_owned(), known))
    };
    rows.iter().map(row).collect()
}

fn tasks(value: &Value) -> Option<Vec<(String, bool)>> {
    let task = |(name, word): (&str, &Value)| match word.as_text()? {
        "accept" => Some((name.to_owned(), true)),
        "refuse" => Some((name.to_owned(), false)),
        _ => None, // no other word
    };
    value.as_object()?.iter().map(task).collect()
}
