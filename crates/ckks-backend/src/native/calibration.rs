//! The self-measurement behind `--plan auto`: about a second, on one thread.

use super::choice;
use crate::{
    Backend, BackendError, Calibration, Circumstances, GemmClientRates, PlanChoice, TrialSpec,
};
use ckks_linear::cost::CostModel;
use ckks_linear::shape::LayerShape;
use std::time::Instant;
use tensor_io::{InputBatch, WeightMatrix};

/// Width of the layers that are measured.
const WIDTH: usize = 512;
/// A batch whose products are computed directly.
const SMALL: usize = 8;
/// A batch of one full block of columns in the kernel whose products are computed by transforms.
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
    let shape = LayerShape::new(WIDTH, WIDTH)
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
    let small = measure(PlanChoice::Gemm, SMALL)?;
    let middle = measure(PlanChoice::Gemm, MIDDLE)?;
    let large = measure(PlanChoice::Gemm, LARGE)?;
    let client = |step: fn(&Steps) -> f64| rates([&small, &middle, &large].map(step));
    Ok(Calibration {
        diagonal_evaluation: diagonal.evaluation / predicted,
        diagonal_encryption: diagonal.encryption / inputs as f64,
        diagonal_decryption: diagonal.decryption / outputs as f64,
        gemm_multiply_adds: (WIDTH * WIDTH * MIDDLE) as f64 / middle.evaluation,
        gemm_encryption: client(|steps| steps.encryption),
        gemm_decryption: client(|steps| steps.decryption),
    })
}

/// From the durations for a small, a middle and a large batch.
fn rates(seconds: [f64; 3]) -> GemmClientRates {
    let [small, middle, large] = seconds.map(|seconds| seconds / WIDTH as f64);
    // Durations are noisy: no figure may become zero or negative.
    let coefficient = ((large - middle) / (LARGE - MIDDLE) as f64).max(1e-10);
    GemmClientRates {
        direct: (small / SMALL as f64 - coefficient).max(1e-9),
        transform: (middle - coefficient * MIDDLE as f64).max(1e-7),
        coefficient,
    }
}

fn spec(plan: PlanChoice, batch: usize) -> TrialSpec {
    TrialSpec {
        d_in: WIDTH,
        d_out: WIDTH,
        batch,
        plan,
        params: None,
        threads: 1,
        ahead: false,
        replicas: 1,
        gate: 1.0,
        circumstances: Circumstances::default(),
        calibration: None,
        seed: 0,
    }
}

fn measure(plan: PlanChoice, batch: usize) -> Result<Steps, BackendError> {
    let given = |error: tensor_io::TensorError| BackendError::BadArgument(error.to_string());
    let mut backend = super::open(&spec(plan, batch))?;
    backend.generate_keys()?;
    let weights = (0..WIDTH * WIDTH).map(|i| (i as f32).sin()).collect();
    let weights = WeightMatrix::from_output_major(WIDTH, WIDTH, weights).map_err(given)?;
    backend.prepare(&weights, &|_| ())?;
    let inputs = (0..WIDTH * batch).map(|i| (i as f64).cos()).collect();
    let inputs = InputBatch::new(batch, WIDTH, inputs).map_err(given)?;
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
