//! What can go wrong, each with the offending value, the limit and the way out.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::core_header::{ChunkSize, FORMAT_VERSION, MAX_CHUNKS, MAX_PUBLIC_HEADER};

/// Sealing or opening failed. Nothing is left behind, and what was there is unchanged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SealError {
    /// Reading, writing or looking at a file failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },

    /// The operating system gave no randomness.
    #[error("the operating system gives no randomness, without which nothing is sealed")]
    Randomness,

    /// The cryptographic library refused an operation.
    #[error("the cryptographic library refused an operation; this is a defect, please report it")]
    Cipher,

    /// Memory for the plaintext was refused.
    #[error("cannot reserve {bytes} bytes of memory for the plaintext: {source}")]
    Memory {
        /// Bytes wanted.
        bytes: usize,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },

    /// The core header is not acceptable.
    #[error("{}: {defect}", path.display())]
    Header {
        /// The sealed file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        defect: HeaderDefect,
    },

    /// The manifest or the recipients section is not acceptable.
    #[error("{}: {defect}", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        defect: DocumentDefect,
    },

    /// The file is not as long as its header says.
    #[error(
        "{}: it has {found} bytes, but its header states {expected}; it was truncated or extended",
        path.display()
    )]
    Length {
        /// The sealed file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// What the header states.
        expected: u64,
    },

    /// The key commitment does not match.
    #[error(
        "{}: its header was altered, or it was sealed with another key; nothing was decrypted",
        path.display()
    )]
    Commitment {
        /// The sealed file.
        path: PathBuf,
    },

    /// The bytes between the tables and the ciphertext are not zero.
    #[error("{}: the padding before the data is not zero; the file was altered", path.display())]
    Padding {
        /// The sealed file.
        path: PathBuf,
    },

    /// A tag does not match its chunk.
    #[error(
        "{}: chunk {chunk} of {chunks} (bytes {begin} to {end}) was altered, moved or damaged; the \
         output was wiped. Restore the file from a copy",
        path.display()
    )]
    Tag {
        /// The sealed file.
        path: PathBuf,
        /// The chunk, from 0.
        chunk: u64,
        /// How many there are.
        chunks: u64,
        /// Its first byte in the plaintext.
        begin: u64,
        /// One past its last byte.
        end: u64,
    },

    /// A chunk is not the one the publisher signed, though a key holder may have made it.
    #[error(
        "{}: chunk {chunk} of {chunks} is not what the publisher signed: it was altered, moved or \
         damaged, or someone who holds the key replaced it. The output was wiped; restore the file \
         from a copy",
        path.display()
    )]
    ChunkHash {
        /// The sealed file.
        path: PathBuf,
        /// The chunk, from 0.
        chunk: u64,
        /// How many there are.
        chunks: u64,
    },

    /// The tables of a file are not those the publisher signed.
    #[error(
        "{}: its tags and hashes are not what the publisher signed (root {found}, signed \
         {signed}); the file was altered or belongs to another version",
        path.display()
    )]
    Root {
        /// The sealed file.
        path: PathBuf,
        /// Root of the tables found.
        found: String,
        /// Root in the manifest.
        signed: String,
    },

    /// The readable copy of the safetensors header is not that of the sealed file.
    #[error("{}: its public header is not that of the sealed tensors; the file was altered", path.display())]
    PublicHeader {
        /// The sealed file.
        path: PathBuf,
    },

    /// The source changed between being opened and being sealed.
    #[error(
        "{} changed while it was read; nothing was sealed. Seal it when no program writes to it",
        path.display()
    )]
    SourceChanged {
        /// The plaintext file.
        path: PathBuf,
    },

    /// A range lies outside the plaintext.
    #[error("bytes {begin} to {end} are outside the {length} bytes of {}", path.display())]
    Range {
        /// The sealed file.
        path: PathBuf,
        /// First byte wanted.
        begin: u64,
        /// One past the last.
        end: u64,
        /// Bytes of plaintext.
        length: u64,
    },

    /// The work was cancelled.
    #[error("cancelled; nothing was left behind")]
    Cancelled,

    /// A worker thread ended without an answer.
    #[error("a worker thread failed; this is a defect, please report it")]
    Worker,

    /// A recipient or identity refused.
    #[error(transparent)]
    Key(#[from] KeyError),

    /// The model as a whole is not acceptable.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// What is wrong with a core header.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeaderDefect {
    /// Not a sealed file.
    #[error(
        "it is not a sealed file (it does not begin with 'SEALEDWT'); plaintext in the place of a \
         sealed file is refused"
    )]
    NotSealed,
    /// A newer format.
    #[error(
        "it has format version {found}, and this program reads version {FORMAT_VERSION}; use a newer weights-seal"
    )]
    Version {
        /// The version.
        found: u16,
    },
    /// An unknown suite.
    #[error("it has the unknown cipher suite {found}; 1 is AES-256-GCM and 2 ChaCha20-Poly1305")]
    Suite {
        /// The number.
        found: u16,
    },
    /// A chunk size out of range.
    #[error(
        "the chunk size is {found} bytes; it must be a power of two from {} to {}",
        ChunkSize::MIN,
        ChunkSize::MAX
    )]
    ChunkSize {
        /// The size.
        found: u32,
    },
    /// A chunk count that is not that of the length.
    #[error("it states {found} chunks where its length needs {expected}")]
    ChunkCount {
        /// The count.
        found: u64,
        /// What length and chunk size give.
        expected: u64,
    },
    /// More chunks than the format allows.
    #[error("{length} bytes need more than {MAX_CHUNKS} chunks; use a larger chunk size")]
    TooLong {
        /// The plaintext's length.
        length: u64,
    },
    /// Reserved bytes that are not zero.
    #[error("its reserved bytes are {found:?} where zero is expected")]
    Reserved {
        /// The bytes.
        found: [u8; 2],
    },
    /// Length and hash of the public header do not fit each other or the file.
    #[error(
        "it states a public header of {length} bytes, which does not fit its hash, its plaintext \
         or the limit of {MAX_PUBLIC_HEADER}"
    )]
    PublicHeader {
        /// The length.
        length: u32,
    },
    /// A path that the format refuses.
    #[error("its path is not acceptable: {reason}")]
    Path {
        /// Which rule it breaks.
        reason: String,
    },
    /// The file ends inside the header.
    #[error("it ends inside its header, at the field '{field}'")]
    Truncated {
        /// The field.
        field: &'static str,
    },
}

