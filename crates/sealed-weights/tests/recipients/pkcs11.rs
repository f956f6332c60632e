//! Keys in a token, with SoftHSM as the token.
//!
//! SoftHSM reads its configuration from an environment variable when it is loaded, so the tests
//! that need a token run in a child process of this program.

use std::path::{Path, PathBuf};
use std::process::Command;

use sealed_weights::recipient::{Identity, RecipientEntry, parse_identity, parse_recipient};

use crate::common::{
    altered, assert_says, context, flipped, message, options, other_contexts, refusal, round_trip,
};
use crate::programs;

const MODULE: &str = "SEAL_TEST_SOFTHSM";

#[test]
fn texts_that_name_no_key_in_a_token_are_refused() {
    let long = "token=a;object=b?module-path=/m.so";
    for (text, parts) in [
        ("", vec!["token is missing", "pkcs11:token=LABEL"]),
        ("token=a?module-path=/m.so", vec!["object is missing"]),
        (
            "token=a;object=b",
            vec!["module-path", "PKCS11_MODULE_PATH"],
        ),
        (
            "token=a;token=b;object=c?module-path=/m",
            vec!["token is there twice"],
        ),
        (
            "token=%zz;object=b?module-path=/m",
            vec!["token is empty or not percent-encoded"],
        ),
        ("token=;object=b?module-path=/m", vec!["token is empty"]),
        (
            "token=a;object=b;id=%01?module-path=/m",
            vec!["attribute 'id' is not known"],
        ),
        (
            "token=a;object=b;module-path=/m",
            vec!["'module-path' is not known here"],
        ),
        ("token;object=b", vec!["name=value"]),
    ] {
        let reason = message(parse_recipient(&format!("pkcs11:{text}"), &options(&[])));
        assert_says(&reason, &["pkcs11"]);
        assert_says(&reason, &parts);
    }
    for secret in ["pin-value=1234567", "pin-source=1234567"] {
        let reason = message(parse_identity(
            &format!("pkcs11:{long}&{secret}"),
            &options(&[]),
        ));
        assert_says(&reason, &["command line", "env:VAR"]);
        assert!(!reason.contains("1234567"), "{reason}");
    }
    let text = format!("pkcs11:{long}&pin-source=/p&pin-source=env:P");
    assert_says(
        &message(parse_identity(&text, &options(&[]))),
        &["pin-source is there twice"],
    );
}

#[test]
fn a_missing_module_is_told() {
    for (module, expected) in [
        ("/nowhere/module.so", "cannot be loaded"),
        ("libm.so.6", "no C_Get"),
    ] {
        let text = format!("pkcs11:token=a;object=b?module-path={module}&pin-source=env:PIN");
        let recipient = parse_recipient(&text, &options(&[("PIN", "1234")])).unwrap();
        let reason = message(recipient.wrap(&crate::common::model_key(), &context()));
        assert_says(
            &reason,
            &[
                "key 'b' in token 'a'",
                module,
                expected,
                "check module-path",
            ],
        );
    }
}

/// Runs the test `in_token` in a child with a fresh token.
#[test]
fn keys_in_a_token() {
    let (Some(tool), Some(module)) = (programs::find("softhsm2-util"), module()) else {
        return programs::missing("softhsm2-util and libsofthsm2.so");
    };
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    std::fs::create_dir(&tokens).unwrap();
    let configuration = folder.path().join("softhsm2.conf");
    std::fs::write(
        &configuration,
        format!(
            "directories.tokendir = {}\nobjectstore.backend = file\n",
            tokens.display()
        ),
    )
    .unwrap();
    let run = |command: &mut Command| {
        let output = command
            .env("SOFTHSM2_CONF", &configuration)
            .env(MODULE, &module)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(output.status.success(), "{text}");
        text
    };
    for label in ["weights", "spare"] {
        run(Command::new(&tool)
            .args(["--init-token", "--free", "--label", label])
            .args(["--so-pin", "87654321", "--pin", "1234567"]));
    }
    let text = run(Command::new(std::env::current_exe().unwrap()).args([
        "--exact",
        "pkcs11::in_token",
        "--ignored",
    ]));
    assert_says(&text, &["1 passed"]);
}

