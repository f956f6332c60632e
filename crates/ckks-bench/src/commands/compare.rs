//! `ckks-bench compare`.

use super::document::{check_json, write_json};
use super::print;
use crate::comparison::{blocking, compare as side_by_side};
use crate::error::{BenchError, Outcome};
use crate::{load, tables};
use bench_report::output::check_distinct;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Report of `run --json` to compare with
    #[arg(value_name = "A.json")]
    pub a: PathBuf,

    /// Report whose ratios to A are given
    #[arg(value_name = "B.json")]
    pub b: PathBuf,

    /// Compare even where shapes, batch, gate or data differ, or a configuration was rejected
    #[arg(long)]
    pub anyway: bool,

    /// Write the comparison
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Prints two reports side by side.
///
/// # Errors
/// [`BenchError`] where a report cannot be read, or they cannot be compared soundly.
pub fn compare(args: &CompareArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    check_json(args.json.as_deref())?;
    check_distinct(
        &[("--json", args.json.as_deref())],
        &[("A.json", Some(&args.a)), ("B.json", Some(&args.b))],
    )?;
    let (a, b) = (load::report(&args.a)?, load::report(&args.b)?);
    let unsound = blocking(&a, &b);
    if !unsound.is_empty() && !args.anyway {
        let list: Vec<String> = unsound
            .iter()
            .map(|d| format!("\n  {}: {} in A, {} in B", d.what, d.a, d.b))
            .collect();
        return Err(BenchError::usage(format!(
            "A and B do not measure the same:{}\nmeasure both alike, or give --anyway",
            list.concat()
        )));
    }
    let names = [&args.a, &args.b].map(|path| path.display().to_string());
    let comparison = side_by_side((&names[0], &a), (&names[1], &b));
    print(out, &tables::comparison(&comparison))?;
    if let Some(path) = &args.json {
        write_json(path, &comparison)?;
    }
    Ok(Outcome::Passed)
}
