//! `ckks-bench worker` as a process, on good and bad shared objects.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[path = "common/objects.rs"]
mod objects;
mod program;
#[allow(dead_code, reason = "each test program uses its own part")]
#[path = "common/textbook.rs"]
mod textbook;

use ckks_backend::worker::frame::{Frame, FrameError, MAX_PAYLOAD, read_frame, write_frame};
use objects::object;
use program::program;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::thread::JoinHandle;
use textbook::{Layer, Matrix, Slot, largest_error, random_vector};

/// A worker, and what it wrote to standard error so far.
struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    stderr: Option<JoinHandle<String>>,
    last: u64,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    fn start(library: &Path) -> Worker {
        let mut child = program()
            .arg("worker")
            .arg("--library")
            .arg(library)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        });
        Worker {
            input: child.stdin.take(),
            output: child.stdout.take().unwrap(),
            stderr: Some(stderr),
            child,
            last: 0,
        }
    }

    /// A worker that has been greeted.
    fn greeted(library: &Path) -> Worker {
        let mut worker = Worker::start(library);
        let hello = worker.ok(json!({"call": "hello", "protocol": 1}));
        assert_eq!(
            (&hello["protocol"], &hello["dialect"]),
            (&json!(1), &json!("slots"))
        );
        worker
    }

    fn send(&mut self, mut request: Value, payload: &[f64]) {
        self.last += 1;
        request["id"] = json!(self.last);
        let header = request.to_string().into_bytes();
        write_frame(self.input.as_mut().unwrap(), &header, payload).unwrap();
    }

    fn receive(&mut self) -> Result<Frame, FrameError> {
        read_frame(&mut self.output, || MAX_PAYLOAD)
    }

    /// A request and its reply, with its payload.
    fn ask(&mut self, request: Value, payload: &[f64]) -> (Value, Vec<f64>) {
        self.send(request, payload);
        let frame = self.receive().unwrap();
        let reply: Value = serde_json::from_slice(&frame.header).unwrap();
        assert_eq!(reply["id"], json!(self.last));
        (reply, frame.payload)
    }

    /// A request that must succeed.
    fn ok_with(&mut self, request: Value, payload: &[f64]) -> (Value, Vec<f64>) {
        let name = request.to_string();
        let (mut reply, payload) = self.ask(request, payload);
        let seconds = reply["seconds"].as_f64();
        assert!(
            seconds.is_some_and(|seconds| seconds >= 0.0),
            "{name}: {reply}"
        );
        (reply["ok"].take(), payload)
    }

    fn ok(&mut self, request: Value) -> Value {
        let (reply, payload) = self.ok_with(request, &[]);
        assert!(payload.is_empty());
        reply
    }

    /// A request that must fail: its code and message.
    fn failure_with(&mut self, request: Value, payload: &[f64]) -> (String, String) {
        let (reply, payload) = self.ask(request, payload);
        assert!(payload.is_empty());
        assert_eq!(reply.get("ok"), None, "{reply}");
        let text = |name: &str| reply["error"][name].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    }

    fn failure(&mut self, request: Value) -> (String, String) {
        self.failure_with(request, &[])
    }

    fn call(&mut self, name: &str) -> Value {
        self.ok(json!({"call": name}))
    }

    fn open(&mut self) -> Value {
        self.ok(open())
    }

    fn prepare(&mut self, layer: &Layer) {
        self.ok(json!({"call": "keys", "steps": layer.steps()}));
        self.ok(begin(layer));
        // Two requests, to see that diagonals may come in parts.
        let (some, others) = layer.diagonals.split_at(layer.diagonals.len() / 2);
        self.ok_with(
            json!({"call": "prepare_diagonals", "first": 0}),
            &some.concat(),
        );
        let first = some.len();
        self.ok_with(
            json!({"call": "prepare_diagonals", "first": first}),
            &others.concat(),
        );
        let report = self.call("prepare_end");
        assert!(report["prepared_bytes"].as_u64().unwrap() > 0);
        assert!(report["log_scale"].as_f64().unwrap() > 0.0);
    }

    fn encrypt(&mut self, layer: &Layer, vectors: &[Vec<Slot>]) {
        let payload: Vec<f64> = vectors.iter().flat_map(|x| layer.pack(x)).collect();
        let count = vectors.len() as u64 * u64::from(layer.inputs);
        let (reply, _) = self.ok_with(json!({"call": "encrypt", "ciphertexts": count}), &payload);
        assert_eq!(reply["ciphertexts"], json!(count));
    }

    /// Waits for the end; gives the status and standard error.
    fn end(mut self) -> (ExitStatus, String) {
        self.input = None;
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "something came after the last reply");
        let status = self.child.wait().unwrap();
        (status, self.stderr.take().unwrap().join().unwrap())
    }

    /// Closes a worker that must end well.
    fn close(mut self) -> String {
        assert_eq!(self.call("close"), json!({"done": true}));
        let (status, stderr) = self.end();
        assert_eq!(status.code(), Some(0), "{stderr}");
        stderr
    }
}