/// Where Debian, Fedora and Alpine keep it.
fn module() -> Option<PathBuf> {
    [
        "/usr/lib/softhsm/libsofthsm2.so",
        "/usr/lib64/pkcs11/libsofthsm2.so",
        "/usr/lib64/softhsm/libsofthsm2.so",
    ]
    .iter()
    .map(PathBuf::from)
    .chain(std::env::var_os(MODULE).map(PathBuf::from))
    .find(|path| path.exists())
}

/// Makes an AES key in the token.
fn generate(module: &Path, label: &str, bytes: u64) {
    use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
    use cryptoki::mechanism::Mechanism;
    use cryptoki::object::Attribute;
    use cryptoki::session::UserType;
    let module = Pkcs11::new(module).unwrap();
    // The library under test may have initialised it.
    let _ = module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK));
    let slot = module
        .get_slots_with_initialized_token()
        .unwrap()
        .into_iter()
        .find(|slot| module.get_token_info(*slot).unwrap().label() == "weights")
        .unwrap();
    let session = module.open_rw_session(slot).unwrap();
    session
        .login(UserType::User, Some(&"1234567".into()))
        .unwrap();
    let attributes = [
        Attribute::Token(true),
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
        Attribute::Encrypt(true),
        Attribute::Decrypt(true),
        Attribute::ValueLen(bytes.into()),
        Attribute::Label(label.as_bytes().to_vec()),
    ];
    session
        .generate_key(&Mechanism::AesKeyGen, &attributes)
        .unwrap();
}

#[test]
#[ignore = "keys_in_a_token runs it with a token"]
fn in_token() {
    let module = PathBuf::from(std::env::var_os(MODULE).expect("keys_in_a_token sets it"));
    for (label, bytes) in [("model key", 32), ("short", 16), ("twin", 32), ("twin", 32)] {
        generate(&module, label, bytes);
    }
    let text = |token: &str, object: &str| {
        format!(
            "pkcs11:token={token};object={object};type=secret-key?module-path={}&pin-source=env:PIN",
            module.display()
        )
    };
    let options = options(&[("PIN", "1234567")]);
    let wrap = |text: &str| {
        let recipient = parse_recipient(text, &options).unwrap();
        recipient.wrap(&crate::common::model_key(), &context())
    };
    let key = text("weights", "model%20key");
    let identity = parse_identity(&key, &options).unwrap();
    let entry = round_trip(
        parse_recipient(&key, &options).unwrap().as_ref(),
        identity.as_ref(),
    );
    assert_eq!(entry.describe(), "pkcs11 token=weights;object=model key");
    damaged(identity.as_ref(), &entry);
    refused_logins(&key, &entry);
    let other = parse_identity(&text("spare", "model%20key"), &options).unwrap();
    assert!(other.unwrap(&entry, &context()).unwrap().is_none());
    for (text, expected) in [
        (text("absent", "x"), "no such token; it has"),
        (text("weights", "absent"), "no AES key of this label"),
        (text("weights", "short"), "128 bits; only AES-256"),
        (text("weights", "twin"), "2 AES keys of this label"),
    ] {
        assert_says(
            &message(wrap(&text)),
            &["pkcs11 key '", "in token '", expected],
        );
    }
}

fn damaged(identity: &dyn Identity, entry: &RecipientEntry) {
    for field in ["/nonce", "/wrapped"] {
        let text = refusal(identity, &flipped(entry, field), &context());
        assert_says(
            &text,
            &["key 'model key' in token 'weights'", "was altered"],
        );
        let text = refusal(identity, &altered(entry, field, "AAAA"), &context());
        assert_says(&text, &["pkcs11 entry", "not base64 of its length"]);
    }
    for (other, field) in other_contexts() {
        let text = refusal(identity, entry, &other);
        assert_says(
            &text,
            &[
                "did not unwrap",
                &format!("context differs in {field} (wrapped"),
            ],
        );
    }
}

fn refused_logins(key: &str, entry: &RecipientEntry) {
    let wrong = parse_identity(key, &options(&[("PIN", "7654321")])).unwrap();
    for _ in 0..2 {
        let text = refusal(wrong.as_ref(), entry, &context());
        assert_says(
            &text,
            &["PIN is wrong (PinIncorrect from Login)", "not tried again"],
        );
        assert!(!text.contains("7654321"), "{text}");
    }
    let unset = parse_identity(key, &options(&[])).unwrap();
    let text = refusal(unset.as_ref(), entry, &context());
    assert_says(&text, &["PIN of token weights", "PIN is not set or empty"]);
}
