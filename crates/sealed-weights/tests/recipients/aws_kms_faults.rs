//! AWS KMS, against servers that misbehave, and settings that cannot be used.

use std::time::Duration;

use sealed_weights::recipient::{RecipientEntry, parse_identity, parse_recipient};
use serde_json::json;

use crate::aws_kms::{SECRET, at, wrap_error};
use crate::common::{assert_says, context, message, options, other_contexts, refusal};
use crate::servers::{Stub, free_address, silent};

const ARN: &str = "arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555";

/// An entry that no server has to have made.
fn some_entry() -> RecipientEntry {
    serde_json::from_value(json!({
        "kind": "aws-kms", "key": ARN, "ciphertext": "AAAA",
        "bound_to": serde_json::to_value(context()).unwrap(),
    }))
    .unwrap()
}

#[test]
fn kms_that_is_down_or_silent_is_given_up_in_time() {
    let text = format!("aws-kms:{ARN}");
    let down = free_address();
    let reason = wrap_error(&text, &at(down));
    assert_says(
        &reason,
        &[
            &down.to_string(),
            ARN,
            "cannot be reached",
            "refused",
            "AWS_ENDPOINT",
        ],
    );
    let silent = silent();
    let mut options = at(silent.local_addr().unwrap());
    options.network.call_timeout = Duration::from_millis(300);
    assert_says(
        &wrap_error(&text, &options),
        &["did not answer within 0.3 s"],
    );
}

/// moto lets disabled keys decrypt, so this server answers as the API reference says.
#[test]
fn every_exception_of_kms_has_a_way_out() {
    for (status, code, said, expected) in [
        (
            400,
            "DisabledException",
            "ARN is disabled.",
            "key is disabled; enable it with: aws kms",
        ),
        (
            400,
            "KMSInvalidStateException",
            "ARN is pending deletion.",
            "pending deletion, import",
        ),
        (
            400,
            "AccessDeniedException",
            "User is not authorized",
            "needs kms:Decrypt",
        ),
        (
            400,
            "NotFoundException",
            "Invalid arn eu-central-1",
            "no such key in region eu-central-1",
        ),
        (400, "ExpiredTokenException", "expired", "log in again"),
        (
            400,
            "UnrecognizedClientException",
            "invalid token",
            "machine's clock",
        ),
        (
            400,
            "InvalidKeyUsageException",
            "usage is SIGN_VERIFY",
            "ENCRYPT_DECRYPT",
        ),
        (
            400,
            "IncorrectKeyException",
            "other key",
            "the wrapped key was altered",
        ),
        (
            400,
            "SomethingNewException",
            "words",
            "it refused (SomethingNewException",
        ),
    ] {
        let body = json!({"__type": code, "message": said}).to_string();
        let stub = Stub::answering(&[(status, body.as_str())]);
        let identity = parse_identity("aws-kms", &at(stub.address)).unwrap();
        let text = refusal(identity.as_ref(), &some_entry(), &context());
        assert_says(&text, &[ARN, expected, code, said]);
        assert_eq!(stub.served(), 1, "{code} was asked again");
    }
}

#[test]
fn a_context_mismatch_without_a_message_still_names_the_field() {
    let stub = Stub::answering(&[(400, r#"{"__type":"InvalidCiphertextException"}"#)]);
    let identity = parse_identity("aws-kms", &at(stub.address)).unwrap();
    let (other, field) = &other_contexts()[0];
    let text = refusal(identity.as_ref(), &some_entry(), other);
    assert_says(
        &text,
        &[&format!("context differs in {field}"), "it said: nothing"],
    );
}

#[test]
fn only_a_busy_or_failing_kms_is_asked_again() {
    let good = json!({"KeyId": ARN, "Plaintext": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="});
    let good = good.to_string();
    let busy = r#"{"__type":"ThrottlingException","message":"Rate exceeded"}"#;
    let failed = r#"{"__type":"KMSInternalException","message":"oops"}"#;
    for (answers, served, expected) in [
        (
            vec![(500, failed), (400, busy), (503, ""), (200, good.as_str())],
            4,
            None,
        ),
        (vec![(400, busy)], 4, Some("too many calls")),
        (vec![(500, failed)], 4, Some("service failed")),
        (
            vec![(200, "{}")],
            1,
            Some("something else than a model key"),
        ),
        (vec![(200, "no JSON")], 1, Some("none of KMS")),
        (
            vec![(404, "<html>")],
            1,
            Some("status 404 without an exception of KMS"),
        ),
    ] {
        let stub = Stub::answering(&answers);
        let identity = parse_identity("aws-kms", &at(stub.address)).unwrap();
        match (identity.unwrap(&some_entry(), &context()), expected) {
            (Ok(Some(_)), None) => {}
            (Err(error), Some(expected)) => assert_says(&error.to_string(), &[expected]),
            (result, expected) => panic!("{result:?}, expected {expected:?}"),
        }
        assert_eq!(stub.served(), served, "{answers:?}");
        let request = stub.requests()[0].clone();
        assert_says(
            &request,
            &["TrentService.Decrypt", "EncryptionContext", "eu-central-1"],
        );
        assert!(!request.contains(SECRET), "{request}");
    }
}

#[test]
fn names_endpoints_and_credentials_that_cannot_be_used_are_told() {
    for text in [
        "",
        "11111111-2222-3333-4444-555555555555",
        "alias/weights",
        "arn:aws:s3:eu-central-1:123456789012:key/1",
        "arn:aws:kms::123456789012:key/1",
        "arn:aws:kms:evil.example/:123456789012:key/1",
        "arn:aws:kms:eu-central-1:1234:key/1",
        "arn:aws:kms:eu-central-1:123456789012:key/",
        "arn:aws:kms:eu-central-1:123456789012:key/a b",
        "arn:aws:kms:eu-central-1:123456789012:grant/1",
    ] {
        let reason = message(parse_recipient(&format!("aws-kms:{text}"), &options(&[])));
        assert_says(
            &reason,
            &["AWS key", "aws-kms:arn:aws:kms:REGION:ACCOUNT:key/ID"],
        );
    }
    let text = format!("aws-kms:{ARN}");
    assert_says(
        &wrap_error(&text, &options(&[])),
        &["no AWS credentials", "AWS_PROFILE"],
    );
    for endpoint in [
        "http://kms.example",
        "kms.example",
        "ftp://127.0.0.1",
        "http://localhost.evil",
        "http://localhost:80@kms.example",
    ] {
        let reason = wrap_error(&text, &options(&[("AWS_ENDPOINT_URL_KMS", endpoint)]));
        assert_says(
            &reason,
            &[endpoint, "AWS_ENDPOINT_URL", "https://HOST:PORT"],
        );
    }
}
