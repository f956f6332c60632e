//! New recipients for a model; its data stays as it is.

use std::fs;

use super::documents::{read_recipients, write_new};
use super::sealed::SealedModel;
use super::staging::{Access, Staging, keep_owner, lock_unchanged, resolved, sync_directory};
use crate::error::{ModelError, SealError};
use crate::recipient::{Recipient, RecipientEntry};
use crate::recipients::{RECIPIENTS_NAME, Recipients, RecipientsFile};

/// Which recipients a model has after rewrapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrap {
    /// Only the new ones.
    Replace,
    /// Those of before and the new ones.
    Add,
}

/// Wraps the model key for new recipients and replaces the recipients section in one step.
///
/// A recipient who is dropped and has kept the model key can still read the data: to shut them
/// out, rotate.
///
/// # Errors
/// [`SealError::Key`] from the new recipients, [`SealError::Document`] for none or too many,
/// [`crate::error::ModelError::Busy`], [`SealError::Io`]. The section is then as it was.
pub fn rewrap(
    model: &SealedModel,
    mode: Rewrap,
    recipients: &[Box<dyn Recipient>],
) -> Result<Vec<RecipientEntry>, SealError> {
    let directory = &resolved(model.signed().directory())?;
    let _lock = lock_unchanged(directory, model.signed().signed())?;
    // Read again: another process may have added recipients since.
    let old = read_recipients(directory)?;
    if !old.authentic(model.key()) {
        return Err(ModelError::RecipientsMac.into());
    }
    let context = old.context();
    let mut entries = match mode {
        Rewrap::Replace => Vec::new(),
        Rewrap::Add => old.recipients().recipients.clone(),
    };
    for recipient in recipients {
        let new = recipient.wrap(model.key(), &context)?;
        // Once is enough for everybody.
        entries.retain(|old| !old.same_recipient(&new));
        entries.push(new);
    }
    let path = directory.join(RECIPIENTS_NAME);
    let section = Recipients {
        recipients: entries.clone(),
        ..old.recipients().clone()
    };
    let file =
        RecipientsFile::write(section, model.key()).map_err(|defect| SealError::Document {
            path: path.clone(),
            defect,
        })?;
    // Outside the directory, where a leftover would be an unlisted file.
    let staging = Staging::beside(directory, Access::Usual)?;
    let temporary = staging.path().join(RECIPIENTS_NAME);
    write_new(&temporary, file.text())?;
    keep_owner(&path, &temporary)?;
    fs::rename(&temporary, &path).map_err(|source| SealError::Io {
        action: "replace",
        path: path.clone(),
        source,
    })?;
    sync_directory(directory)?;
    Ok(entries)
}