fn open() -> Value {
    json!({"call": "open", "params": null, "mode": null, "device": 0, "threads": 1,
           "bootstrap": false})
}

fn begin(layer: &Layer) -> Value {
    let giants: Vec<_> = layer
        .giants
        .iter()
        .map(|giant| json!({"output": giant.output, "step": giant.step, "terms": giant.terms}))
        .collect();
    json!({"call": "prepare_begin", "inputs": layer.inputs, "outputs": layer.outputs,
           "diagonals": layer.diagonals.len(), "giants": giants})
}

/// A worker on an object of 16 real slots, with a layer and a batch of two vectors.
fn ready(fault: &str) -> (Worker, Matrix, Layer, Vec<Vec<Slot>>) {
    let matrix = Matrix::random(20, 30, false, 3);
    let layer = Layer::new(&matrix, 16, false, 4);
    let mut worker = Worker::greeted(&object(&format!("{fault} SLOTS=16")));
    worker.open();
    worker.prepare(&layer);
    let vectors: Vec<_> = (0..2)
        .map(|seed| random_vector(matrix.inputs, false, seed))
        .collect();
    worker.encrypt(&layer, &vectors);
    (worker, matrix, layer, vectors)
}

/// Evaluates, decrypts, and compares with a float64 product.
fn check(worker: &mut Worker, matrix: &Matrix, layer: &Layer, vectors: &[Vec<Slot>], gate: f64) {
    for call in ["evaluate", "synchronise", "rescale", "synchronise"] {
        worker.call(call);
    }
    let count = vectors.len() as u64 * u64::from(layer.outputs);
    assert_eq!(worker.call("answers")["ciphertexts"], json!(count));
    let (reply, values) = worker.ok_with(json!({"call": "decrypt"}), &[]);
    assert_eq!(reply, json!({"ciphertexts": count}));
    let group = layer.outputs as usize * layer.width();
    assert_eq!(values.len(), vectors.len() * group);
    for (values, x) in values.chunks(group).zip(vectors) {
        let found = layer.unpack(values, matrix.outputs);
        let error = largest_error(&found, &matrix.apply(x));
        assert!(error <= gate, "{error:e}");
    }
}

#[test]
fn a_trial_on_plain_numbers() {
    let (mut worker, matrix, layer, vectors) = ready("plain");
    check(&mut worker, &matrix, &layer, &vectors, 1e-13);
    let memory = worker.call("memory");
    assert!(memory["resident_peak_bytes"].as_u64().unwrap() > 1 << 20);
    assert_eq!(memory["device_bytes"], json!(0));
    // Another layer and batch in the same context.
    let matrix = Matrix::random(16, 9, false, 8);
    let layer = Layer::new(&matrix, 16, false, 4);
    worker.ok(begin(&layer));
    worker.ok_with(
        json!({"call": "prepare_diagonals", "first": 0}),
        &layer.diagonals.concat(),
    );
    worker.call("prepare_end");
    let vectors = [random_vector(16, false, 4)];
    worker.encrypt(&layer, &vectors);
    check(&mut worker, &matrix, &layer, &vectors, 1e-13);
    assert_eq!(worker.close(), "");
}

#[test]
fn complex_slots() {
    let matrix = Matrix::random(20, 30, true, 6);
    let layer = Layer::new(&matrix, 16, true, 8);
    let mut worker = Worker::greeted(&object("plain SLOTS=16 COMPLEX=1"));
    assert_eq!(worker.open()["slot_kind"], json!("complex"));
    worker.prepare(&layer);
    let vectors = [random_vector(20, true, 7)];
    worker.encrypt(&layer, &vectors);
    check(&mut worker, &matrix, &layer, &vectors, 1e-13);
    worker.close();
}

#[test]
fn a_trial_that_is_encrypted() {
    let matrix = Matrix::random(64, 48, true, 1);
    let layer = Layer::new(&matrix, 2048, true, 16);
    let mut worker = Worker::greeted(&object("native"));
    let opened = worker.open();
    assert_eq!(
        (&opened["slots"], &opened["slot_kind"]),
        (&json!(2048), &json!("complex"))
    );
    worker.prepare(&layer);
    let vectors = [random_vector(64, true, 2), random_vector(64, true, 3)];
    worker.encrypt(&layer, &vectors);
    check(&mut worker, &matrix, &layer, &vectors, 1e-4);
    worker.close();
}

