//! A worker process: started, watched, stopped when it takes too long, and its end recorded.

use crate::interrupt::Interrupt;
pub use ckks_backend::worker::PARENT_VARIABLE;
pub use ckks_backend::worker::stderr::{STDERR_BYTES, STDERR_LINES};
use ckks_backend::worker::{ended, stderr::Tail};
use std::io::{self, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often the worker is looked at.
const TICK: Duration = Duration::from_millis(20);

/// How a worker ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// It was stopped after the time limit.
    TimedOut,
    /// It was stopped because the interrupt was set.
    Interrupted,
}

/// A worker that ended.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkerEnd {
    /// How.
    pub ended: Ended,
    /// Wall seconds from its start.
    pub seconds: f64,
    /// The last lines of standard error, at most [`STDERR_LINES`] and [`STDERR_BYTES`].
    pub stderr: Vec<String>,
}

/// Runs the command to its end, to `timeout`, or to the interrupt. Its standard output is thrown
/// away. It gets a process group of its own, so that Ctrl-C in a terminal reaches only this
/// process, which then decides.
///
/// # Errors
/// Where the command cannot be started or waited for.
pub fn run_worker(
    mut command: Command,
    timeout: Duration,
    interrupt: &Interrupt,
) -> io::Result<WorkerEnd> {
    command
        .env(PARENT_VARIABLE, std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let start = Instant::now();
    let mut child = command.spawn()?;
    let stderr = child.stderr.take().map(Tail::read);
    let ended = wait(&mut child, start, timeout, interrupt);
    if ended.is_err() {
        let _ = child.kill();
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(WorkerEnd {
        ended: ended?,
        seconds,
        stderr: stderr.map(|tail| tail.lines()).unwrap_or_default(),
    })
}

fn wait(
    child: &mut Child,
    start: Instant,
    timeout: Duration,
    interrupt: &Interrupt,
) -> io::Result<Ended> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(how(status));
        }
        let stopped = if interrupt.is_set() {
            Ended::Interrupted
        } else if start.elapsed() >= timeout {
            Ended::TimedOut
        } else {
            thread::sleep(TICK);
            continue;
        };
        child.kill()?;
        child.wait()?;
        return Ok(stopped);
    }
}

fn how(status: ExitStatus) -> Ended {
    match ended::Ended::from(status) {
        ended::Ended::Exited(status) => Ended::Exited(status),
        ended::Ended::Signalled(signal) => Ended::Signalled(signal),
    }
}

/// For a worker: asks the kernel to end this process when the one that started it ends, however
/// that happens. Where it has already ended, this process ends, too, as if interrupted. Does
/// nothing in a process that is no worker, and where the system cannot.
pub fn end_with_parent() {
    #[cfg(target_os = "linux")]
    {
        use crate::error::Outcome;
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        let Some(parent) = std::env::var(PARENT_VARIABLE)
            .ok()
            .and_then(|text| text.parse::<i32>().ok())
        else {
            return;
        };
        let asked = set_parent_process_death_signal(Some(Signal::KILL));
        // The parent may have ended before the kernel was asked.
        let orphaned = getppid().is_none_or(|pid| pid.as_raw_nonzero().get() != parent);
        if asked.is_ok() && orphaned {
            let _ = writeln!(
                io::stderr(),
                "error: {PARENT_VARIABLE} names process {parent}, which did not start this one; \
                 unset it"
            );
            std::process::exit(i32::from(Outcome::Interrupted.exit_code()));
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn run(script: &str) -> WorkerEnd {
        run_worker(shell(script), LONG, &Interrupt::new()).unwrap()
    }

    #[test]
    fn ends_are_told_apart() {
        assert_eq!(run("exit 0").ended, Ended::Exited(0));
        assert_eq!(run("exit 7").ended, Ended::Exited(7));
        // SIGSEGV is 11, SIGABRT 6, on every Linux.
        assert_eq!(run("kill -SEGV $$").ended, Ended::Signalled(11));
        assert_eq!(run("kill -ABRT $$").ended, Ended::Signalled(6));
        let missing = Command::new("/does/not/exist");
        assert!(run_worker(missing, LONG, &Interrupt::new()).is_err());
    }

    #[test]
    fn a_hang_is_stopped() {
        let mut hang = Command::new("sleep");
        hang.arg("1000");
        let limit = Duration::from_millis(50);
        let end = run_worker(hang, limit, &Interrupt::new()).unwrap();
        assert_eq!(end.ended, Ended::TimedOut);
        assert!(end.seconds >= 0.05);
    }

    #[test]
    fn an_interrupt_stops_the_worker() {
        let interrupt = Interrupt::new();
        interrupt.set();
        let mut hang = Command::new("sleep");
        hang.arg("1000");
        let end = run_worker(hang, LONG, &interrupt).unwrap();
        assert_eq!(end.ended, Ended::Interrupted);
    }

    #[test]
    fn standard_error_is_kept_and_bounded() {
        let end = run("echo lost; echo one >&2; echo two >&2; exit 3");
        assert_eq!(end.ended, Ended::Exited(3));
        assert_eq!(end.stderr, ["one", "two"]);
        let end = run("i=0; while [ $i -lt 100 ]; do echo line $i >&2; i=$((i+1)); done");
        assert_eq!(end.stderr.len(), STDERR_LINES);
        assert_eq!(end.stderr.last().unwrap(), "line 99");
        assert_eq!(end.stderr[0], "line 80");
        // More than a pipe holds, in one line.
        let end = run("head -c 300000 /dev/zero | tr '\\0' x >&2");
        assert_eq!(end.stderr, ["x".repeat(STDERR_BYTES)]);
    }

    #[test]
    fn a_process_left_behind_does_not_hold_the_sweep() {
        let end = run("echo end >&2; sleep 3 & exit 5");
        assert_eq!(end.ended, Ended::Exited(5));
        assert_eq!(end.stderr, ["end"]);
    }
}
