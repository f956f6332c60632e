//! Servers on this machine's loopback address, each ended with the value that holds it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// An address that nothing listens on.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
}

/// A server process.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts a program and waits until it accepts connections.
    pub(crate) fn start(
        program: &Path,
        home: &Path,
        environment: &[(&str, String)],
        arguments: impl Fn(SocketAddr) -> Vec<String>,
    ) -> Server {
        // Another process may take a free port before the program does: then another is tried.
        for _ in 0..5 {
            let address = free_address();
            let child = Command::new(program)
                .args(arguments(address))
                .env("HOME", home)
                .envs(environment.iter().map(|(name, value)| (name, value)))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut server = Server { child, address };
            if server.accepts_within(Duration::from_secs(120)) {
                return server;
            }
        }
        panic!("{} does not start", program.display());
    }

    fn accepts_within(&mut self, limit: Duration) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < limit && self.child.try_wait().unwrap().is_none() {
            if TcpStream::connect(self.address).is_ok() {
                return true;
            }
            thread::yield_now();
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ended by itself already: nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Accepts connections and never answers.
pub(crate) fn silent() -> TcpListener {
    TcpListener::bind(("127.0.0.1", 0)).unwrap()
}

/// An HTTP server that gives fixed answers, one a connection; the last is repeated.
pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    served: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    /// Each answer is a status and a JSON body.
    pub(crate) fn answering(answers: &[(u16, &str)]) -> Stub {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let stub = Stub {
            address: listener.local_addr().unwrap(),
            served: Arc::default(),
            requests: Arc::default(),
        };
        let answers: Vec<(u16, String)> = answers
            .iter()
            .map(|(status, body)| (*status, (*body).to_owned()))
            .collect();
        let (served, requests) = (Arc::clone(&stub.served), Arc::clone(&stub.requests));
        // It ends with the test process: nothing else holds on to it.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let turn = served.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
                let (status, body) = &answers[turn];
                serve(stream, *status, body, &requests);
            }
        });
        stub
    }

    /// Connections so far.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }

    /// The requests as text, with headers.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Reads one request, records it, and only then answers: the client may look at once.
fn serve(mut stream: TcpStream, status: u16, body: &str, requests: &Mutex<Vec<String>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request).to_lowercase();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |length| length.trim().parse().unwrap_or(0));
            if rest.len() >= length {
                break;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&buffer[..count]),
        }
    }
    let answer = format!(
        "HTTP/1.1 {status} Stub\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         location: http://127.0.0.1:1/\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let request = String::from_utf8_lossy(&request).into_owned();
    requests.lock().unwrap().push(request);
    // A client that went away is its own test's matter.
    let _ = stream.write_all(answer.as_bytes());
}
