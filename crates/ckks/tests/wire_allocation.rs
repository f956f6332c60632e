//! Decoding allocates in proportion to the message, whatever the message says.
//!
//! One test only: the counting allocator sees the whole process.

#![allow(clippy::unwrap_used, reason = "test code")]

mod golden;

use ckks::{Answer, Ciphertext, Context, MaskId, SeededCiphertext, SeededGaloisKey, Wire};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system allocator as it came, and its result is returned
// as it is; `realloc` and `alloc_zeroed` are the trait's own, in terms of these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes allocated on top of what was there, at the worst moment of decoding, and whether it
/// succeeded.
fn peak<T: Wire>(context: &Context, bytes: &[u8]) -> (usize, bool) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let ok = black_box(T::decode(context, black_box(bytes))).is_ok();
    (PEAK.load(Ordering::Relaxed) - before, ok)
}

fn check<T: Wire>(context: &Context, name: &str, bytes: &[u8], valid: bool) {
    let (peak, ok) = peak::<T>(context, bytes);
    assert_eq!(ok, valid, "{name}");
    let limit = 4 * bytes.len() + (64 << 10);
    let len = bytes.len();
    assert!(
        peak <= limit,
        "{name}: {peak} bytes for a message of {len}, limit {limit}"
    );
}

/// Huge counts, with and without a body, and a body that is wrong only at its very end.
fn hostile<T: Wire>(context: &Context, name: &str, valid: &[u8], count_at: usize, last: &[u8]) {
    check::<T>(context, name, valid, true);
    for count in [u32::MAX, u32::MAX / 2, 1 << 24, 70_000] {
        for len in [valid.len(), count_at + 4] {
            let mut bytes = valid[..len].to_vec();
            bytes[count_at..count_at + 4].copy_from_slice(&count.to_le_bytes());
            bytes[44..52].copy_from_slice(&(len as u64 - 52).to_le_bytes());
            check::<T>(context, name, &bytes, false);
            bytes[44..52].copy_from_slice(&u64::MAX.to_le_bytes());
            check::<T>(context, name, &bytes, false);
        }
    }
    if !last.is_empty() {
        let mut bytes = valid.to_vec();
        let at = bytes.len() - last.len();
        bytes[at..].copy_from_slice(last);
        check::<T>(context, name, &bytes, false);
    }
}

#[test]
fn decoding_allocates_at_most_four_times_the_message() {
    let (small, switching) = (golden::small(), golden::switching());
    let bad_residue = [0xff; 4];
    hostile::<SeededGaloisKey>(&switching, "keys", &golden::keys_bytes(), 84, &bad_residue);
    hostile::<SeededCiphertext>(
        &small,
        "uploads",
        &golden::uploads_bytes(),
        84,
        &bad_residue,
    );
    hostile::<Ciphertext>(
        &small,
        "ciphertexts",
        &golden::ciphertexts_bytes(),
        52,
        &bad_residue,
    );
    hostile::<Answer>(&small, "answers", &golden::answers_bytes(), 60, &[]);
    hostile::<MaskId>(&small, "masks", &golden::masks_bytes(), 84, &[0; 8]);

    // The worst valid messages: many objects, the shortest coefficients, the most masks.
    let answer = Answer::from_coefficients(16, vec![1; 1024], vec![2; 1024]).unwrap();
    let bytes = Answer::encode(&small, &vec![answer; 500]).unwrap();
    hostile::<Answer>(&small, "short answers", &bytes, 60, &[]);
    let seed = golden::seed();
    let masks: Vec<_> = (0..ckks::wire::MAX_MASKS as u64)
        .map(|counter| MaskId { seed, counter })
        .collect();
    let bytes = MaskId::encode(&small, &masks).unwrap();
    hostile::<MaskId>(&small, "many masks", &bytes, 84, &[0; 8]);
    // One mask too many, a megabyte of masks.
    for count in [4097u32, 1 << 17] {
        let mut body = seed.0.to_vec();
        body.extend(count.to_le_bytes());
        body.extend((0..u64::from(count)).flat_map(u64::to_le_bytes));
        let bytes = golden::message(5, golden::SMALL_DIGEST, &body);
        check::<MaskId>(&small, "too many masks", &bytes, false);
    }
    let c0 = golden::uploads().swap_remove(0).c0;
    let uploads: Vec<_> = masks
        .iter()
        .take(300)
        .map(|&mask| SeededCiphertext {
            c0: c0.clone(),
            mask,
        })
        .collect();
    let bytes = SeededCiphertext::encode(&small, &uploads).unwrap();
    hostile::<SeededCiphertext>(&small, "many uploads", &bytes, 84, &bad_residue);
}
