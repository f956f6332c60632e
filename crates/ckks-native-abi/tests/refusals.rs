//! The functions, called as C does: every wrong argument is refused with a message.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use ckks_abi::sys::{
    ckks_backend_context, ckks_backend_giant, ckks_backend_key_report, ckks_backend_memory,
    ckks_backend_prepare_report, ckks_backend_program, ckks_backend_term, ckks_backend_transfer,
};
use ckks_abi::{ABI_VERSION, Status};
use ckks_backend_native::export::*;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

const SPEC: &str =
    r#"{"params": null, "mode": null, "device": 0, "threads": 1, "bootstrap": false}"#;
/// Doubles of a slot vector.
const WIDTH: usize = 4096;

fn message() -> String {
    // SAFETY: never null, valid until the next call.
    let text = unsafe { CStr::from_ptr(ckks_backend_last_error()) };
    text.to_str().unwrap().to_owned()
}

/// The call was refused with a message that has this part.
#[track_caller]
fn refused(status: i32, part: &str) {
    assert_eq!(status, Status::BadArgument.code());
    let message = message();
    assert!(message.contains(part), "{message}");
}

/// A context, freed at the end.
struct Opened(*mut ckks_backend_context);

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: made by open, freed once.
        unsafe { ckks_backend_free(self.0) }
    }
}

fn open() -> Opened {
    let mut context = null_mut();
    // SAFETY: the specification has its length, the context is writable.
    let status = unsafe { ckks_backend_open(SPEC.as_ptr().cast(), SPEC.len(), &mut context) };
    assert_eq!(status, 0, "{}", message());
    Opened(context)
}

fn with_keys(steps: &[i64]) -> Opened {
    let context = open();
    let mut report = ckks_backend_key_report::default();
    // SAFETY: all pointers are valid.
    let status = unsafe { ckks_backend_keys(context.0, steps.as_ptr(), steps.len(), &mut report) };
    assert_eq!(status, 0, "{}", message());
    context
}

/// One giant with one term.
fn program(giant: &ckks_backend_giant, term: &ckks_backend_term) -> ckks_backend_program {
    ckks_backend_program {
        size: size_of::<ckks_backend_program>(),
        inputs: 1,
        outputs: 1,
        diagonals: 1,
        giants: giant,
        giant_count: 1,
        terms: term,
        term_count: 1,
    }
}

const GIANT: ckks_backend_giant = ckks_backend_giant {
    output: 0,
    giant_step: 0,
    first_term: 0,
    term_count: 1,
};
const TERM: ckks_backend_term = ckks_backend_term {
    input: 0,
    baby_step: 3,
    diagonal: 0,
};

