//! Keys of AWS KMS, with the context as encryption context.

mod arn;
mod client;
mod failure;

use aws_sdk_kms::primitives::Blob;
use base64::{Engine, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use self::arn::{Arn, Resource};
use self::client::Client;
use self::failure::Failure;
use super::options::Options;
use super::{AwsKmsEntry, Identity, Recipient, RecipientEntry, WrapContext};
use crate::error::KeyError;
use crate::secret::ModelKey;

/// A KMS key that wraps, by the ARN of the key or of an alias.
///
/// Credentials come from where the AWS SDK looks for them: environment, profile, web identity,
/// container or instance. `AWS_ENDPOINT_URL_KMS` or `AWS_ENDPOINT_URL` replaces the address.
#[derive(Debug)]
pub struct AwsKmsRecipient {
    arn: Arn,
    options: Options,
}

impl AwsKmsRecipient {
    /// The key that an ARN names. The service is not called yet.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] for other text.
    pub fn parse(text: &str, options: &Options) -> Result<AwsKmsRecipient, KeyError> {
        Ok(AwsKmsRecipient {
            arn: Arn::parse(text)?,
            options: options.clone(),
        })
    }
}

impl Recipient for AwsKmsRecipient {
    fn describe(&self) -> String {
        format!("aws-kms {}", self.arn)
    }

    fn wrap(&self, key: &ModelKey, context: &WrapContext) -> Result<RecipientEntry, KeyError> {
        let client = Client::new(&self.arn, &self.options)?;
        let plaintext = Blob::new(key.expose());
        let pairs = pairs(context);
        let answer = client
            .call(async |kms| {
                kms.encrypt()
                    .key_id(self.arn.to_string())
                    .plaintext(plaintext)
                    .set_encryption_context(Some(pairs))
                    .send()
                    .await
                    .map_err(Failure::from)
            })
            .map_err(|failure| failure.told(&client, "kms:Encrypt"))?;
        let incomplete =
            || Failure::Answer("its answer lacks a field".to_owned()).told(&client, "kms:Encrypt");
        let ciphertext = answer.ciphertext_blob.ok_or_else(incomplete)?;
        // The ARN of the key even when an alias was asked for.
        let named = answer.key_id.ok_or_else(incomplete)?;
        Ok(RecipientEntry::AwsKms(AwsKmsEntry {
            key: named,
            ciphertext: STANDARD.encode(ciphertext),
            bound_to: context.clone(),
        }))
    }
}

/// A KMS key that unwraps, or, without an ARN, every one that the credentials may use.
#[derive(Debug)]
pub struct AwsKmsIdentity {
    only: Option<Arn>,
    options: Options,
}

impl AwsKmsIdentity {
    /// The key that an ARN names, or any. The service is not called yet.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] for other text, and for an alias: entries name the key itself.
    pub fn parse(text: Option<&str>, options: &Options) -> Result<AwsKmsIdentity, KeyError> {
        let only = text.map(Arn::parse).transpose()?;
        if only
            .as_ref()
            .is_some_and(|arn| arn.resource == Resource::Alias)
        {
            return Err(KeyError::Malformed {
                what: "the aws-kms text".to_owned(),
                reason: "an alias may point to another key by now; give the ARN of the key \
                         (…:key/…), or just aws-kms"
                    .to_owned(),
            });
        }
        Ok(AwsKmsIdentity {
            only,
            options: options.clone(),
        })
    }
}

impl Identity for AwsKmsIdentity {
    fn describe(&self) -> String {
        match &self.only {
            Some(arn) => format!("aws-kms {arn}"),
            None => "aws-kms".to_owned(),
        }
    }

    fn unwrap(
        &self,
        entry: &RecipientEntry,
        context: &WrapContext,
    ) -> Result<Option<ModelKey>, KeyError> {
        let RecipientEntry::AwsKms(entry) = entry else {
            return Ok(None);
        };
        let malformed = |reason: &str| KeyError::Malformed {
            what: "the aws-kms entry of the recipients section".to_owned(),
            reason: reason.to_owned(),
        };
        let arn = Arn::parse(&entry.key)
            .map_err(|_| malformed("it names no KMS key by its ARN; it was altered"))?;
        if self.only.as_ref().is_some_and(|only| *only != arn) {
            return Ok(None);
        }
        let ciphertext = STANDARD
            .decode(&entry.ciphertext)
            .map_err(|_| malformed("its ciphertext is not base64"))?;
        let client = Client::new(&arn, &self.options)?;
        let pairs = pairs(context);
        let answer = client
            .call(async |kms| {
                kms.decrypt()
                    .key_id(arn.to_string())
                    .ciphertext_blob(Blob::new(ciphertext))
                    .set_encryption_context(Some(pairs))
                    .send()
                    .await
                    .map_err(Failure::from)
            })
            .map_err(|failure| match failure {
                Failure::Service { code, message } if failure::is_mismatch(&code) => {
                    KeyError::Refused {
                        who: client.name(),
                        reason: format!(
                            "{} ({code}, it said: {message})",
                            context.mismatch(&entry.bound_to)
                        ),
                    }
                }
                failure => failure.told(&client, "kms:Decrypt"),
            })?;
        let plaintext = Zeroizing::new(answer.plaintext.map(Blob::into_inner).unwrap_or_default());
        let mut key = Zeroizing::new([0; 32]);
        if plaintext.len() != key.len() {
            return Err(malformed("it holds something else than a model key"));
        }
        key.copy_from_slice(&plaintext);
        Ok(Some(ModelKey::new(key)))
    }
}

fn pairs(context: &WrapContext) -> std::collections::HashMap<String, String> {
    context
        .pairs()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
