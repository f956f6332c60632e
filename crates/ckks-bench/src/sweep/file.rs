//! The file that a sweep writes: appended line by line, locked, and continued after a stop.

use crate::error::BenchError;
use crate::sweep::record::{Header, PointRecord, parse_sweep};
use serde::Serialize;
use serde_json::Value;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The start of every sweep's file: a header that was cut off is told from another file by it.
const BEGINNING: &[u8] = b"{\"schema\":\"ckks-bench-sweep/";

/// The file, open and locked against other sweeps until it is dropped.
#[derive(Debug)]
pub struct SweepFile {
    file: File,
    path: PathBuf,
    notes: Vec<String>,
}

impl SweepFile {
    /// Opens the file or makes it, cuts off a last line that is not whole, and gives the points
    /// that are there.
    ///
    /// A file that does not begin as a sweep is refused and left as it is.
    ///
    /// # Errors
    /// [`BenchError::Usage`] where the file cannot be read or written, is locked by another sweep,
    /// is no sweep, or was begun with another header; the message names the difference. `force`
    /// accepts another header; the file then keeps its own.
    pub fn open(
        path: &Path,
        header: &Header,
        force: bool,
    ) -> Result<(SweepFile, Vec<PointRecord>), BenchError> {
        let failed = |error| failure(path, &error);
        // Before it is opened: opening a pipe waits for its other end, reading a device has none.
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(BenchError::usage(format!(
                "--output {} is not a regular file; give the path of a file",
                path.display()
            )));
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        lock(&file, path)?;
        let mut sweep_file = SweepFile {
            file,
            path: path.to_owned(),
            notes: Vec::new(),
        };
        let mut bytes = Vec::new();
        sweep_file.file.read_to_end(&mut bytes).map_err(failed)?;
        if is_cut_off_header(&bytes) {
            if !bytes.is_empty() {
                sweep_file.cut(0, "header")?;
            }
            sweep_file.write_line(header)?;
            return Ok((sweep_file, Vec::new()));
        }
        let sweep = parse_sweep(path, &bytes)?;
        let differences = differences(&sweep.header, header);
        if !differences.is_empty() && !force {
            return Err(BenchError::usage(format!(
                "--output {} was begun differently: {}; give another file, or --force to mix the \
                 points",
                path.display(),
                differences.join("; ")
            )));
        }
        if sweep.truncated {
            sweep_file.cut(sweep.whole_bytes as u64, "last line")?;
        }
        sweep_file.file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok((sweep_file, sweep.points))
    }

    /// What was done to the file when it was opened, in sentences.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Appends a line and waits until it is on the disk.
    ///
    /// # Errors
    /// [`BenchError::Usage`] where it cannot be written.
    pub fn append(&mut self, record: &PointRecord) -> Result<(), BenchError> {
        self.write_line(record)
    }

    fn cut(&mut self, length: u64, what: &str) -> Result<(), BenchError> {
        let path = self.path.clone();
        self.file
            .set_len(length)
            .and_then(|()| self.file.seek(SeekFrom::Start(length)))
            .map_err(|error| failure(&path, &error))?;
        self.notes.push(format!(
            "the {what} of {} was not whole and was cut off\n",
            path.display()
        ));
        Ok(())
    }

    /// In one write, so that a process that is killed leaves whole lines and at most one that is
    /// not.
    fn write_line(&mut self, value: &impl Serialize) -> Result<(), BenchError> {
        let mut line = serde_json::to_vec(value)
            .map_err(|error| BenchError::usage(format!("cannot write a line: {error}")))?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .and_then(|()| self.file.flush())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| failure(&self.path, &error))
    }
}

impl Drop for SweepFile {
    fn drop(&mut self) {
        // Closing is not enough: a child that is just being started has a copy of the file until
        // it becomes another program, and with it the lock. Unlocking ends it for all copies.
        let _ = self.file.unlock();
    }
}

