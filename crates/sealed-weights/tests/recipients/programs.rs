//! Servers and tools that tests start. Where one is missing its tests are skipped, unless
//! `SEAL_TEST_REQUIRE=1`.

use std::path::PathBuf;

/// A program in the folder `SEAL_TEST_PROGRAMS` or on the path.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("SEAL_TEST_PROGRAMS").into_iter();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders
        .map(PathBuf::from)
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Says that a test is skipped, or fails it where nothing may be skipped.
pub(crate) fn missing(what: &str) {
    assert!(
        std::env::var_os("SEAL_TEST_REQUIRE").is_none_or(|value| value != "1"),
        "{what} is not installed, and SEAL_TEST_REQUIRE=1"
    );
    println!("skipped: {what} is not installed");
}
