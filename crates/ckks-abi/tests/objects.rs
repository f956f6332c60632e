//! The wrapper on shared objects without encryption, good ones and bad ones.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[path = "../../ckks-bench/tests/common/objects.rs"]
mod objects;
#[allow(dead_code, reason = "each test program uses its own part")]
#[path = "../../ckks-bench/tests/common/textbook.rs"]
mod textbook;

use ckks_abi::{
    AbiError, Context, Giant, Library, LoadError, MESSAGE_LIMIT, Program, Status, TEXT_LIMIT, Term,
};
use objects::object;
use textbook::{Layer, Matrix, largest_error, random_vector};

fn load(fault: &str) -> Library {
    Library::load(&object(fault)).unwrap()
}

fn program(layer: &Layer) -> Program {
    let mut terms = Vec::new();
    let mut giants = Vec::new();
    for giant in &layer.giants {
        giants.push(Giant {
            output: giant.output,
            giant_step: giant.step,
            first_term: terms.len() as u64,
            term_count: giant.terms.len() as u64,
        });
        terms.extend(
            giant
                .terms
                .iter()
                .map(|&(input, baby_step, diagonal)| Term {
                    input,
                    baby_step,
                    diagonal,
                }),
        );
    }
    let (inputs, outputs) = (layer.inputs, layer.outputs);
    Program::new(
        layer.slots as u32,
        inputs,
        outputs,
        terms.len() as u64,
        giants,
        terms,
    )
    .unwrap()
}

/// Opens and prepares a layer.
fn prepared(library: &Library, layer: &Layer) -> Context {
    let mut context = library.open("{}").unwrap();
    let keys = context.keys(&layer.steps()).unwrap();
    assert_eq!(keys.galois_keys, layer.steps().len() as u64);
    context.prepare_begin(&program(layer)).unwrap();
    for (index, diagonal) in layer.diagonals.iter().enumerate() {
        context.prepare_diagonal(index as u64, diagonal).unwrap();
    }
    let report = context.prepare_end().unwrap();
    assert_eq!(report.log_scale, 40.0);
    context
}

const SLOTS: usize = 16;

fn small(complex: bool) -> (Matrix, Layer) {
    // Two inputs, three outputs, the last of each not full.
    let matrix = Matrix::random(27, 41, complex, 5);
    let layer = Layer::new(&matrix, SLOTS, complex, 4);
    assert_eq!((layer.inputs, layer.outputs), (2, 3));
    (matrix, layer)
}

/// Everything up to the evaluation of one vector on an object with this fault.
fn evaluate(fault: &str) -> (Context, Result<(), AbiError>) {
    let (matrix, layer) = small(false);
    let library = load(&format!("{fault} SLOTS=16"));
    let mut context = prepared(&library, &layer);
    let x = layer.pack(&random_vector(matrix.inputs, false, 9));
    context.encrypt(&x, 2).unwrap();
    let result = context.evaluate();
    (context, result)
}

#[test]
fn a_layer_agrees_with_a_float64_product() {
    for complex in [false, true] {
        let (matrix, layer) = small(complex);
        let kind = u8::from(complex);
        let library = load(&format!("plain SLOTS=16 COMPLEX={kind}"));
        let mut context = prepared(&library, &layer);
        let vectors: Vec<_> = (0..3)
            .map(|seed| random_vector(matrix.inputs, complex, seed))
            .collect();
        let packed: Vec<f64> = vectors.iter().flat_map(|x| layer.pack(x)).collect();
        let sent = context.encrypt(&packed, 6).unwrap();
        assert_eq!(sent.ciphertexts, 6);
        context.evaluate().unwrap();
        context.rescale().unwrap();
        context.synchronise().unwrap();
        assert_eq!(context.answers().unwrap().ciphertexts, 9);
        let group = 3 * layer.width();
        let mut values = vec![0.0; 3 * group];
        context.decrypt(&mut values).unwrap();
        for (values, x) in values.chunks(group).zip(&vectors) {
            let found = layer.unpack(values, matrix.outputs);
            assert!(largest_error(&found, &matrix.apply(x)) < 1e-13);
        }
        assert_eq!(context.bytes_used().unwrap(), Default::default());
        // The handle can go before the context: the object stays loaded.
        drop(library);
        context.evaluate().unwrap();
    }
}

#[test]
fn texts_are_handed_over_whole() {
    let library = load("plain");
    assert!(
        library
            .info()
            .unwrap()
            .starts_with("{\"name\": \"plain\", ")
    );
    assert!(library.probe().unwrap().ends_with("\"none\"}"));
    let mut context = library.open("{}").unwrap();
    assert!(context.describe().unwrap().contains("\"slots\": 1024,"));
}

#[test]
fn objects_that_cannot_be_used_are_refused() {
    let refusal = |fault| Library::load(&object(fault)).unwrap_err();
    let error = refusal("version");
    assert!(matches!(
        error,
        LoadError::Version {
            found: 42,
            expected: 1,
            ..
        }
    ));
    let message = error.to_string();
    assert!(
        message.contains("version 42") && message.contains("version 1"),
        "{message}"
    );

    // The version is looked at first: another one may lack functions.
    let error = refusal("version missing-symbol");
    assert!(matches!(error, LoadError::Version { .. }), "{error}");

    let LoadError::Symbol { symbol, .. } = refusal("missing-symbol") else {
        panic!("a missing function was not found");
    };
    assert_eq!(symbol, "ckks_backend_synchronise");

    assert!(matches!(refusal("no-object"), LoadError::Open { .. }));
    let missing = object("plain").with_file_name("libckks_backend_missing.so");
    let message = Library::load(&missing).unwrap_err().to_string();
    assert!(message.contains("libckks_backend_missing.so"), "{message}");
}

