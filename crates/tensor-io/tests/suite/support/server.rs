//! A small HTTP/1.1 server on the loopback interface whose routes misbehave on demand.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How to answer one request.
pub(crate) enum Answer {
    /// The range asked for (the whole body if none was asked), with this ETag.
    Good(&'static str),
    /// 200 and the whole body, whatever was asked.
    Whole,
    /// Like `Good("e")`, but the connection ends after so many bytes of the body.
    CutAfter(usize),
    /// A redirect to this Location.
    Redirect(String),
    /// An empty answer with this status.
    Status(u16),
    /// The range asked for with this Content-Range header (`None`: without one).
    ContentRange(Option<String>),
    /// The connection ends without an answer.
    HangUp,
}

type Script = Box<dyn Fn(usize) -> Answer + Send + Sync>;

/// A path's content, and its behaviour at the n-th request.
pub(crate) struct Route {
    body: Vec<u8>,
    script: Script,
    requests: AtomicU64,
}

impl Route {
    pub(crate) fn new(
        body: Vec<u8>,
        script: impl Fn(usize) -> Answer + Send + Sync + 'static,
    ) -> Route {
        Route {
            body,
            script: Box::new(script),
            requests: AtomicU64::new(0),
        }
    }

    pub(crate) fn good(body: Vec<u8>) -> Route {
        Route::new(body, |_| Answer::Good("e"))
    }
}

/// What a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) range: Option<(usize, usize)>,
    pub(crate) authorization: Option<String>,
}

struct Shared {
    routes: HashMap<String, Route>,
    log: Mutex<Vec<Request>>,
    body_bytes: AtomicU64,
    stop: AtomicBool,
}

pub(crate) struct Server {
    port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(routes: Vec<(&str, Route)>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            routes: routes
                .into_iter()
                .map(|(path, route)| (path.to_owned(), route))
                .collect(),
            log: Mutex::new(Vec::new()),
            body_bytes: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if for_thread.stop.load(Ordering::SeqCst) {
                    break;
                }
                // A client that hung up is its own business.
                let _ = stream.and_then(|stream| for_thread.serve(stream));
            }
        });
        Server {
            port,
            shared,
            thread: Some(thread),
        }
    }

    /// The server's address, without a slash at the end.
    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.log.lock().unwrap().clone()
    }

    /// Bytes of answer bodies sent so far.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.shared.body_bytes.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Answers one request and closes the connection.
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let Some(request) = read_request(&stream)? else {
            return Ok(());
        };
        self.log.lock().unwrap().push(request.clone());
        let Some(route) = self.routes.get(&request.path) else {
            return head(&mut stream, 404, 0, "");
        };
        let nth = route.requests.fetch_add(1, Ordering::SeqCst) as usize;
        let body = &route.body;
        let answer = (route.script)(nth);
        match answer {
            Answer::Status(status) => head(&mut stream, status, 0, ""),
            Answer::Redirect(to) => head(&mut stream, 302, 0, &format!("Location: {to}\r\n")),
            Answer::HangUp => Ok(()),
            Answer::Whole => {
                head(&mut stream, 200, body.len(), "")?;
                self.send(&mut stream, body)
            }
            Answer::Good(etag) => self.ranged(stream, body, request.range, etag, usize::MAX),
            Answer::CutAfter(count) => self.ranged(stream, body, request.range, "e", count),
            Answer::ContentRange(line) => {
                let (first, last) = request.range.unwrap_or((0, body.len() - 1));
                let part = &body[first..=last.min(body.len() - 1)];
                let line = line.map_or(String::new(), |l| format!("Content-Range: {l}\r\n"));
                head(&mut stream, 206, part.len(), &line)?;
                self.send(&mut stream, part)
            }
        }
    }

    fn ranged(
        &self,
        mut stream: TcpStream,
        body: &[u8],
        range: Option<(usize, usize)>,
        etag: &str,
        count: usize,
    ) -> std::io::Result<()> {
        let Some((first, last)) = range else {
            head(
                &mut stream,
                200,
                body.len(),
                &format!("ETag: \"{etag}\"\r\n"),
            )?;
            return self.send(&mut stream, &body[..count.min(body.len())]);
        };
        if first >= body.len() {
            return head(
                &mut stream,
                416,
                0,
                &format!("Content-Range: bytes */{}\r\n", body.len()),
            );
        }
        let last = last.min(body.len() - 1);
        let part = &body[first..=last];
        let lines = format!(
            "Content-Range: bytes {first}-{last}/{}\r\nETag: \"{etag}\"\r\n",
            body.len()
        );
        head(&mut stream, 206, part.len(), &lines)?;
        self.send(&mut stream, &part[..count.min(part.len())])
    }

    fn send(&self, stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
        self.body_bytes
            .fetch_add(bytes.len() as u64, Ordering::SeqCst);
        stream.write_all(bytes)
    }
}

fn head(stream: &mut TcpStream, status: u16, length: usize, lines: &str) -> std::io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status} Status\r\nContent-Length: {length}\r\nConnection: close\r\n{lines}\r\n"
    );
    stream.write_all(text.as_bytes())
}

fn read_request(stream: &TcpStream) -> std::io::Result<Option<Request>> {
    let mut lines = BufReader::new(stream).lines();
    let Some(first) = lines.next().transpose()? else {
        return Ok(None);
    };
    let path = first.split(' ').nth(1).unwrap().to_owned();
    let (mut range, mut authorization) = (None, None);
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap();
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let (first, last) = value
                    .strip_prefix("bytes=")
                    .unwrap()
                    .split_once('-')
                    .unwrap();
                range = Some((first.parse().unwrap(), last.parse().unwrap()));
            }
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    Ok(Some(Request {
        path,
        range,
        authorization,
    }))
}
