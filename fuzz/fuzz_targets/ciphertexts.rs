//! Decoder of full ciphertexts.

#![no_main]

use ckks::{Ciphertext, Context};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

static CONTEXT: LazyLock<Arc<Context>> =
    LazyLock::new(|| ckks_fuzz::small().expect("these parameters are valid"));

fuzz_target!(|data: &[u8]| {
    let lengths = [1, 2].map(|count| ckks::wire::ciphertexts_len(&CONTEXT, count));
    ckks_fuzz::check::<Ciphertext>(&CONTEXT, data, &lengths);
});
