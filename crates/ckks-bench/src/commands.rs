//! The subcommands.

pub mod ab;
pub mod bootstrap;
pub mod build_shim;
pub mod compare;
pub mod cost;
mod document;
pub mod libs;
pub mod model;
mod params;
mod plan;
pub mod report;
pub mod run;
pub mod sweep;
pub mod worker;

pub use plan::{LayerPlan, PLAN_SCHEMA, PlanDocument};

use crate::calibration;
use crate::cli::{Cli, Command};
use crate::error::{BenchError, Outcome};
use crate::interrupt::Interrupt;
use crate::open::{self, Opener};
use crate::options::RunOptions;
use bench_report::host::Host;
use ckks_backend::{Calibration, TrialSpec};
use std::io::{ErrorKind, Write};

/// The library that has a cost model, and copies of a layer.
const NATIVE: &str = "native";

/// Runs the subcommand with the backends of this program.
///
/// # Errors
/// [`BenchError`] where no report could be made; its exit code says why.
pub fn execute(cli: Cli, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    let opener: &Opener<'_> =
        &|library: &str, device: &str, spec: &TrialSpec| open::open(library, device, spec);
    match cli.command {
        Command::Run(mut args) => {
            args.spec.device = open::check(&args.spec.lib, &args.spec.device)?;
            if args.cold && args.spec.lib != NATIVE {
                return Err(BenchError::usage(format!(
                    "--cold: only {NATIVE} keeps copies of a layer to rotate through, not {}; \
                     leave it out",
                    args.spec.lib
                )));
            }
            let fresh = args.spec.recalibrate;
            let mut options = RunOptions::new(*args, command_line())?;
            if let Some(figures) = calibration(&options.library, fresh)? {
                options.calibrate(figures);
            }
            let interrupt = Interrupt::on_ctrl_c()?;
            run::run(&options, opener, &interrupt, out).map(|finished| finished.outcome)
        }
        Command::Plan(mut args) => {
            args.spec.device = open::check(&args.spec.lib, &args.spec.device)?;
            let figures = calibration(&args.spec.lib, args.spec.recalibrate)?;
            plan::plan(&args, figures, opener, out)
        }
        Command::Params(args) => params::params(&args, out),
        Command::Libs(args) => libs::libs(&args, out),
        Command::BuildShim(args) => build_shim::build_shim(&args, out),
        Command::Sweep(args) => sweep::sweep(*args, out),
        Command::Worker(args) => worker::worker(&args),
        Command::Bootstrap(mut args) => {
            args.device = open::check(&args.lib, &args.device)?;
            bootstrap::bootstrap(&args, command_line(), out)
        }
        Command::Report(args) => report::report(&args, out),
        Command::Compare(args) => compare::compare(&args, out),
        Command::Ab(args) => {
            open::check(&args.common.lib, &args.common.device)?;
            let figures = calibration(&args.common.lib, args.common.recalibrate)?;
            let interrupt = Interrupt::on_ctrl_c()?;
            let opener = &|library: &str, device: &str, spec: &TrialSpec| {
                open::open(library, device, &calibrated(spec, figures))
            };
            ab::ab(&args, command_line(), opener, &interrupt, out).map(|(_, outcome)| outcome)
        }
        Command::Cost(args) => cost::cost(&args, out),
        Command::Model(mut args) => {
            args.device = open::check(&args.lib, &args.device)?;
            let figures = calibration(&args.lib, false)?;
            let interrupt = Interrupt::on_ctrl_c()?;
            let opener: &Opener<'_> = &|library: &str, device: &str, spec: &TrialSpec| {
                open::open(library, device, &calibrated(spec, figures))
            };
            model::model(&args, command_line(), opener, &interrupt, out).map(|(_, outcome)| outcome)
        }
    }
}

/// The cost model's figures of this machine, for the library that has a cost model.
fn calibration(library: &str, fresh: bool) -> Result<Option<Calibration>, BenchError> {
    if library != NATIVE {
        return Ok(None);
    }
    Ok(Some(calibration::of_this_machine(&Host::current(), fresh)?))
}

fn calibrated(spec: &TrialSpec, calibration: Option<Calibration>) -> TrialSpec {
    TrialSpec {
        calibration,
        ..spec.clone()
    }
}

/// The arguments as given, without the path of the program.
fn command_line() -> Vec<String> {
    let arguments = std::env::args_os()
        .skip(1)
        .map(|text| text.to_string_lossy().into_owned());
    std::iter::once("ckks-bench".to_owned())
        .chain(arguments)
        .collect()
}

/// Prints; a reader that has seen enough (`| head`) is no failure.
fn print(out: &mut dyn Write, text: &str) -> Result<(), BenchError> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
