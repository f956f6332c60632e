//! Progress on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt;
use std::time::Duration;

const STEPS: u64 = 1000;

/// Shows which stage runs and, where a backend reports it, how far it is.
pub struct Progress {
    bar: ProgressBar,
    /// For stages whose end is not known.
    spinner: ProgressStyle,
    /// For stages that report how far they are.
    fraction: ProgressStyle,
}

impl Progress {
    /// On standard error where that is a terminal and `quiet` is not set, nowhere otherwise.
    #[must_use]
    pub fn new(quiet: bool) -> Progress {
        let style = |template| {
            // The templates are constant; a wrong one would only cost their look.
            ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_spinner())
        };
        // indicatif hides itself where standard error is not a terminal.
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let progress = Progress {
            bar: ProgressBar::with_draw_target(Some(STEPS), target),
            spinner: style("{spinner} {prefix}{msg}, {elapsed}"),
            fraction: style("{spinner} {prefix}{msg} {bar:20} {elapsed}"),
        };
        progress.bar.set_style(progress.spinner.clone());
        progress.bar.set_message("starting");
        if !progress.bar.is_hidden() {
            progress.bar.enable_steady_tick(Duration::from_millis(100));
        }
        progress
    }

    /// Shows nothing.
    #[must_use]
    pub fn hidden() -> Progress {
        Progress::new(true)
    }

    /// Names the configuration that runs.
    pub fn configuration(&self, name: &str) {
        self.bar.set_prefix(format!("{name}, "));
    }

    /// Names the stage that runs.
    pub fn stage(&self, name: String) {
        self.bar.set_style(self.spinner.clone());
        self.bar.set_position(0);
        self.bar.reset_elapsed();
        self.bar.set_message(name);
    }

    /// How far the stage is, from 0 to 1.
    pub fn fraction(&self, fraction: f64) {
        if self.bar.position() == 0 {
            self.bar.set_style(self.fraction.clone());
        }
        self.bar
            .set_position((fraction.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }

    /// Takes the progress off the screen while something is printed.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("bar", &self.bar)
            .finish_non_exhaustive()
    }
}
