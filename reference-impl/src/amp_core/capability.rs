//! The capabilities that this implementation offers (RFC 004): how they are described, and which of them a message means.

use sha2::{Digest, Sha256};

use super::codes::Code;
use crate::cbor::Cbor;

/// Major, minor and patch.
pub(crate) type Version = [u64; 3];

/// One version of a capability.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Capability {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// Whether only parties with authority, and their delegates, may invoke it.
    pub(crate) guarded: bool,
}

/// Sorted by name, then from the newest version on (RFC 004, 6.5).
const ALL: &[Capability] = &[
    Capability { name: "org.agentries.echo", version: "1.1.0", guarded: false },
    Capability { name: "org.agentries.echo", version: "1.0.0", guarded: false },
    Capability { name: "proofmark.delegated", version: "1.0.0", guarded: true },
];

/// The schema of the parameters and of the result of each capability.
const SCHEMA: &str = r#"{"type":"object"}"#;

/// What a CAP_INVOKE or a CAP_QUERY names (RFC 004, 6.4, 7.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// In the order of preference.
    versions: Vec<Version>,
    range: Option<Vec<(Comparison, Version)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Below,
    AtMost,
    Exactly,
    AtLeast,
    Above,
}

impl Capability {
    /// RFC 004, 4.1.
    #[must_use]
    pub(crate) fn id(&self) -> String {
        format!("{}:{}", self.name, self.version)
    }

    fn number(&self) -> Version {
        version(self.version).unwrap_or_default() // a test reads all of the table
    }

    /// The descriptor; the schemas are in a bundle that goes with the program (RFC 004, 4.2, 5.3).
    #[must_use]
    pub(crate) fn descriptor(&self) -> Cbor {
        let schema = |which: &str| {
            Cbor::map([
                ("bundle_id", "reference".into()),
                ("artifact_key", format!("{}/{}/{which}", self.name, self.version).as_str().into()),
                ("hash_alg", "sha-256".into()),
                ("hash", Sha256::digest(SCHEMA).as_slice().into()),
            ])
        };
        Cbor::map([
            ("id", self.id().as_str().into()),
            ("name", self.name.into()),
            ("version", self.version.into()),
            ("input_schema", schema("input")),
            ("output_schema", schema("output")),
        ])
    }
}

impl Wanted {
    /// What a CAP_INVOKE names.
    ///
    /// # Errors
    ///
    /// 1001 for a body that is not a map, 4001 for members that are missing or disagree (RFC 004, 7.2, 9).
    pub(crate) fn of_invocation(body: &Cbor) -> Result<Self, Code> {
        body.as_map().ok_or(Code::InvalidMessage)?;
        body.get("params").ok_or(Code::BadRequest)?;
        let (id, hints) = (text(body, "id")?, body.get("negotiate"));
        // 7.4: an id is concrete, so there is nothing to negotiate.
        if id.is_some() && hints.is_some() {
            return Err(Code::BadRequest);
        }
        let named = text(body, "capability")?.or(text(body, "type")?);
        let (name, in_id) = split(id.or(named).ok_or(Code::BadRequest)?)?;
        let apart = text(body, "version")?.map(|text| version(text).ok_or(Code::BadRequest)).transpose()?;
        let disagree = in_id.zip(apart).is_some_and(|(one, other)| one != other);
        // 6.3: an id, and a name and a version that disagree with it.
        if disagree || (id.is_some() && named.is_some_and(|named| named != name)) {
            return Err(Code::BadRequest);
        }
        let mut wanted = Self { name: name.to_owned(), versions: in_id.or(apart).into_iter().collect(), range: None };
        if let Some(hints) = hints {
            let acceptable = hints.get("acceptable").and_then(Cbor::as_array).unwrap_or_default();
            let listed = hints.get("preferred").into_iter().chain(acceptable).map(|entry| entry.as_text());
            wanted.versions =
                listed.map(|entry| entry.and_then(version).ok_or(Code::BadRequest)).collect::<Result<_, _>>()?;
            wanted.range = text(hints, "range")?.map(range).transpose()?;
        } else if wanted.versions.is_empty() {
            return Err(Code::BadRequest);
        }
        Ok(wanted)
    }

    /// What the filter of a CAP_QUERY names.
    ///
    /// # Errors
    ///
    /// 1001 for a body that is not a map, 4001 for a filter without a name, and for a cursor, since every answer is complete
    /// (RFC 004, 6.1, 6.5).
    pub(crate) fn of_query(body: &Cbor) -> Result<Self, Code> {
        body.as_map().ok_or(Code::InvalidMessage)?;
        let filter = body.get("filter").filter(|_| body.get("cursor").is_none()).ok_or(Code::BadRequest)?;
        let name = text(filter, "capability")?.or(text(filter, "type")?).ok_or(Code::BadRequest)?;
        let range = text(filter, "version")?.map(range).transpose()?;
        Ok(Self { name: name.to_owned(), versions: Vec::new(), range })
    }

