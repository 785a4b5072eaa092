//! Records of runs from the choices of an input, with a hostile text in every place for foreign text.

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::{Result, Unstructured};
use proofmark::exchange::{Arrival, ArrivalKind, Body, Ended, Exchange, Incoming, Outgoing, TargetClass, Transport};
use proofmark::record::{
    Asked, Because, CaseRecord, CaseTotals, EditRecord, FeatureRecord, FeatureState, FindingRecord, LevelRecord,
    MistakeRecord, ProtocolRecord, ReadingRecord, RequirementRecord, RunRecord, SCHEMA, Summary, TargetConfig,
    TargetRecord, WaiverRecord,
};
use proofmark::verdict::{Grant, NotRun, Profile, Verdict};

/// Text that is special to markup, terminals and readers.
const PIECES: &[&str] = &[
    "",
    "a",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)",
    "'",
    "&lt;",
    "&",
    "]]>",
    "<!--",
    "-->",
    "\u{1b}[2J",
    "\u{1b}]0;owned\u{7}",
    "\r",
    "\n",
    "\t",
    "\0",
    "\u{7f}",
    "\u{9b}31m",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{feff}",
    "\u{ffff}",
    "\u{fffe}",
    "\u{85}",
    "\u{2028}",
    "`",
    "```\n",
    "| a | b |",
    "\\|",
    "\n# h",
    "\n- i",
    "\n\n    code",
    "[x](javascript:alert(1))",
    "![x](http://a/b.png)",
    "<https://a.example>",
    "https://a.example",
    "www.a.example",
    "@everyone",
    "#1",
    "*b*",
    "_i_",
    "~~s~~",
    "{{ 7*7 }}",
    "%s",
    "\u{1f600}",
    "e\u{301}",
    "agentic/a#b",
    "<a href=\"javascript:alert(1)\">",
    "</pre></div>",
    "<svg onload=alert(1)>",
    "$(id)",
    "; rm -rf /",
    "\u{e0041}",
    "<",
    "&#60;img src=x&#62;",
    "&amp;lt;",
    "\u{fb33}",
    "/body/items/0",
    "::error::x",
    "\r\n::set-output name=a::b",
];

/// Makes texts of pieces, and of a text from the input.
pub(crate) struct Author<'a, 'b> {
    pub(crate) u: &'a mut Unstructured<'b>,
    /// The text from the input.
    pub(crate) text: &'a str,
}

impl Author<'_, '_> {
    fn words(&mut self) -> Result<String> {
        if self.u.ratio(1, 3)? {
            return Ok("plain words".to_owned());
        }
        let mut words = String::new();
        for _ in 0..self.u.int_in_range(1..=3)? {
            words.push_str(if self.u.ratio(1, 4)? { self.text } else { self.u.choose(PIECES)? });
        }
        Ok(words)
    }

