//! The client's work for batches of the `gemm` plan, on one thread.
//!
//! `cargo bench -p ckks-secret --bench gemm_client`

use ckks::gemm::{
    AnswerBuffer, Epoch, GemmParameters, GemmRing, LOG_Q, MaskExpander, MaskProductsBuffer,
    UploadView, pack, unpack,
};
use ckks_secret::SeededCsprng;
use ckks_secret::gemm::{CachedMaskProducts, ExpectedProducts, GemmMasks, encrypt};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use std::fmt::Display;
use std::hint::black_box;
use std::sync::Arc;

const FEATURES: usize = 2048;
const OUTPUTS: usize = 1024;
const EPOCH: Epoch = Epoch(0);
const ANSWER_BITS: u32 = 24;
const PRODUCT_BITS: u32 = 29;

fn good<T, E: Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn ring() -> Arc<GemmRing> {
    good(GemmRing::new(good(GemmParameters::named("gemm-2048"))))
}

/// Any values do: time does not depend on them.
fn filler(i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn masks(c: &mut Criterion) {
    let ring = ring();
    let mut group = c.benchmark_group("masks of 2048 features");
    group.sample_size(10);
    for columns in [1, 2048] {
        group.bench_function(BenchmarkId::from_parameter(columns), |b| {
            b.iter(|| good(GemmMasks::new(&ring, EPOCH, FEATURES, columns)));
        });
    }
    group.finish();
}

fn encryption(c: &mut Criterion) {
    let ring = ring();
    let mut group = c.benchmark_group("encrypt 2048 features");
    group.sample_size(10);
    for columns in [1, 16, 64, 512, 2048] {
        let masks = good(GemmMasks::new(&ring, EPOCH, FEATURES, columns));
        let vectors: Vec<Vec<f64>> = (0..columns)
            .map(|i| (0..FEATURES).map(|j| ((i * 7 + j) as f64).sin()).collect())
            .collect();
        let views: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
        let scales = vec![2f64.powi(26); columns];
        let mut rng = SeededCsprng::insecure(1, 0);
        group.throughput(Throughput::Elements((FEATURES * columns) as u64));
        group.bench_function(BenchmarkId::from_parameter(columns), |b| {
            b.iter(|| good(encrypt(&masks, &views, &scales, &mut rng)));
        });
    }
    group.finish();
}

fn mask_products(ring: &GemmRing) -> Vec<u8> {
    let mut message = good(MaskProductsBuffer::new(
        ring.parameters(),
        EPOCH,
        OUTPUTS as u32,
        PRODUCT_BITS,
    ));
    let row_len = message.row_len();
    for (k, row) in message.rows_mut().chunks_exact_mut(row_len).enumerate() {
        let values: Vec<u64> = (0..ring.degree())
            .map(|i| filler(k << 11 | i) >> (64 - PRODUCT_BITS))
            .collect();
        pack(&values, PRODUCT_BITS, row);
    }
    message.into_bytes()
}

fn decryption(c: &mut Criterion) {
    let ring = ring();
    let message = mask_products(&ring);
    let expected = ExpectedProducts {
        epoch: EPOCH,
        outputs: OUTPUTS,
        bits: PRODUCT_BITS,
    };
    let mut group = c.benchmark_group("decrypt 1024 outputs");
    group.sample_size(10);
    for columns in [1, 64, 2048] {
        let cached = good(CachedMaskProducts::new(&ring, expected, &message, columns));
        let small = good(GemmMasks::new(&ring, EPOCH, 1, columns));
        let vectors = vec![&[1.0][..]; columns];
        let scales = vec![1.0; columns];
        let answer = good(AnswerBuffer::new(
            ring.parameters(),
            OUTPUTS as u32,
            columns as u32,
            ANSWER_BITS,
        ))
        .into_bytes();
        let mut rng = SeededCsprng::insecure(2, 0);
        group.throughput(Throughput::Elements((OUTPUTS * columns) as u64));
        group.bench_function(BenchmarkId::from_parameter(columns), |b| {
            b.iter_batched(
                || good(encrypt(&small, &vectors, &scales, &mut rng)).1,
                |secret| good(secret.decrypt(&cached, ANSWER_BITS, &answer)),
                criterion::BatchSize::PerIteration,
            );
        });
    }
    group.bench_function("mask products to the cache, 2048 columns", |b| {
        b.iter(|| good(CachedMaskProducts::new(&ring, expected, &message, 2048)));
    });
    group.finish();
}

/// One product by transforms and by inner products: where they cost the same is
/// `GemmRing::direct_columns`.
fn crossover(c: &mut Criterion) {
    let ring = ring();
    let n = ring.degree();
    let mut a = vec![0; n];
    MaskExpander::new(ring.parameters(), EPOCH).expand(0, &mut a);
    let small: Vec<i32> = (0..n).map(|i| (filler(i) >> 33) as i32 % 3 - 1).collect();
    let (mut window, mut small_transformed) = (vec![0; 2 * n], vec![0; 3 * n]);
    ring.window(&small, &mut window);
    ring.transform_small(&small, &mut small_transformed);
    let mut out = vec![0; n];
    let mut group = c.benchmark_group("crossover");
    for limbs in [2, 3] {
        let mut transformed = vec![0; limbs * n];
        ring.transform_public(&a, if limbs == 2 { 29 } else { LOG_Q }, &mut transformed);
        let mut scratch = vec![0; limbs * n];
        group.bench_function(BenchmarkId::new("transforms", limbs), |b| {
            b.iter(|| {
                ring.multiply_transformed(
                    black_box(&transformed),
                    &small_transformed,
                    &mut scratch,
                    &mut out,
                );
            });
        });
    }
    for columns in [1, 4, 16, 32, 64] {
        group.bench_function(BenchmarkId::new("inner products", columns), |b| {
            b.iter(|| ring.multiply_direct(black_box(&a), &window, &mut out[..columns]));
        });
    }
    group.finish();
}

fn packing(c: &mut Criterion) {
    let parameters = good(GemmParameters::named("gemm-2048"));
    let columns = 2048;
    let mut group = c.benchmark_group("packing 2048 coefficients");
    group.throughput(Throughput::Elements(columns as u64));
    for bits in [24, LOG_Q] {
        let values: Vec<u64> = (0..columns).map(|i| filler(i) >> (64 - bits)).collect();
        let mut packed = vec![0; columns * bits as usize / 8];
        let mut unpacked = vec![0; columns];
        group.bench_function(BenchmarkId::new("pack", bits), |b| {
            b.iter(|| pack(black_box(&values), bits, &mut packed));
        });
        group.bench_function(BenchmarkId::new("unpack", bits), |b| {
            b.iter(|| unpack(black_box(&packed), bits, &mut unpacked));
        });
    }
    let upload = good(ckks::gemm::UploadBuffer::new(&parameters, EPOCH, 64, 2048)).into_bytes();
    group.bench_function("parse an upload of 64 rows", |b| {
        b.iter(|| good(UploadView::parse(&parameters, black_box(&upload))).columns());
    });
    group.finish();
}

criterion_group!(benches, crossover, packing, masks, encryption, decryption);

fn main() {
    // One thread, like the figures that other libraries publish.
    let pool = good(rayon::ThreadPoolBuilder::new().num_threads(1).build());
    pool.install(benches);
    Criterion::default().configure_from_args().final_summary();
}
