//! AWS KMS, against moto.

use std::net::SocketAddr;

use sealed_weights::recipient::{Options, parse_identity, parse_recipient};
use serde_json::{Value, json};

use crate::common::{
    altered, assert_says, context, flipped, message, model_key, options, other_contexts, refusal,
    round_trip,
};
use crate::programs;
use crate::servers::Server;

pub(crate) const SECRET: &str = "secret-of-the-test";
const REGION: &str = "eu-central-1";

pub(crate) fn at(address: SocketAddr) -> Options {
    with_credentials(address, "test", SECRET)
}

fn with_credentials(address: SocketAddr, id: &str, secret: &str) -> Options {
    options(&[
        ("AWS_ENDPOINT_URL", &format!("http://{address}")),
        ("AWS_ACCESS_KEY_ID", id),
        ("AWS_SECRET_ACCESS_KEY", secret),
    ])
}

/// The message of a refusal to wrap.
#[track_caller]
pub(crate) fn wrap_error(text: &str, options: &Options) -> String {
    let recipient = parse_recipient(text, options).unwrap();
    let reason = message(recipient.wrap(&model_key(), &context()));
    assert!(!reason.contains(SECRET), "{reason}");
    reason
}

struct Moto(Server);

impl Moto {
    /// `free_actions`: how many calls are answered before permissions count.
    fn start(folder: &tempfile::TempDir, free_actions: Option<u32>) -> Option<Moto> {
        let Some(program) = programs::find("moto_server") else {
            programs::missing("moto_server");
            return None;
        };
        let environment: Vec<(&str, String)> = free_actions
            .map(|count| ("INITIAL_NO_AUTH_ACTION_COUNT", count.to_string()))
            .into_iter()
            .collect();
        Some(Moto(Server::start(
            &program,
            folder.path(),
            &environment,
            |address| {
                vec![
                    "-H".to_owned(),
                    address.ip().to_string(),
                    "-p".to_owned(),
                    address.port().to_string(),
                ]
            },
        )))
    }

    /// An unsigned call: moto takes the region from the header and checks no signature.
    fn call(&self, service: &str, target: &str, kind: &str, body: &str) -> String {
        let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
        let credential = format!("Credential=test/20260101/{REGION}/{service}/aws4_request");
        agent
            .post(format!("http://{}/", self.0.address))
            .header(
                "Authorization",
                format!("AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0"),
            )
            .header("X-Amz-Target", target)
            .content_type(kind)
            .send(body)
            .unwrap()
            .body_mut()
            .read_to_string()
            .unwrap()
    }

    fn kms(&self, action: &str, body: Value) -> Value {
        let target = format!("TrentService.{action}");
        let text = self.call(
            "kms",
            &target,
            "application/x-amz-json-1.1",
            &body.to_string(),
        );
        serde_json::from_str(&text).unwrap()
    }

    /// The ARN of a new key.
    fn key(&self) -> String {
        let answer = self.kms("CreateKey", json!({}));
        answer["KeyMetadata"]["Arn"].as_str().unwrap().to_owned()
    }
}

#[test]
fn kms_binds_the_context_and_names_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let Some(moto) = Moto::start(&folder, None) else {
        return;
    };
    let arn = moto.key();
    let options = at(moto.0.address);
    let recipient = parse_recipient(&format!("aws-kms:{arn}"), &options).unwrap();
    let identity = parse_identity("aws-kms", &options).unwrap();
    let entry = round_trip(recipient.as_ref(), identity.as_ref());
    assert_eq!(entry.describe(), format!("aws-kms {arn}"));
    let named = parse_identity(&format!("aws-kms:{arn}"), &options).unwrap();
    assert!(named.unwrap(&entry, &context()).unwrap().is_some());
    let second = moto.key();
    let other = parse_identity(&format!("aws-kms:{second}"), &options).unwrap();
    assert!(other.unwrap(&entry, &context()).unwrap().is_none());

    // Wrong context: the service says nothing but a code.
    let address = moto.0.address.to_string();
    for (other, field) in other_contexts() {
        let text = refusal(identity.as_ref(), &entry, &other);
        let expected = format!("context differs in {field} (wrapped for");
        assert_says(
            &text,
            &[&address, &arn, &expected, "InvalidCiphertextException"],
        );
    }
    // Tampered.
    let text = refusal(
        identity.as_ref(),
        &flipped(&entry, "/ciphertext"),
        &context(),
    );
    assert_says(
        &text,
        &["the wrapped key was altered", "InvalidCiphertextException"],
    );
    let text = refusal(
        identity.as_ref(),
        &altered(&entry, "/ciphertext", "?"),
        &context(),
    );
    assert_says(&text, &["aws-kms entry", "not base64"]);
    let text = refusal(
        identity.as_ref(),
        &altered(&entry, "/key", "arn:aws:s3:::x"),
        &context(),
    );
    assert_says(&text, &["aws-kms entry", "names no KMS key"]);

    // Another key, an unknown one, another region.
    let text = refusal(
        identity.as_ref(),
        &altered(&entry, "/key", second.as_str()),
        &context(),
    );
    assert_says(&text, &[&second, "permission denied", "kms:Decrypt"]);
    let unknown = format!("{}{}", &arn[..arn.len() - 4], "0000");
    let text = wrap_error(&format!("aws-kms:{unknown}"), &options);
    assert_says(
        &text,
        &["no such key in region eu-central-1", "NotFoundException"],
    );
    let elsewhere = arn.replace(REGION, "us-west-2");
    let text = wrap_error(&format!("aws-kms:{elsewhere}"), &options);
    assert_says(&text, &["no such key in region us-west-2", "check region"]);

    // An alias wraps; the entry names its key.
    let target = arn.rsplit('/').next().unwrap();
    moto.kms(
        "CreateAlias",
        json!({"AliasName": "alias/weights", "TargetKeyId": target}),
    );
    let alias = format!("aws-kms:arn:aws:kms:{REGION}:123456789012:alias/weights");
    let recipient = parse_recipient(&alias, &options).unwrap();
    let entry = round_trip(recipient.as_ref(), identity.as_ref());
    assert_eq!(entry.describe(), format!("aws-kms {arn}"));
    assert_says(
        &message(parse_identity(&alias, &options)),
        &["alias may point to another key"],
    );
}

#[test]
fn a_caller_without_permission_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let Some(moto) = Moto::start(&folder, Some(3)) else {
        return;
    };
    let arn = moto.key();
    let form = "application/x-www-form-urlencoded";
    let iam = |action: &str| {
        let body = format!("Action={action}&UserName=nobody&Version=2010-05-08");
        moto.call("iam", "", form, &body)
    };
    iam("CreateUser");
    let answer = iam("CreateAccessKey");
    let field = |name: &str| {
        let rest = answer.split_once(&format!("<{name}>")).unwrap().1;
        rest.split_once('<').unwrap().0.to_owned()
    };
    let (id, secret) = (field("AccessKeyId"), field("SecretAccessKey"));
    let text = format!("aws-kms:{arn}");
    let options = with_credentials(moto.0.address, &id, &secret);
    let reason = wrap_error(&text, &options);
    // moto's refusal has no exception of KMS; the stubs' refusals have.
    assert_says(&reason, &["permission denied", "kms:Encrypt", "403"]);
    assert!(!reason.contains(&secret), "{reason}");
}