    fn several<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        (0..self.u.int_in_range(0..=2)?).map(|_| one(self)).collect()
    }

    fn some(&mut self) -> Result<Option<String>> {
        if self.u.arbitrary()? { self.words().map(Some) } else { Ok(None) }
    }

    fn choose<T: Copy>(&mut self, list: &[T]) -> Result<T> {
        self.u.choose(list).copied()
    }

    /// An id, or a text instead.
    fn id(&mut self) -> Result<String> {
        if self.u.ratio(3, 4)? { Ok(self.choose(&["A-1", "A-2", "AMP-A.2-01"])?.to_owned()) } else { self.words() }
    }

    fn reason(&mut self) -> Result<Option<NotRun>> {
        use NotRun::{NotClaimed, NotExercised, NotSelected, Unobservable, Waived};
        let all = [NotClaimed, NotExercised, NotSelected, Unobservable, Waived];
        if self.u.arbitrary()? { self.choose(&all).map(Some) } else { Ok(None) }
    }

    fn body(&mut self) -> Result<Body> {
        Ok(Body::from(match self.u.int_in_range(0..=4)? {
            0 => Vec::new(),
            1 => self.u.bytes(self.u.len().min(24))?.to_vec(),
            2 => serde_json::json!({ "a": self.words()?, "items": [self.words()?] }).to_string().into_bytes(),
            3 => proofmark::wire::cbor::write(&crate::generate::cbor(self.u)?),
            _ => self.words()?.into_bytes(),
        }))
    }

    fn headers(&mut self) -> Result<Vec<(String, String)>> {
        self.several(|a| {
            let name = if a.u.arbitrary()? { "content-type".to_owned() } else { a.words()? };
            let media_type = a.choose(&["application/json", "application/cbor", "text/html"])?;
            Ok((name, if a.u.arbitrary()? { media_type.to_owned() } else { a.words()? }))
        })
    }

    fn exchange(&mut self) -> Result<Exchange> {
        let ended = match self.u.int_in_range(0..=5)? {
            0 => Ended::TooLong,
            1 => Ended::TimedOut,
            2 => Ended::Closed(self.words()?),
            3 => Ended::Unreachable(self.words()?),
            4 => Ended::NotSent(self.words()?),
            _ => Ended::Complete,
        };
        Ok(Exchange {
            step: self.u.int_in_range(0..=3)?,
            round: self.u.int_in_range(0..=1)?,
            actor: self.words()?,
            operation: self.words()?,
            sent: Outgoing {
                transport: self.choose(&Transport::ALL)?,
                method: self.words()?,
                url: self.words()?,
                headers: self.headers()?,
                body: self.body()?,
            },
            received: Incoming {
                status: self.u.arbitrary()?,
                headers: self.headers()?,
                body: self.body()?,
                arrived: self.several(|a| {
                    let kind = a.choose(&[
                        ArrivalKind::TcpFrame,
                        ArrivalKind::WsBinary,
                        ArrivalKind::WsText,
                        ArrivalKind::Polled,
                    ])?;
                    Ok(Arrival {
                        kind,
                        code: a.u.arbitrary()?,
                        body: a.body()?,
                        at_ms: a.u.arbitrary::<u32>()?.into(),
                        host: String::new(),
                    })
                })?,
                ended,
            },
            started_ms: self.u.arbitrary::<u32>()?.into(),
            elapsed_ms: self.u.arbitrary::<u32>()?.into(),
            hosted: None,
            clock_ms: 0,
        })
    }

    fn case(&mut self) -> Result<CaseRecord> {
        let verdict = self.choose(&Verdict::ALL)?;
        let covers = self.several(Self::id)?;
        Ok(CaseRecord {
            id: if self.u.arbitrary()? { "agentic/deposit#returns-it[row]@ws".to_owned() } else { self.words()? },
            transport: self.choose(&Transport::ALL)?,
            about: self.words()?,
            verdict,
            reason: self.reason()?,
            because: self.words()?,
            outcomes: covers.iter().map(|id| (id.clone(), verdict)).collect(),
            covers,
            started_ms: self.u.arbitrary::<u32>()?.into(),
            twin_started_ms: self.u.arbitrary::<u32>()?.into(),
            retry: self.u.int_in_range(0..=2)?,
            elapsed_ms: self.u.arbitrary::<u32>()?.into(),
            at: self.words()?,
            findings: self.several(|a| {
                Ok(FindingRecord {
                    requirement: a.id()?,
                    verdict: a.choose(&Verdict::ALL)?,
                    expected: a.words()?,
                    observed: a.words()?,
                    path: a.words()?,
                    exchange: if a.u.arbitrary()? { Some(a.u.int_in_range(0..=2)?) } else { None },
                    at: a.words()?,
                    strict_only: a.u.arbitrary()?,
                    mistake: if a.u.arbitrary()? {
                        Some(MistakeRecord { text: a.words()?, follows: a.u.arbitrary()? })
                    } else {
                        None
                    },
                    note: a.words()?,
                })
            })?,
            readings: self
                .several(|a| Ok(ReadingRecord { reading: a.words()?, tolerated: a.u.arbitrary()?, at: a.words()? }))?,
            exchanges: self.several(Self::exchange)?.into(),
            twin: self.several(Self::exchange)?.into(),
            twin_of: self.words()?,
            swept_from: self.several(Self::words)?,
            edits: self.several(|a| Ok(EditRecord { step: a.u.int_in_range(0..=2)?, edit: a.words()? }))?,
            replay: self.words()?,
        })
    }

    fn requirement(&mut self) -> Result<RequirementRecord> {
        Ok(RequirementRecord {
            id: self.id()?,
            section: self.words()?,
            keyword: self.words()?,
            level: self.words()?,
            summary: self.words()?,
            verdict: self.choose(&Verdict::ALL)?,
            reason: self.reason()?,
            uncovered: self.some()?,
            errata: self.several(Self::words)?,
            cases: self.several(Self::words)?,
        })
    }

    fn level(&mut self) -> Result<LevelRecord> {
        Ok(LevelRecord {
            level: self.words()?,
            outcome: self.choose(&[Grant::Granted, Grant::GrantedWaived, Grant::Refused, Grant::Undecided])?,
            claimed: self.u.arbitrary()?,
            met: self.u.arbitrary()?,
            unobservable: self.u.arbitrary()?,
            because: self.several(|a| {
                Ok(Because {
                    requirement: a.id()?,
                    verdict: a.choose(&Verdict::ALL)?,
                    reason: a.reason()?,
                    why: a.words()?,
                    advice: a.words()?,
                })
            })?,
            uncovered: self.several(Self::words)?,
            waived: self.several(Self::words)?,
            not_exercised: self.several(Self::words)?,
            not_claimed: self.several(Self::words)?,
            held: self.u.arbitrary()?,
            not_observable: self.u.arbitrary()?,
        })
    }

    fn protocol(&mut self) -> Result<ProtocolRecord> {
        use FeatureState::{Absent, Offered, Unclear, Unknown};
        let (mut requirements, mut cases) = (self.several(Self::requirement)?, self.several(Self::case)?);
        // No catalogue has duplicate ids, and no plan.
        let mut seen = BTreeSet::new();
        requirements.retain(|requirement| seen.insert(requirement.id.clone()));
        cases.retain(|case| seen.insert(case.id.clone()));
        Ok(ProtocolRecord {
            protocol: if self.u.ratio(3, 4)? {
                self.choose(&["agentic", "amp-core"])?.to_owned()
            } else {
                self.words()?
            },
            spec: self.words()?,
            suite_hash: self.words()?,
            replay: String::new(),
            levels: self.several(Self::level)?,
            causes: Vec::new(),
            features: self.several(|a| {
                Ok(FeatureRecord {
                    feature: a.words()?,
                    about: a.words()?,
                    state: a.choose(&[Offered, Absent, Unclear, Unknown])?,
                    advice: a.words()?,
                    blocks: a.u.int_in_range(0..=3)?,
                    explained_by: a.several(Self::words)?,
                    exchanges: a.several(Self::exchange)?.into(),
                })
            })?,
            requirements,
            cases,
            waivers: self.several(|a| {
                Ok(WaiverRecord { what: a.words()?, reason: a.words()?, at: a.words()?, stale: a.some()? })
            })?,
            hosts: std::collections::BTreeMap::new(),
            exploration: if self.u.ratio(1, 3)? {
                Some(proofmark::record::ExplorationRecord {
                    sequences: self.u.int_in_range(0..=3)?,
                    judged: 1,
                    steps: self.u.int_in_range(0..=3)?,
                    elapsed_ms: 3,
                    end: self.words()?,
                    transitions: [(self.words()?, 0), (self.words()?, 40)].into(),
                })
            } else {
                None
            },
            strays: Vec::new(),
            more_strays: 0,
        })
    }

    /// A complete record.
    pub(crate) fn record(&mut self) -> Result<RunRecord> {
        let protocols = self.several(Self::protocol)?;
        let mut cases = CaseTotals::default();
        protocols.iter().flat_map(|protocol| &protocol.cases).for_each(|case| cases.count(case.verdict));
        let word = self.words()?;
        Ok(RunRecord {
            schema: SCHEMA.to_owned(),
            proofmark: self.words()?,
            evidence: None,
            seed: self.u.arbitrary()?,
            identity_seed: self.u.arbitrary()?,
            profile: Profile::Lenient,
            started_at: if self.u.arbitrary()? { "2026-11-20T12:00:00.000Z".to_owned() } else { self.words()? },
            asked: Asked {
                levels: self.several(Self::words)?,
                only: self.several(Self::words)?,
                requirements: self.several(Self::words)?,
                shard: self.some()?,
                joined: Vec::new(),
            },
            target: TargetRecord {
                kind: self.choose(&[TargetClass::Endpoint, TargetClass::Adapter, TargetClass::Reference])?,
                name: self.words()?,
                declared: BTreeMap::from([(
                    "agentic".to_owned(),
                    serde_json::json!({ word: self.words()?, "implementation": { "name": self.words()?, "version": self.words()? } }),
                )]),
                config: TargetConfig {
                    levels: self.several(Self::words)?,
                    routes: self.several(Self::words)?,
                    ..TargetConfig::default()
                },
            },
            protocols,
            baseline: None,
            summary: Summary {
                advice: self.several(Self::words)?,
                cases,
                requests: self.u.arbitrary::<u32>()?.into(),
                elapsed_ms: self.u.arbitrary::<u32>()?.into(),
                cut_short: self.some()?,
                exit_code: self.choose(&[0, 1, 2, 3, 70])?,
                conclusion: self.words()?,
            },
        })
    }
}
