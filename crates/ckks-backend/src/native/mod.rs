//! The engine of this repository behind the trial's trait: both sides of the protocol in one
//! process, with everything that would cross the key boundary serialised and parsed.

mod calibration;
mod choice;
mod diagonal;
mod gemm;
mod workers;

pub use calibration::calibrate;

use self::choice::Choice;
use crate::{Backend, BackendError, ParameterReport, Phase, PlanChoice, TrialSpec};
use ckks::Parameters;
use ckks::gemm::GemmParameters;
use ckks_linear::error::LinearError;
use ckks_linear::shape::LayerShape;
use tensor_io::InputBatch;

const LIBRARY: &str = "native";

/// Opens the native backend on the CPU.
///
/// # Errors
/// [`BackendError::BadArgument`] for a shape, batch, thread count or parameter set out of range;
/// [`BackendError::Unsupported`] for what a plan cannot do.
pub fn open(spec: &TrialSpec) -> Result<Box<dyn Backend>, BackendError> {
    if let Some(mode) = &spec.mode {
        return Err(BackendError::BadArgument(format!(
            "--mode {mode}: {LIBRARY} has none to choose from; leave it out"
        )));
    }
    let shape = LayerShape::new(spec.d_in, spec.d_out)
        .map_err(|error| BackendError::BadArgument(error.to_string()))?;
    let candidates = choice::candidates(spec, shape)?;
    let choice = Choice::of(spec, &candidates);
    match (choice.plan(), candidates.diagonal, candidates.gemm) {
        (PlanChoice::Gemm, _, Some(sizes)) => gemm::open(spec, sizes, choice),
        (_, Some(packings), _) => diagonal::open(spec, packings, choice),
        _ => Err(BackendError::Unsupported(format!(
            "no plan for {shape} with these options"
        ))),
    }
}

/// The built-in parameter sets with their security rows.
pub fn parameter_sets() -> Vec<ParameterReport> {
    let diagonal = Parameters::names()
        .into_iter()
        .filter_map(|name| Parameters::named(name).ok())
        .map(|set| diagonal::parameters(&set));
    let gemm = GemmParameters::names()
        .into_iter()
        .filter_map(|name| GemmParameters::named(name).ok())
        .map(|set| gemm::parameters(&set));
    diagonal.chain(gemm).collect()
}

/// The kernels that are chosen on this machine, for all plans.
pub fn kernels() -> String {
    format!(
        "{}, NTT {}, matrix product {}",
        ckks::simd::SimdLevel::detect().name(),
        ckks::ntt::Kernel::best().name(),
        ckks_linear::gemm::GemmKernel::best().name()
    )
}

/// Refuses another batch than the trial was opened for.
pub(crate) fn check_inputs(spec: &TrialSpec, inputs: &InputBatch) -> Result<(), BackendError> {
    for (what, expected, found) in [
        ("vectors", spec.batch, inputs.rows()),
        ("entries of a vector", spec.d_in, inputs.width()),
    ] {
        if expected != found {
            return Err(BackendError::BadArgument(format!(
                "{found} {what} were given, the trial was opened for {expected}"
            )));
        }
    }
    Ok(())
}

fn library(error: impl std::fmt::Display) -> BackendError {
    BackendError::Library {
        library: LIBRARY.to_owned(),
        message: error.to_string(),
    }
}

fn layer_error(error: LinearError) -> BackendError {
    match error {
        LinearError::PredictedError { .. }
        | LinearError::Magnitude { .. }
        | LinearError::Manifest { .. } => BackendError::Refused(error.to_string()),
        LinearError::Shape { .. }
        | LinearError::Count { .. }
        | LinearError::EmptyBatch
        | LinearError::NotFinite { .. } => BackendError::BadArgument(error.to_string()),
        other => library(other),
    }
}

fn phase(name: &str, seconds: f64, bytes: Option<u64>) -> Phase {
    Phase {
        name: name.to_owned(),
        seconds,
        bytes,
    }
}
