//! Decoder of downloads.

#![no_main]

use ckks::{Answer, Context};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

static CONTEXT: LazyLock<Arc<Context>> =
    LazyLock::new(|| ckks_fuzz::small().expect("these parameters are valid"));

fuzz_target!(|data: &[u8]| {
    let lengths = [1, 2].map(|count| ckks::wire::answers_len(&CONTEXT, 1, 15 + count));
    ckks_fuzz::check::<Answer>(&CONTEXT, data, &lengths);
});
