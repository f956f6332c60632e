//! Ctrl-C, SIGTERM and other signals: the first ends the work cleanly, the second ends the program at once.

use crate::error::{CliError, interrupted};
use crate::process;
use nix::sys::signal::Signal;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The signals that end a program by default and can be sent to it from outside.
const HANDLED: [Signal; 8] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGALRM,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGXCPU,
];

/// Says whether a signal asked the work to end. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicUsize>);

impl Cancel {
    /// Handles the signals that end a program from here on, except those that the program was started
    /// to ignore (`nohup`). Call it once nothing waits for the user any more: a handled Ctrl-C does
    /// not end a prompt.
    ///
    /// # Errors
    /// [`CliError::Usage`] where the system refuses handlers.
    pub fn on_signals() -> Result<Cancel, CliError> {
        let cancel = Cancel::default();
        let again = Arc::new(AtomicBool::new(false));
        let ignored = process::ignored_signals();
        for handled in HANDLED {
            let signal = handled as i32;
            if ignored.contains(signal) {
                continue;
            }
            let failed = |error| CliError::usage(format!("cannot handle signals: {error}"));
            // The kernel repeats SIGXCPU every second, however soon the work ends.
            if handled != Signal::SIGXCPU {
                // In this order: at the first signal the second handler arms the first one.
                flag::register_conditional_shutdown(
                    signal,
                    i32::from(interrupted(signal)),
                    Arc::clone(&again),
                )
                .and_then(|_| flag::register(signal, Arc::clone(&again)))
                .map_err(failed)?;
            }
            flag::register_usize(signal, Arc::clone(&cancel.0), signal as usize).map_err(failed)?;
        }
        Ok(cancel)
    }

    /// The signal that asked the work to end.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}
