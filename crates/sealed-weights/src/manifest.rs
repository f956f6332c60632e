//! The signed manifest of a sealed directory.
//!
//! ```text
//! sealed-weights manifest 1
//! {"model":…,"model_id":…,"version":…,"created":…,"key_id":…,"files":[…]}
//! hmac-sha512 MAC
//! ed25519 PUBLISHER SIGNATURE
//! ```

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

use crate::document::{self, Lines, decode_hex};
use crate::error::DocumentDefect;
use crate::ids::{ContentRoot, CoreDigest, FileId, KeyId, ManifestDigest, ModelId};
use crate::path::LogicalPath;
use crate::secret::ModelKey;
use crate::signing::{PublisherId, PublisherKey};

/// Its file name in a sealed directory.
pub const MANIFEST_NAME: &str = "sealed.manifest";
const TITLE: &str = "sealed-weights manifest 1";
const SIGNATURE_WORD: &str = "ed25519";
/// Most files of a model.
pub const MAX_FILES: usize = 100_000;
/// Longest name of a model, in bytes.
pub const MAX_MODEL_NAME: usize = 200;

/// What a publisher says about one version of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The model's name: 1 to 200 bytes without control characters.
    pub model: String,
    /// The model, across versions.
    pub model_id: ModelId,
    /// Grows with every version that is published.
    pub version: u64,
    /// When it was sealed: seconds since 1970-01-01 UTC.
    pub created: u64,
    /// The model key that every file is sealed with.
    pub key_id: KeyId,
    /// Every file, sorted by path, each path once.
    pub files: Vec<ManifestFile>,
}

/// One sealed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// Where the plaintext belongs.
    pub path: LogicalPath,
    /// Bytes of plaintext.
    pub length: u64,
    /// The file's identifier.
    pub file_id: FileId,
    /// H(core).
    pub core: CoreDigest,
    /// Root over its commitment, tags and ciphertext.
    pub root: ContentRoot,
}

/// A manifest as found: parsed, with a signature that is that of the publisher it names. Whether
/// that publisher is trusted is for [`crate::model::Policy`] to say.
#[derive(Debug, Clone)]
pub struct SignedManifest {
    manifest: Manifest,
    publisher: PublisherId,
    digest: ManifestDigest,
    text: String,
}

impl SignedManifest {
    /// Signs a manifest.
    ///
    /// # Errors
    /// [`DocumentDefect`] if the manifest breaks a rule of the format.
    pub fn sign(
        manifest: Manifest,
        key: &ModelKey,
        publisher: &PublisherKey,
    ) -> Result<SignedManifest, DocumentDefect> {
        check(&manifest)?;
        let json = serde_json::to_string(&manifest).map_err(|e| DocumentDefect::Json {
            message: e.to_string(),
        })?;
        let mac = key.manifest_mac(manifest.model_id);
        let mut text = document::authenticated(TITLE, &json, &mac);
        let signature = publisher.sign(text.as_bytes());
        text.push_str(&format!(
            "{SIGNATURE_WORD} {} {}\n",
            publisher.id(),
            hex::encode(signature)
        ));
        SignedManifest::parse(&text)
    }

    /// Reads a manifest file and checks its signature.
    ///
    /// # Errors
    /// [`DocumentDefect`] for anything but exactly the form above.
    pub fn parse(text: &str) -> Result<SignedManifest, DocumentDefect> {
        let lines = Lines::split(text, TITLE)?;
        let bad_line = DocumentDefect::Line { what: "signature" };
        let (publisher, signature) = lines
            .rest
            .strip_suffix('\n')
            .and_then(|line| line.strip_prefix(SIGNATURE_WORD))
            .and_then(|rest| rest.strip_prefix(' '))
            .and_then(|rest| rest.split_once(' '))
            .and_then(|(key, signature)| {
                Some((decode_hex::<32>(key)?, decode_hex::<64>(signature)?))
            })
            .ok_or(bad_line)?;
        let publisher = PublisherId::new(publisher);
        if !publisher.signed(lines.signed.as_bytes(), &signature) {
            return Err(DocumentDefect::Signature {
                publisher: publisher.to_string(),
            });
        }
        let manifest: Manifest = document::parse_json(lines.json)?;
        check(&manifest)?;
        Ok(SignedManifest {
            manifest,
            publisher,
            digest: digest_of(text),
            text: text.to_owned(),
        })
    }

    /// What is signed.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Who signed it.
    #[must_use]
    pub fn publisher(&self) -> PublisherId {
        self.publisher
    }

    /// SHA-256 of the file, as `sha256sum` prints it.
    #[must_use]
    pub fn digest(&self) -> ManifestDigest {
        self.digest
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a holder of this key wrote the manifest.
    #[must_use]
    pub fn authentic(&self, key: &ModelKey) -> bool {
        let mac = key.manifest_mac(self.manifest.model_id);
        Lines::split(&self.text, TITLE).is_ok_and(|lines| lines.authentic(&mac))
    }
}

fn digest_of(text: &str) -> ManifestDigest {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    ManifestDigest::new(bytes)
}

fn check(manifest: &Manifest) -> Result<(), DocumentDefect> {
    document::check_model_name(&manifest.model)?;
    if manifest.files.is_empty() || manifest.files.len() > MAX_FILES {
        return Err(DocumentDefect::FileCount {
            count: manifest.files.len(),
            limit: MAX_FILES,
        });
    }
    match manifest
        .files
        .windows(2)
        .find(|pair| pair[0].path >= pair[1].path)
    {
        Some(pair) => Err(DocumentDefect::Order {
            path: pair[1].path.to_string(),
        }),
        None => Ok(()),
    }
}
