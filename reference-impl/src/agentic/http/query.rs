//! Parameters of a query: decoded once, read by name.

use crate::agentic::pull::LIMIT_MAX;
use crate::agentic::query::FactQuery;
use crate::agentic::refusal::{Code, Refusal};
use crate::agentic::rules::Rules;
use crate::fault::planted;
use crate::instant::Instant;
use crate::server::http::percent_decode;

/// The parameters of a query, decoded; of several with one name the first counts.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// The parameters in `text`, the part of a target behind the question mark.
    pub(super) fn read(rules: Rules, text: &str) -> Result<Self, Refusal> {
        let mut pairs = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, mut value) = (decoded_query(name)?, decoded_query(value)?);
            // 7.1: a value is decoded once; %2520 is the text %20.
            planted!(rules.fault, "double-percent-decoding", value = decoded_query(&value)?);
            if !pairs.iter().any(|(known, _)| *known == name) {
                pairs.push((name, value));
            }
        }
        Ok(Self(pairs))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn demand(&self, name: &str) -> Result<String, Refusal> {
        self.get(name).map(str::to_owned).ok_or_else(|| bad_parameter(name, "is required"))
    }

    pub(super) fn integer<T>(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<T>,
        rules: Rules,
    ) -> Result<Option<T>, Refusal>
    where
        T: TryFrom<i64> + Copy + Ord + std::str::FromStr + std::fmt::Display,
    {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        // Other, E65, E52: the nearest valid value; the default if it is not a number.
        if rules.variant.is_other() {
            let nearest =
                |number: i64| T::try_from(number).unwrap_or(*range.start()).clamp(*range.start(), *range.end());
            return Ok(text.parse().ok().map(nearest));
        }
        let number = text.parse().ok().filter(|number| range.contains(number));
        // E52, E65: another value may be refused, but is no reason for a server error.
        let odd = number.is_none();
        planted!(rules.fault, "odd-parameter-500", odd => return Err(Refusal::new(Code::Internal, "no such number")));
        let reason = || format!("must be an integer from {} to {}", range.start(), range.end());
        number.map(Some).ok_or_else(|| bad_parameter(name, &reason()))
    }
}

/// The parameters of query-facts (binding.md section 3).
pub(super) fn fact_query(query: &Query, rules: Rules) -> Result<FactQuery, Refusal> {
    let as_of = query.get("as_of").map(|text| {
        // Other, E38: a date is not an instant.
        let instant = if rules.variant.is_other() { rules.instant(text) } else { Instant::parse_or_date(text) };
        instant
            .map(|instant| (instant, text.to_owned()))
            .ok_or_else(|| bad_parameter("as_of", "must be an RFC 3339 time in UTC"))
    });
    let include_ended = match query.get("include_ended") {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(bad_parameter("include_ended", "must be true or false")),
    };
    Ok(FactQuery {
        subject: query.get("subject").map(str::to_owned),
        predicate: query.get("predicate").map(str::to_owned),
        as_of: as_of.transpose()?,
        include_ended,
        limit: query.integer("limit", 1..=LIMIT_MAX, rules)?,
    })
}

fn decoded_query(text: &str) -> Result<String, Refusal> {
    let spaced = text.replace('+', " ");
    percent_decode(&spaced)
        .ok_or_else(|| Refusal::new(Code::InvalidParameter, "the query is not percent-encoded UTF-8"))
}

pub(super) fn bad_parameter(name: &str, reason: &str) -> Refusal {
    Refusal::new(Code::InvalidParameter, format!("parameter {name} {reason}"))
}
