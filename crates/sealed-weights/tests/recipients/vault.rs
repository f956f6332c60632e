//! Transit, against OpenBao.

use std::net::SocketAddr;
use std::time::Duration;

use sealed_weights::recipient::{Options, parse_identity, parse_recipient};
use serde_json::{Value, json};

use crate::common::{
    altered, assert_says, context, message, model_key, options, other_contexts, refusal, round_trip,
};
use crate::programs;
use crate::servers::Server;

pub(crate) const TOKEN: &str = "root-token-of-the-test";

pub(crate) fn at(address: SocketAddr, token: &str) -> Options {
    options(&[
        ("VAULT_ADDR", &format!("http://{address}")),
        ("VAULT_TOKEN", token),
    ])
}

#[track_caller]
pub(crate) fn wrap_error(text: &str, options: &Options) -> String {
    let recipient = parse_recipient(text, options).unwrap();
    let reason = message(recipient.wrap(&model_key(), &context()));
    assert!(!reason.contains(TOKEN), "{reason}");
    reason
}

/// An OpenBao server with Transit mounted.
struct Bao {
    server: Server,
    folder: tempfile::TempDir,
}

impl Bao {
    fn start(tls: bool) -> Option<Bao> {
        let Some(program) = programs::find("bao") else {
            programs::missing("bao");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(&program, folder.path(), &[], |address| {
            let mut arguments = vec![
                "server".to_owned(),
                "-dev".to_owned(),
                "-dev-no-store-token".to_owned(),
                format!("-dev-root-token-id={TOKEN}"),
                format!("-dev-listen-address={address}"),
            ];
            if tls {
                arguments.push("-dev-tls".to_owned());
                arguments.push(format!("-dev-tls-cert-dir={}", folder.path().display()));
            }
            arguments
        });
        let bao = Bao { server, folder };
        if !tls {
            // The listener is up before the core behind it is.
            let begin = std::time::Instant::now();
            while bao.request("GET", "sys/health", json!({})).0 != 200 {
                assert!(
                    begin.elapsed() < Duration::from_secs(60),
                    "OpenBao does not get ready"
                );
                std::thread::yield_now();
            }
            bao.done("POST", "sys/mounts/transit", json!({"type": "transit"}));
            bao.done("POST", "transit/keys/weights", json!({"derived": true}));
        }
        Some(bao)
    }

    fn request(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .build()
            .into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}/v1/{path}", self.server.address))
            .header("X-Vault-Token", TOKEN)
            .body(body.to_string())
            .unwrap();
        let mut response = agent.run(request).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (
            response.status().as_u16(),
            serde_json::from_str(&text).unwrap_or_default(),
        )
    }

    #[track_caller]
    fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.request(method, path, body);
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    /// A token with this policy only.
    fn token(&self, policy: &str) -> String {
        self.done("PUT", "sys/policies/acl/test", json!({"policy": policy}));
        let answer = self.done("POST", "auth/token/create", json!({"policies": ["test"]}));
        answer["auth"]["client_token"].as_str().unwrap().to_owned()
    }

    fn options(&self, token: &str) -> Options {
        at(self.server.address, token)
    }
}

