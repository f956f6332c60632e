//! The `gemm` plan on the server: evaluation in multiply-adds per second, and preparation.
//!
//! `cargo bench -p ckks-linear --bench gemm` states the peak of one core, to compare with.
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

fn gemm(criterion: &mut Criterion) {
    let parameters = GemmParameters::named("gemm-2048").unwrap();
    let length = AnswerLength::within(DEFAULT_ERROR_BUDGET, parameters.ring_degree());
    let weights = weights();
    let one = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    if let Some(peak) = peak_multiply_adds_per_second(GemmKernel::best()) {
        println!("peak of one core: {:.1} G multiply-adds/s", peak * 1e-9);
    }
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
