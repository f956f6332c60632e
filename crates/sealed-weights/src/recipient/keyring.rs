//! Opening a recipients section with whatever keys are at hand.

use aws_lc_rs::constant_time;

use super::{Identity, WrapContext};
use crate::error::{KeyError, ModelError, SealError};
use crate::recipients::RecipientsFile;
use crate::secret::ModelKey;

/// Attempts that may fail before the rest is given up: an altered section may list a thousand
/// entries, each of which costs seconds.
const MAX_FAILURES: usize = 8;

/// Tries every entry with every identity, in the order given, until one gives the model's key.
/// The key returned has been checked against the key id and the section against the key.
///
/// An identity that fails does not keep the others from being tried.
///
/// # Errors
/// [`KeyError::NoMatch`] if no entry is for any identity; the reason if one failed, or
/// [`KeyError::NoneOpened`] with all of them; [`KeyError::WrongModelKey`] if an entry gave another
/// key; [`ModelError::RecipientsMac`] if the section was altered.
pub fn unwrap_any(
    identities: &[Box<dyn Identity>],
    file: &RecipientsFile,
) -> Result<ModelKey, SealError> {
    let context = file.context();
    let entries = &file.recipients().recipients;
    let mut failures = Vec::new();
    let pairs = identities
        .iter()
        .flat_map(|identity| entries.iter().map(move |entry| (identity, entry)));
    for (identity, entry) in pairs {
        let outcome = identity
            .unwrap(entry, &context)
            .and_then(|key| key.map_or(Ok(None), |key| right(key, &context, identity.as_ref())));
        match outcome {
            Ok(None) => {}
            Ok(Some(key)) if file.authentic(&key) => return Ok(key),
            Ok(Some(_)) => return Err(ModelError::RecipientsMac.into()),
            Err(failure) => failures.push(failure),
        }
        if failures.len() == MAX_FAILURES {
            break;
        }
    }
    Err(match failures.len() {
        0 => KeyError::NoMatch {
            given: listed(identities.iter().map(|identity| identity.describe())),
            recipients: listed(entries.iter().map(|entry| entry.describe())),
        },
        1 => failures.remove(0),
        _ => KeyError::NoneOpened {
            reasons: failures
                .iter()
                .map(|failure| format!("\n  {failure}"))
                .collect(),
        },
    }
    .into())
}

/// The key, if it is the one that the section names.
fn right(
    key: ModelKey,
    context: &WrapContext,
    identity: &dyn Identity,
) -> Result<Option<ModelKey>, KeyError> {
    let (found, expected) = (key.id(context.model_id()), context.key_id());
    constant_time::verify_slices_are_equal(found.as_bytes(), expected.as_bytes())
        .map(|()| Some(key))
        .map_err(|_| KeyError::WrongModelKey {
            who: identity.describe(),
            found: found.to_string(),
            expected: expected.to_string(),
        })
}

/// At most ten names.
fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let count = names.len();
    let mut text = names.take(10).collect::<Vec<_>>().join(", ");
    if count == 0 {
        text.push_str("none");
    } else if count > 10 {
        text.push_str(&format!(" and {} more", count - 10));
    }
    text
}
