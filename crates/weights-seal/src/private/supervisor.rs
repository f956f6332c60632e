//! The process that waits for the command.

use super::program::FAILED;
use crate::error::{CliError, interrupted};
use crate::process;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

/// Passed on to the command. Stops and continuations reach it as a member of the same process group.
const FORWARDED: [Signal; 8] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGXCPU,
];

/// Runs `child` in a child process, which it may replace by a command, and waits for its end. Gives
/// its exit code, 128 + n if signal n ended it. If this process dies, the child is killed.
///
/// # Errors
/// [`CliError::Exec`] where no process can be started.
pub fn supervise(child: impl FnOnce() -> u8) -> Result<u8, CliError> {
    let failed = |what: &str, errno: Errno| CliError::Exec {
        message: format!("cannot {what}: {}", errno.desc()),
        code: FAILED,
    };
    if process::threads() != 1 {
        return Err(failed(
            "start a process from one with threads",
            Errno::EBUSY,
        ));
    }
    // Where the caller ignored it, the kernel would tell nobody of the child's end.
    process::default_child_signal();
    let ignored = process::ignored_signals();
    let mut handled = SigSet::empty();
    handled.add(Signal::SIGCHLD);
    for signal in FORWARDED {
        if !ignored.contains(signal as i32) {
            handled.add(signal);
        }
    }
    // Blocked before the fork, so that none is lost.
    let before = handled
        .thread_swap_mask(SigmaskHow::SIG_BLOCK)
        .map_err(|errno| failed("block signals", errno))?;
    let signals = SignalFd::with_flags(&handled, SfdFlags::SFD_CLOEXEC)
        .map_err(|errno| failed("receive signals", errno))?;
    let supervisor = getpid();
    // SAFETY: this process has one thread (checked above), so the child's memory is consistent and
    // no lock in it is held by a thread that does not exist there.
    match unsafe { fork() }.map_err(|errno| failed("start a process", errno))? {
        ForkResult::Child => {
            let _ = prctl::set_pdeathsig(Signal::SIGKILL);
            // It may have died before that was asked for.
            if getppid() != supervisor || before.thread_set_mask().is_err() {
                std::process::exit(i32::from(FAILED));
            }
            std::process::exit(i32::from(child()));
        }
        ForkResult::Parent { child } => {
            // The command, as the same user, would read the variables in /proc/PID/environ. After
            // the fork: the child writes its user namespace's maps, for which it must be dumpable.
            let _ = prctl::set_dumpable(false);
            Ok(wait(child, &signals))
        }
    }
}

fn wait(child: Pid, signals: &SignalFd) -> u8 {
    loop {
        let info = match signals.read_signal() {
            Ok(Some(info)) => info,
            Ok(None) | Err(Errno::EINTR) => continue,
            // Cannot happen with a descriptor that is open.
            Err(_) => return FAILED,
        };
        let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else {
            continue;
        };
        if signal == Signal::SIGCHLD {
            if let Some(code) = reap(child) {
                return code;
            }
        } else if info.ssi_code <= 0 {
            // From a process. The terminal's Ctrl-C (SI_KERNEL, above 0) has reached the command
            // already.
            if kill(child, signal) == Err(Errno::ESRCH) {
                return reap(child).unwrap_or(FAILED);
            }
        }
    }
}

/// Collects processes that have ended (as the first process of a container, also orphans); gives
/// the exit code if `child` is one of them.
fn reap(child: Pid) -> Option<u8> {
    let mut code = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, status)) if pid == child => {
                code = Some(u8::try_from(status).unwrap_or(u8::MAX));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                code = Some(interrupted(signal as i32));
            }
            Ok(WaitStatus::StillAlive) => return code,
            Ok(_) | Err(Errno::EINTR) => {}
            // No child is left (ECHILD), with `code` or without.
            Err(_) => return code.or(Some(FAILED)),
        }
    }
}
