//! The threads that a backend computes on.

use crate::BackendError;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::cell::RefCell;
use std::sync::Arc;
use std::thread::ThreadId;

thread_local! {
    /// The pool that this thread belongs to, with its size. A thread can join one pool in its life.
    static OWN: RefCell<Option<(usize, Arc<ThreadPool>)>> = const { RefCell::new(None) };
}

/// A pool that the calling thread is part of where possible: handing each step to another thread
/// and waiting for it costs tens of microseconds, more when the machine is busy.
#[derive(Debug)]
pub(super) struct Workers {
    threads: usize,
    pool: Arc<ThreadPool>,
    /// The thread that is part of the pool, if one is: only it may use the pool.
    member: Option<ThreadId>,
}

impl Workers {
    pub(super) fn new(threads: usize) -> Result<Self, BackendError> {
        let member = Some(std::thread::current().id());
        let known = OWN.with_borrow(|own| own.clone());
        match known {
            Some((size, pool)) if size == threads => Ok(Self {
                threads,
                pool,
                member,
            }),
            // A thread that is in another pool cannot be in this one too.
            Some(_) => Ok(Self {
                threads,
                pool: separate(threads)?,
                member: None,
            }),
            None => match ThreadPoolBuilder::new()
                .num_threads(threads)
                .use_current_thread()
                .build()
            {
                Ok(pool) => {
                    let pool = Arc::new(pool);
                    OWN.set(Some((threads, Arc::clone(&pool))));
                    Ok(Self {
                        threads,
                        pool,
                        member,
                    })
                }
                Err(_) => Ok(Self {
                    threads,
                    pool: separate(threads)?,
                    member: None,
                }),
            },
        }
    }

    /// The pool, for the calling thread.
    pub(super) fn pool(&mut self) -> Result<Arc<ThreadPool>, BackendError> {
        if self
            .member
            .is_some_and(|member| member != std::thread::current().id())
        {
            // The backend was sent to another thread: the pool would wait for its member.
            self.pool = separate(self.threads)?;
            self.member = None;
        }
        Ok(Arc::clone(&self.pool))
    }
}

fn separate(threads: usize) -> Result<Arc<ThreadPool>, BackendError> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map(Arc::new)
        .map_err(|error| {
            BackendError::BadArgument(format!(
                "{threads} threads could not be started ({error}); give --threads a smaller number"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_serve_the_thread_that_asks() {
        for threads in [1, 2, 1] {
            let mut workers = Workers::new(threads).unwrap();
            assert_eq!(
                workers.pool().unwrap().install(rayon::current_num_threads),
                threads
            );
            let sent = std::thread::spawn(move || {
                workers.pool().unwrap().install(rayon::current_num_threads)
            });
            assert_eq!(sent.join().unwrap(), threads);
        }
    }
}
