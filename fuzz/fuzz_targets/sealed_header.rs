//! Core header of sealed files.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sealed_weights::core_header::CoreHeader;

fuzz_target!(|data: &[u8]| {
    match CoreHeader::decode(data) {
        Ok(header) => {
            let again = header.encode();
            assert!(data.starts_with(&again), "a header has a second encoding");
            let layout = header.layout();
            assert!(layout.end - layout.data == header.length && layout.data % 4096 == 0);
        }
        // The text of an error is built from what was read; it must not fail either.
        Err(defect) => drop(defect.to_string()),
    }
});
