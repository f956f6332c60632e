//! `ckks-bench params`.

use super::document::{check_json, write_json};
use super::print;
use crate::cli::ParamsArgs;
use crate::error::{BenchError, Outcome};
use crate::{open, tables};
use ckks_backend::ParameterReport;
use serde::Serialize;
use std::io::Write;

const SCHEMA: &str = "ckks-bench-params/1";

#[derive(Serialize)]
struct ParameterDocument {
    schema: &'static str,
    parameter_sets: Vec<ParameterReport>,
}

pub(super) fn params(args: &ParamsArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    check_json(args.json.as_deref())?;
    let parameter_sets = open::parameter_sets();
    print(out, &tables::parameters(&parameter_sets))?;
    if let Some(path) = &args.json {
        write_json(
            path,
            &ParameterDocument {
                schema: SCHEMA,
                parameter_sets,
            },
        )?;
    }
    Ok(Outcome::Passed)
}
