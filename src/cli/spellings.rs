//! The option `--spellings` of `check` and `explore`.

use super::exit::Failure;
use crate::protocol::Protocol;
use crate::spelling::{Kind, Spellings, names};
use crate::suggest::nearest;

/// The spellings that the option asks for, at a target of a protocol: any that the protocol permits, or the named ones in each
/// message.
///
/// # Errors
///
/// [`Failure::Usage`] for a kind that is unknown or not permitted.
pub(super) fn chosen(option: Option<&str>, protocol: &dyn Protocol, seed: u64) -> Result<Option<Spellings>, Failure> {
    let Some(option) = option else { return Ok(None) };
    let permitted = protocol.spellings();
    let any = Spellings::any_of(permitted, seed);
    if option.is_empty() {
        return Ok(Some(any));
    }
    let mut kinds = Vec::new();
    for word in option.split(',') {
        let kind = Kind::named(word).ok_or_else(|| {
            let near = nearest(word, Kind::ALL.iter().map(|kind| kind.name()));
            let near = near.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
            let hint = format!("{near}one of {}, or no kind for any", names(permitted.iter().copied()));
            Failure::Usage(format!("--spellings: unknown kind `{word}`"), Some(hint))
        })?;
        if !permitted.contains(&kind) {
            let slug = protocol.slug();
            let hint = format!("one of {}", names(permitted.iter().copied()));
            return Err(Failure::Usage(format!("{slug} does not permit the spelling `{word}`"), Some(hint)));
        }
        kinds.push(kind);
    }
    Ok(Some(any.always(kinds)))
}
