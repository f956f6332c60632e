//! Encryption of a batch.

use super::masks::GemmMasks;
use super::products::check;
use super::rows::{Factor, ProductScratch};
use super::secret::BatchSecret;
use crate::error::SecretError;
use crate::random::Csprng;
use crate::sampler::{ERROR_TAIL, errors_from_words};
use ckks::WireError;
use ckks::gemm::{MAX_COLUMNS, MODULUS_MASK, UploadBuffer, pack, packed_len};
use ckks::simd::multiversion;
use rayon::prelude::*;
use zeroize::Zeroize;

/// Scaled values must be below this in absolute value: with rounding and error they then do not
/// wrap around the modulus. The products that a server computes need far more room; that is the
/// business of the scale.
pub const MESSAGE_LIMIT: f64 = (1u64 << 51) as f64 - ERROR_TAIL as f64 - 1.0;

/// Features that are encrypted together, from one fork of the generator: eight values are a cache
/// line of an input vector.
const ROWS: usize = 8;
/// Keeps rows of the transposed values off the same cache sets.
const ROW_PADDING: usize = 16;

/// Encrypts a batch under fresh secrets: the upload's bytes, and the secrets for its answer.
///
/// Value `j` of vector `i` becomes the integer `vectors[i][j]·scales[i]`, rounded up with the
/// probability of its fraction and down otherwise. The errors of rounding to the nearest would be a
/// function of the data, and add up over similar values; these do not.
///
/// Work is split over the threads of the current rayon pool; the bytes follow from the generator
/// alone, whatever the number of threads. An upload that was lost is sent again as it is. Another
/// call has other secrets, with which the answer to the first upload cannot be read.
///
/// # Errors
/// [`SecretError::Count`] for vectors that do not have as many values as there are masks, or too
/// few scales, [`SecretError::Wire`] for no vectors or more than [`MAX_COLUMNS`],
/// [`SecretError::Scale`], [`SecretError::NotFinite`], [`SecretError::TooLarge`];
/// [`SecretError::Ckks`] when there is not enough memory.
pub fn encrypt<R: Csprng>(
    masks: &GemmMasks,
    vectors: &[&[f64]],
    scales: &[f64],
    rng: &mut R,
) -> Result<(Vec<u8>, BatchSecret), SecretError> {
    let columns = vectors.len();
    let fits = u32::try_from(columns).ok().filter(|&c| c <= MAX_COLUMNS);
    let Some(count) = fits else {
        return Err(SecretError::Wire(WireError::GemmSize {
            what: "columns",
            value: columns as u64,
            limit: MAX_COLUMNS.into(),
        }));
    };
    let parameters = masks.ring().parameters();
    let features = masks.features() as u32;
    let mut upload = UploadBuffer::new(parameters, masks.epoch(), features, count)?;
    check("scales", columns as u64, scales.len() as u64)?;
    check_values(masks, vectors, scales)?;
    let secret = BatchSecret::generate(parameters, masks.epoch(), columns, rng);
    let factors: Vec<Factor> = secret.blocks().map(|s| masks.rows().factor(s)).collect();
    let chunk_len = ROWS * upload.row_len();
    let rows = upload.rows_mut();
    let rngs: Vec<R> = (0..rows.len().div_ceil(chunk_len))
        .map(|_| rng.fork())
        .collect();
    let chunks = rows.par_chunks_mut(chunk_len).zip(rngs).enumerate();
    chunks.for_each_init(
        || Scratch::new(masks, columns),
        |scratch, (chunk, (bytes, mut rng))| {
            let batch = Batch {
                masks,
                vectors,
                scales,
            };
            batch.encrypt_rows(chunk * ROWS, &factors, &mut rng, scratch, bytes);
        },
    );
    Ok((upload.into_bytes(), secret))
}

/// Refuses what cannot be encrypted, the first vector and value of it.
fn check_values(masks: &GemmMasks, vectors: &[&[f64]], scales: &[f64]) -> Result<(), SecretError> {
    let level = masks.ring().level();
    let refusal = |(vector, (values, &scale)): (usize, (&&[f64], &f64))| {
        let (expected, found) = (masks.features() as u64, values.len() as u64);
        if let Err(error) = check("values of a vector", expected, found) {
            return Some(error);
        }
        if !(scale.is_finite() && scale > 0.0) {
            return Some(SecretError::Scale { vector, scale });
        }
        let mut good = true;
        all_below(level, values, scale, MESSAGE_LIMIT, &mut good);
        if good {
            return None;
        }
        let good = |v: &f64| (v * scale).abs() < MESSAGE_LIMIT;
        let index = values.iter().position(|v| !good(v))?;
        let value = values[index];
        Some(if value.is_finite() {
            SecretError::TooLarge {
                vector,
                index,
                limit: MESSAGE_LIMIT,
            }
        } else {
            SecretError::NotFinite {
                vector,
                index,
                value,
            }
        })
    };
    let pairs = vectors.par_iter().zip(scales).enumerate();
    match pairs.find_map_first(refusal) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// What is encrypted.
#[derive(Clone, Copy)]
struct Batch<'a> {
    masks: &'a GemmMasks,
    vectors: &'a [&'a [f64]],
    scales: &'a [f64],
}

