//! The self-measurement behind `--plan auto`: about two seconds, on one thread.

use super::choice;
use crate::{
    Backend, BackendError, Calibration, Circumstances, GemmClientRates, PlanChoice, TrialSpec,
};
use ckks_linear::cost::CostModel;
use ckks_linear::shape::LayerShape;
use std::time::Instant;
use tensor_io::{InputBatch, WeightMatrix};

/// The layer that is measured: masks and weights of usual size, prepared quickly.
const D_IN: usize = 2048;
const D_OUT: usize = 512;
/// Batches whose products are computed directly.
const ONE: usize = 1;
const SMALL: usize = 24;
/// A batch of full blocks of columns, whose products are computed by transforms.
const MIDDLE: usize = 256;
/// A batch that fills the ring.
const LARGE: usize = 2048;
/// Repetitions; the fastest counts, as other programs only ever slow it down.
const REPETITIONS: usize = 4;

/// Fastest durations of the repeated steps of a trial.
struct Steps {
    encryption: f64,
    evaluation: f64,
    decryption: f64,
}

/// Measures the figures of one core of this machine.
///
/// # Errors
/// What a trial can fail with.
pub fn calibrate() -> Result<Calibration, BackendError> {
    let diagonal = measure(PlanChoice::Diagonal, 1)?;
    let spec = spec(PlanChoice::Diagonal, 1);
    let shape = LayerShape::new(D_IN, D_OUT)
        .map_err(|error| BackendError::BadArgument(error.to_string()))?;
    let packings = choice::candidates(&spec, shape)?.diagonal;
    let (predicted, inputs, outputs) = packings.map_or((diagonal.evaluation, 1, 1), |packings| {
        let plan = packings.plan();
        (
            CostModel::default().evaluation_ns(plan, 1) * 1e-9,
            plan.inputs().len(),
            plan.outputs().len(),
        )
    });
    let one = measure(PlanChoice::Gemm, ONE)?;
    let small = measure(PlanChoice::Gemm, SMALL)?;
    let middle = measure(PlanChoice::Gemm, MIDDLE)?;
    let large = measure(PlanChoice::Gemm, LARGE)?;
    let client = |rows: usize, step: fn(&Steps) -> f64| {
        rates([&one, &small, &middle, &large].map(|steps| step(steps) / rows as f64))
    };
    Ok(Calibration {
        diagonal_evaluation: diagonal.evaluation / predicted,
        diagonal_encryption: diagonal.encryption / inputs as f64,
        diagonal_decryption: diagonal.decryption / outputs as f64,
        gemm_multiply_adds: (D_IN * D_OUT * MIDDLE) as f64 / middle.evaluation,
        gemm_encryption: client(D_IN, |steps| steps.encryption),
        gemm_decryption: client(D_OUT, |steps| steps.decryption),
    })
}

/// From the durations of a row for the four batches.
fn rates([one, small, middle, large]: [f64; 4]) -> GemmClientRates {
    // Durations are noisy: no figure may become zero or negative.
    let coefficient = ((large - middle) / (LARGE - MIDDLE) as f64).max(1e-10);
    let direct = ((small - one) / (SMALL - ONE) as f64 - coefficient).max(1e-10);
    GemmClientRates {
        row: (one - direct - coefficient).max(1e-9),
        direct,
        transform: (middle - coefficient * MIDDLE as f64).max(1e-7),
        coefficient,
    }
}

fn spec(plan: PlanChoice, batch: usize) -> TrialSpec {
    TrialSpec {
        d_in: D_IN,
        d_out: D_OUT,
        batch,
        plan,
        params: None,
        mode: None,
        isolate: false,
        stage_timeout: None,
        memory_limit: None,
        threads: 1,
        ahead: false,
        replicas: 1,
        gate: 1.0,
        product_norm: None,
        circumstances: Circumstances::default(),
        calibration: None,
        seed: 0,
    }
}

fn measure(plan: PlanChoice, batch: usize) -> Result<Steps, BackendError> {
    let given = |error: tensor_io::TensorError| BackendError::BadArgument(error.to_string());
    let mut backend = super::open(&spec(plan, batch))?;
    backend.generate_keys()?;
    let weights = (0..D_IN * D_OUT).map(|i| (i as f32).sin()).collect();
    let weights = WeightMatrix::from_output_major(D_IN, D_OUT, weights).map_err(given)?;
    backend.prepare(&weights, &|_| ())?;
    let inputs = (0..D_IN * batch).map(|i| (i as f64).cos()).collect();
    let inputs = InputBatch::new(batch, D_IN, inputs).map_err(given)?;
    let mut fastest = Steps {
        encryption: f64::INFINITY,
        evaluation: f64::INFINITY,
        decryption: f64::INFINITY,
    };
    for _ in 0..REPETITIONS {
        let backend: &mut dyn Backend = backend.as_mut();
        let mut time = |step: &mut dyn FnMut(&mut dyn Backend) -> Result<(), BackendError>| {
            let start = Instant::now();
            step(backend)?;
            Ok::<f64, BackendError>(start.elapsed().as_secs_f64())
        };
        let encryption = time(&mut |backend| backend.encrypt(&inputs).map(drop))?;
        let evaluation = time(&mut |backend| backend.evaluate().map(drop))?;
        let decryption = time(&mut |backend| backend.decrypt().map(drop))?;
        fastest.encryption = fastest.encryption.min(encryption);
        fastest.evaluation = fastest.evaluation.min(evaluation);
        fastest.decryption = fastest.decryption.min(decryption);
    }
    Ok(fastest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_positive_and_finite() {
        let figures = calibrate().unwrap();
        assert!(figures.is_usable(), "{figures:?}");
    }
}
