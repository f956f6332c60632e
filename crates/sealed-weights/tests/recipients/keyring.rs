//! Opening a recipients section with the keys at hand.

use sealed_weights::error::{KeyError, ModelError, SealError};
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::recipient::passphrase::Passphrase;
use sealed_weights::recipient::{Identity, Recipient, RecipientEntry, WrapContext, unwrap_any};
use sealed_weights::recipients::{Recipients, RecipientsFile};
use sealed_weights::secret::ModelKey;
use zeroize::Zeroizing;

use crate::common::{MODEL, assert_says, context, flipped, model_key};

/// An identity that a service keeps from working.
#[derive(Debug)]
struct Down;

impl Identity for Down {
    fn describe(&self) -> String {
        "service of the test".to_owned()
    }

    fn unwrap(&self, _: &RecipientEntry, _: &WrapContext) -> Result<Option<ModelKey>, KeyError> {
        Err(KeyError::Service {
            service: "service of the test".to_owned(),
            reason: "it is down".to_owned(),
        })
    }
}

fn file(entries: Vec<RecipientEntry>) -> RecipientsFile {
    let recipients = Recipients {
        model: "tiny".to_owned(),
        model_id: MODEL,
        key_id: model_key().id(MODEL),
        recipients: entries,
    };
    RecipientsFile::write(recipients, &model_key()).unwrap()
}

fn fresh(folder: &tempfile::TempDir, name: &str) -> KeyFile {
    KeyFile::create(&folder.path().join(name)).unwrap()
}

fn wrapped(recipient: &dyn Recipient) -> RecipientEntry {
    recipient.wrap(&model_key(), &context()).unwrap()
}

#[test]
fn the_identity_that_fits_opens_even_when_others_fail() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (fresh(&folder, "one"), fresh(&folder, "two"));
    let section = file(vec![
        flipped(&wrapped(&two), "/wrap/wrapped"),
        wrapped(&one),
        wrapped(&two),
    ]);
    let key = unwrap_any(&[Box::new(Down), Box::new(two)], &section).unwrap();
    assert_eq!(key.expose(), model_key().expose());
}

#[test]
fn nothing_that_fits_names_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let section = file(vec![wrapped(&fresh(&folder, "one"))]);
    let error = unwrap_any(&[Box::new(fresh(&folder, "two"))], &section).unwrap_err();
    assert!(
        matches!(error, SealError::Key(KeyError::NoMatch { .. })),
        "{error}"
    );
    assert_says(
        &error.to_string(),
        &["key file ", "two", "key-file ", "rewrap"],
    );
    let error = unwrap_any(&[], &section).unwrap_err();
    assert_says(&error.to_string(), &["given (none)"]);
}

#[test]
fn every_reason_is_told_when_nothing_opens() {
    let folder = tempfile::tempdir().unwrap();
    let key = fresh(&folder, "key");
    let section = file(vec![flipped(&wrapped(&key), "/wrap/salt")]);
    let error = unwrap_any(&[Box::new(Down), Box::new(key)], &section).unwrap_err();
    assert_says(
        &error.to_string(),
        &["it is down", "altered, or belongs to another model"],
    );
    let error = unwrap_any(&[Box::new(Down)], &section).unwrap_err();
    assert!(
        matches!(error, SealError::Key(KeyError::Service { .. })),
        "{error}"
    );
}

#[test]
fn a_wrapped_key_that_is_not_the_models_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = fresh(&folder, "key");
    let other = ModelKey::new(Zeroizing::new([9; 32]));
    let section = file(vec![key.wrap(&other, &context()).unwrap()]);
    let error = unwrap_any(&[Box::new(key)], &section).unwrap_err();
    assert!(
        matches!(error, SealError::Key(KeyError::WrongModelKey { .. })),
        "{error}"
    );
    assert_says(&error.to_string(), &[&model_key().id(MODEL).to_string()]);
}

#[test]
fn a_section_that_no_key_holder_wrote_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (mine, stolen) = (fresh(&folder, "mine"), fresh(&folder, "stolen"));
    let text = file(vec![wrapped(&mine), wrapped(&stolen)])
        .text()
        .to_owned();
    // Someone without the key drops a recipient.
    let json: serde_json::Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    let dropped = format!(",{}", json["recipients"][1]);
    let [begin, end] = [r#",{"kind":"key-file""#, "]}"].map(|mark| text.rfind(mark).unwrap());
    assert_eq!(end - begin, dropped.len());
    let section = RecipientsFile::parse(&format!("{}{}", &text[..begin], &text[end..])).unwrap();
    assert_eq!(section.recipients().recipients.len(), 1);
    let error = unwrap_any(&[Box::new(mine)], &section).unwrap_err();
    assert!(
        matches!(error, SealError::Model(ModelError::RecipientsMac)),
        "{error}"
    );
}

#[test]
fn a_section_of_many_hostile_entries_is_given_up() {
    let passphrase = Passphrase::new(Zeroizing::new("secret".to_owned())).unwrap();
    let mut json = serde_json::to_value(wrapped(&passphrase)).unwrap();
    json["passes"] = u32::MAX.into();
    let hostile: RecipientEntry = serde_json::from_value(json).unwrap();
    let section = file(vec![hostile; 1000]);
    let text = unwrap_any(&[Box::new(passphrase)], &section)
        .unwrap_err()
        .to_string();
    assert_eq!(text.matches("4294967295 passes").count(), 8, "{text}");
}
