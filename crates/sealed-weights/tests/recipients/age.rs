//! age recipients.

use std::path::PathBuf;

use age::secrecy::ExposeSecret;
use age::x25519;
use sealed_weights::private_file;
use sealed_weights::recipient::{Identity, RecipientEntry, parse_identity, parse_recipient};

use crate::common::{
    altered, assert_says, context, flipped, message, options, other_contexts, refusal, round_trip,
};

/// An identity file as `age-keygen` writes it; its public key.
fn key_pair(folder: &tempfile::TempDir, name: &str) -> (PathBuf, String) {
    let key = x25519::Identity::generate();
    let path = folder.path().join(name);
    let text = format!(
        "# created: 2026-11-30\n# public key: {}\n{}\n",
        key.to_public(),
        key.to_string().expose_secret()
    );
    private_file::create(&path, text.as_bytes()).unwrap();
    (path, key.to_public().to_string())
}

fn identity(path: &std::path::Path) -> Box<dyn Identity> {
    parse_identity(&format!("age:{}", path.display()), &options(&[])).unwrap()
}

fn wrapped(public: &str, path: &std::path::Path) -> RecipientEntry {
    let recipient = parse_recipient(&format!("age:{public}"), &options(&[])).unwrap();
    assert_eq!(recipient.describe(), format!("age {public}"));
    round_trip(recipient.as_ref(), identity(path).as_ref())
}

#[test]
fn an_age_identity_opens_what_its_recipient_wrapped_and_no_other_does() {
    let folder = tempfile::tempdir().unwrap();
    let (path, public) = key_pair(&folder, "one");
    let (other, other_public) = key_pair(&folder, "two");
    let entry = wrapped(&public, &path);
    assert!(
        identity(&other)
            .unwrap(&entry, &context())
            .unwrap()
            .is_none()
    );
    let claimed = altered(&entry, "/recipient", other_public);
    let text = refusal(identity(&other).as_ref(), &claimed, &context());
    assert_says(&text, &["age identity", "for another key", "altered"]);
}

#[test]
fn an_altered_age_entry_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, public) = key_pair(&folder, "key");
    let entry = wrapped(&public, &path);
    let identity = identity(&path);
    for (entry, expected) in [
        (flipped(&entry, "/file"), "altered"),
        (altered(&entry, "/file", ""), "altered or damaged"),
        (altered(&entry, "/file", "?"), "not base64"),
        (
            altered(&entry, "/file", "A".repeat(16385)),
            "16385 bytes, over the limit",
        ),
    ] {
        assert_says(&refusal(identity.as_ref(), &entry, &context()), &[expected]);
    }
}

#[test]
fn an_age_entry_of_another_model_names_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let (path, public) = key_pair(&folder, "key");
    let entry = wrapped(&public, &path);
    let identity = identity(&path);
    for (other, field) in other_contexts() {
        let text = refusal(identity.as_ref(), &entry, &other);
        assert_says(
            &text,
            &[&format!("context differs in {field} (wrapped for")],
        );
    }
    // An entry whose stored context was made to fit is refused all the same.
    let (other, _) = &other_contexts()[0];
    let fitted = altered(&entry, "/bound_to/model", "other");
    assert_says(&refusal(identity.as_ref(), &fitted, other), &["altered"]);
}

#[test]
fn texts_and_files_that_are_no_age_keys_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["age", "age:", "age:age1xyz", "age:ssh-ed25519 AAAA"] {
        assert_says(&message(parse_recipient(text, &options(&[]))), &["age"]);
    }
    let secret = x25519::Identity::generate().to_string();
    let reason = message(parse_recipient(
        &format!("age:{}", secret.expose_secret()),
        &options(&[]),
    ));
    assert_says(&reason, &["secret key", "age-keygen -y"]);
    assert!(!reason.contains(secret.expose_secret()), "{reason}");
    for (name, text, expected) in [
        ("empty", "# nothing\n", "holds no key"),
        (
            "plugin",
            "\nAGE-PLUGIN-YUBIKEY-1QQ\n",
            "line 2 is not AGE-SECRET-KEY-1",
        ),
        (
            "locked",
            "age-encryption.org/v1\n-> scrypt",
            "itself encrypted",
        ),
    ] {
        let path = folder.path().join(name);
        private_file::create(&path, text.as_bytes()).unwrap();
        let reason = message(parse_identity(
            &format!("age:{}", path.display()),
            &options(&[]),
        ));
        assert_says(&reason, &[name, expected]);
    }
    assert_says(
        &message(parse_identity("age", &options(&[]))),
        &["age:PATH"],
    );
}