/// Locks the file, or says that another sweep has it. Waits a little, because of a sweep that was
/// killed while it started a worker: the worker has the lock until it becomes another program.
fn lock(file: &File, path: &Path) -> Result<(), BenchError> {
    const TRIES: u32 = 50;
    const WAIT: Duration = Duration::from_millis(20);
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => thread::sleep(WAIT),
            Err(TryLockError::Error(error)) => return Err(failure(path, &error)),
        }
    }
    Err(BenchError::usage(format!(
        "--output {}: another sweep writes to this file; wait for it or give another file",
        path.display()
    )))
}

fn failure(path: &Path, error: &std::io::Error) -> BenchError {
    BenchError::usage(format!("--output {}: {error}", path.display()))
}

/// Nothing, or the beginning of a sweep without its first line end.
fn is_cut_off_header(bytes: &[u8]) -> bool {
    !bytes.contains(&b'\n') && (bytes.starts_with(BEGINNING) || BEGINNING.starts_with(bytes))
}

/// What differs in the build, the machine and the settings: `trials: 3 in the file, 5 now`.
fn differences(file: &Header, now: &Header) -> Vec<String> {
    let comparable = |header: &Header| {
        let mut header = header.clone();
        // They differ from start to start.
        header.host.load_at_start = None;
        header.host.load_at_end = None;
        header.date = String::new();
        serde_json::to_value(header).unwrap_or_default()
    };
    let mut found = Vec::new();
    compare("", &comparable(file), &comparable(now), &mut found);
    found
}