#[test]
fn each_status_comes_with_its_message() {
    for status in Status::ALL {
        let (mut context, result) = evaluate(&format!("status={}", status.code()));
        let error = result.unwrap_err();
        assert_eq!(error.status, status);
        assert_eq!(
            (error.call, &*error.message),
            ("evaluate", "deliberate failure of evaluate")
        );
        // What the object is asked after a fatal failure would succeed.
        let after = context.synchronise();
        if status.is_fatal() {
            let error = after.unwrap_err();
            assert_eq!(error.status, status);
            assert!(
                error.message.contains("deliberate failure of evaluate"),
                "{error}"
            );
            assert!(context.describe().is_err());
        } else {
            after.unwrap();
        }
    }
    for unknown in [8, -1] {
        let error = evaluate(&format!("status={unknown}")).1.unwrap_err();
        assert_eq!(error.status, Status::Internal);
        assert!(
            error.message.contains(&format!("status {unknown}")),
            "{error}"
        );
    }
}

#[test]
fn failures_before_there_is_a_context() {
    let error = load("status-open=5").open("{}").unwrap_err();
    assert_eq!((error.status, error.call), (Status::DeviceFault, "open"));
    let error = load("status-probe=3").probe().unwrap_err();
    assert_eq!(error.status, Status::NoDevice);
    assert_eq!(error.message, "deliberate failure of probe");
    let error = load("no-context").open("{}").unwrap_err();
    assert_eq!(error.status, Status::Internal);

    // A bad specification can be put right; a second context cannot be had.
    let library = load("plain");
    assert_eq!(library.open("[]").unwrap_err().status, Status::BadArgument);
    drop(library.open("{}").unwrap());
    let error = library.open("{}").unwrap_err();
    assert!(error.message.contains("one in its life"), "{error}");
}

#[test]
fn hostile_texts_are_refused() {
    let breach = |fault: &str| {
        let library = load(fault);
        let error = library.info().unwrap_err();
        assert_eq!(
            (error.call, error.status),
            ("info", Status::Internal),
            "{fault}"
        );
        let mut context = library.open("{}").unwrap();
        assert_eq!(
            context.describe().unwrap_err().status,
            Status::Internal,
            "{fault}"
        );
        error.message
    };
    let message = breach("needed");
    assert!(message.contains(&usize::MAX.to_string()), "{message}");
    assert!(message.contains(&TEXT_LIMIT.to_string()), "{message}");
    assert!(breach("growing").contains("bytes for its text, then"));
    assert!(breach("unterminated").contains("does not end with a zero"));
    assert!(breach("empty-text").contains("does not end with a zero"));
    assert!(breach("utf8").contains("not UTF-8"));
}

#[test]
fn hostile_messages_are_tamed() {
    let message = |fault| evaluate(fault).1.unwrap_err().message;
    assert_eq!(message("utf8"), "bad \u{fffd}( text");
    assert_eq!(message("long-message"), "m".repeat(MESSAGE_LIMIT));
    assert!(message("no-message").contains("no message"));
}

#[test]
fn values_that_were_not_written_are_found() {
    let decrypt = |fault, count| {
        let (mut context, result) = evaluate(fault);
        result.unwrap();
        let mut values = vec![0.0; count];
        let result = context.decrypt(&mut values);
        result.map(|()| values)
    };
    let error = decrypt("short", 3 * SLOTS).unwrap_err();
    assert_eq!(error.status, Status::Internal);
    assert_eq!(error.message, "left 1 of 48 values unwritten");
    // A NaN of the library's own is passed on, whatever its sign.
    let values = decrypt("nan", 3 * SLOTS).unwrap();
    assert!(values[47].is_nan() && values[..47].iter().all(|v| v.is_finite()));
    assert_eq!(decrypt("infinity", 3 * SLOTS).unwrap()[47], f64::INFINITY);
    let error = decrypt("plain", 3 * SLOTS - 1).unwrap_err();
    assert_eq!(error.status, Status::BadArgument);
}

#[test]
fn calls_out_of_order_change_nothing() {
    let (matrix, layer) = small(false);
    let library = load("plain SLOTS=16");
    let mut context = library.open("{}").unwrap();
    let refused = |result: Result<(), AbiError>| {
        assert_eq!(result.unwrap_err().status, Status::BadArgument);
    };
    refused(context.evaluate());
    refused(context.prepare_begin(&program(&layer)));
    refused(context.answers().map(drop));
    refused(context.keys(&[3, 3]).map(drop));
    refused(context.keys(&[16]).map(drop));
    context.keys(&layer.steps()).unwrap();
    refused(context.keys(&layer.steps()).map(drop));
    assert_eq!(context.bootstrap().unwrap_err().status, Status::Unsupported);
    context.prepare_begin(&program(&layer)).unwrap();
    refused(context.prepare_diagonal(1, &layer.diagonals[1]));
    refused(context.prepare_diagonal(0, &layer.diagonals[0][1..]));
    refused(context.prepare_end().map(drop));
    for (index, diagonal) in layer.diagonals.iter().enumerate() {
        context.prepare_diagonal(index as u64, diagonal).unwrap();
    }
    context.prepare_end().unwrap();
    let mut x = layer.pack(&random_vector(matrix.inputs, false, 1));
    refused(context.encrypt(&x[..16], 1).map(drop));
    x[20] = f64::NAN;
    let error = context.encrypt(&x, 2).unwrap_err();
    assert!(error.message.contains("value 20"), "{error}");
    x[20] = 0.5;
    context.encrypt(&x, 2).unwrap();
    context.evaluate().unwrap();
}
