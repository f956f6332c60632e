//! The recipients section: the model key, wrapped for everyone who may open the model.
//!
//! It is a file of its own, outside everything that the data's keys are bound to, so that adding
//! or replacing recipients touches no data and is one atomic rename.
//!
//! ```text
//! sealed-weights recipients 1
//! {"model":…,"model_id":…,"key_id":…,"recipients":[…]}
//! hmac-sha512 MAC
//! ```

use serde::{Deserialize, Serialize};

use crate::document::{self, Lines};
use crate::error::DocumentDefect;
use crate::ids::{KeyId, ModelId};
use crate::recipient::{RecipientEntry, WrapContext};
use crate::secret::ModelKey;

/// Its file name in a sealed directory.
pub const RECIPIENTS_NAME: &str = "sealed.recipients";
const TITLE: &str = "sealed-weights recipients 1";
/// Most recipients of a model.
pub const MAX_RECIPIENTS: usize = 1000;

/// The wrapped copies of one model key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipients {
    /// The model's name, part of the wrapping context.
    pub model: String,
    /// The model, part of the wrapping context.
    pub model_id: ModelId,
    /// The key that is wrapped, part of the wrapping context.
    pub key_id: KeyId,
    /// One entry for each recipient, at least one.
    pub recipients: Vec<RecipientEntry>,
}

/// A recipients section as found; authentic only once a key from it says so.
#[derive(Debug, Clone)]
pub struct RecipientsFile {
    recipients: Recipients,
    text: String,
}

impl RecipientsFile {
    /// Writes the section for a key.
    ///
    /// # Errors
    /// [`DocumentDefect::RecipientCount`] for none or more than [`MAX_RECIPIENTS`],
    /// [`DocumentDefect::ModelName`].
    pub fn write(recipients: Recipients, key: &ModelKey) -> Result<RecipientsFile, DocumentDefect> {
        check(&recipients)?;
        let json = serde_json::to_string(&recipients).map_err(|e| DocumentDefect::Json {
            message: e.to_string(),
        })?;
        let mac = key.recipients_mac(recipients.model_id);
        let text = document::authenticated(TITLE, &json, &mac);
        Ok(RecipientsFile { recipients, text })
    }

    /// Reads a section. Nothing in it is to be trusted yet.
    ///
    /// # Errors
    /// [`DocumentDefect`] for anything but exactly the form above.
    pub fn parse(text: &str) -> Result<RecipientsFile, DocumentDefect> {
        let lines = Lines::split(text, TITLE)?;
        if !lines.rest.is_empty() {
            return Err(DocumentDefect::Line { what: "last" });
        }
        let recipients: Recipients = document::parse_json(lines.json)?;
        check(&recipients)?;
        Ok(RecipientsFile {
            recipients,
            text: text.to_owned(),
        })
    }

    /// The section.
    #[must_use]
    pub fn recipients(&self) -> &Recipients {
        &self.recipients
    }

    /// What the wrapped keys are bound to.
    #[must_use]
    pub fn context(&self) -> WrapContext {
        let Recipients {
            model,
            model_id,
            key_id,
            ..
        } = &self.recipients;
        WrapContext::new(model, *model_id, *key_id)
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a holder of this key wrote the section.
    #[must_use]
    pub fn authentic(&self, key: &ModelKey) -> bool {
        let mac = key.recipients_mac(self.recipients.model_id);
        Lines::split(&self.text, TITLE).is_ok_and(|lines| lines.authentic(&mac))
    }
}

fn check(recipients: &Recipients) -> Result<(), DocumentDefect> {
    // A line end in it would make two wrapping contexts one.
    document::check_model_name(&recipients.model)?;
    let count = recipients.recipients.len();
    if count == 0 || count > MAX_RECIPIENTS {
        return Err(DocumentDefect::RecipientCount {
            count,
            limit: MAX_RECIPIENTS,
        });
    }
    Ok(())
}