fn compare(name: &str, file: &Value, now: &Value, found: &mut Vec<String>) {
    match (file, now) {
        (Value::Object(file), Value::Object(now)) => {
            for (key, value) in now {
                let name = match name {
                    "" => key.clone(),
                    outer => format!("{outer}.{key}"),
                };
                compare(&name, file.get(key).unwrap_or(&Value::Null), value, found);
            }
        }
        _ if file == now => {}
        _ => found.push(format!("{name} is {file} in the file and {now} now")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

    use super::*;
    use crate::sweep::options::SweepOptions;
    use crate::sweep::record::{LineKind, Point, PointOutcome, SWEEP_SCHEMA, read_sweep};
    use bench_report::host::Host;

    fn header() -> Header {
        Header {
            schema: SWEEP_SCHEMA.to_owned(),
            kind: LineKind::Header,
            date: "2026-01-01T00:00:00Z".to_owned(),
            build: bench_report::build!(),
            host: Host::current(),
            settings: SweepOptions::new(crate::commands::sweep::SweepArgs::default())
                .unwrap()
                .settings,
        }
    }

    fn record(batch: usize) -> PointRecord {
        let point = Point {
            library: "native".to_owned(),
            device: "cpu".to_owned(),
            d_in: 5,
            d_out: 3,
            batch,
            plan: "auto".to_owned(),
            threads: 1,
        };
        let outcome = PointOutcome::Refused {
            reason: "a line\nand another".to_owned(),
        };
        PointRecord::new(point, outcome, 0.1, None)
    }

    fn batches(records: &[PointRecord]) -> Vec<usize> {
        records.iter().map(|record| record.point.batch).collect()
    }

    /// A file with the points 1 and 2.
    fn written() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.jsonl");
        let (mut file, earlier) = SweepFile::open(&path, &header(), false).unwrap();
        assert!(earlier.is_empty() && file.notes().is_empty());
        file.append(&record(1)).unwrap();
        file.append(&record(2)).unwrap();
        (folder, path)
    }

    fn refusal(path: &Path, header: &Header) -> String {
        SweepFile::open(path, header, false)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn every_cut_loses_at_most_the_line_that_is_cut() {
        let (_folder, path) = written();
        let whole = fs::read(&path).unwrap();
        let ends: Vec<usize> = (0..whole.len())
            .filter(|&at| whole[at] == b'\n')
            .map(|at| at + 1)
            .collect();
        assert_eq!(ends.len(), 3);
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let (mut file, earlier) = SweepFile::open(&path, &header(), false).unwrap();
            let kept = ends.iter().filter(|&&end| end <= length).count();
            let expected: Vec<usize> = [1, 2][..kept.saturating_sub(1)].to_vec();
            assert_eq!(batches(&earlier), expected, "cut at {length}");
            let clean = length == 0 || ends.contains(&length);
            assert_eq!(file.notes().is_empty(), clean, "cut at {length}");
            file.append(&record(3)).unwrap();
            drop(file);
            let sweep = read_sweep(&path).unwrap();
            let expected = [&expected[..], &[3]].concat();
            assert_eq!(batches(&sweep.points), expected, "cut at {length}");
            assert!(!sweep.truncated);
        }
    }

    #[test]
    fn a_last_line_that_is_no_json_is_cut_off_and_one_inside_is_refused() {
        let (_folder, path) = written();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}\0\0\0\n")).unwrap();
        assert!(read_sweep(&path).unwrap().truncated);
        let (file, earlier) = SweepFile::open(&path, &header(), false).unwrap();
        assert_eq!(batches(&earlier), [1, 2]);
        assert!(file.notes()[0].contains("last line"));
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);

        let damaged = whole.replacen("\"point\"", "\"p", 1);
        fs::write(&path, &damaged).unwrap();
        assert!(refusal(&path, &header()).contains("line 2"));
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
    }

    #[test]
    fn other_files_are_left_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for content in ["precious", "{\"schema\":\"other/1\"}\n", "\n", "a\nb\n"] {
            fs::write(&path, content).unwrap();
            assert!(refusal(&path, &header()).contains("is no sweep"));
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert!(refusal(folder.path(), &header()).contains("not a regular file"));
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_refused_before_they_are_read() {
        for device in ["/dev/zero", "/dev/full"] {
            let message = refusal(Path::new(device), &header());
            assert!(message.contains("not a regular file"), "{message}");
        }
    }

    #[test]
    fn a_locked_file_is_refused() {
        let (_folder, path) = written();
        let held = SweepFile::open(&path, &header(), false).unwrap();
        assert!(refusal(&path, &header()).contains("another sweep writes"));
        drop(held);
        assert!(SweepFile::open(&path, &header(), false).is_ok());
    }

    #[test]
    fn differences_are_named_unless_forced() {
        let (_folder, path) = written();
        let same = Header {
            date: "2027-01-01T00:00:00Z".to_owned(),
            ..header()
        };
        assert!(SweepFile::open(&path, &same, false).is_ok());

        let mut other = header();
        other.settings.trials = 5;
        other.settings.circumstances.reuse = 7;
        other.build.version = "9.9.9".to_owned();
        other.host.cores = 1000;
        let message = refusal(&path, &other);
        for part in [
            "settings.trials is 3 in the file and 5 now",
            "settings.circumstances.reuse is 1000 in the file and 7 now",
            "build.version",
            "host.cores",
            "--force",
        ] {
            assert!(message.contains(part), "no \"{part}\" in {message}");
        }
        assert!(!message.contains("load_at") && !message.contains("date"));
        let (_, earlier) = SweepFile::open(&path, &other, true).unwrap();
        assert_eq!(batches(&earlier), [1, 2]);
    }

    #[test]
    fn a_point_tried_again_has_its_last_line() {
        let (_folder, path) = written();
        let (mut file, _) = SweepFile::open(&path, &header(), false).unwrap();
        let mut again = record(1);
        again.seconds = 99.0;
        file.append(&again).unwrap();
        let sweep = read_sweep(&path).unwrap();
        assert_eq!(batches(&sweep.points), [1, 2]);
        assert_eq!(sweep.points[0].seconds, 99.0);
    }
}
