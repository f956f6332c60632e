//! Key files, and the wrapping they share with passphrases.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use sealed_weights::error::KeyError;
use sealed_weights::recipient::Identity;
use sealed_weights::recipient::key_file::KeyFile;

use crate::common::{
    altered, assert_says, context, flipped, message, model_key, other_contexts, refusal, round_trip,
};

#[test]
fn a_key_file_opens_what_it_wrapped_after_being_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let created = KeyFile::create(&path).unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let entry = round_trip(&created, &KeyFile::read(&path).unwrap());
    assert_says(&entry.describe(), &["key-file "]);
    let secret = fs::read_to_string(&path).unwrap();
    let secret = secret.trim_end().rsplit(' ').next().unwrap();
    let text = serde_json::to_string(&entry).unwrap() + &format!("{created:?}");
    assert!(!text.contains(secret), "the wrapping key is told");
    assert!(
        !text.contains(&hex::encode(model_key().expose())),
        "the model key is told"
    );
}

#[test]
fn two_wraps_of_one_key_have_nothing_in_common() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyFile::create(&folder.path().join("key")).unwrap();
    let [first, second] = [(), ()].map(|()| serde_json::to_value(round_trip(&key, &key)).unwrap());
    for field in ["/wrap/salt", "/wrap/commitment", "/wrap/wrapped"] {
        assert_ne!(first.pointer(field), second.pointer(field), "{field}");
    }
}

#[test]
fn another_key_file_passes_the_entry_on() {
    let folder = tempfile::tempdir().unwrap();
    let one = KeyFile::create(&folder.path().join("one")).unwrap();
    let two = KeyFile::create(&folder.path().join("two")).unwrap();
    let entry = round_trip(&one, &one);
    assert!(two.unwrap(&entry, &context()).unwrap().is_none());
    // An entry that claims to be for the second key is refused by the commitment.
    let fingerprint = serde_json::to_value(round_trip(&two, &two)).unwrap()["fingerprint"].clone();
    let claimed = altered(&entry, "/fingerprint", fingerprint);
    assert_says(
        &refusal(&two, &claimed, &context()),
        &["did not unwrap", "altered"],
    );
}

#[test]
fn an_altered_entry_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyFile::create(&folder.path().join("key")).unwrap();
    let entry = round_trip(&key, &key);
    for field in ["/wrap/salt", "/wrap/commitment", "/wrap/wrapped"] {
        let text = refusal(&key, &flipped(&entry, field), &context());
        assert_says(&text, &["key file", "altered, or belongs to another model"]);
        for value in ["", "AAAA", "not base64!"] {
            let text = refusal(&key, &altered(&entry, field, value), &context());
            assert_says(&text, &["key-file entry", "not base64 of its length"]);
        }
    }
}

#[test]
fn an_entry_of_another_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let key = KeyFile::create(&folder.path().join("key")).unwrap();
    let entry = round_trip(&key, &key);
    for (other, field) in other_contexts() {
        let text = refusal(&key, &entry, &other);
        assert!(text.contains("another model"), "{field}: {text}");
    }
}

#[test]
fn a_key_file_that_others_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    KeyFile::create(&path).unwrap();
    for mode in [0o640, 0o604, 0o660] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let text = message(KeyFile::read(&path));
        assert_says(&text, &[&format!("mode {mode:04o}"), "chmod 600"]);
    }
}

#[test]
fn a_malformed_key_file_is_refused_without_telling_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let digits = "ab".repeat(32);
    for text in [
        String::new(),
        digits.clone(),
        format!("sealed-weights-key-2 {digits}"),
        format!("sealed-weights-key-1 {}", &digits[1..]),
        format!("sealed-weights-key-1 {digits}0"),
        format!("sealed-weights-key-1 {}", digits.to_uppercase()),
        format!("sealed-weights-key-1 {digits}\nsealed-weights-key-1 {digits}\n"),
    ] {
        fs::write(&path, &text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let error = KeyFile::read(&path).unwrap_err();
        assert!(
            matches!(error, KeyError::Malformed { .. }),
            "{text}: {error}"
        );
        assert_says(&error.to_string(), &["64 hexadecimal digits"]);
        assert!(!error.to_string().contains("abab"), "{error}");
    }
    fs::write(&path, vec![b'x'; (1 << 20) + 1]).unwrap();
    assert_says(&message(KeyFile::read(&path)), &["longer than 1 MiB"]);
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert_says(&message(KeyFile::read(&path)), &["not UTF-8"]);
    assert_says(
        &message(KeyFile::create(&path)),
        &["cannot create", "exists"],
    );
    fs::remove_file(&path).unwrap();
    assert_says(
        &message(KeyFile::read(&path)),
        &["cannot read", "No such file"],
    );
}
