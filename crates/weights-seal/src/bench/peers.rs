//! Other programs on the same file.

use super::load::io_error;
use super::subject::Subject;
use super::worker::Answer;
use crate::error::CliError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CRYPTOGRAPHY: &str = include_str!("../../peers/chunked_gcm.py");
const CRYPTOTENSORS: &str = include_str!("../../peers/crypto_tensors.py");

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// Python's `cryptography`: AES-256-GCM, chunks of 64 MiB.
    Cryptography,
    /// CryptoTensors.
    CryptoTensors,
}

impl Peer {
    /// All.
    pub const ALL: [Peer; 2] = [Peer::Cryptography, Peer::CryptoTensors];

    /// The name in identifiers.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Peer::Cryptography => "cryptography",
            Peer::CryptoTensors => "cryptotensors",
        }
    }

    /// The name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Peer::Cryptography => "Python cryptography, AES-256-GCM, 64 MiB chunks",
            Peer::CryptoTensors => "CryptoTensors",
        }
    }

    /// The name beside bars.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Peer::Cryptography => "Python cryptography",
            Peer::CryptoTensors => "CryptoTensors",
        }
    }

    fn script(self) -> (&'static str, &'static str) {
        match self {
            Peer::Cryptography => ("chunked_gcm.py", CRYPTOGRAPHY),
            Peer::CryptoTensors => ("crypto_tensors.py", CRYPTOTENSORS),
        }
    }
}

/// Which other programs there are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peers {
    /// Those that work here.
    pub available: Vec<PeerFact>,
    /// Why the others, or all, are missing.
    pub missing: Vec<String>,
    /// The interpreter.
    #[serde(skip)]
    python: PathBuf,
    /// Where scripts and encrypted files lie.
    #[serde(skip)]
    folder: PathBuf,
}

/// A program that works here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerFact {
    /// Which.
    pub peer: Peer,
    /// Its version.
    pub version: String,
}

/// What a script says.
#[derive(Debug, Deserialize)]
struct Said {
    seconds: Option<f64>,
    version: Option<String>,
}

impl Peers {
    /// Nobody asked for any.
    #[must_use]
    pub fn none() -> Peers {
        Peers {
            missing: vec!["--peers was not given".to_owned()],
            ..Peers::default()
        }
    }

    /// Encrypts the file with each program and opens it once, to see that the content is right.
    ///
    /// # Errors
    /// [`CliError`] where scripts cannot be written. A program that does not work is missing.
    pub fn prepare(python: &Path, subject: &Subject) -> Result<Peers, CliError> {
        let folder = subject.folder.path().join("peers");
        std::fs::create_dir(&folder).map_err(io_error("create", &folder))?;
        let mut peers = Peers {
            python: python.to_path_buf(),
            folder: folder.clone(),
            ..Peers::default()
        };
        for peer in Peer::ALL {
            let (name, text) = peer.script();
            let script = folder.join(name);
            std::fs::write(&script, text).map_err(io_error("write", &script))?;
            let plain = subject.paths.plain.as_os_str();
            let prepared = peers
                .call(peer, &["encrypt".as_ref(), plain])
                .and_then(|said| {
                    peers.call(peer, &["check".as_ref(), plain])?;
                    said.version
                        .ok_or_else(|| "it states no version".to_owned())
                });
            match prepared {
                Ok(version) => peers.available.push(PeerFact { peer, version }),
                Err(reason) => peers.missing.push(format!("{}: {reason}", peer.label())),
            }
        }
        Ok(peers)
    }

    /// Opens the encrypted file in a process of its own, into memory or to a file; the time without
    /// starting Python and importing.
    ///
    /// # Errors
    /// [`CliError::Usage`] with what the program said.
    pub fn open(
        &self,
        peer: Peer,
        threads: usize,
        file: Option<&Path>,
    ) -> Result<Answer, CliError> {
        let threads = threads.to_string();
        let mut arguments = vec!["open".as_ref(), threads.as_ref()];
        arguments.extend(file.map(Path::as_os_str));
        let said = self
            .call(peer, &arguments)
            .map_err(|reason| CliError::usage(format!("{}: {reason}", peer.label())))?;
        if let Some(file) = file {
            std::fs::remove_file(file).map_err(io_error("remove", file))?;
        }
        said.seconds
            .map(Answer::Seconds)
            .ok_or_else(|| CliError::usage(format!("{} told no time", peer.label())))
    }

    fn call(&self, peer: Peer, arguments: &[&std::ffi::OsStr]) -> Result<Said, String> {
        let output = Command::new(&self.python)
            .arg("-I")
            .arg(self.folder.join(peer.script().0))
            .arg(self.folder.join(peer.id()))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run {}: {error}", self.python.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("it said nothing");
            return Err(format!("{}: {last}", output.status));
        }
        serde_json::from_str(text.lines().last().unwrap_or_default())
            .map_err(|_| "it gave no result".to_owned())
    }
}
