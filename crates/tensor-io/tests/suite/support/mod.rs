//! What the tests share: a hand-written safetensors encoder and a small HTTP server.

pub(crate) mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tensor_io::{LoadOptions, LoadedMatrix, TensorError, WeightSource};

/// Header text and data, put together byte by byte after the format's description.
pub(crate) fn safetensors_bytes(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(data);
    file
}

/// A file of tensors in the given order: name, dtype, shape, bytes.
pub(crate) fn safetensors_file(tensors: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let mut members = vec![r#""__metadata__":{"format":"pt"}"#.to_owned()];
    let mut data = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        let begin = data.len();
        data.extend_from_slice(bytes);
        members.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{}]}}"#,
            data.len()
        ));
    }
    safetensors_bytes(&format!("{{{}}}", members.join(",")), &data)
}

pub(crate) fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// `count` different small numbers.
pub(crate) fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| i as f32 * 0.25 - 7.0).collect()
}

pub(crate) fn write(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Default options that do not pause between attempts.
pub(crate) fn quick() -> LoadOptions {
    LoadOptions {
        retry_delay: Duration::ZERO,
        max_retries: 2,
        ..LoadOptions::default()
    }
}

pub(crate) fn load(source: &str, options: &LoadOptions) -> Result<LoadedMatrix, TensorError> {
    source.parse::<WeightSource>()?.load(options)
}

pub(crate) fn load_file(path: &Path, tensor: &str) -> Result<LoadedMatrix, TensorError> {
    load(&format!("{}#{tensor}", path.display()), &quick())
}