#[test]
fn null_pointers() {
    assert_eq!(ckks_backend_abi_version(), ABI_VERSION);
    let owner = with_keys(&[3]);
    let context = owner.0;
    let none: *mut ckks_backend_context = null_mut();
    let mut needed = 0usize;
    let mut keys = ckks_backend_key_report::default();
    let mut prepared = ckks_backend_prepare_report::default();
    let mut transfer = ckks_backend_transfer::default();
    let mut memory = ckks_backend_memory::default();
    let mut opened = null_mut();
    let mut values = [0.0; 2];
    let text: *mut c_char = null_mut();
    // SAFETY: every pointer is null or valid for the length beside it.
    unsafe {
        refused(
            ckks_backend_info(text, 0, null_mut()),
            "needed is a null pointer",
        );
        refused(
            ckks_backend_info(text, 8, &mut needed),
            "the buffer is a null pointer",
        );
        refused(ckks_backend_probe(text, 0, null_mut()), "needed");
        refused(
            ckks_backend_open(null(), 5, &mut opened),
            "specification is a null",
        );
        refused(
            ckks_backend_open(SPEC.as_ptr().cast(), SPEC.len(), null_mut()),
            "context",
        );
        refused(
            ckks_backend_describe(none, text, 0, &mut needed),
            "context is a null",
        );
        refused(
            ckks_backend_keys(none, [1].as_ptr(), 1, &mut keys),
            "context",
        );
        refused(ckks_backend_keys(context, null(), 1, &mut keys), "steps");
        refused(
            ckks_backend_keys(context, [1].as_ptr(), 1, null_mut()),
            "report",
        );
        refused(
            ckks_backend_prepare_begin(none, &program(&GIANT, &TERM)),
            "context",
        );
        refused(ckks_backend_prepare_begin(context, null()), "program");
        let mut bad = program(&GIANT, &TERM);
        bad.giants = null();
        refused(
            ckks_backend_prepare_begin(context, &bad),
            "giants is a null pointer",
        );
        bad = program(&GIANT, &TERM);
        bad.terms = null();
        refused(
            ckks_backend_prepare_begin(context, &bad),
            "terms is a null pointer",
        );
        refused(
            ckks_backend_prepare_diagonal(none, 0, values.as_ptr(), 2),
            "context",
        );
        refused(
            ckks_backend_prepare_diagonal(context, 0, null(), 2),
            "values",
        );
        refused(ckks_backend_prepare_end(none, &mut prepared), "context");
        refused(ckks_backend_prepare_end(context, null_mut()), "report");
        refused(
            ckks_backend_encrypt(none, values.as_ptr(), 2, 1, &mut transfer),
            "context",
        );
        refused(
            ckks_backend_encrypt(context, null(), 2, 1, &mut transfer),
            "values",
        );
        refused(
            ckks_backend_encrypt(context, values.as_ptr(), 2, 1, null_mut()),
            "report",
        );
        refused(ckks_backend_evaluate(none), "context");
        refused(ckks_backend_rescale(none), "context");
        refused(ckks_backend_bootstrap(none), "context");
        refused(ckks_backend_synchronise(none), "context");
        refused(ckks_backend_answers(none, &mut transfer), "context");
        refused(ckks_backend_answers(context, null_mut()), "report");
        refused(
            ckks_backend_decrypt(none, values.as_mut_ptr(), 2),
            "context",
        );
        refused(ckks_backend_decrypt(context, null_mut(), 2), "values");
        refused(ckks_backend_bytes_used(none, &mut memory), "context");
        refused(ckks_backend_bytes_used(context, null_mut()), "report");
        ckks_backend_free(none);
    }
    assert!(opened.is_null());
    assert_eq!((keys.galois_keys, transfer.ciphertexts), (0, 0));
}

#[test]
fn texts_say_what_they_need() {
    let mut needed = 0;
    let mut buffer = [1 as c_char; 512];
    // SAFETY: the buffer has the capacities that are given.
    unsafe {
        assert_eq!(ckks_backend_info(null_mut(), 0, &mut needed), 0);
        let all = needed;
        assert!(all > 20 && all < 512);
        needed = 0;
        refused(
            ckks_backend_info(buffer.as_mut_ptr(), all - 1, &mut needed),
            "bytes for a text",
        );
        assert_eq!(needed, all);
        assert_eq!(buffer, [1; 512], "a text that does not fit is not written");
        assert_eq!(ckks_backend_info(buffer.as_mut_ptr(), all, &mut needed), 0);
        assert_eq!((buffer[all - 1], buffer[all]), (0, 1));
    }
}

