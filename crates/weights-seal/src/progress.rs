//! Progress on standard error, and the rate of the work.

use crate::cancel::Cancel;
use crate::error::CliError;
use crate::units;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealed_weights::error::SealError;
use sealed_weights::work::Progress;
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Counts plaintext bytes, shows them where standard error is a terminal, and passes on that a
/// signal asked the work to end.
pub struct Meter {
    bar: ProgressBar,
    cancel: Cancel,
    start: Instant,
}

impl Meter {
    /// For work on `bytes` of plaintext.
    #[must_use]
    pub fn new(what: &'static str, bytes: u64, quiet: bool, cancel: Cancel) -> Meter {
        // indicatif hides itself where standard error is not a terminal.
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(bytes), target);
        // The template is constant; a wrong one would only cost its look.
        let style = ProgressStyle::with_template(
            "{msg} {bar:24} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {eta} left",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_message(what);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Meter {
            bar,
            cancel,
            start: Instant::now(),
        }
    }

    /// Takes the bar off the screen; gives the time since the start.
    pub fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.start.elapsed()
    }

    /// What to report of a failure: an interruption as such.
    pub fn failure(&self, error: SealError) -> CliError {
        self.bar.finish_and_clear();
        match (error, self.cancel.signal()) {
            (SealError::Cancelled, Some(signal)) => CliError::Interrupted { signal },
            (error, _) => CliError::Seal(error),
        }
    }
}

/// `SIZE in SECONDS (RATE)`.
#[must_use]
pub fn summary(bytes: u64, elapsed: Duration) -> String {
    format!(
        "{} in {:.2} s ({})",
        units::bytes(bytes),
        elapsed.as_secs_f64(),
        units::rate(bytes, elapsed)
    )
}

impl Progress for Meter {
    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        self.bar.inc(bytes);
        match self.cancel.signal() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("bar", &self.bar)
            .finish_non_exhaustive()
    }
}
