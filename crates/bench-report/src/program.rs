//! The program that measured.

use serde::{Deserialize, Serialize};

/// What a program was built from; [`build!`](crate::build!) gives that of the calling crate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Build {
    /// Version of the program and of the crates in its workspace.
    pub version: String,
    /// Git commit; `None` for a build outside a git repository.
    pub commit: Option<String>,
    /// Whether the sources differed from the commit; `None` where there is no commit.
    pub dirty: Option<bool>,
    /// Target triple.
    pub target: String,
    /// `release` or `debug`.
    pub profile: String,
}

impl Build {
    /// Commit, and whether the sources differed from it.
    #[must_use]
    pub fn commit_words(&self) -> String {
        match (&self.commit, self.dirty) {
            (None, _) => "unknown: built outside a git repository".to_owned(),
            (Some(commit), Some(true)) => format!("{commit}, with uncommitted changes"),
            (Some(commit), _) => commit.clone(),
        }
    }
}

/// The [`Build`](crate::program::Build) of the calling crate, whose manifest must name the build
/// script of this crate: `build = "../bench-report/build-script.rs"`.
#[macro_export]
macro_rules! build {
    () => {
        $crate::program::Build {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("BENCH_BUILD_COMMIT").map(str::to_owned),
            dirty: option_env!("BENCH_BUILD_DIRTY").and_then(|flag| flag.parse().ok()),
            target: env!("BENCH_BUILD_TARGET").to_owned(),
            profile: env!("BENCH_BUILD_PROFILE").to_owned(),
        }
    };
}

/// The arguments in a form that a shell reads back.
#[must_use]
pub fn command_line(arguments: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    arguments
        .iter()
        .map(|argument| {
            if !argument.is_empty() && argument.chars().all(plain) {
                argument.clone()
            } else {
                format!("'{}'", argument.replace('\'', r"'\''"))
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_command_back() {
        let line = ["ckks-bench", "run", "--weights", "my file#it's", ""].map(str::to_owned);
        assert_eq!(
            command_line(&line),
            r"ckks-bench run --weights 'my file#it'\''s' ''"
        );
    }

    #[test]
    fn changes_to_the_commit_are_said() {
        let build = |commit: Option<&str>, dirty| Build {
            version: "0.1.0".to_owned(),
            commit: commit.map(str::to_owned),
            dirty,
            target: "t".to_owned(),
            profile: "release".to_owned(),
        };
        assert_eq!(build(Some("abc"), Some(false)).commit_words(), "abc");
        assert!(
            build(Some("abc"), Some(true))
                .commit_words()
                .contains("uncommitted")
        );
        assert!(build(None, None).commit_words().starts_with("unknown"));
    }
}
