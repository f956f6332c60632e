//! The progress of a sweep on standard error.

use bench_report::units::seconds;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::fmt;
use std::time::{Duration, Instant};

/// Points done, the point that runs, and an estimate of the remaining time. Nothing where standard
/// error is no terminal.
pub struct SweepProgress {
    bar: ProgressBar,
    start: Instant,
    total_work: u64,
    work_done: Cell<u64>,
}

impl SweepProgress {
    /// For so many points and their work together, in any unit.
    #[must_use]
    pub fn new(total_work: u64, points: usize) -> SweepProgress {
        let bar = ProgressBar::with_draw_target(Some(points as u64), ProgressDrawTarget::stderr());
        // The template is constant; a wrong one would only cost its look.
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {pos}/{len} {bar:20} {elapsed} {msg}")
        {
            bar.set_style(style);
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        SweepProgress {
            bar,
            start: Instant::now(),
            total_work,
            work_done: Cell::new(0),
        }
    }

    /// Names the point that runs.
    pub fn start(&self, name: &str) {
        let left = remaining(
            self.start.elapsed(),
            self.work_done.get(),
            self.total_work.saturating_sub(self.work_done.get()),
        );
        self.bar.set_message(match left {
            Some(left) => format!("about {} left, {name}", seconds(left)),
            None => name.to_owned(),
        });
    }

    /// A point of this work is done.
    pub fn finish(&self, work: u64) {
        self.work_done
            .set(self.work_done.get().saturating_add(work));
        self.bar.inc(1);
    }

    /// Takes the progress off the screen while something is printed.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

/// Seconds for the work that is left, at the speed so far; `None` before the first point is done.
fn remaining(elapsed: Duration, done: u64, left: u64) -> Option<f64> {
    (done > 0).then(|| elapsed.as_secs_f64() * left as f64 / done as f64)
}

impl Drop for SweepProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl fmt::Debug for SweepProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SweepProgress").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_by_hand() {
        assert_eq!(remaining(Duration::from_secs(10), 0, 5), None);
        assert_eq!(remaining(Duration::from_secs(10), 4, 6), Some(15.0));
        assert_eq!(remaining(Duration::from_secs(10), 4, 0), Some(0.0));
    }
}