#[test]
fn transit_binds_the_context_and_names_what_is_wrong() {
    let Some(bao) = Bao::start(false) else { return };
    let options = bao.options(TOKEN);
    let recipient = parse_recipient("vault:transit/weights", &options).unwrap();
    let identity = parse_identity("vault", &options).unwrap();
    let entry = round_trip(recipient.as_ref(), identity.as_ref());
    let named = parse_identity("vault:transit/weights", &options).unwrap();
    assert!(named.unwrap(&entry, &context()).unwrap().is_some());
    let other = parse_identity("vault:transit/other", &options).unwrap();
    assert!(other.unwrap(&entry, &context()).unwrap().is_none());

    // Wrong context.
    let address = bao.server.address.to_string();
    for (other, field) in other_contexts() {
        let text = refusal(identity.as_ref(), &entry, &other);
        let expected = format!("context differs in {field} (wrapped for");
        assert_says(
            &text,
            &[&address, "key transit/weights", &expected, "it said: "],
        );
    }
    // Tampered.
    let ciphertext = serde_json::to_value(&entry).unwrap()["ciphertext"].clone();
    for tampered in [
        "AAAA".to_owned(),
        format!("{}AAAA", ciphertext.as_str().unwrap()),
    ] {
        let text = refusal(
            identity.as_ref(),
            &altered(&entry, "/ciphertext", tampered),
            &context(),
        );
        assert_says(
            &text,
            &["did not unwrap", "the wrapped key was altered", "it said: "],
        );
    }
    for (field, value) in [
        ("/key", "../sys/seal"),
        ("/mount", "a//b"),
        ("/key", "k?x=1"),
        ("/mount", ".."),
    ] {
        let text = refusal(
            identity.as_ref(),
            &altered(&entry, field, value),
            &context(),
        );
        assert_says(&text, &["vault entry", "no plain name"]);
    }

    // Unknown key, mount and token.
    let absent = altered(&entry, "/key", "absent");
    let text = refusal(identity.as_ref(), &absent, &context());
    assert_says(
        &text,
        &[
            "no such key",
            "vault write -f transit/keys/absent derived=true",
        ],
    );
    assert_says(
        &wrap_error("vault:transit/absent", &options),
        &["no such key", "404"],
    );
    assert_says(
        &wrap_error("vault:elsewhere/k", &options),
        &["no Transit engine is mounted at"],
    );
    let wrong = bao.options("wrong-token");
    let text = wrap_error("vault:transit/weights", &wrong);
    assert_says(
        &text,
        &["permission denied", "capabilities = [\"update\"]", "403"],
    );
    assert!(!text.contains("wrong-token"), "{text}");

    // Disabled: soft-deleted, and a version that is not accepted any more.
    bao.done("DELETE", "transit/keys/weights/soft-delete", json!({}));
    let text = refusal(identity.as_ref(), &entry, &context());
    assert_says(&text, &["key is disabled (soft-deleted)", "restore"]);
    assert_says(
        &wrap_error("vault:transit/weights", &options),
        &["key is disabled"],
    );
    bao.done(
        "POST",
        "transit/keys/weights/soft-delete-restore",
        json!({}),
    );
    bao.done("POST", "transit/keys/weights/rotate", json!({}));
    assert!(identity.unwrap(&entry, &context()).unwrap().is_some());
    bao.done(
        "POST",
        "transit/keys/weights/config",
        json!({"min_decryption_version": 2}),
    );
    let text = refusal(identity.as_ref(), &entry, &context());
    assert_says(
        &text,
        &[
            "version of the key that wrapped is disabled",
            "min_decryption_version",
        ],
    );

    // Sealed.
    bao.done("POST", "sys/seal", json!({}));
    let text = refusal(identity.as_ref(), &entry, &context());
    assert_says(&text, &["server is sealed", "unseal", "503"]);
}

#[test]
fn a_transit_key_that_ignores_the_context_is_refused() {
    let Some(bao) = Bao::start(false) else { return };
    bao.done("POST", "transit/keys/plain", json!({}));
    assert_says(
        &wrap_error("vault:transit/plain", &bao.options(TOKEN)),
        &[
            "does not derive",
            "vault write -f transit/keys/plain derived=true",
        ],
    );
    // The same for a token that may encrypt and not look at the key.
    let token = bao.token(r#"path "transit/encrypt/*" { capabilities = ["update"] }"#);
    let options = bao.options(&token);
    assert_says(
        &wrap_error("vault:transit/plain", &options),
        &["does not derive"],
    );
    let recipient = parse_recipient("vault:transit/weights", &options).unwrap();
    let entry = recipient.wrap(&model_key(), &context()).unwrap();
    // That token may not unwrap.
    let identity = parse_identity("vault", &options).unwrap();
    let text = refusal(identity.as_ref(), &entry, &context());
    assert_says(&text, &["permission denied", "transit/decrypt/weights"]);
    // One that may create makes a key that derives.
    let token = bao.token(r#"path "transit/encrypt/*" { capabilities = ["create", "update"] }"#);
    let recipient = parse_recipient("vault:transit/fresh", &bao.options(&token)).unwrap();
    recipient.wrap(&model_key(), &context()).unwrap();
    let made = bao.done("GET", "transit/keys/fresh", json!({}));
    assert_eq!(made["data"]["derived"], true);
}

#[test]
fn a_server_is_trusted_only_with_its_certificate() {
    let Some(bao) = Bao::start(true) else { return };
    let address = format!("https://{}", bao.server.address);
    let authority = bao.folder.path().join("vault-ca.pem");
    let begin = std::time::Instant::now();
    while !authority.exists() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "no certificate was made"
        );
        std::thread::yield_now();
    }
    let base = [("BAO_ADDR", address.as_str()), ("BAO_TOKEN", TOKEN)];
    let text = wrap_error("vault:transit/weights", &options(&base));
    assert_says(&text, &[&address, "TLS connection failed", "VAULT_CACERT"]);
    let path = authority.display().to_string();
    let trusting = [&base[..], &[("BAO_CACERT", path.as_str())]].concat();
    // Past TLS, the server says that Transit is not mounted.
    let text = wrap_error("vault:transit/weights", &options(&trusting));
    assert_says(&text, &["no Transit engine is mounted"]);
    let key = bao
        .folder
        .path()
        .join("vault-key.pem")
        .display()
        .to_string();
    let wrong = [&base[..], &[("BAO_CACERT", key.as_str())]].concat();
    assert_says(
        &wrap_error("vault:transit/weights", &options(&wrong)),
        &["holds no certificate"],
    );
}
