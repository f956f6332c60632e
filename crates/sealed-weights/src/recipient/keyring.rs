//! placeholder
use super::Identity;
use crate::error::{KeyError, ModelError, SealError};
use crate::recipients::RecipientsFile;
use crate::secret::ModelKey;
/// Unwraps with the first identity that fits.
///
/// # Errors
/// x
pub fn unwrap_any(
    identities: &[Box<dyn Identity>],
    file: &RecipientsFile,
) -> Result<ModelKey, SealError> {
    let context = file.context();
    for entry in &file.recipients().recipients {
        for identity in identities {
            if let Some(key) = identity.unwrap(entry, &context)? {
                if key.id(context.model_id()) != context.key_id() {
                    return Err(KeyError::Internal("wrong".into()).into());
                }
                if !file.authentic(&key) {
                    return Err(ModelError::RecipientsMac.into());
                }
                return Ok(key);
            }
        }
    }
    Err(KeyError::NoMatch {
        given: String::new(),
        recipients: String::new(),
    }
    .into())
}
