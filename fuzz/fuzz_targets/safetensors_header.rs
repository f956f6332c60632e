//! Header of safetensors files.

#![no_main]

use libfuzzer_sys::fuzz_target;
use safetensors_header::{Header, LENGTH_BYTES};

fuzz_target!(|data: &[u8]| {
    // The whole file; then the input as JSON behind a right length, with its last bytes as data.
    header(data, data.len() as u64);
    if let Some((json, [data_bytes])) = data.split_last_chunk::<1>() {
        let mut file = (json.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(json);
        header(&file, (file.len() + usize::from(*data_bytes)) as u64);
    }
});

fn header(file: &[u8], size: u64) {
    let length = match Header::length(file, size) {
        Ok(length) => length,
        Err(defect) => return drop(defect.to_string()),
    };
    let begin = LENGTH_BYTES as usize;
    let json = &file[begin..begin + length as usize];
    match Header::parse(json, size - LENGTH_BYTES - length) {
        Ok(header) => {
            let mut end = LENGTH_BYTES + length;
            for tensor in header.tensors() {
                assert!(tensor.begin == end && tensor.begin <= tensor.end);
                assert_eq!(header.find(&tensor.name), Some(tensor));
                end = tensor.end;
            }
            assert_eq!(end, size);
        }
        Err(defect) => drop(defect.to_string()),
    }
}
