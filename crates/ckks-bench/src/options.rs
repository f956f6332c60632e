//! The options of `run` and `plan`, validated once.

use crate::cli::{RunArgs, SpecArgs};
use crate::error::BenchError;
use crate::gate::Gate;
use crate::inputs::Inputs;
use crate::memory::Available;
use crate::sealed::{self, SealedArgs};
use crate::shape::Shape;
use bench_report::host;
use bench_report::output::check_distinct;
use bench_report::units::plural;
use ckks_backend::{Calibration, Circumstances, TrialSpec};
use std::path::PathBuf;
use tensor_io::{
    HubConfig, InputBatch, LoadOptions, WeightMatrix, WeightSource, check_writable, read_npy,
};

const DEFAULT_SHAPE: Shape = Shape {
    d_in: 2048,
    d_out: 1024,
};

/// Options of `run`, with every file that they name loaded.
#[derive(Debug)]
pub struct RunOptions {
    /// Name of the library.
    pub library: String,
    /// Name of the device.
    pub device: String,
    /// One specification per shape, with `replicas` 1.
    pub specs: Vec<TrialSpec>,
    /// The gate.
    pub gate: Gate,
    /// Measured trials per shape.
    pub trials: usize,
    /// Warm-ups per shape.
    pub warmup: usize,
    /// Seconds of trials of a shape after which no further one is started.
    pub max_seconds: Option<f64>,
    /// Whether to leave the caches.
    pub cold: bool,
    /// Real weights; `None` for synthetic ones.
    pub weights: Option<Weights>,
    /// Real vectors; `None` for synthetic ones.
    pub input: Option<GivenInput>,
    /// Where the outputs go.
    pub output: Option<PathBuf>,
    /// Where the report goes.
    pub json: Option<PathBuf>,
    /// No progress.
    pub quiet: bool,
    /// For the report.
    pub command_line: Vec<String>,
}

/// Real weights.
#[derive(Debug)]
pub struct Weights {
    /// Where they come from, without secrets.
    pub source: String,
    /// The matrix.
    pub matrix: WeightMatrix,
}

/// Real vectors.
#[derive(Debug)]
pub struct GivenInput {
    /// The file that they come from.
    pub source: String,
    /// The vectors.
    pub batch: InputBatch,
}

impl RunOptions {
    /// Checks that the outputs can be written, loads the inputs, and checks that all fits
    /// together.
    ///
    /// # Errors
    /// [`BenchError::Usage`] or [`BenchError::File`], naming the flag.
    pub fn new(args: RunArgs, command_line: Vec<String>) -> Result<RunOptions, BenchError> {
        for (flag, path) in [("--json", &args.json), ("--output", &args.output)] {
            if let Some(path) = path {
                check_writable(path).map_err(|source| BenchError::File { flag, source })?;
            }
        }
        let weights_file = match &args.weights {
            Some(WeightSource::File { path, .. }) => Some(path.as_path()),
            _ => None,
        };
        check_distinct(
            &[
                ("--json", args.json.as_deref()),
                ("--output", args.output.as_deref()),
            ],
            &[
                ("--input", args.input.as_deref()),
                ("--weights", weights_file),
            ],
        )?;
        let command_line = without_secrets(command_line, args.weights.as_ref());
        let input = match &args.input {
            Some(path) => Some(GivenInput {
                source: path.display().to_string(),
                batch: read_npy(path).map_err(|source| BenchError::File {
                    flag: "--input",
                    source,
                })?,
            }),
            None => None,
        };
        let batch = batch_size(args.spec.batch, input.as_ref())?;
        let weights = match &args.weights {
            Some(source) => Some(load(source, args.transpose, &args.sealed)?),
            None => None,
        };
        let shapes = shapes(&args.spec.shape, weights.as_ref())?;
        check_input_width(input.as_ref(), &shapes)?;
        if args.output.is_some() && shapes.len() > 1 {
            return Err(BenchError::usage(format!(
                "--output takes the outputs of one layer, but there are {} shapes; give one \
                 --shape",
                shapes.len()
            )));
        }
        let gate = Gate {
            limit: args.spec.gate,
            scaled: weights.is_some() || input.is_some(),
        };
        let specs = specs(&args.spec, &shapes, batch, args.seed);
        Ok(RunOptions {
            library: args.spec.lib,
            device: args.spec.device,
            specs,
            gate,
            trials: args.trials,
            warmup: args.warmup,
            max_seconds: args.max_seconds,
            cold: args.cold,
            weights,
            input,
            output: args.output,
            json: args.json,
            quiet: args.quiet,
            command_line,
        })
    }

