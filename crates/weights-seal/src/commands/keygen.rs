//! `weights-seal keygen`.

use super::report;
use crate::error::CliError;
use crate::shown;
use clap::Args;
use sealed_weights::error::KeyError;
use sealed_weights::publisher_file;
use sealed_weights::recipient::key_file::KeyFile;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const MODEL_KEY: &str = "model.key";
const PUBLISHER_KEY: &str = "publisher.key";
const PUBLISHER_PUBLIC: &str = "publisher.pub";

/// Options of `keygen`.
#[derive(Debug, Args)]
pub struct KeygenArgs {
    /// Directory for the keys, made if absent
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Make only publisher.key and publisher.pub
    #[arg(long, conflicts_with = "key_only")]
    pub publisher_only: bool,

    /// Make only model.key
    #[arg(long)]
    pub key_only: bool,
}

/// Makes keys; never overwrites one.
///
/// # Errors
/// [`CliError::Flag`] where a key is there already or cannot be written; none is made then.
pub fn keygen(args: &KeygenArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let wanted: &[&str] = match (args.publisher_only, args.key_only) {
        (true, _) => &[PUBLISHER_KEY, PUBLISHER_PUBLIC],
        (_, true) => &[MODEL_KEY],
        _ => &[MODEL_KEY, PUBLISHER_KEY, PUBLISHER_PUBLIC],
    };
    let failed = CliError::flag("--out");
    prepare(&args.out, wanted).map_err(&failed)?;
    let mut made = Vec::new();
    let text = make(&args.out, wanted, &mut made).map_err(|error| {
        for path in &made {
            let _ = fs::remove_file(path);
        }
        failed(error)
    })?;
    report(out, &text)
}

/// Makes the directory; refuses to replace a key, after which nothing could be opened any more.
fn prepare(directory: &Path, wanted: &[&str]) -> Result<(), KeyError> {
    for name in wanted {
        let path = directory.join(name);
        if fs::symlink_metadata(&path).is_ok() {
            return Err(KeyError::File {
                action: "create",
                path,
                source: io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "it exists, and keys are never overwritten; choose another directory",
                ),
            });
        }
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|source| KeyError::File {
            action: "create",
            path: directory.to_path_buf(),
            source,
        })
}

fn make(directory: &Path, wanted: &[&str], made: &mut Vec<PathBuf>) -> Result<String, KeyError> {
    let mut text = String::new();
    if wanted.contains(&MODEL_KEY) {
        let path = directory.join(MODEL_KEY);
        KeyFile::create(&path)?;
        text.push_str(&format!(
            "{}: opens models; keep it secret. Use: key-file:{0}\n",
            shown::path(&path)
        ));
        made.push(path);
    }
    if wanted.contains(&PUBLISHER_KEY) {
        let path = directory.join(PUBLISHER_KEY);
        let key = publisher_file::create(&path)?;
        let public = directory.join(PUBLISHER_PUBLIC);
        text.push_str(&format!(
            "{}: signs models; keep it secret\n",
            shown::path(&path)
        ));
        made.push(path);
        publisher_file::create_public(&public, key.id())?;
        text.push_str(&format!(
            "{}: for everyone who opens models, as --publisher; it is {}\n",
            shown::path(&public),
            key.id()
        ));
        made.push(public);
    }
    Ok(text)
}
