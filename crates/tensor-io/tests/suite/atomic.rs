//! Output files appear whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::tempdir;
use tensor_io::{TensorError, check_writable, write_atomically, write_npy_f64};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_check_leaves_no_trace() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("out.npy");
    check_writable(&path).unwrap();
    assert!(names(dir.path()).is_empty());
    fs::write(&path, "old").unwrap();
    check_writable(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(dir.path()), ["out.npy"]);
}

#[test]
fn places_that_cannot_hold_the_file_are_refused() {
    let dir = tempdir().unwrap();
    let missing = dir.path().join("no/such/out.npy");
    let error = check_writable(&missing).unwrap_err();
    assert!(matches!(error, TensorError::NotWritable { .. }));
    assert!(error.to_string().contains("out.npy"), "{error}");
    assert!(matches!(
        write_npy_f64(&missing, 1, 1, &[0.0]),
        Err(TensorError::NotWritable { .. })
    ));
    fs::write(dir.path().join("file"), "x").unwrap();
    let below_a_file = dir.path().join("file/out.npy");
    assert!(matches!(
        check_writable(&below_a_file),
        Err(TensorError::NotWritable { .. })
    ));
    assert!(matches!(
        check_writable(dir.path()),
        Err(TensorError::NotAFile { .. })
    ));
    assert!(matches!(
        check_writable(Path::new("")),
        Err(TensorError::NotAFile { .. })
    ));
    assert!(matches!(
        check_writable(Path::new("/")),
        Err(TensorError::NotAFile { .. })
    ));
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("report.json");
    fs::write(&path, "old").unwrap();
    let error = write_atomically(&path, |writer| {
        writer.write_all(b"half of the new")?;
        Err(io::Error::other("the source broke"))
    })
    .unwrap_err();
    assert!(matches!(
        error,
        TensorError::Io {
            action: "write",
            ..
        }
    ));
    assert!(error.to_string().contains("the source broke"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(dir.path()), ["report.json"]);

    write_atomically(&path, |writer| writer.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(names(dir.path()), ["report.json"]);
}

#[cfg(unix)]
#[test]
fn devices_are_refused_links_followed_and_the_umask_applies() {
    use std::os::unix::fs::PermissionsExt;

    assert!(matches!(
        check_writable(Path::new("/dev/null")),
        Err(TensorError::NotAFile { .. })
    ));

    let dir = tempdir().unwrap();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    fs::write(&real, "old").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    write_atomically(&link, |writer| writer.write_all(b"new")).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "new");

    // The permissions are those of any file that this process creates.
    let plain = dir.path().join("plain");
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&real), mode(&plain));
}
