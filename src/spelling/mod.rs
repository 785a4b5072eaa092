//! Legal spellings: the ways in which standards let a client write one and the same message.
//!
//! A message in another spelling is the same message, so a target has to give the same answer. [`Spellings`] chooses, for each
//! message of a run, some [`Kind`]s of spellings and their details; the choice follows from a seed. The transports write what
//! was chosen.

mod draw;
pub mod fields;
pub mod json;
pub mod uri;

use std::collections::BTreeSet;

pub use draw::Draw;

/// Once in how many messages a kind is chosen.
const ONE_IN: usize = 5;

/// One freedom that a standard gives to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A request body in the chunked transfer coding (RFC 9112 section 7.1), cut anywhere.
    Chunked,
    /// Names of header fields in any letter case (RFC 9110 section 5.1).
    HeaderCase,
    /// Header fields in any order (RFC 9110 section 5.3).
    HeaderOrder,
    /// No white space, or more of it, before the value of a header field (RFC 9112 section 5).
    HeaderSpace,
    /// The media type of JSON in other letters, or with a charset, also in quotes (RFC 9110 sections 8.3.1 and 5.6.6).
    ContentType,
    /// Small hexadecimal digits in percent-encoding (RFC 3986 section 2.1).
    HexCase,
    /// Percent-encoding of letters and digits in identifiers and values of the query (RFC 3986 section 2.3).
    PercentEncoding,
    /// A request that ends the connection, `Connection: close` (RFC 9112 section 9.6).
    Close,
    /// A HEAD before the GET, on the same connection (RFC 9110 section 9.3.2).
    Head,
    /// `Expect: 100-continue` before the body (RFC 9110 section 10.1.1).
    Expect,
    /// Escapes in strings of JSON, also in names of members (RFC 8259 section 7).
    JsonEscapes,
    /// White space between the tokens of JSON (RFC 8259 section 2).
    JsonSpace,
    /// A WebSocket message in several frames (RFC 6455 section 5.4).
    Fragments,
    /// Bytes in several writes of any size.
    Writes,
    /// A request body in the chunked transfer coding, with chunk extensions that no recipient knows (RFC 9112 section 7.1.1).
    ChunkExtensions,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::Chunked,
        Self::HeaderCase,
        Self::HeaderOrder,
        Self::HeaderSpace,
        Self::ContentType,
        Self::HexCase,
        Self::PercentEncoding,
        Self::Close,
        Self::Head,
        Self::Expect,
        Self::JsonEscapes,
        Self::JsonSpace,
        Self::Fragments,
        Self::Writes,
        Self::ChunkExtensions,
    ];

    /// The kinds that leave every byte of a message and of its address as it is: they are legal in each protocol.
    pub const OF_TRANSPORTS: &[Self] = &[
        Self::Chunked,
        Self::HeaderCase,
        Self::HeaderOrder,
        Self::HeaderSpace,
        Self::Close,
        Self::Fragments,
        Self::Writes,
        Self::ChunkExtensions,
    ];

    /// Its name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chunked => "chunked",
            Self::HeaderCase => "header-case",
            Self::HeaderOrder => "header-order",
            Self::HeaderSpace => "header-space",
            Self::ContentType => "content-type",
            Self::HexCase => "hex-case",
            Self::PercentEncoding => "percent-encoding",
            Self::Close => "close",
            Self::Head => "head",
            Self::Expect => "expect",
            Self::JsonEscapes => "json-escapes",
            Self::JsonSpace => "json-space",
            Self::Fragments => "fragments",
            Self::Writes => "writes",
            Self::ChunkExtensions => "chunk-extensions",
        }
    }

    /// The kind called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// The spellings of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spellings {
    /// Random seed.
    pub seed: u64,
    /// The kinds that may be chosen.
    pub kinds: BTreeSet<Kind>,
    /// Whether each message has all of them. Otherwise each has some.
    pub always: bool,
}

impl Spellings {
    /// Any of `kinds`, as the seed has it.
    pub fn any_of(kinds: &[Kind], seed: u64) -> Self {
        Self { seed, kinds: kinds.iter().copied().collect(), always: false }
    }

