//! The plaintext files of a model, on disk or in memory.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::error::{ModelError, SealError};
use crate::path::{LogicalPath, SEALED_SUFFIX};
use crate::plain::{PlainBytes, PlainFile, PlainSource, Stamp};

/// Longest name of a file on the systems in use, in bytes.
const MAX_NAME: usize = 255;

/// One file to be sealed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceFile {
    pub(crate) logical: LogicalPath,
    content: Content,
}

#[derive(PartialEq, Eq)]
enum Content {
    /// A file as it was when it was listed.
    File { path: PathBuf, stamp: Stamp },
    /// Wiped when dropped.
    Memory(Zeroizing<Vec<u8>>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::File { path, .. } => write!(f, "File({})", path.display()),
            Content::Memory(bytes) => write!(f, "Memory({} bytes)", bytes.len()),
        }
    }
}

impl SourceFile {
    pub(crate) fn length(&self) -> u64 {
        match &self.content {
            Content::File { stamp, .. } => stamp.length,
            Content::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// The plaintext, if it is still what was listed.
    pub(crate) fn open(&self) -> Result<Box<dyn PlainSource + '_>, SealError> {
        Ok(match &self.content {
            Content::File { path, stamp } => Box::new(PlainFile::open(path, *stamp)?),
            Content::Memory(bytes) => Box::new(PlainBytes(bytes)),
        })
    }
}

/// Files that exist in memory only, sorted by logical path.
pub(crate) fn in_memory(
    files: Vec<(LogicalPath, Zeroizing<Vec<u8>>)>,
) -> Result<Vec<SourceFile>, ModelError> {
    let mut files: Vec<SourceFile> = files
        .into_iter()
        .map(|(logical, bytes)| SourceFile {
            logical,
            content: Content::Memory(bytes),
        })
        .collect();
    files.sort_by(|a, b| a.logical.cmp(&b.logical));
    match files
        .windows(2)
        .find(|pair| pair[0].logical == pair[1].logical)
    {
        Some(pair) => Err(ModelError::BadName {
            path: PathBuf::from(pair[0].logical.as_str()),
            reason: "it is given twice".to_owned(),
        }),
        None => check_sealed_names(&files).map(|()| files),
    }
}

/// Lists a directory's files, or the one file, sorted by logical path.
pub(crate) fn list(source: &Path, follow_links: bool) -> Result<Vec<SourceFile>, SealError> {
    let metadata = fs::metadata(source).map_err(|e| look_failed(source, e))?;
    let mut files = Vec::new();
    if metadata.is_dir() {
        let root = fs::canonicalize(source).map_err(|e| look_failed(source, e))?;
        let mut walk = Walk {
            root: &root,
            follow_links,
            above: vec![root.clone()],
            files: &mut files,
        };
        walk.directory(source, "")?;
    } else if metadata.is_file() {
        let name = source.file_name().unwrap_or_default();
        files.push(SourceFile {
            logical: logical(source, name.to_str().ok_or_else(|| not_text(source))?)?,
            content: Content::File {
                path: source.to_path_buf(),
                stamp: Stamp::of(&metadata),
            },
        });
    } else {
        return Err(ModelError::SpecialFile {
            path: source.to_path_buf(),
        }
        .into());
    }
    if files.is_empty() {
        return Err(ModelError::Empty {
            path: source.to_path_buf(),
        }
        .into());
    }
    files.sort_by(|a, b| a.logical.cmp(&b.logical));
    check_sealed_names(&files)?;
    Ok(files)
}

/// Refuses names that have no sealed form: too long with the suffix, or that of another's directory.
fn check_sealed_names(files: &[SourceFile]) -> Result<(), ModelError> {
    let mut directories = HashSet::new();
    for file in files {
        let components = file.logical.as_str().match_indices('/');
        directories.extend(components.map(|(at, _)| &file.logical.as_str()[..at]));
    }
    for file in files {
        let path = file.logical.as_str();
        let name = path.rsplit('/').next().unwrap_or(path);
        let refuse = |reason: String| ModelError::BadName {
            path: PathBuf::from(path),
            reason,
        };
        if name.len() + SEALED_SUFFIX.len() > MAX_NAME {
            return Err(refuse(format!(
                "its name has {} bytes, more than {} and the suffix {SEALED_SUFFIX} that sealing \
                 adds",
                name.len(),
                MAX_NAME - SEALED_SUFFIX.len()
            )));
        }
        if directories.contains(format!("{path}{SEALED_SUFFIX}").as_str()) {
            return Err(refuse(format!(
                "its sealed file would take the name of the directory {path}{SEALED_SUFFIX}"
            )));
        }
    }
    Ok(())
}

struct Walk<'a> {
    root: &'a Path,
    follow_links: bool,
    /// Resolved directories from the root to here, to end loops of links.
    above: Vec<PathBuf>,
    files: &'a mut Vec<SourceFile>,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &Path, prefix: &str) -> Result<(), SealError> {
        // Read to the end first: no descriptor is held for each level.
        let entries = fs::read_dir(directory)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|e| SealError::Io {
                action: "list",
                path: directory.to_path_buf(),
                source: e,
            })?;
        for entry in entries {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_str().ok_or_else(|| not_text(&path))?;
            self.entry(&path, &format!("{prefix}{name}"))?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: &str) -> Result<(), SealError> {
        let mut metadata = fs::symlink_metadata(path).map_err(|e| look_failed(path, e))?;
        let mut resolved = None;
        if metadata.is_symlink() {
            let target = fs::canonicalize(path).map_err(|e| look_failed(path, e))?;
            if !self.follow_links && !target.starts_with(self.root) {
                return Err(ModelError::OutsideLink {
                    path: path.to_path_buf(),
                    target,
                }
                .into());
            }
            metadata = fs::metadata(path).map_err(|e| look_failed(path, e))?;
            resolved = Some(target);
        }
        if metadata.is_dir() {
            let resolved = match resolved {
                Some(target) => target,
                None => fs::canonicalize(path).map_err(|e| look_failed(path, e))?,
            };
            if self.above.contains(&resolved) {
                return Err(ModelError::BadName {
                    path: path.to_path_buf(),
                    reason: "it is a link to a directory above it".to_owned(),
                }
                .into());
            }
            self.above.push(resolved);
            self.directory(path, &format!("{name}/"))?;
            self.above.pop();
        } else if metadata.is_file() {
            self.files.push(SourceFile {
                logical: logical(path, name)?,
                content: Content::File {
                    path: path.to_path_buf(),
                    stamp: Stamp::of(&metadata),
                },
            });
        } else {
            return Err(ModelError::SpecialFile {
                path: path.to_path_buf(),
            }
            .into());
        }
        Ok(())
    }
}

fn logical(path: &Path, name: &str) -> Result<LogicalPath, SealError> {
    name.parse().map_err(|reason| {
        ModelError::BadName {
            path: path.to_path_buf(),
            reason,
        }
        .into()
    })
}

fn not_text(path: &Path) -> SealError {
    ModelError::BadName {
        path: path.to_path_buf(),
        reason: "its name is not UTF-8".to_owned(),
    }
    .into()
}

fn look_failed(path: &Path, source: std::io::Error) -> SealError {
    SealError::Io {
        action: "look at",
        path: path.to_path_buf(),
        source,
    }
}
