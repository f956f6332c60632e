//! The `gemm` plan on the server: evaluation in multiply-adds per second, and preparation.
//!
//! `cargo bench -p ckks-linear --bench gemm` first states the share of the core's peak.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark may stop at the first failure"
)]

use ckks::gemm::{Epoch, GemmParameters, UploadBuffer, pack};
use ckks_linear::gemm::{
    AnswerLength, DEFAULT_ERROR_BUDGET, GemmKernel, GemmLayer, peak_multiply_adds_per_second,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::Instant;
use tensor_io::WeightMatrix;

const D_IN: usize = 2048;
const D_OUT: usize = 1024;

fn weights() -> WeightMatrix {
    let data = (0..D_IN * D_OUT).map(|i| (i as f32).sin()).collect();
    WeightMatrix::from_output_major(D_IN, D_OUT, data).unwrap()
}

fn upload(parameters: &GemmParameters, columns: usize) -> Vec<u8> {
    let mut upload = UploadBuffer::new(parameters, Epoch(0), D_IN as u32, columns as u32).unwrap();
    let len = upload.row_len();
    let mut state = 1u64;
    for row in upload.rows_mut().chunks_exact_mut(len) {
        let values: Vec<u64> = (0..columns)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                state >> 12
            })
            .collect();
        pack(&values, 52, row);
    }
    upload.into_bytes()
}

/// Evaluations and the peak of the multiply-add instruction, measured in turn, medians of 9.
fn state_share_of_peak(
    one: &rayon::ThreadPool,
    parameters: &GemmParameters,
    weights: &WeightMatrix,
    length: AnswerLength,
) {
    const ROUNDS: usize = 9;
    let kernel = GemmKernel::best();
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    one.install(|| {
        let layer = GemmLayer::prepare(parameters, weights, Epoch(0), length, &|_| ()).unwrap();
        for columns in [32, 128, 256, 2048] {
            let upload = upload(parameters, columns);
            let (mut rates, mut peaks) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let start = Instant::now();
                layer.evaluate(&upload).unwrap();
                let seconds = start.elapsed().as_secs_f64();
                rates.push((D_IN * D_OUT * columns) as f64 / seconds);
                peaks.extend(peak_multiply_adds_per_second(kernel));
            }
            let rate = median(rates);
            print!(
                "{D_IN}x{D_OUT}, batch {columns}, {}: {:.1} G multiply-adds/s, {:.0} vectors/s",
                kernel.name(),
                rate * 1e-9,
                rate / (D_IN * D_OUT) as f64,
            );
            if peaks.is_empty() {
                println!();
            } else {
                let peak = median(peaks);
                println!(
                    ", {:.0} % of the core's peak of {:.1} G",
                    100.0 * rate / peak,
                    peak * 1e-9
                );
            }
        }
    });
}

fn gemm(criterion: &mut Criterion) {
    let parameters = GemmParameters::named("gemm-2048").unwrap();
    let length = AnswerLength::within(DEFAULT_ERROR_BUDGET, parameters.ring_degree());
    let weights = weights();
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    state_share_of_peak(&one, &parameters, &weights, length);
    for kernel in GemmKernel::available() {
        let prepare = || {
            one.install(|| {
                GemmLayer::prepare_with(kernel, &parameters, &weights, Epoch(0), length, &|_| ())
                    .unwrap()
            })
        };
        let layer = prepare();
        let mut group = criterion.benchmark_group(format!("gemm 2048x1024 {}", kernel.name()));
        group.sample_size(10);
        for columns in [1, 8, 32, 256, 2048] {
            let upload = upload(&parameters, columns);
            group.throughput(Throughput::Elements((D_IN * D_OUT * columns) as u64));
            group.bench_function(format!("evaluate {columns}"), |bencher| {
                bencher.iter(|| one.install(|| layer.evaluate(&upload).unwrap()));
            });
        }
        group.throughput(Throughput::Elements((D_IN * D_OUT * 2048) as u64));
        group.bench_function("prepare", |bencher| bencher.iter(prepare));
        group.finish();
    }
}

criterion_group!(benches, gemm);
criterion_main!(benches);
