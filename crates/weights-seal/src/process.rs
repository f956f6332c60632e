//! What the program asks of the system for the process that holds secrets.

use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::fs;

/// The limit on the size of core dumps as it was: soft and hard.
#[derive(Clone, Copy, Debug)]
pub struct CoreLimit(Option<(rlim_t, rlim_t)>);

/// No core dump, and no other process of the same user reads this one's memory: keys and plaintext
/// stay in it. Gives the limit to restore for other programs.
///
/// A system that refuses leaves the program as safe as any other, so that is no failure.
pub fn forbid_dumps() -> CoreLimit {
    let before = getrlimit(Resource::RLIMIT_CORE).ok();
    if let Some((_, hard)) = before {
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, hard);
    }
    let _ = prctl::set_dumpable(false);
    CoreLimit(before)
}

impl CoreLimit {
    /// Sets the limit as it was before.
    pub fn restore(self) {
        if let Some((soft, hard)) = self.0 {
            let _ = setrlimit(Resource::RLIMIT_CORE, soft, hard);
        }
    }
}

/// What SIGXFSZ did before it was ignored.
#[derive(Clone, Copy, Debug)]
pub struct FileSizeSignal(Option<SigHandler>);

/// Makes a write beyond the limit of a file's size (`ulimit -f`) an error and not the program's end,
/// which would leave plaintext behind. Gives what to restore for other programs.
pub fn ignore_file_size_signal() -> FileSizeSignal {
    // SAFETY: no handler is installed; the disposition "ignore" runs no code.
    FileSizeSignal(unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.ok())
}

impl FileSizeSignal {
    /// Sets the disposition as it was before.
    pub fn restore(self) {
        if let Some(SigHandler::SigDfl) = self.0 {
            // SAFETY: no handler is installed; the default disposition runs no code of this program.
            let _ = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigDfl) };
        }
    }
}

/// Lets this process hear of the end of its children, whatever it was started with.
pub fn default_child_signal() {
    // SAFETY: no handler is installed; the default disposition runs no code of this program.
    let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) };
}

/// A set of signals, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals(u64);

impl Signals {
    /// Whether a signal is in the set.
    #[must_use]
    pub fn contains(self, signal: i32) -> bool {
        (1..=64).contains(&signal) && self.0 >> (signal - 1) & 1 == 1
    }
}

/// The signals that this process ignores; those of `nohup` must stay ignored.
#[must_use]
pub fn ignored_signals() -> Signals {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    Signals(parse_ignored(&status).unwrap_or(0))
}

fn parse_ignored(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    u64::from_str_radix(line?.trim(), 16).ok()
}

/// Number of threads of this process.
#[must_use]
pub fn threads() -> usize {
    fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_bits_from_one() {
        let set = Signals(parse_ignored("Name:\tx\nSigIgn:\t0000000000001001\n").unwrap());
        assert!(set.contains(1) && set.contains(13));
        assert!(!set.contains(2) && !set.contains(0) && !set.contains(65));
        assert_eq!(parse_ignored("Name:\tx\n"), None);
    }
}
