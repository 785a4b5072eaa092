//! The settings of the server and the adapter of one protocol, by name.
//!
//! An implementation describes its settings in a table of [`Setting`]s. Programs read the table for their help text and pass
//! values as text, `name=value`; [`Settings`] checks them against the table and hands them out by type.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::json;
use crate::names::nearest;

/// The description of one setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Which values it takes.
    pub value: Kind,
    /// The default; `None` if the setting is then absent.
    pub default: Option<&'static str>,
    /// Whether it may be given several times. Otherwise the last value counts.
    pub repeats: bool,
    /// One sentence for help texts.
    pub summary: &'static str,
}

/// Which values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An IP address and a port to listen on; port 0 takes a free one.
    Address,
    /// The same, or `off` for no listener.
    AddressOrOff,
    /// The URL of another party, with a scheme and a host.
    Url,
    /// Any text that is not empty. The word is its placeholder in help texts, such as `DID`.
    Text(&'static str),
    /// `LEFT=RIGHT`. The words are the placeholders in help texts.
    Pair(&'static str, &'static str),
    /// A whole number from 1 on.
    Number,
    /// So many bytes in hexadecimal.
    Bytes(usize),
    /// A time span such as `500ms`, `2s` or `1m`.
    Duration,
    /// The path of a file that is read.
    File,
    /// The path of a directory.
    Directory,
    /// JSON text, or `@FILE` for the text of a file.
    Json,
}

impl Kind {
    /// How a value is shown in help texts.
    #[must_use]
    pub fn placeholder(self) -> String {
        match self {
            Self::Switch => "on|off".to_owned(),
            Self::Choice(words) => words.join("|"),
            Self::Address => "ADDRESS".to_owned(),
            Self::AddressOrOff => "ADDRESS|off".to_owned(),
            Self::Url => "URL".to_owned(),
            Self::Text(word) => word.to_owned(),
            Self::Pair(left, right) => format!("{left}={right}"),
            Self::Number => "NUMBER".to_owned(),
            Self::Bytes(_) => "HEX".to_owned(),
            Self::Duration => "TIME".to_owned(),
            Self::File => "FILE".to_owned(),
            Self::Directory => "DIR".to_owned(),
            Self::Json => "JSON|@FILE".to_owned(),
        }
    }

    /// Why `text` is not a value of this kind, as a text to follow "expected".
    fn refuse(self, text: &str) -> Option<String> {
        let (good, expected) = match self {
            Self::Switch => (matches!(text, "on" | "off"), "on or off".to_owned()),
            Self::Choice(words) => (words.contains(&text), format!("one of {}", words.join(", "))),
            Self::Address => (address(text).is_some(), "an address such as 127.0.0.1:8787".to_owned()),
            Self::AddressOrOff => {
                (text == "off" || address(text).is_some(), "an address such as 127.0.0.1:8787, or off".to_owned())
            }
            Self::Url => (is_url(text), "a URL such as http://127.0.0.1:8787".to_owned()),
            Self::Text(word) => (!text.is_empty(), format!("{word}, which is not empty")),
            Self::Pair(left, right) => (pair(text).is_some(), format!("{left}={right}")),
            Self::Number => (number(text).is_some(), "a whole number from 1 on".to_owned()),
            Self::Bytes(count) => {
                let bytes = bytes(text).filter(|bytes| bytes.len() == count);
                (bytes.is_some(), format!("{} hexadecimal digits", 2 * count))
            }
            Self::Duration => (duration(text).is_some(), "a time span such as 500ms, 2s or 1m".to_owned()),
            Self::File | Self::Directory => (!text.is_empty(), "a path".to_owned()),
            Self::Json => (json::read(text.as_bytes()).is_ok(), "JSON".to_owned()),
        };
        (!good).then_some(expected)
    }
}

/// Why a setting cannot be given a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The setting is unknown.
    #[error("unknown setting `{name}`{}", nearest.map_or_else(String::new, |known| format!("; did you mean `{known}`?")))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The known name that is most like it.
        nearest: Option<&'static str>,
    },
    /// The value is invalid.
    #[error("setting `{name}`: {reason}")]
    Value {
        /// The setting.
        name: &'static str,
        /// The expected value.
        reason: String,
    },
}

/// Values of settings, checked against the description of an implementation.
#[derive(Debug, Clone)]
pub struct Settings {
    known: &'static [Setting],
    given: Vec<(&'static str, String)>,
}

impl Settings {
    pub(crate) fn new(known: &'static [Setting]) -> Self {
        Self { known, given: Vec::new() }
    }

