//! What a reader insists on before anything of a model is opened.

use crate::error::ModelError;
use crate::ids::{ManifestDigest, ModelId};
use crate::manifest::SignedManifest;
use crate::sealed_file::Trust;
use crate::signing::PublisherId;

/// What a reader insists on. The default trusts no publisher, so it opens nothing.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Whose signature is accepted.
    pub publishers: Vec<PublisherId>,
    /// Accept anybody's signature: then content is as trustworthy as the holders of the key.
    pub any_publisher: bool,
    /// The only model accepted: any other one of the same publisher, though signed, may have been
    /// put in its place.
    pub model_id: Option<ModelId>,
    /// The least version accepted: an older one, though signed, may be a copy put back.
    pub min_version: Option<u64>,
    /// SHA-256 of the only manifest accepted.
    pub expect_digest: Option<ManifestDigest>,
    /// Whom content is checked against.
    pub trust: Trust,
}

impl Policy {
    /// Accepts what this publisher signed.
    #[must_use]
    pub fn publisher(publisher: PublisherId) -> Policy {
        Policy {
            publishers: vec![publisher],
            ..Policy::default()
        }
    }

    /// Checks a manifest, whose signature has been verified, against the policy.
    ///
    /// # Errors
    /// [`ModelError::NoPublisher`], [`ModelError::UntrustedPublisher`],
    /// [`ModelError::OtherModel`], [`ModelError::OldVersion`], [`ModelError::OtherDigest`].
    pub fn check(&self, signed: &SignedManifest) -> Result<(), ModelError> {
        let found = signed.publisher();
        if !self.any_publisher {
            if self.publishers.is_empty() {
                return Err(ModelError::NoPublisher {
                    found: found.to_string(),
                });
            }
            if !self.publishers.contains(&found) {
                let trusted: Vec<String> =
                    self.publishers.iter().map(ToString::to_string).collect();
                return Err(ModelError::UntrustedPublisher {
                    found: found.to_string(),
                    trusted: trusted.join(", "),
                });
            }
        }
        let model_id = signed.manifest().model_id;
        if let Some(wanted) = self.model_id.filter(|wanted| *wanted != model_id) {
            return Err(ModelError::OtherModel {
                found: model_id.to_string(),
                wanted: wanted.to_string(),
            });
        }
        let version = signed.manifest().version;
        if let Some(wanted) = self.min_version.filter(|wanted| version < *wanted) {
            return Err(ModelError::OldVersion {
                found: version,
                wanted,
            });
        }
        if let Some(wanted) = self.expect_digest.filter(|d| *d != signed.digest()) {
            return Err(ModelError::OtherDigest {
                found: signed.digest().to_string(),
                wanted: wanted.to_string(),
            });
        }
        Ok(())
    }
}
