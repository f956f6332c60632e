//! What is measured: one row of the results before it is measured.

use sealed_weights::sealed_file::Trust;
use serde::{Deserialize, Serialize};

/// What a case belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// What the machine does without any cryptography.
    Floor,
    /// AEADs and hashes over a buffer that stays in the second-level cache.
    Cipher,
    /// AEADs with and without the processor's AES instructions.
    Mask,
    /// A sealed file opened, or the plain one read, from the page cache.
    Open,
    /// Several processes that do so at once.
    Processes,
    /// The same from the disk.
    Disk,
    /// Sealing and rotating.
    Seal,
    /// What takes milliseconds.
    Operation,
    /// Other programs, and this one in a fresh process beside them.
    Peer,
}

/// What is done with the bytes on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Nothing: the plain file.
    Plain,
    /// Decrypted and checked against those who do not hold the key.
    KeyHolders,
    /// Decrypted and also checked against the publisher's signature.
    Publisher,
}

impl Way {
    /// From the cheapest to the dearest.
    pub const ALL: [Way; 3] = [Way::Plain, Way::KeyHolders, Way::Publisher];

    /// The name in identifiers.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Way::Plain => "plain",
            Way::KeyHolders => "key-holders",
            Way::Publisher => "publisher",
        }
    }

    /// The name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Way::Plain => "plain file",
            Way::KeyHolders => "sealed, key holders trusted",
            Way::Publisher => "sealed, publisher only",
        }
    }

    /// How a sealed file is checked; `None` for a plain one.
    #[must_use]
    pub fn trust(self) -> Option<Trust> {
        match self {
            Way::Plain => None,
            Way::KeyHolders => Some(Trust::KeyHolders),
            Way::Publisher => Some(Trust::Publisher),
        }
    }
}

/// Where the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// A buffer that has been written to before.
    Warm,
    /// Memory straight from the kernel in 2 MiB pages, where it has them.
    FreshHuge,
    /// Memory straight from the kernel in 4 KiB pages.
    FreshSmall,
    /// A new file on a tmpfs, as the system mounts it.
    Shm,
    /// A new file on a tmpfs mounted with `huge=always`.
    HugeTmpfs,
}

impl Destination {
    /// In the order of tables.
    pub const ALL: [Destination; 5] = [
        Destination::Warm,
        Destination::FreshHuge,
        Destination::FreshSmall,
        Destination::Shm,
        Destination::HugeTmpfs,
    ];

    /// The name in identifiers.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Destination::Warm => "warm",
            Destination::FreshHuge => "fresh-huge",
            Destination::FreshSmall => "fresh-small",
            Destination::Shm => "shm",
            Destination::HugeTmpfs => "huge-tmpfs",
        }
    }

    /// The name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Destination::Warm => "warm buffer",
            Destination::FreshHuge => "fresh memory, 2 MiB pages",
            Destination::FreshSmall => "fresh memory, 4 KiB pages",
            Destination::Shm => "/dev/shm",
            Destination::HugeTmpfs => "tmpfs huge=always",
        }
    }
}

/// A part of a case's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What is done.
    pub what: String,
    /// To how many bytes.
    pub bytes: u64,
    /// The case that does nothing else.
    pub case: Option<String>,
}

impl Part {
    /// A part that a case measures by itself.
    #[must_use]
    pub fn measured(what: &str, bytes: u64, case: String) -> Part {
        Part {
            what: what.to_owned(),
            bytes,
            case: Some(case),
        }
    }

    /// A part that nothing measures by itself.
    #[must_use]
    pub fn named(what: &str, bytes: u64) -> Part {
        Part {
            what: what.to_owned(),
            bytes,
            case: None,
        }
    }
}

/// A case, before it is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Unique name.
    pub id: String,
    /// What it belongs to.
    pub group: Group,
    /// For people.
    pub label: String,
    /// What is done with the bytes.
    pub way: Option<Way>,
    /// Where they go.
    pub destination: Option<Destination>,
    /// Threads of each process.
    pub threads: usize,
    /// Processes at once.
    pub processes: usize,
    /// Payload of one run, bytes of plaintext in all processes together; the rate is that of these.
    pub bytes: u64,
    /// What the work consists of.
    pub parts: Vec<Part>,
    /// The case that moves the same bytes without cryptography.
    pub floor: Option<String>,
}

impl Spec {
    /// One thread, one process, without parts.
    #[must_use]
    pub fn new(id: String, group: Group, label: impl Into<String>, bytes: u64) -> Spec {
        Spec {
            id,
            group,
            label: label.into(),
            way: None,
            destination: None,
            threads: 1,
            processes: 1,
            bytes,
            parts: Vec::new(),
            floor: None,
        }
    }

    /// With that many threads.
    #[must_use]
    pub fn threads(self, threads: usize) -> Spec {
        Spec { threads, ..self }
    }
}
