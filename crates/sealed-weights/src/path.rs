//! Paths of files inside a model directory, as headers and manifests name them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Appended to a plaintext file's name to name its sealed file.
pub const SEALED_SUFFIX: &str = ".sealed";

/// A relative path of plain components separated by `/`, at most 1024 bytes of UTF-8.
///
/// No component is empty, `.`, `..`, or holds a backslash or a control character, so that joining
/// it to a directory stays inside the directory on every system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogicalPath(String);

impl LogicalPath {
    /// Longest path in bytes.
    pub const MAX_BYTES: usize = 1024;

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The plaintext file below `directory`.
    #[must_use]
    pub fn under(&self, directory: &Path) -> PathBuf {
        directory.join(&self.0)
    }

    /// The sealed file below `directory`.
    #[must_use]
    pub fn sealed_under(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}{SEALED_SUFFIX}", self.0))
    }

    /// Whether it names a safetensors file.
    #[must_use]
    pub fn is_safetensors(&self) -> bool {
        self.0.ends_with(".safetensors")
    }
}

impl fmt::Display for LogicalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LogicalPath {
    type Err = String;

    /// # Errors
    /// A sentence for the user that says which rule the text breaks.
    fn from_str(text: &str) -> Result<LogicalPath, String> {
        if text.is_empty() {
            return Err("the path is empty".to_owned());
        }
        if text.len() > LogicalPath::MAX_BYTES {
            return Err(format!(
                "the path has {} bytes, more than {}",
                text.len(),
                LogicalPath::MAX_BYTES
            ));
        }
        for component in text.split('/') {
            if matches!(component, "" | "." | "..") {
                return Err(format!(
                    "the path {text:?} has the component {component:?}; it must be relative, \
                     without '.' and '..'"
                ));
            }
        }
        if text.chars().any(|c| c == '\\' || c.is_control()) {
            return Err(format!(
                "the path {text:?} holds a backslash or a control character"
            ));
        }
        Ok(LogicalPath(text.to_owned()))
    }
}

impl Serialize for LogicalPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for LogicalPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LogicalPath, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A path for messages: escaped, so that no name of a file is obeyed by a terminal or passes for a
/// line of the program.
#[must_use]
pub fn shown(path: &Path) -> String {
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        if c.is_control() {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn control_characters_of_a_path_are_escaped() {
        let path = Path::new("e\u{1b}]0;x\u{7}\nerror: ok/模型");
        assert_eq!(shown(path), r"e\u{1b}]0;x\u{7}\nerror: ok/模型");
    }

    use super::*;

    #[test]
    fn paths_that_could_leave_the_directory_are_refused() {
        for text in [
            "",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "../a",
            "a/../b",
            "a/./b",
            "a\\b",
            "a\nb",
            "a\0b",
            &"x".repeat(1025),
        ] {
            assert!(text.parse::<LogicalPath>().is_err(), "{text:?}");
        }
        for text in ["a", "a/b.c", "..a", "é/模型.safetensors", &"x".repeat(1024)] {
            assert_eq!(text.parse::<LogicalPath>().unwrap().as_str(), text);
        }
    }
}