/// What is wrong with a manifest or a recipients section.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DocumentDefect {
    /// Too long to be one.
    #[error("it has {found} bytes, over the limit of {limit}")]
    TooLong {
        /// Its length.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Not text.
    #[error("it is not UTF-8 text")]
    NotText,
    /// Another title or version.
    #[error("its first line is {found:?}, not {expected:?}; a newer program may read it")]
    Title {
        /// The line, cut to 80 characters.
        found: String,
        /// What is expected.
        expected: &'static str,
    },
    /// A line is missing or unfinished.
    #[error("it ends before the end of its {what} line")]
    Truncated {
        /// The line.
        what: &'static str,
    },
    /// A line that is not of its form.
    #[error("its {what} line is not of the prescribed form; it was altered or damaged")]
    Line {
        /// The line.
        what: &'static str,
    },
    /// The signature is not that of the publisher named.
    #[error("its signature is not that of the publisher {publisher}; it was altered or damaged")]
    Signature {
        /// The publisher's public key.
        publisher: String,
    },
    /// The JSON is not as specified.
    #[error("its JSON is not as specified: {message}")]
    Json {
        /// The parser's message.
        message: String,
    },
    /// A model name out of range.
    #[error(
        "the model's name has {length} bytes or control characters; 1 to {limit} bytes without control characters are allowed"
    )]
    ModelName {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// No files or too many.
    #[error("it lists {count} files; from 1 to {limit} are allowed")]
    FileCount {
        /// The count.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// Files out of order or twice.
    #[error("the file '{path}' is listed twice or out of order")]
    Order {
        /// Its path.
        path: String,
    },
    /// No recipients or too many.
    #[error("it has {count} recipients; from 1 to {limit} are allowed")]
    RecipientCount {
        /// The count.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

/// A recipient or an identity failed or refused. Never holds a secret.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Reading or writing a key file failed.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
    /// Others may read a file that holds a secret.
    #[error(
        "{} has mode {mode:04o}: others may read the secret in it. Run: chmod 600 {0}",
        path.display(),
    )]
    Permissions {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Text that is not of its form.
    #[error("{what} cannot be used: {reason}")]
    Malformed {
        /// What it is.
        what: String,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// The holder of the key refused, or the key is another one.
    #[error("{who} did not unwrap the model key: {reason}")]
    Refused {
        /// Who.
        who: String,
        /// Why, and the way out.
        reason: String,
    },
    /// A key service did not answer as needed.
    #[error("{service}: {reason}")]
    Service {
        /// Service, address and key.
        service: String,
        /// What happened, and the way out.
        reason: String,
    },
    /// A kind that this build leaves out.
    #[error("{kind} is not in this build; build with --features {feature}")]
    NotBuilt {
        /// The kind.
        kind: String,
        /// The cargo feature.
        feature: &'static str,
    },
    /// The text names no kind of recipient or identity.
    #[error("'{text}' names no {role}; known are {known}")]
    UnknownKind {
        /// The text's kind.
        text: String,
        /// Recipient or identity.
        role: &'static str,
        /// The kinds.
        known: String,
    },
    /// No identity fits any recipient.
    #[error(
        "none of the keys given ({given}) is one of the model's recipients ({recipients}); ask a \
         recipient to run: weights-seal rewrap"
    )]
    NoMatch {
        /// The identities.
        given: String,
        /// The recipients.
        recipients: String,
    },
    /// Several identities were tried and all failed.
    #[error("none of the keys given opens the model:{reasons}")]
    NoneOpened {
        /// The reasons, a line each.
        reasons: String,
    },
    /// An unwrapped key is not the model's.
    #[error(
        "{who} gave a key that is not the model's (key id {found}, expected {expected}); the \
         recipients section was altered or belongs to another model"
    )]
    WrongModelKey {
        /// Who.
        who: String,
        /// Commitment of the key unwrapped.
        found: String,
        /// Commitment in the manifest.
        expected: String,
    },
    /// Randomness or the cipher failed.
    #[error("{0}")]
    Internal(String),
}

