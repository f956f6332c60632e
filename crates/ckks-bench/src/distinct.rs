//! Files named twice on one command line.

use crate::error::BenchError;
use std::path::{Path, PathBuf};

/// Refuses an output that is another output or an input, too: one would overwrite the other. Each
/// comes with the flag or the name that it was given by.
///
/// # Errors
/// [`BenchError::Usage`] with both names and the file.
pub(crate) fn check_distinct(
    outputs: &[(&str, Option<&Path>)],
    inputs: &[(&str, Option<&Path>)],
) -> Result<(), BenchError> {
    let mut written: Vec<(&str, PathBuf)> = Vec::new();
    for (at, &(name, path)) in outputs.iter().chain(inputs).enumerate() {
        // A path without identity cannot be read or written, which another check says.
        let Some(file) = path.and_then(identity) else {
            continue;
        };
        if let Some((other, _)) = written.iter().find(|(_, earlier)| *earlier == file) {
            return Err(BenchError::usage(format!(
                "{other} and {name} name the same file, {}; give each its own",
                file.display()
            )));
        }
        if at < outputs.len() {
            written.push((name, file));
        }
    }
    Ok(())
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
}