    /// Gives the cost model this machine's figures.
    pub fn calibrate(&mut self, calibration: Calibration) {
        for spec in &mut self.specs {
            spec.calibration = Some(calibration);
        }
    }

    /// The vectors for a configuration.
    #[must_use]
    pub fn inputs(&self, spec: &TrialSpec) -> Inputs {
        match &self.input {
            Some(input) => Inputs::Given(input.batch.clone()),
            None => Inputs::Synthetic {
                seed: spec.seed,
                vectors: spec.batch,
                width: spec.d_in,
            },
        }
    }
}

/// The specifications of `plan`: no weights and no vectors.
#[must_use]
pub fn plan_specs(args: &SpecArgs) -> Vec<TrialSpec> {
    let shapes = if args.shape.is_empty() {
        vec![DEFAULT_SHAPE]
    } else {
        args.shape.clone()
    };
    specs(args, &shapes, args.batch.unwrap_or(1), 0)
}

fn specs(args: &SpecArgs, shapes: &[Shape], batch: usize, seed: u64) -> Vec<TrialSpec> {
    shapes
        .iter()
        .map(|shape| TrialSpec {
            d_in: shape.d_in,
            d_out: shape.d_out,
            batch,
            plan: args.plan.into(),
            params: args.params.clone(),
            mode: args.mode.clone(),
            isolate: args.isolate,
            stage_timeout: args.stage_timeout,
            memory_limit: args
                .memory_limit
                .map(|mib| mib << 20)
                .or_else(|| Available::now().map(|available| available.bytes / 10 * 9)),
            threads: args.threads.unwrap_or_else(host::cores),
            ahead: args.ahead,
            replicas: 1,
            gate: args.gate,
            product_norm: None,
            circumstances: Circumstances {
                link_bytes_per_second: args.link,
                reuse: args.reuse,
                delivery: args.delivery.into(),
            },
            calibration: None,
            seed,
        })
        .collect()
}

fn batch_size(batch: Option<usize>, input: Option<&GivenInput>) -> Result<usize, BenchError> {
    match (batch, input) {
        (Some(batch), Some(input)) if batch != input.batch.rows() => {
            Err(BenchError::usage(format!(
                "--batch {batch} contradicts --input {}, which has {}; leave --batch out",
                input.source,
                plural(input.batch.rows() as u64, "row")
            )))
        }
        (_, Some(input)) if input.batch.rows() > crate::cli::MAX_BATCH => {
            Err(BenchError::usage(format!(
                "--input {} has {} rows; at most {} are accepted, so split the file",
                input.source,
                input.batch.rows(),
                crate::cli::MAX_BATCH
            )))
        }
        (_, Some(input)) => Ok(input.batch.rows()),
        (batch, None) => Ok(batch.unwrap_or(1)),
    }
}

fn load(
    source: &WeightSource,
    transpose: bool,
    sealed: &SealedArgs,
) -> Result<Weights, BenchError> {
    let options = LoadOptions {
        transpose,
        hub: HubConfig::from_env(),
        sealed: sealed.options()?,
        ..LoadOptions::default()
    };
    let loaded = source.load(&options).map_err(|source| BenchError::File {
        flag: "--weights",
        source,
    })?;
    Ok(Weights {
        source: match &loaded.sealed {
            Some(origin) => sealed::describe(&loaded.source, origin),
            None => loaded.source,
        },
        matrix: loaded.matrix,
    })
}

fn shapes(asked: &[Shape], weights: Option<&Weights>) -> Result<Vec<Shape>, BenchError> {
    let Some(weights) = weights else {
        return Ok(if asked.is_empty() {
            vec![DEFAULT_SHAPE]
        } else {
            asked.to_vec()
        });
    };
    let shape = Shape::new(weights.matrix.d_in(), weights.matrix.d_out())
        .map_err(|reason| BenchError::usage(format!("--weights {}: {reason}", weights.source)))?;
    match asked.iter().find(|&&asked| asked != shape) {
        Some(other) => Err(BenchError::usage(format!(
            "--shape {other} contradicts --weights {}, which is {shape}; leave --shape out, or \
             give --transpose if the tensor is stored as inputs x outputs",
            weights.source
        ))),
        None => Ok(vec![shape]),
    }
}