impl From<SealError> for KeyError {
    fn from(error: SealError) -> KeyError {
        KeyError::Internal(error.to_string())
    }
}

/// A sealed directory, or a directory to be sealed, is not acceptable as a whole.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A directory without a manifest.
    #[error(
        "{} has no sealed.manifest: it is not a sealed model, or the manifest was removed, without \
         which nothing is opened",
        path.display()
    )]
    NoManifest {
        /// The directory.
        path: PathBuf,
    },
    /// A directory without recipients.
    #[error("{} has no sealed.recipients, without which no key opens it", path.display())]
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
    #[error("{} is not in the signed manifest; remove it", path.display())]
    Unlisted {
        /// The file.
        path: PathBuf,
    },
    /// A listed file that is not there.
    #[error("{} is in the signed manifest but missing", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file that is another one than listed.
    #[error("{} is not the file that the manifest lists (its {what} differs); it was swapped, altered or belongs to another version", path.display())]
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
        path.display(), target.display()
    )]
    OutsideLink {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Neither a file nor a directory.
    #[error("{} is neither a regular file nor a directory; it cannot be sealed", path.display())]
    SpecialFile {
        /// What it is.
        path: PathBuf,
    },
    /// A name that the format refuses.
    #[error("{} cannot be named in the manifest: {reason}", path.display())]
    BadName {
        /// The file.
        path: PathBuf,
        /// Which rule it breaks.
        reason: String,
    },
    /// Nothing to seal.
    #[error("{} holds no files", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// The directory changed while it was sealed.
    #[error("{} changed meanwhile ({what}); nothing was done", path.display())]
    DirectoryChanged {
        /// The directory.
        path: PathBuf,
        /// What changed.
        what: String,
    },
    /// Something is where the output should go.
    #[error("{} exists already; choose another name or pass --replace", path.display())]
    Exists {
        /// The destination.
        path: PathBuf,
    },
    /// Too little room.
    #[error("{} has room for {available} bytes, and {needed} are needed; nothing was written", path.display())]
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
        path.display()
    )]
    OnDisk {
        /// The destination.
        path: PathBuf,
    },
    /// Another process works on the same directory.
    #[error("{} is being worked on by another weights-seal; wait for it", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// The file system cannot exchange two directories.
    #[error(
        "the file system of {} cannot exchange two directories in one step ({source}); write to a \
         new directory instead",
        path.display()
    )]
    NoExchange {
        /// The directory.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
}
