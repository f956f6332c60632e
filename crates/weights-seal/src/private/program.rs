//! The command that `exec` runs.

use crate::error::CliError;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Exit code of failures of `exec` itself, as of `env`, `timeout` and `nice`.
pub const FAILED: u8 = 125;
/// Exit code where the command cannot be run.
const CANNOT_RUN: u8 = 126;
/// Exit code where the command is not found.
const NOT_FOUND: u8 = 127;
/// Names the directory to the command.
pub const DIRECTORY_VARIABLE: &str = "WEIGHTS_SEAL_DIR";

/// A command and its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    name: OsString,
    arguments: Vec<OsString>,
}

impl Program {
    /// From a command line whose first part is the command. Looks for the command at once: a
    /// mistyped name should not cost the opening of a model.
    ///
    /// # Errors
    /// [`CliError::Exec`] with code 127 where there is no such command, 126 where it is no
    /// executable file.
    pub fn find(command_line: &[OsString]) -> Result<Program, CliError> {
        let (name, arguments) = match command_line.split_first() {
            Some((name, arguments)) if !name.is_empty() => (name, arguments),
            _ => return Err(CliError::usage("no command is given after --")),
        };
        let found = if name.as_bytes().contains(&b'/') {
            check(Path::new(name))
        } else {
            let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
            let mut places = env::split_paths(&path).map(|place| place.join(name));
            match places.find(|path| check(path).is_ok()) {
                Some(_) => Ok(()),
                None => Err(nix::errno::Errno::ENOENT.into()),
            }
        };
        match found {
            Ok(()) => Ok(Program {
                name: name.clone(),
                arguments: arguments.to_vec(),
            }),
            Err(error) => Err(cannot_run(name, &error)),
        }
    }

    /// Becomes the command. In its arguments `placeholder` is replaced by the directory; `hidden`
    /// variables are not passed on. Returns only where that fails.
    #[must_use]
    pub fn exec(&self, directory: &Path, placeholder: &OsStr, hidden: &[String]) -> CliError {
        let mut command = Command::new(&self.name);
        command.env(DIRECTORY_VARIABLE, directory);
        for variable in hidden {
            command.env_remove(variable);
        }
        for argument in &self.arguments {
            command.arg(replace(argument, placeholder, directory.as_os_str()));
        }
        cannot_run(&self.name, &command.exec())
    }
}

fn check(path: &Path) -> io::Result<()> {
    let metadata = path.metadata()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 {
        Ok(())
    } else {
        Err(nix::errno::Errno::EACCES.into())
    }
}

fn cannot_run(name: &OsStr, error: &io::Error) -> CliError {
    let code = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_RUN,
    };
    CliError::Exec {
        message: format!("cannot run {}: {error}", name.display()),
        code,
    }
}

/// The text with every occurrence of `from` replaced.
fn replace(text: &OsStr, from: &OsStr, to: &OsStr) -> OsString {
    let (mut rest, from) = (text.as_bytes(), from.as_bytes());
    if from.is_empty() {
        return text.to_owned();
    }
    let mut replaced = Vec::with_capacity(rest.len());
    while let Some(first) = rest.first() {
        if let Some(after) = rest.strip_prefix(from) {
            replaced.extend_from_slice(to.as_bytes());
            rest = after;
        } else {
            replaced.push(*first);
            rest = &rest[1..];
        }
    }
    OsString::from_vec(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_replaced() {
        for (text, expected) in [
            ("{}", "/d"),
            ("--model={}/m.gguf", "--model=/d/m.gguf"),
            ("{}{}", "/d/d"),
            ("{", "{"),
            ("{}}", "/d}"),
            ("", ""),
        ] {
            let replaced = replace(text.as_ref(), "{}".as_ref(), "/d".as_ref());
            assert_eq!(replaced, expected, "{text}");
        }
        let invalid = OsString::from_vec(vec![0xff, b'{', b'}']);
        let replaced = replace(&invalid, "{}".as_ref(), "/d".as_ref());
        assert_eq!(replaced.as_bytes(), b"\xff/d");
    }

    #[test]
    fn commands_are_looked_for_first() {
        let code = |name: &str| match Program::find(&[name.into()]) {
            Ok(_) => 0,
            Err(error) => error.exit_code(),
        };
        assert_eq!(code("sh"), 0);
        assert_eq!(code("/bin/sh"), 0);
        assert_eq!(code("no-such-command-here"), 127);
        assert_eq!(code("/no/such/command"), 127);
        assert_eq!(code("/dev/null"), 126);
    }
}
