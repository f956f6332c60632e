//! Processes that measure on their own: the hidden subcommand `bench-worker`.
//!
//! A worker reads its task as one line of JSON, gets ready, says `ready`, waits for one more line,
//! works, and answers with one line of JSON. So workers start together, and starting them costs no
//! time that is measured.

use super::cipher::Aead;
use super::huge;
use super::load::{Load, Target};
use super::peak;
use super::spec::Destination;
use super::subject::{Paths, Watch};
use crate::cancel::Cancel;
use crate::error::CliError;
use crate::process;
use sealed_weights::memory::PlainBuffer;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What a worker does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum Task {
    /// Brings the file to a destination.
    Load {
        /// In which way, and where.
        load: Load,
        /// The file.
        paths: Paths,
        /// A new file in this folder is the destination, if it is a file; a memory file system is
        /// mounted on the folder, for this process only, if it is to have huge pages.
        folder: PathBuf,
        /// With that many threads.
        threads: usize,
    },
    /// Computes an AEAD.
    Cipher {
        /// Which.
        aead: Aead,
        /// On at least that many bytes.
        bytes: u64,
    },
    /// Does one piece of work and tells the most memory that it had.
    Peak {
        /// Which.
        work: peak::Work,
        /// The file.
        paths: Paths,
        /// Where what it writes goes.
        folder: PathBuf,
        /// With that many threads.
        threads: usize,
    },
}

/// What a worker answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Done in that many seconds.
    Seconds(f64),
    /// The most memory that the process had, in bytes.
    Peak(peak::Peak),
    /// Not possible on this machine.
    Skipped(String),
    /// Failed.
    Failed(String),
}

const READY: &str = "ready";

/// Does what standard input says.
///
/// # Errors
/// [`CliError`] where the task cannot be read or the answer cannot be given.
pub fn serve(
    input: &mut dyn BufRead,
    out: &mut dyn Write,
    cancel: &Cancel,
) -> Result<(), CliError> {
    let mut lines = input.lines();
    let task = lines
        .next()
        .and_then(Result::ok)
        .and_then(|line| serde_json::from_str(&line).ok())
        .ok_or_else(|| {
            CliError::usage("bench-worker is started by bench and expects its task as JSON")
        })?;
    let mut ready = |out: &mut dyn Write| -> Result<(), CliError> {
        writeln!(out, "{READY}")
            .and_then(|()| out.flush())
            .map_err(CliError::Output)?;
        match lines.next() {
            Some(Ok(_)) => Ok(()),
            // The program that started this one is gone.
            _ => Err(CliError::usage("bench-worker was left alone")),
        }
    };
    let answer = match perform(task, &mut || ready(out), cancel) {
        Ok(answer) => answer,
        Err(error) => Answer::Failed(error.to_string()),
    };
    let text = serde_json::to_string(&answer).map_err(|e| CliError::Output(e.into()))?;
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(CliError::Output)
}

fn perform(
    task: Task,
    ready: &mut dyn FnMut() -> Result<(), CliError>,
    cancel: &Cancel,
) -> Result<Answer, CliError> {
    let watch = Watch(cancel);
    match task {
        Task::Load {
            load,
            paths,
            folder,
            threads,
        } => {
            let length = std::fs::metadata(&paths.plain).map_or(0, |m| m.len());
            if load.destination == Destination::HugeTmpfs
                && let Err(reason) = huge::mount(&folder, length)
            {
                ready()?;
                return Ok(Answer::Skipped(reason));
            }
            // After the mount: a process that forbids it cannot enter a user namespace.
            process::forbid_dumps();
            let mut warm = None;
            if load.destination == Destination::Warm {
                let mut buffer = PlainBuffer::new(length as usize)?;
                buffer.fill(1);
                warm = Some(buffer);
            }
            let target = match (&mut warm, load.destination) {
                (Some(buffer), _) => Target::Warm(buffer),
                (None, Destination::Shm | Destination::HugeTmpfs) => {
                    Target::File(folder.join(format!("out-{}", std::process::id())))
                }
                (None, _) => Target::Fresh,
            };
            ready()?;
            let seconds = load.run(&paths, target, &watch.work(threads))?;
            Ok(Answer::Seconds(seconds))
        }
        Task::Cipher { aead, bytes } => {
            ready()?;
            Ok(Answer::Seconds(aead.run(1, bytes)?))
        }
        Task::Peak {
            work,
            paths,
            folder,
            threads,
        } => {
            ready()?;
            Ok(Answer::Peak(work.run(
                &paths,
                &folder,
                &watch.work(threads),
            )?))
        }
    }
}

/// A worker that is ready; killed when dropped before it has answered.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts a process and waits until it is ready; `environment` is added to its environment.
    ///
    /// # Errors
    /// [`CliError::Usage`] where it cannot be started.
    pub fn start(task: &Task, environment: &[(&str, &str)]) -> Result<Worker, CliError> {
        let failed =
            |error: std::io::Error| CliError::usage(format!("cannot start a worker: {error}"));
        // Not the path: the file may have been replaced since this process started.
        let mut child = Command::new("/proc/self/exe")
            .arg("bench-worker")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let stdout = child.stdout.take().ok_or_else(lost)?;
        let mut worker = Worker {
            stdin: child.stdin.take(),
            child,
            lines: BufReader::new(stdout).lines(),
        };
        let text = serde_json::to_string(task).map_err(|error| failed(error.into()))?;
        worker.send(&text)?;
        match worker.lines.next() {
            Some(Ok(line)) if line == READY => Ok(worker),
            // It answers at once where it could not get ready.
            Some(Ok(line)) => match serde_json::from_str(&line) {
                Ok(Answer::Failed(reason)) => Err(CliError::usage(reason)),
                _ => Err(lost()),
            },
            _ => Err(lost()),
        }
    }

    /// Lets it work.
    ///
    /// # Errors
    /// [`CliError::Usage`] where it is gone.
    pub fn go(&mut self) -> Result<(), CliError> {
        self.send("go")
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// [`CliError::Usage`] where it failed or is gone.
    pub fn answer(&mut self) -> Result<Answer, CliError> {
        let line = self.lines.next().and_then(Result::ok).ok_or_else(lost)?;
        match serde_json::from_str(&line) {
            Ok(Answer::Failed(reason)) => {
                Err(CliError::usage(format!("a worker failed: {reason}")))
            }
            Ok(answer) => Ok(answer),
            Err(_) => Err(lost()),
        }
    }

    /// Both.
    ///
    /// # Errors
    /// As [`Worker::answer`].
    pub fn run(task: &Task, environment: &[(&str, &str)]) -> Result<Answer, CliError> {
        let mut worker = Worker::start(task, environment)?;
        worker.go()?;
        worker.answer()
    }

    fn send(&mut self, line: &str) -> Result<(), CliError> {
        let stdin = self.stdin.as_mut().ok_or_else(lost)?;
        writeln!(stdin, "{line}")
            .and_then(|()| stdin.flush())
            .map_err(|_| lost())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lost() -> CliError {
    CliError::usage("a worker ended without an answer")
}
