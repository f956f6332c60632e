//! A command that runs in private memory until it is told to end.

use super::{Answer, Fixture, Random, is_root, names_in, run, signal, spawn};
use nix::sys::signal::Signal;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command};
use std::time::{Duration, Instant};

/// `exec` on the model, with keys and publisher, without a command.
pub(crate) fn exec(fixture: &Fixture) -> Command {
    fixture.command("exec")
}

/// Whether this machine permits mount namespaces; says so where it does not.
pub(crate) fn namespaces() -> bool {
    let options = if is_root() { "-m" } else { "-Urm" };
    let permitted = Command::new("unshare")
        .args([options, "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !permitted {
        eprintln!("skipped: namespaces are not permitted here");
    }
    permitted
}

/// A command that has told its directory and waits.
pub(crate) struct Session {
    pub(crate) child: Child,
    pub(crate) directory: PathBuf,
    output: BufReader<ChildStdout>,
}

impl Session {
    pub(crate) fn start(fixture: &Fixture, flags: &[&str]) -> Session {
        // cat: one process that ends with its standard input, or by any signal.
        let script = "echo {}; exec cat";
        Session::of(exec(fixture).args(flags).args(["--", "sh", "-c", script]))
    }

    pub(crate) fn of(command: &mut Command) -> Session {
        let mut child = spawn(command);
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut text = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            panic!("no directory: {text}");
        }
        Session {
            child,
            directory: PathBuf::from(line.trim_end()),
            output,
        }
    }

    /// Waits for the supervisor's end; gives its exit code.
    pub(crate) fn wait(&mut self) -> i32 {
        // `wait` would close it, and the command would end by that.
        let stdin = self.child.stdin.take();
        let code = self.child.wait().unwrap().code().unwrap();
        drop(stdin);
        code
    }

    /// Ends the command by closing its standard input.
    pub(crate) fn finish(&mut self) -> i32 {
        drop(self.child.stdin.take());
        self.wait()
    }

    /// Waits until every process that holds standard output has ended.
    pub(crate) fn read_to_end(&mut self) {
        let _ = self.child.wait();
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
    }
}

/// Kills the supervisor, or its child, at random moments of a run; looks for what is left.
pub(crate) fn kill_at_random(fixture: &Fixture, kills: u64) {
    let start = Instant::now();
    let (code, _, stderr): Answer = run(exec(fixture).args(["--", "true"]));
    assert_eq!(code, 0, "{stderr}");
    let whole = start.elapsed();
    let mut random = Random(7);
    for turn in 0..kills {
        let mut child = spawn(exec(fixture).args(["--", "cat"]));
        // The moment is the purpose of this wait.
        let moment =
            Instant::now() + Duration::from_secs_f64(whole.as_secs_f64() * random.fraction());
        while Instant::now() < moment {
            std::thread::yield_now();
        }
        let inner = first_child(child.id());
        match inner {
            Some(inner) if turn % 2 == 0 => {
                let _ = nix::sys::signal::kill(inner, Signal::SIGKILL);
            }
            _ => signal(&child, Signal::SIGKILL),
        }
        let _ = child.wait();
        // Standard output ends with the last process of the run.
        let mut rest = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains("weights-seal"), "{mounts}");
        for directory in mount_points() {
            // Another test's run may remove its own meanwhile.
            if directory.exists() {
                assert_eq!(names_in(&directory), [""; 0], "{}", directory.display());
            }
        }
    }
}

fn first_child(of: u32) -> Option<nix::unistd::Pid> {
    let list = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).ok()?;
    let first = list.split_whitespace().next()?;
    Some(nix::unistd::Pid::from_raw(first.parse().ok()?))
}

fn mount_points() -> Vec<PathBuf> {
    let places = names_in(Path::new("/dev/shm"));
    places
        .iter()
        .filter(|name| name.starts_with("weights-seal-mount-"))
        .map(|name| Path::new("/dev/shm").join(name))
        .collect()
}
