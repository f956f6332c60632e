//! A safetensors file of bf16 numbers that look like weights.

use super::load::io_error;
use super::subject::{TENSOR_BYTES, TENSOR_NAME, Watch};
use crate::error::CliError;
use sealed_weights::error::SealError;
use sealed_weights::work::Progress;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Bytes of the other tensors, but the last.
const OTHER_BYTES: u64 = 67_108_864;
/// Standard deviation of the weights.
const DEVIATION: f64 = 0.02;

/// Writes a file of `size` bytes of weights and a header: one tensor of 23 MB where there is room
/// for it, others of 67 MB. The same size gives the same file. It is on the disk when this returns.
pub(super) fn write(path: &Path, size: u64, watch: &Watch<'_>) -> Result<(), CliError> {
    let tensors = tensors(size);
    let mut header = String::from("{\"__metadata__\":{\"format\":\"pt\"}");
    let mut at = 0;
    for (name, bytes) in &tensors {
        let columns = if bytes % 7680 == 0 { 3840 } else { 1 };
        let rows = bytes / 2 / columns;
        let end = at + bytes;
        header.push_str(&format!(
            ",\"{name}\":{{\"dtype\":\"BF16\",\"shape\":[{rows},{columns}],\
             \"data_offsets\":[{at},{end}]}}"
        ));
        at = end;
    }
    header.push('}');
    // The format aligns the data to eight bytes.
    let padded = header.len().next_multiple_of(8);
    let header = format!("{header:padded$}");

    let mut file = File::create_new(path).map_err(io_error("create", path))?;
    let failed = io_error("write", path);
    file.write_all(&(header.len() as u64).to_le_bytes())
        .and_then(|()| file.write_all(header.as_bytes()))
        .map_err(&failed)?;
    let quantiles = quantiles();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = vec![0; 1 << 20];
    let mut left = at;
    while left > 0 {
        let block = &mut block[..left.min(1 << 20) as usize];
        for four in block.chunks_mut(8) {
            let word = next(&mut state);
            for (lane, bytes) in four.chunks_exact_mut(2).enumerate() {
                let index = (word >> (16 * lane)) as u16;
                bytes.copy_from_slice(&quantiles[usize::from(index)].to_le_bytes());
            }
        }
        file.write_all(block).map_err(&failed)?;
        if watch.advance(block.len() as u64).is_break() {
            return Err(SealError::Cancelled.into());
        }
        left -= block.len() as u64;
    }
    // Pages that are not on the disk yet would be written out in the middle of a measurement.
    file.sync_all().map_err(failed)?;
    Ok(())
}

/// Names and lengths, which add up to `size` rounded down to an even number.
fn tensors(size: u64) -> Vec<(String, u64)> {
    let mut left = size / 2 * 2;
    let mut tensors = Vec::new();
    let mut push = |name: String, bytes: u64| tensors.push((name, bytes));
    if left > OTHER_BYTES + TENSOR_BYTES {
        push("embed_tokens.weight".to_owned(), OTHER_BYTES);
        left -= OTHER_BYTES;
    }
    if left > TENSOR_BYTES {
        push(TENSOR_NAME.to_owned(), TENSOR_BYTES);
        left -= TENSOR_BYTES;
    }
    for layer in 1.. {
        let bytes = left.min(OTHER_BYTES);
        push(format!("layers.{layer}.mlp.up_proj.weight"), bytes);
        left -= bytes;
        if left == 0 {
            break;
        }
    }
    tensors
}

/// The bits of bf16 numbers such that a uniform 16-bit index gives a normal distribution.
fn quantiles() -> Vec<u16> {
    (0..1u32 << 16)
        .map(|index| {
            let probability = (f64::from(index) + 0.5) / 65536.0;
            let value = (DEVIATION * normal_quantile(probability)) as f32;
            // The upper half of a float is its bf16, rounded towards zero.
            (value.to_bits() >> 16) as u16
        })
        .collect()
}

/// The value below which a standard normal variable lies with that probability, to three digits:
/// the logistic approximation of its distribution function, by bisection.
fn normal_quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..40 {
        let middle: f64 = (low + high) / 2.0;
        let logit = 0.070_56 * middle.powi(3) + 1.5976 * middle;
        if 1.0 / (1.0 + (-logit).exp()) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// splitmix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;
    use safetensors_header::{Header, LENGTH_BYTES};

    #[test]
    fn the_file_is_safetensors_of_normal_weights() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        let cancel = Cancel::default();
        write(&path, 30_000_001, &Watch(&cancel)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let length = Header::length(&bytes[..8], bytes.len() as u64).unwrap();
        let data = (LENGTH_BYTES + length) as usize;
        assert_eq!(bytes.len() - data, 30_000_000);
        let header = Header::parse(&bytes[8..data], 30_000_000).unwrap();
        let tensor = |name: &str| header.tensors().iter().find(|t| t.name == name).unwrap();
        let one = tensor(TENSOR_NAME);
        assert_eq!(one.end - one.begin, TENSOR_BYTES);
        assert_eq!(one.shape, [3000, 3840]);

        let weights: Vec<f64> = bytes[data..]
            .chunks_exact(2)
            .map(|two| {
                f64::from(f32::from_bits(
                    u32::from(u16::from_le_bytes([two[0], two[1]])) << 16,
                ))
            })
            .collect();
        let count = weights.len() as f64;
        let mean = weights.iter().sum::<f64>() / count;
        let variance = weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / count;
        assert!(mean.abs() < 1e-4, "{mean}");
        assert!(
            (variance.sqrt() / DEVIATION - 1.0).abs() < 0.02,
            "{variance}"
        );
    }

    #[test]
    fn tensors_fill_any_size() {
        for size in [2, 3, 64_000_000, 90_200_000, 1_700_000_000] {
            let sum: u64 = tensors(size).iter().map(|t| t.1).sum();
            assert_eq!(sum, size / 2 * 2);
            assert!(tensors(size).iter().all(|t| t.1 > 0));
        }
    }
}
