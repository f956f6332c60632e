//! Passphrases.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sealed_weights::recipient::options::Purpose;
use sealed_weights::recipient::passphrase::Passphrase;
use sealed_weights::recipient::{RecipientEntry, parse_identity, parse_recipient};
use zeroize::Zeroizing;

use crate::common::{
    altered, assert_says, context, flipped, message, options, other_contexts, refusal, round_trip,
};

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(Zeroizing::new(text.to_owned())).unwrap()
}

#[test]
fn a_passphrase_opens_what_it_wrapped_and_no_other_does() {
    let right = passphrase("correct horse");
    let entry = round_trip(&right, &right);
    let RecipientEntry::Passphrase(fields) = &entry else {
        panic!("{entry:?}")
    };
    assert_eq!(
        (fields.memory_kib, fields.passes, fields.lanes),
        (65536, 3, 4)
    );
    let text = refusal(&passphrase("correct horse "), &entry, &context());
    assert_says(&text, &["passphrase did not unwrap", "not the right one"]);
    assert!(!text.contains("horse"), "{text}");
    assert_says(
        &refusal(&right, &flipped(&entry, "/salt"), &context()),
        &["altered"],
    );
    let (other, _) = &other_contexts()[1];
    assert_says(&refusal(&right, &entry, other), &["another model"]);
    assert_eq!(format!("{right:?}"), "Passphrase(…)");
}

#[test]
fn hostile_and_weak_settings_are_refused_before_any_work() {
    let right = passphrase("correct horse");
    let entry = round_trip(&right, &right);
    for (field, value, expected) in [
        (
            "/memory_kib",
            u32::MAX,
            "4294967295 KiB of memory; 19456 to 2097152",
        ),
        ("/memory_kib", 19455, "19455 KiB"),
        ("/memory_kib", 0, "0 KiB"),
        ("/passes", u32::MAX, "4294967295 passes; 1 to 16"),
        ("/passes", 0, "0 passes"),
        ("/lanes", u32::MAX, "4294967295 lanes; 1 to 16"),
        ("/lanes", 0, "0 lanes"),
        ("/memory_kib", 2 << 20, "3 passes over 2097152 KiB"),
    ] {
        let text = refusal(&right, &altered(&entry, field, value), &context());
        assert_says(&text, &["passphrase entry", expected]);
    }
    // 4 TiB does not even fit the field.
    let mut json = serde_json::to_value(&entry).unwrap();
    json["memory_kib"] = (4u64 << 32).into();
    let error = serde_json::from_value::<RecipientEntry>(json).unwrap_err();
    assert_says(&error.to_string(), &["17179869184"]);
    for salt in ["", "AAAA", "?"] {
        let text = refusal(&right, &altered(&entry, "/salt", salt), &context());
        assert_says(&text, &["not base64 of its length"]);
    }
}

#[test]
fn an_empty_passphrase_is_refused() {
    assert_says(
        &message(Passphrase::new(Zeroizing::default())),
        &["passphrase", "empty"],
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    sealed_weights::private_file::create(&path, b"\n").unwrap();
    let text = format!("passphrase:file:{}", path.display());
    assert_says(
        &message(parse_recipient(&text, &options(&[]))),
        &["passphrase", "empty"],
    );
    let text = "passphrase:env:EMPTY";
    let result = parse_recipient(text, &options(&[("EMPTY", "")]));
    assert_says(&message(result), &["EMPTY is not set or empty"]);
}

#[test]
fn all_sources_of_one_passphrase_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    sealed_weights::private_file::create(&path, b" with spaces \n").unwrap();
    let mut options = options(&[("SECRET", " with spaces ")]);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    options.prompt = Some(Arc::new(move |what, purpose| {
        assert_eq!((what, purpose), ("passphrase", Purpose::Unwrap));
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Zeroizing::new(" with spaces ".to_owned()))
    }));
    let file = format!("passphrase:file:{}", path.display());
    let recipient = parse_recipient(&file, &options).unwrap();
    let entry = round_trip(
        recipient.as_ref(),
        parse_identity("passphrase:env:SECRET", &options)
            .unwrap()
            .as_ref(),
    );
    // The user is asked once, and only when an entry needs it.
    let identity = parse_identity("passphrase", &options).unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    for _ in 0..2 {
        assert!(identity.unwrap(&entry, &context()).unwrap().is_some());
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    options.prompt = None;
    let identity = parse_identity("passphrase", &options).unwrap();
    assert_says(
        &refusal(identity.as_ref(), &entry, &context()),
        &["no terminal to ask on"],
    );
}
