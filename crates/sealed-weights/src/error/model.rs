//! What is wrong with a model as a whole.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::path::shown;

/// A sealed directory, or a directory to be sealed, is not acceptable as a whole.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A directory without a manifest.
    #[error(
        "{} has no sealed.manifest: it is not a sealed model, or the manifest was removed, without \
         which nothing is opened",
        shown(path)
    )]
    NoManifest {
        /// The directory.
        path: PathBuf,
    },
    /// A directory without recipients.
    #[error(
        "{} has no sealed.recipients, without which no key opens it",
        shown(path)
    )]
    NoRecipients {
        /// The directory.
        path: PathBuf,
    },
    /// No publisher is trusted.
    #[error(
        "no publisher is given, so anybody's signature would do; give --publisher KEY (this model \
         is signed by {found}) or, knowingly, --any-publisher"
    )]
    NoPublisher {
        /// Who signed.
        found: String,
    },
    /// Signed by someone else.
    #[error("the manifest is signed by {found}, who is not a trusted publisher ({trusted})")]
    UntrustedPublisher {
        /// Who signed.
        found: String,
        /// Who is trusted.
        trusted: String,
    },
    /// Another model than wanted.
    #[error(
        "this is the model {found}, not {wanted}; another model may have been put in its place"
    )]
    OtherModel {
        /// The model id found.
        found: String,
        /// The model id wanted.
        wanted: String,
    },
    /// An older version than wanted.
    #[error(
        "this is version {found} of the model, older than the version {wanted} asked for; an old copy may have been put back"
    )]
    OldVersion {
        /// The version found.
        found: u64,
        /// The least version accepted.
        wanted: u64,
    },
    /// Another manifest than wanted.
    #[error("the manifest's SHA-256 is {found}, not the expected {wanted}")]
    OtherDigest {
        /// The digest found.
        found: String,
        /// The digest wanted.
        wanted: String,
    },
    /// The manifest was not made by a holder of the model key.
    #[error(
        "the manifest's MAC is not that of the model key; whoever signed it does not hold the key"
    )]
    ManifestMac,
    /// The recipients section was not made by a holder of the model key.
    #[error("the recipients section was altered: its MAC is not that of the model key")]
    RecipientsMac,
    /// Manifest and recipients section belong to different models.
    #[error(
        "manifest and recipients section differ in {fields}; one of them belongs to another model or version"
    )]
    ContextDiffers {
        /// Names of the fields.
        fields: String,
    },
    /// A file in the directory that the manifest does not list.
    #[error("{} is not in the signed manifest; remove it", shown(path))]
    Unlisted {
        /// The file.
        path: PathBuf,
    },
    /// A listed file that is not there.
    #[error("{} is in the signed manifest but missing", shown(path))]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file that is another one than listed.
    #[error(
        "{} is not the file that the manifest lists (its {what} differs); it was swapped, altered or belongs to another version",
        shown(path)
    )]
    OtherFile {
        /// The sealed file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// A path that is not in the manifest.
    #[error("the model has no file '{path}'; it has {listing}")]
    UnknownFile {
        /// The path wanted.
        path: String,
        /// What there is.
        listing: String,
    },
    /// A tensor that no file holds.
    #[error("the model has no tensor '{name}'; {hint}")]
    UnknownTensor {
        /// The name wanted.
        name: String,
        /// Close names.
        hint: String,
    },
    /// Two files hold a tensor of the same name.
    #[error("the tensor '{name}' is in both {first} and {second}")]
    DuplicateTensor {
        /// The tensor.
        name: String,
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// A file that claims to be safetensors and is not.
    #[error("{path} is not an acceptable safetensors file: {reason}")]
    NotSafetensors {
        /// The plaintext's path.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A link that leads out of the directory.
    #[error(
        "{} is a symbolic link out of the directory (to {}); pass --follow-links if that is meant",
        shown(path),
        shown(target)
    )]
    OutsideLink {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Neither a file nor a directory.
    #[error(
        "{} is neither a regular file nor a directory; it cannot be sealed",
        shown(path)
    )]
    SpecialFile {
        /// What it is.
        path: PathBuf,
    },
    /// A name that the format refuses.
    #[error("{} cannot be named in the manifest: {reason}", shown(path))]
    BadName {
        /// The file.
        path: PathBuf,
        /// Which rule it breaks.
        reason: String,
    },
    /// Nothing to seal.
    #[error("{} holds no files", shown(path))]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// The directory changed while it was sealed.
    #[error("{} changed meanwhile ({what}); nothing was done", shown(path))]
    DirectoryChanged {
        /// The directory.
        path: PathBuf,
        /// What changed.
        what: String,
    },
    /// The version cannot grow any more.
    #[error(
        "the model has version {version}, the largest there is, so no version after it can be told \
         from an old copy; seal it as a new model, with small versions"
    )]
    LastVersion {
        /// The version.
        version: u64,
    },
    /// Someone else's key would sign what another publisher signed.
    #[error(
        "the model is signed by {found}, and the key given is that of {given}: who trusts the first \
         would refuse it. Use the first publisher's key, or seal a new model"
    )]
    OtherPublisher {
        /// Who signed.
        found: String,
        /// Whose key is given.
        given: String,
    },
    /// A directory that should take plaintext holds something.
    #[error(
        "{} is not empty; choose an empty directory or a new name",
        shown(path)
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// Something is where the output should go.
    #[error(
        "{} exists already; choose another name or pass --replace",
        shown(path)
    )]
    Exists {
        /// The destination.
        path: PathBuf,
    },
    /// Too little room.
    #[error(
        "{} has room for {available} bytes, and {needed} are needed; nothing was written",
        shown(path)
    )]
    NoRoom {
        /// The destination.
        path: PathBuf,
        /// Bytes free.
        available: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// Plaintext would go to a disk.
    #[error(
        "{} is not on a memory file system (tmpfs), so the plaintext would reach the disk; choose a \
         directory below /dev/shm, or pass --allow-disk",
        shown(path)
    )]
    OnDisk {
        /// The destination.
        path: PathBuf,
    },
    /// Another process works on the same directory.
    #[error(
        "{} is being worked on by another weights-seal; wait for it",
        shown(path)
    )]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// The file system cannot exchange two directories.
    #[error(
        "the file system of {} cannot exchange two directories in one step ({source}); write to a \
         new directory instead",
        shown(path)
    )]
    NoExchange {
        /// The directory.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
}
