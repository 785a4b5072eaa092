//! The head of a data item: major type, additional information, argument (RFC 8949 section 3).

use super::{CborError, CborErrorKind};

/// Additional information of an indefinite length, or for the break (RFC 8949 section 3.2).
pub(super) const INDEFINITE: u8 = 31;

/// Names of the eight major types.
pub(super) const MAJORS: [&str; 8] = [
    "unsigned integer",
    "negative integer",
    "byte string",
    "text string",
    "array",
    "map",
    "tag",
    "simple value or float",
];

/// One head as in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Major type, 0 to 7.
    pub(super) major: u8,
    /// Additional information, 0 to 27 or 31.
    pub(super) info: u8,
    /// The argument; 0 where `info` is 31.
    pub(super) argument: u64,
    /// Bytes of the head: 1, 2, 3, 5 or 9.
    pub(super) length: usize,
}

impl Head {
    /// Reads the head at `at`.
    pub(super) fn read(bytes: &[u8], at: usize) -> Result<Self, CborError> {
        let truncated = |expected| CborError { offset: bytes.len(), kind: CborErrorKind::Truncated { expected } };
        let initial = *bytes.get(at).ok_or_else(|| truncated("a data item"))?;
        let (major, info) = (initial >> 5, initial & 0x1f);
        let follow = match info {
            0..=23 | INDEFINITE => 0,
            24..=27 => 1 << (info - 24),
            _ => return Err(CborError { offset: at, kind: CborErrorKind::ReservedInformation(info) }),
        };
        let argument = bytes.get(at + 1..at + 1 + follow).ok_or_else(|| truncated("the rest of a head"))?;
        let argument = match info {
            0..=23 => u64::from(info),
            _ => argument.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        };
        Ok(Self { major, info, argument, length: 1 + follow })
    }

    /// Whether the length is indefinite, or this is the break.
    pub(super) fn is_indefinite(self) -> bool {
        self.info == INDEFINITE
    }

    /// Whether this is the break that ends an item of indefinite length.
    pub(super) fn is_break(self) -> bool {
        self.major == 7 && self.info == INDEFINITE
    }

    /// Whether this is the shortest head with its argument; meaningless for simple values and floats.
    pub(super) fn is_shortest(self) -> bool {
        self.major == 7 || self.is_indefinite() || self.length == shortest(self.argument)
    }

    /// The encoding indicator of diagnostic notation for this width: `_0` to `_3`; `None` for immediate arguments.
    pub(super) fn indicator(self) -> Option<&'static str> {
        ["_0", "_1", "_2", "_3"].get(usize::from(self.info.checked_sub(24)?)).copied()
    }
}

/// Bytes of the shortest head with this argument.
pub(super) fn shortest(argument: u64) -> usize {
    match argument {
        0..=23 => 1,
        24..=0xff => 2,
        0x100..=0xffff => 3,
        0x1_0000..=0xffff_ffff => 5,
        _ => 9,
    }
}

/// Appends the shortest head, or the one of nine bytes.
pub(super) fn append(out: &mut Vec<u8>, major: u8, argument: u64, wide: bool) {
    let length = if wide { 9 } else { shortest(argument) };
    let big = argument.to_be_bytes();
    // For a head of one byte the argument is the additional information itself.
    let info = match length {
        1 => big[7],
        2 => 24,
        3 => 25,
        5 => 26,
        _ => 27,
    };
    out.push(major << 5 | info);
    out.extend_from_slice(&big[8 - (length - 1)..]);
}
