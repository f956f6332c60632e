//! Transit, against servers that misbehave, and settings that cannot be used.

use std::time::Duration;

use sealed_weights::recipient::{RecipientEntry, parse_identity, parse_recipient};
use serde_json::json;

use crate::common::{assert_says, context, message, model_key, options};
use crate::servers::{Stub, free_address, silent};
use crate::vault::{TOKEN, at, wrap_error};

/// An entry that no server has to have made.
fn some_entry() -> RecipientEntry {
    serde_json::from_value(json!({
        "kind": "vault", "mount": "transit", "key": "weights", "ciphertext": "vault:v1:AAAA",
        "bound_to": serde_json::to_value(context()).unwrap(),
    }))
    .unwrap()
}

#[test]
fn a_server_that_is_down_or_silent_is_given_up_in_time() {
    let down = free_address();
    let mut options = at(down, TOKEN);
    let text = wrap_error("vault:transit/weights", &options);
    assert_says(
        &text,
        &[
            &down.to_string(),
            "key transit/weights",
            "cannot be reached",
            "refused",
        ],
    );
    let silent = silent();
    options = at(silent.local_addr().unwrap(), TOKEN);
    options.network.call_timeout = Duration::from_millis(300);
    let text = wrap_error("vault:transit/weights", &options);
    assert_says(&text, &["did not answer within 0.3 s"]);
}

#[test]
fn only_a_busy_or_failing_server_is_asked_again() {
    let good = r#"{"data":{"plaintext":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}}"#;
    for (answers, served, expected) in [
        (
            vec![(503, "{}"), (429, "{}"), (500, "x"), (200, good)],
            4,
            None,
        ),
        (vec![(502, "bad gateway")], 4, Some("server failed")),
        (
            vec![(429, r#"{"errors":["slow down"]}"#)],
            4,
            Some("it is busy"),
        ),
        (
            vec![(400, r#"{"errors":["no"]}"#)],
            1,
            Some("refused to decrypt"),
        ),
        (vec![(403, r#"{"errors":[]}"#)], 1, Some("it said: nothing")),
        (vec![(307, "")], 1, Some("redirects to another server")),
        (
            vec![(200, r#"{"data":{}}"#)],
            1,
            Some("answer lacks a field"),
        ),
        (
            vec![(200, r#"{"data":{"plaintext":"AAAA"}}"#)],
            1,
            Some("something else than a model key"),
        ),
    ] {
        let stub = Stub::answering(&answers);
        let mut options = at(stub.address, TOKEN);
        options.variables = crate::common::options(&[
            ("VAULT_ADDR", &format!("http://{}/", stub.address)),
            ("VAULT_TOKEN", TOKEN),
            ("VAULT_NAMESPACE", "team"),
        ])
        .variables;
        let identity = parse_identity("vault", &options).unwrap();
        match (identity.unwrap(&some_entry(), &context()), expected) {
            (Ok(Some(key)), None) => assert_eq!(key.expose(), model_key().expose()),
            (Err(error), Some(expected)) => assert_says(&error.to_string(), &[expected]),
            (result, expected) => panic!("{result:?}, expected {expected:?}"),
        }
        assert_eq!(stub.served(), served, "{answers:?}");
        let request = stub.requests()[0].to_lowercase();
        assert_says(
            &request,
            &[
                "post /v1/transit/decrypt/weights",
                "x-vault-namespace: team",
            ],
        );
    }
}

#[test]
fn addresses_and_tokens_that_cannot_be_used_are_told() {
    let token = ("VAULT_TOKEN", TOKEN);
    for (address, expected) in [
        ("http://vault.example:8200", "use https"),
        ("vault.example:8200", "https://HOST:PORT"),
        ("ftp://vault.example", "https://HOST:PORT"),
        (
            "https://user:secret-word@vault.example",
            "https://HOST:PORT",
        ),
        ("https://", "https://HOST:PORT"),
    ] {
        let text = wrap_error(
            "vault:transit/k",
            &options(&[("VAULT_ADDR", address), token]),
        );
        assert_says(&text, &["vault address", expected]);
        assert!(!text.contains("secret-word"), "{text}");
    }
    assert_says(
        &wrap_error("vault:transit/k", &options(&[token])),
        &["set VAULT_ADDR"],
    );
    let address = ("VAULT_ADDR", "http://127.0.0.1:1");
    assert_says(
        &wrap_error("vault:transit/k", &options(&[address])),
        &["set VAULT_TOKEN"],
    );
    let odd = options(&[address, ("VAULT_TOKEN", "bad\ntoken")]);
    let text = wrap_error("vault:transit/k", &odd);
    assert_says(&text, &["characters that a header may not hold"]);
    assert!(!text.contains("bad"), "{text}");
    // The token file of `vault login`.
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".vault-token");
    std::fs::write(&path, TOKEN).unwrap();
    let variables = [address, ("HOME", home.path().to_str().unwrap())];
    let mode = |mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o644);
    assert_says(
        &wrap_error("vault:transit/k", &options(&variables)),
        &[".vault-token has mode"],
    );
    mode(0o600);
    assert_says(
        &wrap_error("vault:transit/k", &options(&variables)),
        &["cannot be reached"],
    );
    for text in [
        "vault",
        "vault:",
        "vault:key",
        "vault:transit/",
        "vault:a/../b",
        "vault:a/b c",
    ] {
        let reason = message(parse_recipient(text, &options(&[])));
        assert_says(&reason, &["vault:MOUNT/KEY"]);
    }
}
