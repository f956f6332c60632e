//! Recipients and identities as text.

use sealed_weights::error::KeyError;
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::recipient::{parse_identity, parse_recipient};

use crate::common::{assert_says, message, options, round_trip};

#[test]
fn a_key_file_is_named_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("with:colon");
    KeyFile::create(&path).unwrap();
    let text = format!("key-file:{}", path.display());
    round_trip(
        parse_recipient(&text, &options(&[])).unwrap().as_ref(),
        parse_identity(&text, &options(&[])).unwrap().as_ref(),
    );
    for text in ["key-file", "key-file:"] {
        let reason = message(parse_recipient(text, &options(&[])));
        assert_says(&reason, &["key-file:PATH", "path is missing", "keygen"]);
    }
}

#[test]
fn an_unknown_kind_is_refused_with_the_list() {
    for text in ["", "tpm:0", "KEY-FILE:x", "sesame"] {
        let error = parse_identity(text, &options(&[])).unwrap_err();
        assert!(
            matches!(error, KeyError::UnknownKind { .. }),
            "{text}: {error}"
        );
        let kinds = "key-file, passphrase, age, vault, pkcs11, aws-kms";
        assert_says(&error.to_string(), &["names no identity", kinds]);
    }
    assert_says(
        &message(parse_recipient("tpm:0", &options(&[]))),
        &["'tpm' names no recipient"],
    );
}

#[test]
fn a_kind_that_is_left_out_names_its_feature() {
    let built = [
        ("age", cfg!(feature = "age")),
        ("vault", cfg!(feature = "vault")),
        ("pkcs11", cfg!(feature = "pkcs11")),
        ("aws-kms", cfg!(feature = "aws-kms")),
    ];
    for (kind, built) in built {
        let error = parse_identity(&format!("{kind}:?"), &options(&[])).unwrap_err();
        assert_eq!(
            matches!(error, KeyError::NotBuilt { .. }),
            !built,
            "{kind}: {error}"
        );
        if !built {
            assert_says(&error.to_string(), &[kind, "--features"]);
        }
    }
}

#[test]
fn a_secret_in_the_text_is_refused_and_not_repeated() {
    for text in [
        "passphrase:hunter2",
        "passphrase:env:",
        "passphrase:pass:hunter2",
    ] {
        let reason = message(parse_recipient(text, &options(&[])));
        assert_says(&reason, &["env:VAR or file:PATH", "command line"]);
        assert!(!reason.contains("hunter2"), "{reason}");
    }
    assert_says(
        &message(parse_recipient("passphrase:env:UNSET", &options(&[]))),
        &["UNSET is not set"],
    );
}
