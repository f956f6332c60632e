//! A layer on one group of ciphertexts.

use crate::failure::Failure;
use ckks::{Ciphertext, Context, GaloisKeys, RnsPoly};
use ckks_abi::{Giant, Program};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Inputs by number and baby step.
type Rotated = BTreeMap<(u32, u32), Ciphertext>;

/// The outputs of a group of inputs:
///
/// ```text
/// output[o] = Σ_giants of o  rotate(giant step,  Σ_terms  diagonal · rotate(baby step, input))
/// ```
pub(crate) fn evaluate(
    context: &Context,
    keys: &GaloisKeys,
    program: &Program,
    diagonals: &[RnsPoly],
    group: &[Ciphertext],
) -> Result<Vec<Ciphertext>, Failure> {
    let rotated = rotate_inputs(context, keys, program, group)?;
    let sums: Vec<Ciphertext> = program
        .giants()
        .par_iter()
        .map(|giant| {
            let sum = inner_sum(context, program, giant, diagonals, &rotated)?;
            match giant.giant_step {
                0 => Ok(sum),
                step => Ok(context.rotate(&sum, i64::from(step), keys)?),
            }
        })
        .collect::<Result<_, Failure>>()?;
    // An output without giants stays zero.
    let mut outputs = vec![zero(context); program.outputs() as usize];
    for (giant, sum) in program.giants().iter().zip(&sums) {
        let output = &mut outputs[giant.output as usize];
        *output = context.add(output, sum)?;
    }
    Ok(outputs)
}

/// All baby steps; those of one input share a decomposition.
fn rotate_inputs(
    context: &Context,
    keys: &GaloisKeys,
    program: &Program,
    group: &[Ciphertext],
) -> Result<Rotated, Failure> {
    let mut steps: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for term in program.terms() {
        steps.entry(term.input).or_default().insert(term.baby_step);
    }
    let mut rotated = Rotated::new();
    for (input, babies) in steps {
        let signed: Vec<i64> = babies.iter().map(|&step| i64::from(step)).collect();
        let ciphertexts = context.rotate_hoisted(&group[input as usize], &signed, keys)?;
        rotated.extend(
            babies
                .into_iter()
                .map(|step| (input, step))
                .zip(ciphertexts),
        );
    }
    Ok(rotated)
}

fn inner_sum(
    context: &Context,
    program: &Program,
    giant: &Giant,
    diagonals: &[RnsPoly],
    rotated: &Rotated,
) -> Result<Ciphertext, Failure> {
    let mut sum = zero(context);
    for term in program.terms_of(giant) {
        let input = &rotated[&(term.input, term.baby_step)];
        let product = context.mul_plain(input, &diagonals[term.diagonal as usize])?;
        sum = context.add(&sum, &product)?;
    }
    Ok(sum)
}

/// An encryption of zero that needs no key.
fn zero(context: &Context) -> Ciphertext {
    let poly = RnsPoly::zero(context.q_limbs(), context.degree());
    Ciphertext {
        c0: poly.clone(),
        c1: poly,
    }
}
