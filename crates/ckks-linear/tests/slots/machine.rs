//! A plain slot machine: the operations that every CKKS library has, on slot vectors in the clear,
//! in the order of baby steps, inner sums and giant steps.

use ckks::Complex64;
use ckks_linear::slots::{SlotDiagonals, SlotKind, SlotOutput, SlotProgram};
use std::collections::{BTreeMap, BTreeSet};
use tensor_io::WeightMatrix;

type Slots = Vec<Complex64>;

/// Rotates to the left and notes the step.
fn rotate(slots: &[Complex64], step: usize, used: &mut BTreeSet<usize>) -> Slots {
    let mut out = slots.to_vec();
    if step != 0 {
        used.insert(step);
        out.rotate_left(step);
    }
    out
}

fn add(to: &mut [Complex64], from: &[Complex64]) {
    assert_eq!(to.len(), from.len());
    to.iter_mut().zip(from).for_each(|(a, b)| *a += b);
}

/// The answers to one evaluation's inputs, and the rotation steps used.
pub fn evaluate(diagonals: &SlotDiagonals<'_>, inputs: &[Slots]) -> (Vec<Slots>, BTreeSet<usize>) {
    let n = diagonals.program().slots();
    let mut used = BTreeSet::new();
    let mut babies: BTreeMap<(usize, usize), Slots> = BTreeMap::new();
    let mut plaintext = vec![Complex64::ZERO; n];
    let mut answers = Vec::new();
    for output in diagonals.outputs() {
        let mut answer = vec![Complex64::ZERO; n];
        if let SlotOutput::Sum(giants) = output {
            assert!(!giants.is_empty());
            for giant in giants {
                assert!(!giant.terms.is_empty());
                let mut inner = vec![Complex64::ZERO; n];
                for term in &giant.terms {
                    let baby = babies
                        .entry((term.input, term.baby))
                        .or_insert_with(|| rotate(&inputs[term.input], term.baby, &mut used));
                    diagonals.fill(term.diagonal, &mut plaintext).unwrap();
                    let product: Slots = baby.iter().zip(&plaintext).map(|(a, b)| a * b).collect();
                    add(&mut inner, &product);
                }
                add(&mut answer, &rotate(&inner, giant.step, &mut used));
            }
        }
        answers.push(answer);
    }
    (answers, used)
}

/// Every diagonal, in order. Checks that one at a time and a range at a time agree.
pub fn plaintexts(diagonals: &SlotDiagonals<'_>) -> Vec<Slots> {
    let n = diagonals.program().slots();
    let mut all = vec![Complex64::ONE; n * diagonals.len()];
    diagonals.fill_range(0..diagonals.len(), &mut all).unwrap();
    let all: Vec<Slots> = all.chunks(n).map(<[Complex64]>::to_vec).collect();
    for (diagonal, expected) in all.iter().enumerate() {
        // What the buffer held before must not show.
        let mut one = vec![Complex64::ONE; n];
        diagonals.fill(diagonal, &mut one).unwrap();
        assert_eq!(&one, expected);
        assert!(one.iter().any(|&slot| slot != Complex64::ZERO));
    }
    all
}

/// The products of a batch; checks the program against everything it promises about itself.
pub fn multiply(
    program: &SlotProgram,
    weights: &WeightMatrix,
    vectors: &[Vec<f64>],
) -> Vec<Vec<f64>> {
    let diagonals = program.prepare(weights).unwrap();
    check_terms(program, &diagonals);
    let bound = check_bound(program, weights, &diagonals);
    let each = program.vectors_per_ciphertext();
    assert_eq!(
        program.evaluations(vectors.len()),
        vectors.chunks(each).count()
    );
    let mut products = Vec::new();
    for members in vectors.chunks(each) {
        let slices: Vec<&[f64]> = members.iter().map(Vec::as_slice).collect();
        let inputs = program.pack(&slices).unwrap();
        assert_eq!(inputs.len(), program.inputs().len());
        assert!(inputs.iter().all(|input| input.len() == program.slots()));
        if program.kind() == SlotKind::Real {
            let reals = inputs.iter().flatten();
            reals.for_each(|slot| assert_eq!(slot.im, 0.0));
        }
        let before = inputs.clone();
        let (answers, used) = evaluate(&diagonals, &inputs);
        assert_eq!(inputs, before);
        let steps: Vec<usize> = used.into_iter().collect();
        assert_eq!(steps, diagonals.rotation_steps());
        let norm_sqr: f64 = members.iter().flatten().map(|x| x * x).sum();
        let most = bound * norm_sqr.sqrt() * (1.0 + 1e-9);
        for slot in answers.iter().flatten() {
            assert!(slot.norm() <= most, "{slot} exceeds {most}");
        }
        products.extend(program.unpack(&answers, members.len()).unwrap());
    }
    products
}

