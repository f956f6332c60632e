//! Names of KMS keys.

use std::fmt;

use crate::error::KeyError;
use crate::recipient::entry::printable;

/// `arn:PARTITION:kms:REGION:ACCOUNT:key/ID` or `…:alias/NAME`. The region becomes part of a host
/// name, so nothing else than plain names passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arn {
    text: String,
    pub(super) region: String,
    pub(super) resource: Resource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    Key,
    Alias,
}

impl Arn {
    pub(super) fn parse(text: &str) -> Result<Arn, KeyError> {
        let malformed = || KeyError::Malformed {
            what: format!("the AWS key '{}'", printable(text)),
            reason: "write aws-kms:arn:aws:kms:REGION:ACCOUNT:key/ID; an ARN names the region, a \
                     bare key id does not"
                .to_owned(),
        };
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let ["arn", partition, "kms", region, account, resource] = parts[..] else {
            return Err(malformed());
        };
        let name = |text: &str| {
            (1..=64).contains(&text.len())
                && text
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        let (resource, id) = match resource.split_once('/') {
            Some(("key", id)) => (Resource::Key, id),
            Some(("alias", id)) => (Resource::Alias, id),
            _ => return Err(malformed()),
        };
        let plain_id = (1..=256).contains(&id.len())
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_/".contains(&b));
        let digits = account.len() == 12 && account.bytes().all(|b| b.is_ascii_digit());
        if !(name(partition) && partition.starts_with("aws") && name(region) && digits && plain_id)
        {
            return Err(malformed());
        }
        Ok(Arn {
            text: text.to_owned(),
            region: region.to_owned(),
            resource,
        })
    }
}

impl fmt::Display for Arn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
