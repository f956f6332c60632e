//! What every wrapped key is bound to.

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

use super::entry::printable;
use crate::ids::{KeyId, ModelId};

/// The encryption context: pairs of names and values, in this order, that a key management service
/// checks on unwrapping, and that other recipients bind through [`WrapContext::digest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrapContext {
    model: String,
    model_id: ModelId,
    key_id: KeyId,
}

impl WrapContext {
    /// For a key of a model.
    #[must_use]
    pub fn new(model: &str, model_id: ModelId, key_id: KeyId) -> WrapContext {
        WrapContext {
            model: model.to_owned(),
            model_id,
            key_id,
        }
    }

    /// The key that is wrapped.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// The model that the key belongs to.
    #[must_use]
    pub fn model_id(&self) -> ModelId {
        self.model_id
    }

    /// `sealed-weights`, `model`, `model-id`, `key-id` with their values.
    #[must_use]
    pub fn pairs(&self) -> [(&'static str, String); 4] {
        [
            ("sealed-weights", "1".to_owned()),
            ("model", self.model.clone()),
            ("model-id", self.model_id.to_string()),
            ("key-id", self.key_id.to_string()),
        ]
    }

    /// SHA-256 of the pairs as lines `name=value\n`; no value holds a line end.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let text: String = self
            .pairs()
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        bytes
    }

    /// The names of the pairs in which two contexts differ.
    #[must_use]
    pub fn differences(&self, other: &WrapContext) -> Vec<&'static str> {
        self.pairs()
            .iter()
            .zip(other.pairs())
            .filter(|(one, two)| one.1 != two.1)
            .map(|(one, _)| one.0)
            .collect()
    }

    /// Why a key that was wrapped for `bound_to` does not open here, for messages: the pairs that
    /// differ with both values, or what else it can be. `bound_to` is not to be trusted.
    #[must_use]
    pub fn mismatch(&self, bound_to: &WrapContext) -> String {
        let differing = self.differences(bound_to);
        if differing.is_empty() {
            return "the wrapped key was altered, or it was wrapped by another key; restore the \
                    recipients section from a copy"
                .to_owned();
        }
        let values: Vec<String> = bound_to
            .pairs()
            .iter()
            .zip(self.pairs())
            .filter(|(wrapped, _)| differing.contains(&wrapped.0))
            .map(|(wrapped, here)| {
                let [wrapped_value, here] = [&wrapped.1, &here.1].map(|text| printable(text));
                format!(
                    "{} (wrapped for '{wrapped_value}', here '{here}')",
                    wrapped.0
                )
            })
            .collect();
        format!(
            "the context differs in {}; the wrapped key belongs to another model or version, use \
             this model's own recipients section",
            values.join(" and ")
        )
    }
}
