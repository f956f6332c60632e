//! Decoder of mask announcements.

#![no_main]

use ckks::{Context, MaskId};
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

static CONTEXT: LazyLock<Arc<Context>> =
    LazyLock::new(|| ckks_fuzz::small().expect("these parameters are valid"));

fuzz_target!(|data: &[u8]| {
    let lengths = [1, 2].map(ckks::wire::masks_len);
    ckks_fuzz::check::<MaskId>(&CONTEXT, data, &lengths);
});
