//! A worker process: started, asked, watched, ended.

use super::ended::Ended;
use super::frame::{Frame, FrameError, read_frame, write_frame};
use super::resident;
use super::stderr::Tail;
use std::io::{self, BufReader, BufWriter};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// How often the worker's end and its memory are looked at while a reply is awaited.
const TICK: Duration = Duration::from_millis(20);
/// How long a worker that closed its output may take to exit.
const LINGER: Duration = Duration::from_secs(1);

/// What a worker may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// For each call up to `open`.
    pub start: Duration,
    /// For each call after it.
    pub call: Duration,
    /// Between the reply to `close` and the end of the process.
    pub exit: Duration,
    /// Resident memory in bytes; `None` for no limit.
    pub memory: Option<u64>,
}

impl Default for Limits {
    /// 120 s, 600 s, 10 s, no limit of memory.
    fn default() -> Self {
        Self {
            start: Duration::from_secs(120),
            call: Duration::from_secs(600),
            exit: Duration::from_secs(10),
            memory: None,
        }
    }
}

/// What a worker did that ends it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkerFault {
    /// It could not be started.
    #[error("it could not be started: {0}")]
    Start(#[source] io::Error),
    /// It ended without the reply.
    #[error("it {ended} without having answered")]
    Ended {
        /// How.
        ended: Ended,
    },
    /// It closed its output and stayed.
    #[error("it closed its output without having answered, and did not exit")]
    Closed,
    /// No reply in time.
    #[error("it did not answer within {limit:?}")]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// Too much memory.
    #[error("it used {used} bytes of memory; the limit is {limit}")]
    Memory {
        /// Resident bytes when it was ended.
        used: u64,
        /// The limit.
        limit: u64,
    },
    /// What it sent is no frame.
    #[error("its answer is malformed: {0}")]
    Frame(#[source] FrameError),
}

/// A running worker.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    /// `None` once the worker was told to end.
    requests: Option<Sender<(Vec<u8>, Vec<f64>)>>,
    replies: Receiver<Result<Frame, FrameError>>,
    /// Longest payload that the next reply may have, in bytes.
    allowed: Arc<AtomicU64>,
    stderr: Tail,
    memory_limit: Option<u64>,
}

impl Worker {
    /// Starts the command with pipes of its own, in a process group of its own. On Linux the
    /// process is ended with the thread that calls this.
    ///
    /// # Errors
    /// [`WorkerFault::Start`].
    pub(super) fn start(
        mut command: Command,
        memory_limit: Option<u64>,
    ) -> Result<Worker, WorkerFault> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        end_with_parent(&mut command);
        let mut child = command.spawn().map_err(WorkerFault::Start)?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            let _ = child.kill();
            return Err(WorkerFault::Start(io::Error::other("no pipes")));
        };
        let allowed = Arc::new(AtomicU64::new(0));
        let (requests, to_write) = channel::<(Vec<u8>, Vec<f64>)>();
        // Threads, so that a worker that neither reads nor writes holds nobody up.
        thread::spawn(move || {
            let mut out = BufWriter::new(stdin);
            for (header, payload) in to_write {
                if write_frame(&mut out, &header, &payload).is_err() {
                    // The worker's end says more, and is seen by the reader.
                    break;
                }
            }
        });
        let (sender, replies) = channel();
        let limit = Arc::clone(&allowed);
        thread::spawn(move || {
            let mut input = BufReader::new(stdout);
            loop {
                let frame = read_frame(&mut input, || limit.load(Ordering::Acquire));
                let last = frame.is_err();
                if sender.send(frame).is_err() || last {
                    break;
                }
            }
        });
        Ok(Worker {
            child,
            requests: Some(requests),
            replies,
            allowed,
            stderr: Tail::read(stderr),
            memory_limit,
        })
    }

    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// [`WorkerFault`]; the worker has then been ended.
    pub(super) fn ask(
        &mut self,
        header: Vec<u8>,
        payload: Vec<f64>,
        max_payload: u64,
        limit: Duration,
    ) -> Result<Frame, WorkerFault> {
        self.allowed.store(max_payload, Ordering::Release);
        let sent = self
            .requests
            .as_ref()
            .is_some_and(|requests| requests.send((header, payload)).is_ok());
        let answer = if sent {
            self.answer(limit)
        } else {
            self.how_it_ended()
        };
        if answer.is_err() {
            self.kill();
        }
        answer
    }

    fn answer(&mut self, limit: Duration) -> Result<Frame, WorkerFault> {
        let start = Instant::now();
        loop {
            match self.replies.recv_timeout(TICK) {
                Ok(Ok(frame)) => return Ok(frame),
                Ok(Err(FrameError::End | FrameError::Truncated))
                | Err(RecvTimeoutError::Disconnected) => {
                    return self.how_it_ended();
                }
                Ok(Err(error)) => return Err(WorkerFault::Frame(error)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if start.elapsed() >= limit {
                return Err(WorkerFault::TimedOut { limit });
            }
            if let (Some(limit), Some(used)) = (self.memory_limit, resident::of(self.child.id()))
                && used > limit
            {
                return Err(WorkerFault::Memory { used, limit });
            }
        }
    }

    /// Its output has ended: why.
    fn how_it_ended(&mut self) -> Result<Frame, WorkerFault> {
        Err(match self.wait(LINGER) {
            Some(ended) => WorkerFault::Ended { ended },
            None => WorkerFault::Closed,
        })
    }

    /// How it ended, if it does within that time.
    fn wait(&mut self, limit: Duration) -> Option<Ended> {
        let start = Instant::now();
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status.into());
            }
            if start.elapsed() >= limit {
                return None;
            }
            thread::sleep(TICK);
        }
    }

    /// After the reply to the last request: closes the worker's input and waits for status 0.
    ///
    /// # Errors
    /// [`WorkerFault::Ended`] with another status, [`WorkerFault::TimedOut`].
    pub(super) fn finish(&mut self, limit: Duration) -> Result<(), WorkerFault> {
        self.requests = None;
        let ended = self.wait(limit);
        // What it started and left behind goes with it.
        self.kill_group();
        match ended {
            Some(Ended::Exited(0)) => Ok(()),
            Some(ended) => Err(WorkerFault::Ended { ended }),
            None => {
                self.kill();
                Err(WorkerFault::TimedOut { limit })
            }
        }
    }

    /// The last lines of its standard error.
    pub(super) fn stderr(&self) -> Vec<String> {
        self.stderr.lines()
    }

    fn kill(&mut self) {
        self.requests = None;
        self.kill_group();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Ends every process of the worker's group that is still there.
    fn kill_group(&self) {
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Asks the kernel to end the child when this thread ends, however that happens.
#[cfg(target_os = "linux")]
fn end_with_parent(command: &mut Command) {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    use std::os::unix::process::CommandExt;
    let parent = std::process::id();
    // SAFETY: between fork and exec the closure makes two system calls, which are
    // async-signal-safe, and allocates nothing: an error from a raw number is a plain value.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before the kernel was asked.
            let alive = getppid().is_some_and(|pid| pid.as_raw_nonzero().get() as u32 == parent);
            if alive {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(
                    rustix::io::Errno::SRCH.raw_os_error(),
                ))
            }
        });
    }
}

#[cfg(not(target_os = "linux"))]
fn end_with_parent(_: &mut Command) {}
