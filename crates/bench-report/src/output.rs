//! The files that a program writes.
//!
//! `tensor_io::check_writable` says before any work whether one can be written, and
//! `tensor_io::write_atomically` writes it whole or not at all.

use serde::Serialize;
use std::path::{Path, PathBuf};
use tensor_io::{TensorError, write_atomically};
use thiserror::Error;

/// Two names of one file, of which one would overwrite the other.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{first} and {second} name the same file, {path}; give each its own", path = path.display())]
pub struct SameFile {
    /// The flag or the name that it was given by first.
    pub first: String,
    /// The flag or the name that it was given by again.
    pub second: String,
    /// The file.
    pub path: PathBuf,
}

/// Refuses an output that is another output or an input, too: one would overwrite the other. Each
/// comes with the flag or the name that it was given by.
///
/// # Errors
/// [`SameFile`] with both names and the file.
pub fn check_distinct(
    outputs: &[(&str, Option<&Path>)],
    inputs: &[(&str, Option<&Path>)],
) -> Result<(), SameFile> {
    let mut written: Vec<(&str, PathBuf)> = Vec::new();
    for (at, &(name, path)) in outputs.iter().chain(inputs).enumerate() {
        // A path without identity cannot be read or written, which another check says.
        let Some(file) = path.and_then(identity) else {
            continue;
        };
        if let Some((other, _)) = written.iter().find(|(_, earlier)| *earlier == file) {
            return Err(SameFile {
                first: (*other).to_owned(),
                second: name.to_owned(),
                path: file,
            });
        }
        if at < outputs.len() {
            written.push((name, file));
        }
    }
    Ok(())
}

/// Writes the value as JSON, indented, whole or not at all.
///
/// # Errors
/// [`TensorError`] with the path.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), TensorError> {
    write_atomically(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        writeln!(file)
    })
}

/// The one path of a file, whatever links and `..` it was named with; a file that does not exist
/// yet has that of its folder.
fn identity(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| {
        let folder = match path.parent()? {
            here if here.as_os_str().is_empty() => Path::new("."),
            folder => folder,
        };
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_differ_from_each_other_and_from_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        std::fs::write(&old, "x").unwrap();
        let again = |name: &str| folder.path().join(".").join(name);
        let (old_again, new_again) = (again("old"), again("new"));
        let refusal = |outputs: &[(&str, Option<&Path>)], inputs: &[(&str, Option<&Path>)]| {
            check_distinct(outputs, inputs).unwrap_err().to_string()
        };
        let (a, b) = (("--a", Some(&*new)), ("--b", Some(&*new_again)));
        assert!(refusal(&[a, b], &[]).starts_with("--a and --b name the same file"));
        let (a, b) = (("--a", Some(&*old)), ("IN", Some(&*old_again)));
        assert!(refusal(&[a], &[("IN", None), b]).starts_with("--a and IN name the same file"));
        // Reading a file twice harms nothing.
        assert!(check_distinct(&[("--a", Some(&*new))], &[b, b]).is_ok());
    }

    #[test]
    fn json_is_written_whole_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let value = serde_json::json!({"rate": 0.1, "text": "é"});
        write_json(&path, &value).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("{\n") && text.ends_with("}\n"));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
        let missing = folder.path().join("none").join("a.json");
        let error = write_json(&missing, &value).unwrap_err();
        assert!(error.to_string().contains("none"), "{error}");
    }
}
