//! Ctrl-C and SIGTERM: the first ends the work cleanly, the second ends the program at once.

use crate::error::{CliError, interrupted};
use crate::process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Says whether a signal asked the work to end. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicUsize>);

impl Cancel {
    /// Handles SIGINT, SIGTERM and SIGHUP from here on, except those that the program was started
    /// to ignore (`nohup`). Call it once nothing waits for the user any more: a handled Ctrl-C does
    /// not end a prompt.
    ///
    /// # Errors
    /// [`CliError::Usage`] where the system refuses handlers.
    pub fn on_signals() -> Result<Cancel, CliError> {
        let cancel = Cancel::default();
        let again = Arc::new(AtomicBool::new(false));
        let ignored = process::ignored_signals();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored.contains(signal) {
                continue;
            }
            // In this order: at the first signal the second handler arms the first one.
            flag::register_conditional_shutdown(
                signal,
                i32::from(interrupted(signal)),
                Arc::clone(&again),
            )
            .and_then(|_| flag::register(signal, Arc::clone(&again)))
            .and_then(|_| flag::register_usize(signal, Arc::clone(&cancel.0), signal as usize))
            .map_err(|error| CliError::usage(format!("cannot handle signals: {error}")))?;
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