    /// The same, with some kinds only: the others are left out where they were chosen.
    #[must_use]
    pub fn only(&self, kinds: impl IntoIterator<Item = Kind>) -> Self {
        Self { kinds: kinds.into_iter().collect(), ..self.clone() }
    }

    /// The same, with some kinds only, in each message.
    #[must_use]
    pub fn always(&self, kinds: impl IntoIterator<Item = Kind>) -> Self {
        Self { seed: self.seed, kinds: kinds.into_iter().collect(), always: true }
    }

    /// The spelling of one message. The same key gives the same one; a kind that cannot be chosen changes nothing about the
    /// others.
    pub fn of(&self, key: &str) -> Spelling {
        let mut draw = Draw::new(self.seed, key);
        let chosen: BTreeSet<Kind> = Kind::ALL.iter().copied().filter(|_| draw.one_in(ONE_IN)).collect();
        let kinds = if self.always { self.kinds.clone() } else { &chosen & &self.kinds };
        Spelling { kinds, always: self.always, in_one_chunk: false, seed: self.seed, key: key.to_owned() }
    }
}

/// The spellings of a case. Its key is its id, or that of the case of which it is a repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseSpelling {
    /// What may be chosen.
    pub spellings: Spellings,
    /// What the choices follow from, beside the seed.
    pub key: String,
}

/// The spelling of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    kinds: BTreeSet<Kind>,
    /// Whether every message has these kinds.
    always: bool,
    /// Whether a body in the chunked transfer coding is one chunk without extensions.
    in_one_chunk: bool,
    seed: u64,
    key: String,
}

impl Spelling {
    /// Whether it is the usual one.
    pub fn is_plain(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Whether it has a kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The same without a kind.
    #[must_use]
    pub fn without(mut self, kind: Kind) -> Self {
        self.kinds.remove(&kind);
        self
    }

    /// Whether the message is written in many parts, where it is written in parts: sometimes, and always if every message has
    /// the same kinds, so that what fails in many parts alone fails again.
    pub fn has_many_parts(&self, draw: &mut Draw) -> bool {
        self.always || draw.one_in(4)
    }

    /// Whether a body has the chunked transfer coding.
    pub fn is_chunked(&self) -> bool {
        self.has(Kind::Chunked) || self.has(Kind::ChunkExtensions)
    }

    /// The same in the plainest form of the chunked transfer coding: one chunk without extensions.
    #[must_use]
    pub fn in_one_chunk(mut self) -> Self {
        self.in_one_chunk = true;
        self
    }

    /// How a body is cut into chunks, if it has several, and the choices of their extensions, if they have any.
    pub fn chunks(&self) -> (Option<Draw>, Option<Draw>) {
        if self.in_one_chunk { (None, None) } else { (self.draw(Kind::Chunked), self.draw(Kind::ChunkExtensions)) }
    }

    /// The choices of a kind, if it has that kind.
    pub fn draw(&self, kind: Kind) -> Option<Draw> {
        self.has(kind).then(|| Draw::new(self.seed, &format!("{} {}", self.key, kind.name())))
    }
}

/// The names of kinds, separated by commas.
pub fn names(kinds: impl IntoIterator<Item = Kind>) -> String {
    kinds.into_iter().map(Kind::name).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_a_name_that_finds_it_again() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(*kind));
        }
    }

    #[test]
    fn the_same_key_gives_the_same_spelling_whatever_else_may_be_chosen() {
        let all = Spellings::any_of(Kind::ALL, 7);
        let few = Spellings::any_of(&[Kind::Chunked, Kind::Writes], 7);
        let mut chosen = BTreeSet::new();
        for number in 0..200 {
            let key = format!("case {number}");
            assert_eq!(all.of(&key), all.of(&key));
            assert_eq!(all.of(&key).has(Kind::Writes), few.of(&key).has(Kind::Writes), "{key}");
            assert!(!few.of(&key).has(Kind::Close));
            chosen.extend(all.of(&key).kinds);
        }
        assert_eq!(chosen.len(), Kind::ALL.len());
        assert!(all.always([Kind::Head]).of("a").has(Kind::Head));
    }
}