    /// Gives the setting called `name` a value: a further one if it repeats.
    ///
    /// # Errors
    ///
    /// [`SettingError`] if the setting is unknown, or the value is invalid.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let Some(setting) = self.known.iter().find(|setting| setting.name == name) else {
            let nearest = nearest(name, self.known.iter().map(|setting| setting.name));
            return Err(SettingError::Unknown { name: name.to_owned(), nearest });
        };
        let refused = |reason: String| SettingError::Value { name: setting.name, reason };
        let value = match value.strip_prefix('@').filter(|_| setting.value == Kind::Json) {
            Some(path) => std::fs::read_to_string(path).map_err(|error| refused(format!("read {path}: {error}")))?,
            None => value.to_owned(),
        };
        if let Some(expected) = setting.value.refuse(&value) {
            return Err(refused(format!("expected {expected}, got `{value}`")));
        }
        if !setting.repeats {
            self.given.retain(|(given, _)| *given != setting.name);
        }
        self.given.push((setting.name, value));
        Ok(())
    }

    /// All values of a setting, or its default.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let given: Vec<&str> =
            self.given.iter().filter(|(given, _)| *given == name).map(|(_, value)| value.as_str()).collect();
        if !given.is_empty() {
            return given;
        }
        self.known.iter().filter(|setting| setting.name == name).filter_map(|setting| setting.default).collect()
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.all(name).pop()
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.text(name) == Some("on")
    }

    /// `None` also for `off`.
    pub(crate) fn address(&self, name: &str) -> Option<SocketAddr> {
        self.text(name).and_then(address)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.text(name).and_then(number)
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.text(name).and_then(bytes)
    }

    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        self.text(name).and_then(duration)
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.text(name).map(|text| Path::new(text).to_owned())
    }

    pub(crate) fn pairs(&self, name: &str) -> Vec<(String, String)> {
        let pairs = self.all(name).into_iter().filter_map(pair);
        pairs.map(|(left, right)| (left.to_owned(), right.to_owned())).collect()
    }
}

fn address(text: &str) -> Option<SocketAddr> {
    text.parse().ok()
}

fn is_url(text: &str) -> bool {
    let host = |rest: &str| !rest.is_empty() && !rest.starts_with('/');
    text.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) && host(rest)
    })
}

fn pair(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(left, _)| !left.is_empty())
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number > 0)
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    match &text[digits..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None, // unknown unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn setting(name: &'static str, value: Kind, default: Option<&'static str>, repeats: bool) -> Setting {
        Setting { name, value, default, repeats, summary: "" }
    }

    const KNOWN: &[Setting] = &[
        setting("control", Kind::Switch, Some("off"), false),
        setting("kind", Kind::Choice(&["relay", "both"]), None, false),
        setting("relay", Kind::Address, None, false),
        setting("frames", Kind::AddressOrOff, Some("127.0.0.1:0"), false),
        setting("next-hop", Kind::Url, None, false),
        setting("role", Kind::Text("URI"), None, true),
        setting("auth", Kind::Pair("KEY", "ACTOR"), None, true),
        setting("capacity", Kind::Number, None, false),
        setting("seed", Kind::Bytes(2), None, false),
        setting("timeout", Kind::Duration, None, false),
        setting("tree", Kind::Directory, None, false),
        setting("blocks", Kind::Json, None, false),
    ];

    #[test]
    fn each_kind_takes_its_values_and_refuses_others() {
        for (name, good, bad) in [
            ("control", "on", "yes"),
            ("kind", "relay", "Relay"),
            ("relay", "[::1]:80", "localhost"),
            ("frames", "off", "on"),
            ("next-hop", "http://host:1/path", "host:1"),
            ("role", "urn:x", ""),
            ("auth", "key=a=b", "key"),
            ("capacity", "12", "0"),
            ("seed", "00fF", "00f"),
            ("timeout", "500ms", "500"),
            ("tree", "state", ""),
            ("blocks", "[1]", "[1"),
        ] {
            let mut settings = Settings::new(KNOWN);
            assert_eq!(settings.set(name, good), Ok(()), "{name}");
            let error = settings.set(name, bad).expect_err(name).to_string();
            assert!(error.starts_with(&format!("setting `{name}`: expected ")), "{error}");
            assert_eq!(settings.text(name), Some(good), "{name}");
        }
    }

    #[test]
    fn values_are_read_by_type_with_defaults() {
        let mut settings = Settings::new(KNOWN);
        assert!(!settings.is_on("control") && settings.text("kind").is_none());
        assert_eq!(settings.address("frames").map(|address| address.port()), Some(0));
        for (name, value) in [
            ("control", "off"),
            ("control", "on"),
            ("frames", "off"),
            ("role", "a"),
            ("role", "b"),
            ("auth", "k=a"),
            ("seed", "00ff"),
            ("timeout", "2m"),
        ] {
            settings.set(name, value).expect(name);
        }
        assert!(settings.is_on("control") && settings.address("frames").is_none());
        assert_eq!(settings.all("role"), ["a", "b"]);
        assert_eq!(settings.pairs("auth"), [("k".to_owned(), "a".to_owned())]);
        assert_eq!(settings.bytes("seed"), Some(vec![0, 255]));
        assert_eq!(settings.duration("timeout"), Some(Duration::from_secs(120)));
    }

    #[test]
    fn json_may_be_in_a_file() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "[1, 2]").expect("written");
        let mut settings = Settings::new(KNOWN);
        settings.set("blocks", &format!("@{}", file.path().display())).expect("JSON");
        assert_eq!(settings.text("blocks"), Some("[1, 2]"));
        assert!(settings.set("blocks", "@/no/such/file").is_err());
    }

    #[test]
    fn a_misspelt_name_brings_the_nearest_one() {
        let error = Settings::new(KNOWN).set("next_hop", "x").expect_err("an unknown setting");
        assert_eq!(error.to_string(), "unknown setting `next_hop`; did you mean `next-hop`?");
    }
}
