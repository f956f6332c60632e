//! The end of a worker's standard error.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Most lines of standard error that are kept.
pub const STDERR_LINES: usize = 20;
/// Most bytes of standard error that are kept.
pub const STDERR_BYTES: usize = 8192;

/// How long a worker that ended may keep standard error open through a process of its own.
const LINGER: Duration = Duration::from_secs(1);

/// The last lines of standard error, read while the worker runs.
#[derive(Debug)]
pub struct Tail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    /// Disconnected at the end of standard error.
    end: Receiver<()>,
}

impl Tail {
    /// Reads all the time, so that the worker never waits for a full pipe.
    pub fn read(mut source: impl Read + Send + 'static) -> Tail {
        let bytes = Arc::new(Mutex::new(VecDeque::new()));
        let shared = Arc::clone(&bytes);
        let (sender, end) = channel();
        thread::spawn(move || {
            let _until_the_end: Sender<()> = sender;
            let mut chunk = [0; 4096];
            while let Ok(length @ 1..) = source.read(&mut chunk) {
                let mut tail = shared.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend(&chunk[..length]);
                let excess = tail.len().saturating_sub(STDERR_BYTES);
                tail.drain(..excess);
            }
        });
        Tail { bytes, end }
    }

    /// The last lines, at most [`STDERR_LINES`] and [`STDERR_BYTES`], once the worker ended.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        // Not without a limit: a process that the worker left behind may never close the pipe.
        let _ = self.end.recv_timeout(LINGER);
        let mut tail = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(tail.make_contiguous());
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(STDERR_LINES)..]
            .iter()
            .map(|line| (*line).to_owned())
            .collect()
    }
}
