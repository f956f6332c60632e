//! How long encoding and decoding take; prints a table. Not a test of anything:
//! `cargo test --release -p ckks --test wire_speed -- --ignored --nocapture`.

#![allow(clippy::unwrap_used, reason = "test code")]

use ckks::automorphism::GaloisElement;
use ckks::xof::Seed;
use ckks::{Answer, Ciphertext, Context, MaskId, RnsPoly, SeededCiphertext, SeededGaloisKey, Wire};
use std::hint::black_box;
use std::time::Instant;

/// Median microseconds of a call.
fn median(mut f: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..301)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn row<T: Wire>(name: &str, context: &Context, list: &[T]) {
    let bytes = T::encode(context, list).unwrap();
    let encode = median(|| drop(black_box(T::encode(context, black_box(list)).unwrap())));
    let decode = median(|| drop(black_box(T::decode(context, black_box(&bytes)).unwrap())));
    let len = bytes.len();
    println!("{name:<32} {len:>8} bytes  encode {encode:>8.1} µs  decode {decode:>8.1} µs");
}

fn poly(context: &Context, limbs: usize) -> RnsPoly {
    let mut poly = RnsPoly::zero(limbs, context.degree());
    for limb in 0..limbs {
        let prime = context.modulus(limb).value();
        for (i, v) in poly.limb_mut(limb).iter_mut().enumerate() {
            *v = (i as u32).wrapping_mul(0x9e37_79b9) % prime;
        }
    }
    poly
}

#[test]
#[ignore = "a measurement"]
fn encode_and_decode_times() {
    let context = Context::named("diagonal-4096").unwrap();
    let seed = Seed([7; 32]);
    let c0 = poly(&context, 2);
    let mask = MaskId { seed, counter: 9 };
    let seeded = SeededCiphertext {
        c0: c0.clone(),
        mask,
    };
    row("upload, 1 seeded ciphertext", &context, &[seeded]);
    let c1 = mask.expand(&context);
    row("1 full ciphertext", &context, &[Ciphertext { c0, c1 }]);
    for bits in [16, 32, 40, 57, 61] {
        let half = |m: u64| {
            let values = (0..4096u64).map(|i| (i * m).wrapping_mul(m) & ((1 << bits) - 1));
            values.collect::<Vec<_>>()
        };
        let answer = Answer::from_coefficients(bits, half(0x9e37_79b9), half(0x517c_c1b7)).unwrap();
        row(
            &format!("download, 1 answer, {bits} bits"),
            &context,
            &[answer],
        );
    }
    let masks: Vec<_> = (0..64).map(|counter| MaskId { seed, counter }).collect();
    row("64 masks", &context, &masks);
    let keys: Vec<_> = (0..62)
        .map(|i| SeededGaloisKey {
            element: GaloisElement::from_exponent(2 * i + 3, 4096).unwrap(),
            seed,
            digits: vec![poly(&context, 3), poly(&context, 3)],
        })
        .collect();
    row("key set, 62 keys", &context, &keys);
}
