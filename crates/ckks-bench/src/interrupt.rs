//! Ctrl-C: the first ends the run after the current stage, the second ends it at once.

use crate::error::{BenchError, Outcome};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that asks a run to stop. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that nothing sets but [`Interrupt::set`].
    #[must_use]
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// A flag that Ctrl-C sets. Call once per process.
    ///
    /// # Errors
    /// [`BenchError::Usage`] where the process already has a handler.
    pub fn on_ctrl_c() -> Result<Interrupt, BenchError> {
        Interrupt::on_ctrl_c_saying(
            "interrupted: the current stage is finished first, then what was measured is \
             reported; press Ctrl-C again to stop at once",
        )
    }

    /// As [`Interrupt::on_ctrl_c`], with what the first Ctrl-C prints on standard error.
    ///
    /// # Errors
    /// As [`Interrupt::on_ctrl_c`].
    pub fn on_ctrl_c_saying(message: &'static str) -> Result<Interrupt, BenchError> {
        let interrupt = Interrupt::new();
        let flag = interrupt.clone();
        ctrlc::set_handler(move || {
            let mut stderr = std::io::stderr();
            if flag.0.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(Outcome::Interrupted.exit_code()));
            }
            let _ = writeln!(stderr, "\n{message}");
        })
        .map_err(|error| BenchError::usage(format!("cannot handle Ctrl-C: {error}")))?;
        Ok(interrupt)
    }

    /// Asks the run to stop after the current stage.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
