//! Parameters of lists (binding.md, section 3; E84).

use std::time::Duration;

use super::reply::Refusal;
use crate::server::http::percent_decode;
use crate::task_amp::log::Filter;
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::schema::Code;

/// The default and the maximum number of rows.
const LIMIT: i64 = 500;

/// The longest time that a list is waited for.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// The parameters of a list.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) filter: Filter,
    pub(super) wait: Duration,
}

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    ///
    /// 400 for a value that no list can have.
    pub(super) fn read(text: &str) -> Result<Self, Refusal> {
        let mut query = Self { filter: Filter { limit: LIMIT, ..Filter::default() }, wait: Duration::ZERO };
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode(&value.replace('+', " ")).ok_or_else(|| bad(name))?;
            query.set(name, value)?;
        }
        Ok(query)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), Refusal> {
        let number = || value.parse::<i64>().ok().filter(|number| *number >= 0).ok_or_else(|| bad(name));
        match name {
            "task_id" => self.filter.task = Some(value),
            "type" => self.filter.kind = Some(Kind::parse(&value).map(|_| value).ok_or_else(|| bad(name))?),
            "from" => self.filter.sender = Some(Role::parse(&value).map(|_| value).ok_or_else(|| bad(name))?),
            "to" => self.filter.receiver = Some(Role::parse(&value).map(|_| value).ok_or_else(|| bad(name))?),
            "after" => self.filter.after = number()?,
            "limit" => self.filter.limit = number()?.clamp(1, LIMIT),
            "wait_ms" => self.wait = Duration::from_millis(number()?.unsigned_abs()).min(WAIT_LIMIT),
            _ => {} // of no meaning here
        }
        Ok(())
    }
}

fn bad(name: &str) -> Refusal {
    Refusal::new(400, Code::BadFormat, &format!("invalid parameter {name}"))
}
