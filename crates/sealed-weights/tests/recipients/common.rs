//! A model, its key, and ways to damage what is written.

use sealed_weights::error::KeyError;
use sealed_weights::ids::ModelId;
use sealed_weights::recipient::options::Variables;
use sealed_weights::recipient::{Identity, Options, Recipient, RecipientEntry, WrapContext};
use sealed_weights::secret::ModelKey;
use zeroize::Zeroizing;

pub(crate) const MODEL: ModelId = ModelId::new([1; 16]);

pub(crate) fn model_key() -> ModelKey {
    ModelKey::new(Zeroizing::new([7; 32]))
}

pub(crate) fn context() -> WrapContext {
    WrapContext::new("tiny", MODEL, model_key().id(MODEL))
}

/// Contexts that differ from [`context`] in one field each, with the field's name.
pub(crate) fn other_contexts() -> [(WrapContext, &'static str); 3] {
    let id = model_key().id(MODEL);
    let other_key = ModelKey::new(Zeroizing::new([8; 32])).id(MODEL);
    [
        (WrapContext::new("other", MODEL, id), "model"),
        (
            WrapContext::new("tiny", ModelId::new([2; 16]), id),
            "model-id",
        ),
        (WrapContext::new("tiny", MODEL, other_key), "key-id"),
    ]
}

/// Options with these variables and no prompt.
pub(crate) fn options(variables: &[(&str, &str)]) -> Options {
    let mut options = Options::default();
    options.variables = Variables::These(
        variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    );
    options
}

/// The entry with the string or number at a JSON pointer replaced.
pub(crate) fn altered(
    entry: &RecipientEntry,
    pointer: &str,
    value: impl Into<serde_json::Value>,
) -> RecipientEntry {
    let mut json = serde_json::to_value(entry).unwrap();
    *json.pointer_mut(pointer).expect(pointer) = value.into();
    serde_json::from_value(json).unwrap()
}

/// The entry with one bit of the base64 bytes at a JSON pointer flipped.
pub(crate) fn flipped(entry: &RecipientEntry, pointer: &str) -> RecipientEntry {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let json = serde_json::to_value(entry).unwrap();
    let text = json.pointer(pointer).expect(pointer).as_str().unwrap();
    let mut bytes = STANDARD.decode(text).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    altered(entry, pointer, STANDARD.encode(bytes))
}

/// Wraps and unwraps the model key.
#[track_caller]
pub(crate) fn round_trip(recipient: &dyn Recipient, identity: &dyn Identity) -> RecipientEntry {
    let entry = recipient.wrap(&model_key(), &context()).unwrap();
    let key = identity
        .unwrap(&entry, &context())
        .unwrap()
        .expect("an entry of its own");
    assert_eq!(key.expose(), model_key().expose());
    entry
}

/// The message of a refusal to unwrap.
#[track_caller]
pub(crate) fn refusal(
    identity: &dyn Identity,
    entry: &RecipientEntry,
    context: &WrapContext,
) -> String {
    message(identity.unwrap(entry, context))
}

/// The message of an error.
#[track_caller]
pub(crate) fn message<T: std::fmt::Debug>(result: Result<T, KeyError>) -> String {
    result.unwrap_err().to_string()
}

/// Asserts that a message holds all parts.
#[track_caller]
pub(crate) fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in: {message}");
    }
}