    /// Every version with this name.
    #[must_use]
    pub(crate) fn named(&self) -> Vec<&'static Capability> {
        ALL.iter().filter(|capability| capability.name == self.name).collect()
    }

    /// The first acceptable version of `offered`, else the highest in range (RFC 004, 6.3).
    #[must_use]
    pub(crate) fn selected(&self, offered: &[&'static Capability]) -> Option<&'static Capability> {
        let exactly = |version: &Version| offered.iter().find(|one| one.number() == *version);
        let listed = self.versions.iter().find_map(exactly);
        let in_range = || self.range.is_some().then(|| self.in_range(offered).into_iter().next()).flatten();
        listed.copied().or_else(in_range)
    }

    /// The versions of `offered` in range; all of them without a range.
    #[must_use]
    pub(crate) fn in_range(&self, offered: &[&'static Capability]) -> Vec<&'static Capability> {
        let bounds = self.range.as_deref().unwrap_or_default();
        let fits = |one: &&&Capability| {
            bounds.iter().all(|(comparison, bound)| match comparison {
                Comparison::Below => one.number() < *bound,
                Comparison::AtMost => one.number() <= *bound,
                Comparison::Exactly => one.number() == *bound,
                Comparison::AtLeast => one.number() >= *bound,
                Comparison::Above => one.number() > *bound,
            })
        };
        offered.iter().filter(fits).copied().collect()
    }
}

/// An optional member that is a text.
fn text<'a>(body: &'a Cbor, name: &str) -> Result<Option<&'a str>, Code> {
    body.get(name).map(|value| value.as_text().ok_or(Code::BadRequest)).transpose()
}

/// A name, with the version behind it if there is one.
fn split(name: &str) -> Result<(&str, Option<Version>), Code> {
    match name.split_once(':') {
        Some((name, suffix)) => Ok((name, Some(version(suffix).ok_or(Code::BadRequest)?))),
        None => Ok((name, None)),
    }
}

/// A version; parts that are left out are zero.
fn version(text: &str) -> Option<Version> {
    let mut version = Version::default();
    let mut places = version.iter_mut();
    for part in text.split('.') {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        *places.next()? = part.parse().ok().filter(|_| digits)?;
    }
    Some(version)
}

/// RFC 004, 4.4: one version, or comparisons that all hold.
fn range(text: &str) -> Result<Vec<(Comparison, Version)>, Code> {
    let bounds = text.split_ascii_whitespace().map(|bound| {
        let signs = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Below),
            (">", Comparison::Above),
            ("=", Comparison::Exactly),
        ];
        let signed = signs.iter().find_map(|(sign, comparison)| Some((*comparison, bound.strip_prefix(sign)?)));
        let (comparison, number) = signed.unwrap_or((Comparison::Exactly, bound));
        Some((comparison, version(number)?))
    });
    let bounds: Option<Vec<_>> = bounds.collect();
    bounds.filter(|bounds| !bounds.is_empty()).ok_or(Code::BadRequest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_versions_are_versions() {
        assert!(ALL.iter().all(|capability| version(capability.version).is_some()));
        assert!(ALL.is_sorted_by(|one, next| {
            one.name < next.name || (one.name == next.name && one.number() > next.number())
        }));
    }

    fn invoked(members: &[(&str, Cbor)]) -> Result<Option<String>, u64> {
        let mut body = Cbor::map([("params", Cbor::map([]))]);
        members.iter().for_each(|(name, value)| body.set(name, value.clone()));
        let wanted = Wanted::of_invocation(&body).map_err(Code::number)?;
        Ok(wanted.selected(&wanted.named()).map(Capability::id))
    }

    #[test]
    fn an_invocation_names_a_version_or_negotiates_one() {
        let echo = || ("capability", Cbor::from("org.agentries.echo"));
        let hints = |name: &str, value: Cbor| ("negotiate", Cbor::map([(name, value)]));
        let found = |version: &str| Ok(Some(format!("org.agentries.echo:{version}")));
        assert_eq!(invoked(&[("id", "org.agentries.echo:1.0.0".into())]), found("1.0.0"));
        assert_eq!(invoked(&[("capability", "org.agentries.echo:1.0".into())]), found("1.0.0"));
        assert_eq!(invoked(&[echo(), ("version", "1.1.0".into())]), found("1.1.0"));
        assert_eq!(invoked(&[echo(), ("version", "99.0".into())]), Ok(None));
        assert_eq!(invoked(&[echo(), hints("range", ">=1.0.0 <2.0.0".into())]), found("1.1.0"));
        let acceptable = Cbor::Array(vec!["3.0.0".into(), "1.0.0".into()]);
        assert_eq!(invoked(&[echo(), hints("acceptable", acceptable)]), found("1.0.0"));
        assert_eq!(invoked(&[echo()]), Err(4001));
        assert_eq!(invoked(&[echo(), ("version", "latest".into())]), Err(4001));
        let id = ("id", Cbor::from("org.agentries.echo:1.0.0"));
        assert_eq!(invoked(&[id.clone(), ("version", "1.1.0".into())]), Err(4001));
        assert_eq!(invoked(&[id, hints("preferred", "1.0.0".into())]), Err(4001));
        assert_eq!(Wanted::of_invocation(&Cbor::Null), Err(Code::InvalidMessage));
    }

    #[test]
    fn a_query_selects_by_name_and_range() {
        let query = |range: Option<&str>| {
            let mut filter = Cbor::map([("type", "org.agentries.echo".into())]);
            range.into_iter().for_each(|range| filter.set("version", range.into()));
            let wanted = Wanted::of_query(&Cbor::map([("filter", filter)])).map_err(Code::number)?;
            Ok::<_, u64>(wanted.in_range(&wanted.named()).len())
        };
        assert_eq!((query(None), query(Some("<1.1.0")), query(Some("2.0.0"))), (Ok(2), Ok(1), Ok(0)));
        assert_eq!(query(Some("1.x")), Err(4001));
        assert_eq!(Wanted::of_query(&Cbor::map([])), Err(Code::BadRequest));
    }
}
