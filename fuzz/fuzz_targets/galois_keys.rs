//! Decoder of key sets.

#![no_main]

use ckks::{Context, SeededGaloisKey};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

static CONTEXT: LazyLock<Arc<Context>> =
    LazyLock::new(|| ckks_fuzz::switching().expect("these parameters are valid"));

fuzz_target!(|data: &[u8]| {
    let lengths = [1, 2].map(|count| ckks::wire::galois_keys_len(&CONTEXT, count));
    ckks_fuzz::check::<SeededGaloisKey>(&CONTEXT, data, &lengths);
});
