//! What to serve, and why it could not be served.

use std::net::{Ipv4Addr, SocketAddr};

use crate::fault::{Fault, Needs, Planted, UnknownFault};
use crate::instant::{Clock, Instant};
use crate::setting::{Setting, SettingError, Settings};
use crate::store::{Database, OpenError};
use crate::variant::Variant;

/// What to serve and how: the general options, and the settings of one protocol.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address of the main listener; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the state lives.
    pub database: Database,
    /// The name of a fault to plant, one of [`crate::Implementation::faults`].
    pub fault: Option<String>,
    /// Which reading to take where the specification leaves room.
    pub variant: Variant,
    /// The level to serve, one of [`crate::Implementation::levels`]; `None` is the highest.
    pub level: Option<String>,
    /// A fixed current time in RFC 3339; `None` is the clock of the machine.
    pub clock: Option<String>,
    /// The settings of this protocol.
    pub settings: Settings,
}

impl Config {
    /// A free port of 127.0.0.1, state in memory, no fault, the rulings of the errata, the highest level, the clock of the
    /// machine, and the default of each setting.
    #[must_use]
    pub(crate) fn new(known: &'static [Setting]) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            database: Database::Memory,
            fault: None,
            variant: Variant::Own,
            level: None,
            clock: None,
            settings: Settings::new(known),
        }
    }

    /// Gives a setting a value: a further one if the setting repeats.
    ///
    /// # Errors
    ///
    /// [`SettingError`] if the setting is unknown, or the value is invalid.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        self.settings.set(name, value)
    }

    /// The same configuration with a value for a setting.
    ///
    /// # Errors
    ///
    /// As [`Config::set`].
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, SettingError> {
        self.set(name, value).map(|()| self)
    }

    /// Looks the fault up in the tables of a protocol, and changes the configuration as the fault needs it.
    pub(crate) fn plant(&mut self, tables: &[&'static [Fault]]) -> Result<Planted, ServeError> {
        let Some(name) = &self.fault else { return Ok(Planted::NONE) };
        let planted = Planted::find(name, tables)?;
        match planted.needs() {
            Needs::Level(level) => self.level = Some(level.to_owned()),
            Needs::Setting(name, value) => self.settings.set(name, value)?,
            Needs::Setup(_) | Needs::Nothing => {}
        }
        Ok(planted)
    }

    /// The source of the current time.
    pub(crate) fn clock(&self) -> Result<Clock, ServeError> {
        let Some(text) = &self.clock else { return Ok(Clock::System) };
        Instant::parse(text).map(Clock::Fixed).ok_or_else(|| ServeError::Clock(text.clone()))
    }
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The database cannot be used.
    #[error("open database: {0}")]
    Database(#[from] OpenError),
    /// No fault has the configured name.
    #[error(transparent)]
    Fault(#[from] UnknownFault),
    /// The configured level is unknown.
    #[error("unknown level `{name}`; {}", if known.is_empty() { "this protocol has none".to_owned() } else { format!("levels are {}", known.join(", ")) })]
    Level {
        /// The configured name.
        name: String,
        /// The levels of the implementation.
        known: &'static [&'static str],
    },
    /// The address cannot be bound.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A setting is unknown, or its value cannot be used.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The fixed present time is not RFC 3339 in UTC.
    #[error("clock: expected an RFC 3339 time in UTC, got `{0}`")]
    Clock(String),
}

impl ServeError {
    /// A well-formed value of a setting that cannot be used.
    pub(crate) fn setting(name: &'static str, reason: impl Into<String>) -> Self {
        Self::Setting(SettingError::Value { name, reason: reason.into() })
    }

    /// A level that the implementation does not have.
    pub(crate) fn level(name: &str, known: &'static [&'static str]) -> Self {
        Self::Level { name: name.to_owned(), known }
    }
}