#[test]
fn the_bytes_of_a_conversation() {
    let mut worker = Worker::start(&object("plain"));
    let header = br#"{"id":1,"call":"hello","protocol":1}"#;
    let mut request = b"CKKW".to_vec();
    request.extend_from_slice(&36u32.to_le_bytes());
    request.extend_from_slice(&0u64.to_le_bytes());
    request.extend_from_slice(header);
    worker.input.as_mut().unwrap().write_all(&request).unwrap();
    let mut prefix = [0; 16];
    worker.output.read_exact(&mut prefix).unwrap();
    assert_eq!(prefix[..4], *b"CKKW");
    assert_eq!(prefix[8..], [0; 8]);
    let mut reply = vec![0; u32::from_le_bytes(prefix[4..8].try_into().unwrap()) as usize];
    worker.output.read_exact(&mut reply).unwrap();
    let reply: Value = serde_json::from_slice(&reply).unwrap();
    let expected = json!({"protocol": 1, "dialect": "slots", "library": "plain", "version": "1.0",
                          "commit": "none", "presets": ["plain"], "modes": []});
    assert_eq!((&reply["id"], &reply["ok"]), (&json!(1), &expected));
    worker.last = 1;
    let probe = worker.call("probe");
    assert_eq!(
        probe["devices"],
        json!([{"name": "cpu", "memory_bytes": 0}])
    );
    let opened = worker.open();
    assert_eq!(
        (&opened["slots"], &opened["slot_kind"]),
        (&json!(1024), &json!("real"))
    );
    worker.close();
}

#[test]
fn a_library_that_prints_or_reads_does_not_break_frames() {
    let (mut worker, matrix, layer, vectors) = ready("stdout");
    check(&mut worker, &matrix, &layer, &vectors, 1e-13);
    let stderr = worker.close();
    for call in ["info", "evaluate", "decrypt", "free"] {
        let line = format!("this is {call} on standard output");
        assert!(stderr.contains(&line), "{stderr}");
    }
    let (mut worker, matrix, layer, vectors) = ready("stdin");
    check(&mut worker, &matrix, &layer, &vectors, 1e-13);
    worker.close();
    let (worker, ..) = ready("stderr");
    assert_eq!(worker.close().lines().count(), 1000);
}

#[test]
fn a_library_that_ends_the_process_leaves_no_reply() {
    let ended = |fault: &str| {
        let (mut worker, ..) = ready(fault);
        worker.send(json!({"call": "evaluate"}), &[]);
        assert!(matches!(worker.receive(), Err(FrameError::End)), "{fault}");
        worker.end().0
    };
    assert_eq!(ended("exit=0").code(), Some(0));
    assert_eq!(ended("exit=1").code(), Some(1));
    // SIGABRT and SIGSEGV, on every Linux.
    assert_eq!(ended("signal=6").signal(), Some(6));
    assert_eq!(ended("signal=11").signal(), Some(11));

    // Even at the very end: nothing says that it was done.
    let (mut worker, ..) = ready("free-exit");
    worker.send(json!({"call": "close"}), &[]);
    assert!(matches!(worker.receive(), Err(FrameError::End)));
    assert_eq!(worker.end().0.code(), Some(0));
}

#[test]
fn statuses_become_codes() {
    let codes = [
        "bad-argument",
        "unsupported",
        "no-device",
        "out-of-memory",
        "device-fault",
        "library-error",
        "internal",
    ];
    for (status, code) in (1..).zip(codes) {
        let (mut worker, ..) = ready(&format!("status={status}"));
        let failure = worker.failure(json!({"call": "evaluate"}));
        assert_eq!(
            failure,
            (code.to_owned(), "deliberate failure of evaluate".to_owned())
        );
        if status > 2 {
            // The context is not touched again.
            let (again, message) = worker.failure(json!({"call": "synchronise"}));
            assert_eq!(again, code);
            assert!(message.contains("failed before"), "{message}");
        } else {
            worker.call("synchronise");
        }
        worker.close();
    }
}

#[test]
fn answers_that_are_wrong_in_number_or_value() {
    let (mut worker, ..) = ready("few");
    worker.call("evaluate");
    for call in ["answers", "decrypt"] {
        let (code, message) = worker.failure(json!({"call": call}));
        assert_eq!(code, "internal");
        assert!(
            message.contains("3 answers where there must be 4"),
            "{message}"
        );
    }
    let (mut worker, ..) = ready("short");
    worker.call("evaluate");
    let failure = worker.failure(json!({"call": "decrypt"}));
    assert_eq!(
        failure,
        ("internal".into(), "left 1 of 64 values unwritten".into())
    );

    // Values that are wrong are the caller's to judge.
    let (mut worker, ..) = ready("nan");
    worker.call("evaluate");
    let (_, values) = worker.ok_with(json!({"call": "decrypt"}), &[]);
    assert!(values[63].is_nan() && values[..63].iter().all(|value| value.is_finite()));
    worker.close();
}