fn check_input_width(input: Option<&GivenInput>, shapes: &[Shape]) -> Result<(), BenchError> {
    let Some(input) = input else { return Ok(()) };
    match shapes
        .iter()
        .find(|shape| shape.d_in != input.batch.width())
    {
        Some(shape) => Err(BenchError::usage(format!(
            "--input {} has vectors of width {}, but the layer {shape} takes {}; give \
             --shape {}xOUT or another file",
            input.source,
            input.batch.width(),
            shape.d_in,
            input.batch.width()
        ))),
        None => Ok(()),
    }
}

/// The command line with the source of the weights in its printable form: a URL's query may hold a
/// signature, and reports are passed on.
fn without_secrets(command_line: Vec<String>, weights: Option<&WeightSource>) -> Vec<String> {
    let Some(weights) = weights else {
        return command_line;
    };
    let mut is_source = false;
    command_line
        .into_iter()
        .map(|argument| {
            let after_flag = std::mem::replace(&mut is_source, argument == "--weights");
            if after_flag {
                weights.to_string()
            } else if argument.starts_with("--weights=") {
                format!("--weights={weights}")
            } else {
                argument
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_holds_no_signature() {
        let source: WeightSource = "https://host/m.safetensors?sig=secret#w".parse().unwrap();
        let text = |line: &[&str]| {
            let line = line.iter().map(|part| (*part).to_owned()).collect();
            without_secrets(line, Some(&source)).join(" ")
        };
        let apart = text(&[
            "run",
            "--weights",
            "https://host/m.safetensors?sig=secret#w",
            "--cold",
        ]);
        assert_eq!(apart, "run --weights https://host/m.safetensors#w --cold");
        let joined = text(&["run", "--weights=https://host/m.safetensors?sig=secret#w"]);
        assert_eq!(joined, "run --weights=https://host/m.safetensors#w");
    }

    fn given(rows: usize, width: usize) -> GivenInput {
        let batch = InputBatch::new(rows, width, vec![0.5; rows * width]).unwrap();
        GivenInput {
            source: "x.npy".into(),
            batch,
        }
    }

    #[test]
    fn rows_of_the_input_are_the_batch() {
        assert_eq!(batch_size(None, None).unwrap(), 1);
        assert_eq!(batch_size(Some(7), None).unwrap(), 7);
        assert_eq!(batch_size(None, Some(&given(4, 2))).unwrap(), 4);
        assert_eq!(batch_size(Some(4), Some(&given(4, 2))).unwrap(), 4);
        let message = batch_size(Some(5), Some(&given(4, 2)))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("--batch 5") && message.contains("4 rows"),
            "{message}"
        );
    }

    #[test]
    fn the_tensor_sets_the_shape() {
        let matrix = WeightMatrix::from_output_major(3, 2, vec![0.0; 6]).unwrap();
        let weights = Weights {
            source: "f#w".into(),
            matrix,
        };
        let own = Shape { d_in: 3, d_out: 2 };
        let other = Shape { d_in: 2, d_out: 3 };
        assert_eq!(shapes(&[], Some(&weights)).unwrap(), [own]);
        assert_eq!(shapes(&[own], Some(&weights)).unwrap(), [own]);
        assert_eq!(shapes(&[], None).unwrap(), [DEFAULT_SHAPE]);
        assert_eq!(shapes(&[other, own], None).unwrap(), [other, own]);
        let message = shapes(&[own, other], Some(&weights))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("--shape 2x3") && message.contains("is 3x2"),
            "{message}"
        );
    }

    #[test]
    fn the_width_of_the_input_fits_every_shape() {
        let own = Shape { d_in: 3, d_out: 2 };
        let other = Shape { d_in: 2, d_out: 3 };
        assert!(check_input_width(None, &[own, other]).is_ok());
        assert!(check_input_width(Some(&given(1, 3)), &[own]).is_ok());
        let message = check_input_width(Some(&given(1, 3)), &[own, other]).unwrap_err();
        assert!(
            message.to_string().contains("layer 2x3 takes 2"),
            "{message}"
        );
    }
}
