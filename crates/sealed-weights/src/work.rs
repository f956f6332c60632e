//! Work on many chunks at once, with progress and cancellation.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::error::SealError;

/// Hears of progress, and may stop the work.
pub trait Progress: Sync {
    /// Called from any thread after `bytes` more of plaintext are done. `Break` cancels: the work
    /// ends with [`SealError::Cancelled`] and leaves nothing behind.
    fn advance(&self, bytes: u64) -> ControlFlow<()>;
}

/// No one hears, nothing is cancelled.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn advance(&self, _bytes: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// How to do the work.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Threads to use, counting the caller's.
    pub threads: NonZeroUsize,
    /// Who hears of it.
    pub progress: &'a dyn Progress,
}

impl std::fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work")
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl Default for Work<'_> {
    /// As many threads as the process may run at once; silent.
    fn default() -> Self {
        Work {
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            progress: &Silent,
        }
    }
}

/// Most bytes of chunks that the threads of one piece of work hold between them.
const MAX_SCRATCH: usize = 32 << 20;

impl<'a> Work<'a> {
    /// The same work by no more threads than may each hold a chunk of this many bytes.
    pub(crate) fn holding(&self, chunk_bytes: usize) -> Work<'a> {
        let most = NonZeroUsize::new(MAX_SCRATCH / chunk_bytes.max(1)).unwrap_or(NonZeroUsize::MIN);
        Work {
            threads: self.threads.min(most),
            progress: self.progress,
        }
    }
}

impl Work<'_> {
    /// Takes the items in order, each by one thread, and calls `step` with the thread's own
    /// scratch; `step` returns the bytes done. The first failure, by order of items, is returned,
    /// and no further items are taken after one.
    ///
    /// # Errors
    /// That failure; [`SealError::Cancelled`]; [`SealError::Worker`] if a thread panicked.
    pub fn for_each<T, S>(
        &self,
        items: impl Iterator<Item = T> + Send,
        scratch: impl Fn() -> S + Sync,
        step: impl Fn(T, &mut S) -> Result<u64, SealError> + Sync,
    ) -> Result<(), SealError> {
        // A small file is not worth a thread for each processor.
        let most = items.size_hint().1.unwrap_or(usize::MAX).max(1);
        let threads = self.threads.get().min(most);
        let items = Mutex::new(items.enumerate());
        let stop = AtomicBool::new(false);
        let work = || {
            let mut scratch = scratch();
            while !stop.load(Ordering::Relaxed) {
                let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((order, item)) = next else { break };
                let done =
                    step(item, &mut scratch).and_then(|bytes| match self.progress.advance(bytes) {
                        ControlFlow::Continue(()) => Ok(()),
                        ControlFlow::Break(()) => Err(SealError::Cancelled),
                    });
                if let Err(error) = done {
                    stop.store(true, Ordering::Relaxed);
                    return Some((order, error));
                }
            }
            None
        };
        let failures = thread::scope(|scope| {
            // Where the system gives no more threads, those that there are do the work.
            let others: Vec<_> = (1..threads)
                .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
                .collect();
            let mut failures = vec![Ok(work())];
            failures.extend(others.into_iter().map(|thread| thread.join()));
            failures
        });
        let mut first: Option<(usize, SealError)> = None;
        for failure in failures {
            let failure = failure.unwrap_or(Some((usize::MAX, SealError::Worker)));
            first = match (first, failure) {
                (Some(one), Some(two)) => Some(if one.0 <= two.0 { one } else { two }),
                (one, two) => one.or(two),
            };
        }
        first.map_or(Ok(()), |(_, error)| Err(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn every_item_is_done_once_and_the_first_failure_is_told() {
        for threads in [1, 3] {
            let work = Work {
                threads: NonZeroUsize::new(threads).unwrap(),
                progress: &Silent,
            };
            let sum = AtomicU64::new(0);
            work.for_each(
                0..1000u64,
                || (),
                |item, ()| {
                    sum.fetch_add(item, Ordering::Relaxed);
                    Ok(1)
                },
            )
            .unwrap();
            assert_eq!(sum.into_inner(), 499_500);
            let failed = work.for_each(
                0..1000u64,
                || (),
                |item, ()| {
                    if item == 7 {
                        Err(SealError::Cipher)
                    } else {
                        Ok(1)
                    }
                },
            );
            assert!(matches!(failed, Err(SealError::Cipher)));
        }
    }

    #[test]
    fn a_break_cancels() {
        struct Stop;
        impl Progress for Stop {
            fn advance(&self, _bytes: u64) -> ControlFlow<()> {
                ControlFlow::Break(())
            }
        }
        let work = Work {
            threads: NonZeroUsize::MIN,
            progress: &Stop,
        };
        let cancelled = work.for_each(0..2, || (), |_, ()| Ok(1));
        assert!(matches!(cancelled, Err(SealError::Cancelled)));
    }
}