#[test]
fn objects_that_cannot_be_used_are_named() {
    let hello = |library: &Path| {
        let mut worker = Worker::start(library);
        let (code, message) = worker.failure(json!({"call": "hello", "protocol": 1}));
        worker.close();
        assert_eq!(code, "library-error");
        message
    };
    let message = hello(&object("version"));
    assert!(
        message.contains("version 42") && message.contains("version 1"),
        "{message}"
    );
    assert!(hello(&object("missing-symbol")).contains("no function ckks_backend_synchronise"));
    assert!(hello(&object("no-object")).contains("cannot be loaded"));
    let missing = object("plain").with_file_name("libckks_backend_nowhere.so");
    assert!(hello(&missing).contains("libckks_backend_nowhere.so"));
}

#[test]
fn hostile_descriptions_are_refused() {
    for (fault, part) in [
        ("needed", "18446744073709551615 bytes"),
        ("json", "the text of info"),
        ("utf8", "not UTF-8"),
        ("empty-text", "zero"),
    ] {
        let mut worker = Worker::start(&object(fault));
        let (code, message) = worker.failure(json!({"call": "hello", "protocol": 1}));
        assert_eq!(code, "internal");
        assert!(message.contains(part), "{message}");
        worker.close();
    }
    for (fault, part) in [
        ("slots=0", "0 slots"),
        ("slots=1000", "1000 slots"),
        ("slots=1099511627776", "1099511627776 slots"),
        ("slots=-8", "the text of describe"),
        ("slots=1e3", "the text of describe"),
        ("scale=1e999", "the text of describe"),
        ("scale=-1", "log_scale is -1"),
    ] {
        let mut worker = Worker::greeted(&object(fault));
        let (code, message) = worker.failure(open());
        assert_eq!(code, "internal");
        assert!(message.contains(part), "{message}");
        // There is no context.
        assert_eq!(
            worker.failure(json!({"call": "keys", "steps": []})).0,
            "bad-argument"
        );
        worker.close();
    }
}

#[test]
fn wrong_requests_change_nothing() {
    let (mut worker, matrix, layer, vectors) = ready("plain");
    let wrong = |worker: &mut Worker, request: Value, payload: &[f64], part: &str| {
        let (code, message) = worker.failure_with(request, payload);
        assert_eq!(code, "bad-argument");
        assert!(message.contains(part), "{message}");
    };
    let encrypt = |count: u64| json!({"call": "encrypt", "ciphertexts": count});
    wrong(
        &mut worker,
        encrypt(2),
        &[0.0; 31],
        "31 values are no whole number",
    );
    wrong(
        &mut worker,
        encrypt(3),
        &[0.0; 32],
        "2 slot vectors came for 3",
    );
    wrong(&mut worker, encrypt(0), &[], "at least one");
    wrong(&mut worker, encrypt(u64::MAX), &[0.0; 16], "1 slot vectors");
    let mut values = [0.0; 32];
    values[17] = f64::NAN;
    wrong(&mut worker, encrypt(2), &values, "value 17 is NaN");
    wrong(
        &mut worker,
        json!({"call": "evaluate"}),
        &[0.0],
        "without a payload",
    );
    wrong(
        &mut worker,
        json!({"call": "prepare_diagonals", "first": 0}),
        &[0.0; 16],
        "comes next",
    );
    let mut bad = begin(&layer);
    bad["giants"][0]["terms"][0][0] = json!(2);
    wrong(&mut worker, bad, &[], "input of term 0 is 2");
    wrong(
        &mut worker,
        json!({"call": "keys", "steps": [4, 4]}),
        &[],
        "ascend",
    );
    wrong(
        &mut worker,
        json!({"call": "keys", "steps": [16]}),
        &[],
        "from 1 to 15",
    );
    wrong(&mut worker, json!({"call": "nope"}), &[], "nope");
    wrong(&mut worker, open(), &[], "one in its life");
    check(&mut worker, &matrix, &layer, &vectors, 1e-13);
    worker.close();
}

#[test]
fn a_conversation_that_breaks_off_is_a_failure() {
    let (worker, ..) = ready("plain");
    let (status, stderr) = worker.end();
    assert_ne!(status.code(), Some(0));
    assert!(stderr.contains("before \"close\""), "{stderr}");

    let mut worker = Worker::start(&object("plain"));
    worker
        .input
        .as_mut()
        .unwrap()
        .write_all(b"this is no frame at all")
        .unwrap();
    let (status, stderr) = worker.end();
    assert_ne!(status.code(), Some(0));
    assert!(stderr.contains("CKKW"), "{stderr}");
}

#[test]
fn a_worker_of_another_parent_ends() {
    let output = program()
        .env("CKKS_BENCH_PARENT", "2147483647")
        .args(["worker", "--library", "unused"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(130));
}