#[test]
fn lengths_orders_and_values() {
    let context = open();
    let raw = context.0;
    let mut keys = ckks_backend_key_report::default();
    let mut prepared = ckks_backend_prepare_report::default();
    let mut transfer = ckks_backend_transfer::default();
    let mut values = vec![0.5; WIDTH];
    // SAFETY: every pointer is valid for the length beside it.
    unsafe {
        let layer = program(&GIANT, &TERM);
        refused(ckks_backend_prepare_begin(raw, &layer), "keys first");
        refused(
            ckks_backend_encrypt(raw, values.as_ptr(), WIDTH, 1, &mut transfer),
            "keys first",
        );
        for (steps, part) in [
            ([0, 1], "step 0 is 0"),
            ([1, 1], "step 1 is 1"),
            ([2, 1], "step 1 is 1"),
            ([1, 2048], "step 1 is 2048"),
            ([-1, 1], "step 0 is -1"),
            ([i64::MIN, i64::MAX], "step 0"),
        ] {
            refused(ckks_backend_keys(raw, steps.as_ptr(), 2, &mut keys), part);
        }
        assert_eq!(ckks_backend_keys(raw, [3i64].as_ptr(), 1, &mut keys), 0);
        assert_eq!(keys.galois_keys, 1);
        refused(
            ckks_backend_keys(raw, [3i64].as_ptr(), 1, &mut keys),
            "made once",
        );

        let mut bad = layer;
        bad.size -= 8;
        refused(
            ckks_backend_prepare_begin(raw, &bad),
            "a program of 48 bytes",
        );
        bad = layer;
        bad.giant_count = u64::MAX;
        refused(ckks_backend_prepare_begin(raw, &bad), "do not fit");
        bad = layer;
        bad.diagonals = 2;
        refused(
            ckks_backend_prepare_begin(raw, &bad),
            "2 diagonals for 1 terms",
        );
        let other = ckks_backend_term {
            baby_step: 4,
            ..TERM
        };
        refused(
            ckks_backend_prepare_begin(raw, &program(&GIANT, &other)),
            "no key for step 4",
        );
        refused(ckks_backend_prepare_end(raw, &mut prepared), "no layer");

        assert_eq!(ckks_backend_prepare_begin(raw, &layer), 0);
        refused(
            ckks_backend_prepare_end(raw, &mut prepared),
            "0 of 1 diagonals",
        );
        refused(
            ckks_backend_prepare_diagonal(raw, 1, values.as_ptr(), WIDTH),
            "diagonal 1 came",
        );
        refused(
            ckks_backend_prepare_diagonal(raw, 0, values.as_ptr(), WIDTH - 1),
            "4095 values",
        );
        refused(
            ckks_backend_prepare_diagonal(raw, 0, values.as_ptr(), 0),
            "0 values",
        );
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            values[77] = bad;
            refused(
                ckks_backend_prepare_diagonal(raw, 0, values.as_ptr(), WIDTH),
                "value 77",
            );
        }
        values[77] = 1e300;
        refused(
            ckks_backend_prepare_diagonal(raw, 0, values.as_ptr(), WIDTH),
            "too large",
        );
        values[77] = 0.5;
        assert_eq!(
            ckks_backend_prepare_diagonal(raw, 0, values.as_ptr(), WIDTH),
            0
        );
        refused(
            ckks_backend_prepare_diagonal(raw, 1, values.as_ptr(), WIDTH),
            "1 of 1",
        );
        refused(ckks_backend_evaluate(raw), "a layer that was ended");
        assert_eq!(ckks_backend_prepare_end(raw, &mut prepared), 0);
        refused(ckks_backend_evaluate(raw), "a batch");

        let encrypt = |values: &[f64], count, transfer: &mut _| {
            ckks_backend_encrypt(raw, values.as_ptr(), values.len(), count, transfer)
        };
        refused(encrypt(&values, 0, &mut transfer), "0 ciphertexts");
        refused(encrypt(&values, 2, &mut transfer), "2 slot vectors");
        refused(encrypt(&values, usize::MAX, &mut transfer), "slot vectors");
        values[4095] = f64::NAN;
        refused(
            encrypt(&values, 1, &mut transfer),
            "value 4095 of a batch is NaN",
        );
        values[4095] = 0.5;
        refused(ckks_backend_answers(raw, &mut transfer), "evaluate first");
        assert_eq!(encrypt(&values, 1, &mut transfer), 0);
        refused(ckks_backend_rescale(raw), "evaluate first");
        refused(
            ckks_backend_decrypt(raw, values.as_mut_ptr(), WIDTH),
            "evaluate first",
        );
        let unsupported = ckks_backend_bootstrap(raw);
        assert_eq!(unsupported, Status::Unsupported.code());

        // After all that: 0.5·(1 + i) squared, in every slot.
        assert_eq!(ckks_backend_evaluate(raw), 0, "{}", message());
        refused(
            ckks_backend_decrypt(raw, values.as_mut_ptr(), WIDTH - 1),
            "4095 values",
        );
        assert!(
            values.iter().all(|&value| value == 0.5),
            "written without success"
        );
        assert_eq!(ckks_backend_decrypt(raw, values.as_mut_ptr(), WIDTH), 0);
        for &[re, im] in values.as_chunks::<2>().0 {
            assert!(re.abs() < 1e-4 && (im - 0.5).abs() < 1e-4, "{re} {im}");
        }
    }
}

#[test]
fn misaligned_pointers() {
    let context = open();
    let values = [0.0f64; 4];
    // SAFETY: eight bytes lie behind the pointer; it is refused unread.
    unsafe {
        let odd = values.as_ptr().byte_add(1);
        refused(
            ckks_backend_prepare_diagonal(context.0, 0, odd, 1),
            "not aligned to 8",
        );
    }
}
