//! Reader of downloads of the `gemm` plan.

#![no_main]

use ckks::gemm::GemmParameters;
use ckks_fuzz::gemm;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SET: LazyLock<(GemmParameters, Vec<u8>)> = LazyLock::new(|| {
    let set = gemm::parameters().expect("the set exists");
    let headers = gemm::headers(&set).expect("these sizes are valid");
    let header = headers[1].clone();
    (set, header)
});

fuzz_target!(|data: &[u8]| {
    gemm::check(&SET.0, data, gemm::answer, &SET.1);
});