/// Numbers, counts and rotations of the term lists with and without zero diagonals.
fn check_terms(program: &SlotProgram, diagonals: &SlotDiagonals<'_>) {
    let n = program.slots();
    let giants: Vec<_> = (0..program.outputs().len())
        .flat_map(|o| program.giants(o))
        .collect();
    assert!(program.giants(program.outputs().len()).is_empty());
    let terms: Vec<_> = giants.iter().flat_map(|giant| &giant.terms).collect();
    let numbers = terms.iter().map(|term| term.diagonal);
    assert!(numbers.eq(0..program.diagonals()));
    assert!(terms.iter().all(|term| term.input < program.inputs().len()));
    let used: BTreeSet<usize> = giants
        .iter()
        .map(|giant| giant.step)
        .chain(terms.iter().map(|term| term.baby))
        .filter(|&step| step != 0)
        .collect();
    assert!(used.iter().all(|&step| step < n));
    let used: Vec<usize> = used.into_iter().collect();
    assert_eq!(program.rotation_steps(), used);
    assert!(
        diagonals
            .rotation_steps()
            .iter()
            .all(|step| used.contains(step))
    );
    let one = program.counts(1);
    assert_eq!(one.plaintexts, program.diagonals() as u64);
    assert_eq!(one.inner_sums, giants.len() as u64);
    let rotated = giants.iter().filter(|giant| giant.step != 0).count();
    assert_eq!(one.giant_rotations, rotated as u64);
    let babies: BTreeSet<(usize, usize)> = terms
        .iter()
        .filter(|term| term.baby != 0)
        .map(|term| (term.input, term.baby))
        .collect();
    assert_eq!(one.baby_rotations, babies.len() as u64);
    assert_eq!(
        diagonals.len() + diagonals.zero_diagonals(),
        program.diagonals()
    );
    let left: Vec<usize> = diagonals
        .outputs()
        .iter()
        .filter_map(|output| match output {
            SlotOutput::Zero => None,
            SlotOutput::Sum(giants) => Some(giants),
        })
        .flatten()
        .flat_map(|giant| giant.terms.iter().map(|term| term.diagonal))
        .collect();
    assert!(left.into_iter().eq(0..diagonals.len()));
}

/// The bound of a slot, from the plaintexts themselves. Returns it.
fn check_bound(
    program: &SlotProgram,
    weights: &WeightMatrix,
    diagonals: &SlotDiagonals<'_>,
) -> f64 {
    let n = program.slots();
    let plaintexts = plaintexts(diagonals);
    if program.kind() == SlotKind::Real {
        let reals = plaintexts.iter().flatten();
        reals.for_each(|slot| assert_eq!(slot.im, 0.0));
    }
    let mut largest = 0.0f64;
    for output in diagonals.outputs() {
        let SlotOutput::Sum(giants) = output else {
            continue;
        };
        let mut energy = vec![0.0; n];
        for giant in giants {
            for term in &giant.terms {
                let plaintext = &plaintexts[term.diagonal];
                for (p, energy) in energy.iter_mut().enumerate() {
                    // Slot p of the output comes from slot p + step of the inner sum.
                    *energy += plaintext[(p + giant.step) % n].norm_sqr();
                }
            }
        }
        largest = energy.into_iter().fold(largest, f64::max);
    }
    let bound = program.slot_bound(weights).unwrap();
    assert!((bound - largest.sqrt()).abs() <= 1e-12 * bound);
    bound
}
