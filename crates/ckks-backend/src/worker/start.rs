//! How a worker is started.

use crate::{BackendError, Located};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Environment variable with the process id that a worker was started by.
pub const PARENT_VARIABLE: &str = "CKKS_BENCH_PARENT";

/// The command that starts a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerCommand {
    /// Name given to `--lib`, for messages.
    pub name: String,
    /// Name that the worker must answer with; `None` for a file given by its path.
    pub answers: Option<String>,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What reports have to say about where the library comes from.
    pub notes: Vec<String>,
}

impl WorkerCommand {
    /// The worker of a library that was found. Objects of the C ABI, and the engine of this
    /// repository, are served by this program itself.
    ///
    /// # Errors
    /// [`BackendError::NotAvailable`] where the path of this program is not known.
    pub fn of(name: &str, by_path: bool, located: &Located) -> Result<Self, BackendError> {
        let itself = || {
            std::env::current_exe().map_err(|error| BackendError::NotAvailable {
                name: name.to_owned(),
                reason: format!("the path of this program is not known: {error}"),
            })
        };
        let (program, arguments) = match located {
            Located::Native => (itself()?, vec!["worker".into(), "--native".into()]),
            Located::SharedObject(path) => (
                itself()?,
                vec!["worker".into(), "--library".into(), path.into()],
            ),
            Located::Python {
                interpreter,
                script,
            } => (interpreter.clone(), vec![script.into()]),
        };
        Ok(Self {
            name: name.to_owned(),
            answers: (!by_path).then(|| name.to_owned()),
            program,
            arguments,
            notes: Vec::new(),
        })
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env(PARENT_VARIABLE, std::process::id().to_string());
        command
    }
}