/// Buffers of one thread. They hold plaintext, errors and products with the secret: zeroised when
/// dropped.
struct Scratch {
    /// Scaled values, transposed: a row for each feature.
    scaled: Vec<f64>,
    error_words: Vec<u64>,
    rounding_words: Vec<u32>,
    errors: Vec<i32>,
    products: Vec<u64>,
    product: ProductScratch,
}

impl Scratch {
    fn new(masks: &GemmMasks, columns: usize) -> Self {
        let block = masks.ring().degree().min(columns);
        Self {
            scaled: vec![0.0; ROWS * (block + ROW_PADDING)],
            error_words: vec![0; block],
            rounding_words: vec![0; block],
            errors: vec![0; block],
            products: vec![0; block],
            product: masks.rows().scratch(),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.scaled.zeroize();
        self.error_words.zeroize();
        self.rounding_words.zeroize();
        self.errors.zeroize();
        self.products.zeroize();
    }
}

impl Batch<'_> {
    /// Encrypts up to [`ROWS`] features from `first_row` on, all columns.
    fn encrypt_rows(
        self,
        first_row: usize,
        factors: &[Factor],
        rng: &mut impl Csprng,
        scratch: &mut Scratch,
        bytes: &mut [u8],
    ) {
        let ring = self.masks.ring();
        let (level, degree) = (ring.level(), ring.degree());
        let row_len = packed_len(self.vectors.len(), ring.parameters().log_q());
        let blocks = self.vectors.chunks(degree).zip(self.scales.chunks(degree));
        for (block, ((vectors, scales), factor)) in blocks.zip(factors).enumerate() {
            let columns = vectors.len();
            let stride = columns + ROW_PADDING;
            let rows = bytes.len() / row_len;
            transpose(
                vectors,
                scales,
                first_row..first_row + rows,
                stride,
                &mut scratch.scaled,
            );
            let start = packed_len(block * degree, ring.parameters().log_q());
            let block_len = packed_len(columns, ring.parameters().log_q());
            for (row, bytes) in bytes.chunks_exact_mut(row_len).enumerate() {
                let words = &mut scratch.error_words[..columns];
                let rounding = &mut scratch.rounding_words[..columns];
                let errors = &mut scratch.errors[..columns];
                let products = &mut scratch.products[..columns];
                rng.fill(bytemuck::cast_slice_mut(words));
                rng.fill(bytemuck::cast_slice_mut(rounding));
                errors_from_words(level, words, errors);
                let public = self.masks.rows();
                public.multiply(first_row + row, factor, &mut scratch.product, products);
                let scaled = &scratch.scaled[row * stride..][..columns];
                combine(level, scaled, rounding, errors, products);
                pack(
                    products,
                    ring.parameters().log_q(),
                    &mut bytes[start..][..block_len],
                );
            }
        }
    }
}

/// Scaled values of some features of all vectors, a row of `stride` for each feature.
fn transpose(
    vectors: &[&[f64]],
    scales: &[f64],
    features: std::ops::Range<usize>,
    stride: usize,
    out: &mut [f64],
) {
    for (column, (vector, scale)) in vectors.iter().zip(scales).enumerate() {
        for (row, value) in vector[features.clone()].iter().enumerate() {
            out[row * stride + column] = value * scale;
        }
    }
}

multiversion! {
    fn all_below(values: &[f64], scale: f64, limit: f64, good: &mut bool) {
        let below = |good: bool, v: &f64| good & ((v * scale).abs() < limit);
        *good = values.iter().fold(true, below);
    }
}

/// `1.5·2^52`: adding it to a value below `2^51` leaves the nearest integer in the mantissa.
const TO_INTEGER: f64 = 6_755_399_441_055_744.0;

multiversion! {
    /// `b = m + e - a·s mod 2^52`, in place of `a·s`. `m` is the scaled value rounded at random:
    /// the integer below, plus one if a 32-bit uniform fraction is below the value's.
    fn combine(scaled: &[f64], words: &[u32], errors: &[i32], products: &mut [u64]) {
        let operands = scaled.iter().zip(words).zip(errors);
        for (((&value, &word), &error), product) in operands.zip(products.iter_mut()) {
            let shifted = value + TO_INTEGER;
            let nearest = shifted.to_bits().wrapping_sub(TO_INTEGER.to_bits());
            // Exact: both are multiples of the value's last place, and their difference is at most
            // 1/2.
            let rest = value - (shifted - TO_INTEGER);
            let uniform = f64::from(word) * (1.0 / 4_294_967_296.0);
            // A rest below zero means that the integer below is one less than the nearest.
            let below = u64::from(rest < 0.0);
            let fraction = rest + f64::from(u8::from(rest < 0.0));
            let up = u64::from(uniform < fraction);
            let message = nearest.wrapping_sub(below).wrapping_add(up);
            let error = i64::from(error) as u64;
            *product = message.wrapping_add(error).wrapping_sub(*product) & MODULUS_MASK;
        }
    }
}
