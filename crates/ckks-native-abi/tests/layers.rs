//! The shared object through the loader, against a float64 product.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[path = "../../ckks-bench/tests/common/objects.rs"]
mod objects;
#[allow(dead_code, reason = "each test program uses its own part")]
#[path = "../../ckks-bench/tests/common/textbook.rs"]
mod textbook;

use ckks_abi::{Context, Giant, Library, Program, Term};
use objects::object;
use textbook::{Layer, Matrix, Slot, largest_error, random_vector};

const SLOTS: usize = 2048;
/// The largest error that the benchmark accepts.
const GATE: f64 = 1e-4;

fn program(layer: &Layer) -> Program {
    let (mut giants, mut terms) = (Vec::new(), Vec::new());
    for giant in &layer.giants {
        giants.push(Giant {
            output: giant.output,
            giant_step: giant.step,
            first_term: terms.len() as u64,
            term_count: giant.terms.len() as u64,
        });
        let products = giant.terms.iter();
        terms.extend(products.map(|&(input, baby_step, diagonal)| Term {
            input,
            baby_step,
            diagonal,
        }));
    }
    let (inputs, outputs, diagonals) = (layer.inputs, layer.outputs, terms.len() as u64);
    Program::new(SLOTS as u32, inputs, outputs, diagonals, giants, terms).unwrap()
}

fn open(threads: usize) -> Context {
    let library = Library::load(&object("native")).unwrap();
    let spec = format!(
        "{{\"params\": null, \"mode\": null, \"device\": 0, \"threads\": {threads}, \
         \"bootstrap\": false}}"
    );
    library.open(&spec).unwrap()
}

fn prepare(context: &mut Context, layer: &Layer) {
    context.prepare_begin(&program(layer)).unwrap();
    for (index, diagonal) in layer.diagonals.iter().enumerate() {
        context.prepare_diagonal(index as u64, diagonal).unwrap();
    }
    let report = context.prepare_end().unwrap();
    // Two primes of four bytes, 4096 coefficients.
    assert_eq!(report.prepared_bytes, layer.diagonals.len() as u64 * 32_768);
}

/// Products of some vectors, and their largest error.
fn evaluate(context: &mut Context, layer: &Layer, matrix: &Matrix, vectors: &[Vec<Slot>]) -> f64 {
    let packed: Vec<f64> = vectors.iter().flat_map(|x| layer.pack(x)).collect();
    let count = vectors.len() * layer.inputs as usize;
    assert_eq!(
        context.encrypt(&packed, count).unwrap().ciphertexts,
        count as u64
    );
    context.evaluate().unwrap();
    context.rescale().unwrap();
    context.synchronise().unwrap();
    let answers = context.answers().unwrap().ciphertexts as usize;
    assert_eq!(answers, vectors.len() * layer.outputs as usize);
    let group = layer.outputs as usize * layer.width();
    let mut values = vec![0.0; vectors.len() * group];
    context.decrypt(&mut values).unwrap();
    let errors = values.chunks(group).zip(vectors).map(|(values, x)| {
        let found = layer.unpack(values, matrix.outputs);
        largest_error(&found, &matrix.apply(x))
    });
    errors.fold(0.0, f64::max)
}

#[test]
fn the_object_describes_itself() {
    let library = Library::load(&object("native")).unwrap();
    let json = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let info = json(library.info().unwrap());
    assert_eq!(
        (&info["name"], &info["presets"][0]),
        (&"native".into(), &"diagonal-4096".into())
    );
    assert_eq!(json(library.probe().unwrap())["devices"][0]["name"], "cpu");
    let description = json(open(1).describe().unwrap());
    assert_eq!(description["slots"], SLOTS);
    assert_eq!(description["slot_kind"], "complex");
    assert_eq!(description["parameters"]["ring_degree"], 4096);
    let count = |name: &str| description["parameters"][name].as_array().unwrap().len();
    assert_eq!((count("q"), count("p")), (2, 1));
    let largest = description["largest"].as_f64().unwrap();
    assert!((3.0..4.0).contains(&largest), "{largest}");
}

#[test]
fn a_small_layer_of_complex_numbers_and_another_after_it() {
    let mut context = open(2);
    let matrix = Matrix::random(64, 48, true, 1);
    let layer = Layer::new(&matrix, SLOTS, true, 16);
    // A second layer in the same context has its keys too.
    let second = Matrix::random(7, 5, true, 2);
    let second_layer = Layer::new(&second, SLOTS, true, 16);
    let mut steps = [layer.steps(), second_layer.steps()].concat();
    steps.sort_unstable();
    steps.dedup();
    let keys = context.keys(&steps).unwrap();
    assert_eq!(keys.galois_keys, steps.len() as u64);
    assert!(keys.key_bytes > 0);

    prepare(&mut context, &layer);
    let vectors: Vec<_> = (0..2).map(|seed| random_vector(64, true, seed)).collect();
    let error = evaluate(&mut context, &layer, &matrix, &vectors);
    assert!(error > 0.0 && error < GATE, "{error:e}");

    prepare(&mut context, &second_layer);
    let vectors = [random_vector(7, true, 9)];
    let error = evaluate(&mut context, &second_layer, &second, &vectors);
    assert!(error > 0.0 && error < GATE, "{error:e}");
}

#[test]
fn several_inputs_and_outputs_and_an_output_of_zeros() {
    // Bands of three and two diagonals across two ciphertexts each; the third output is zero.
    let (inputs, outputs) = (2 * SLOTS, 2 * SLOTS + 100);
    let mut next = textbook::uniform(4);
    let mut matrix = Matrix {
        inputs,
        outputs,
        values: vec![[0.0; 2]; inputs * outputs],
    };
    for input in 0..inputs {
        for offset in [0, 1, 40] {
            let output = (input + offset) % (2 * SLOTS);
            matrix.values[input * outputs + output] = [next(), next()];
        }
    }
    let layer = Layer::new(&matrix, SLOTS, true, 64);
    assert_eq!((layer.inputs, layer.outputs), (2, 3));
    assert!(layer.giants.iter().all(|giant| giant.output < 2));
    let mut context = open(2);
    context.keys(&layer.steps()).unwrap();
    prepare(&mut context, &layer);
    let vectors = [random_vector(inputs, true, 5)];
    let error = evaluate(&mut context, &layer, &matrix, &vectors);
    assert!(error > 0.0 && error < GATE, "{error:e}");
}

#[test]
fn a_full_layer_passes_the_gate() {
    // Real data as in the benchmark, the imaginary parts unused.
    let matrix = Matrix::random(SLOTS, SLOTS, false, 7);
    let layer = Layer::new(&matrix, SLOTS, true, 32);
    let mut context = open(2);
    context.keys(&layer.steps()).unwrap();
    prepare(&mut context, &layer);
    let vectors = [random_vector(SLOTS, false, 8)];
    let error = evaluate(&mut context, &layer, &matrix, &vectors);
    assert!(error > 0.0 && error < GATE, "{error:e}");
    println!("2048 -> 2048: largest error {error:.2e}");
}
