//! `ckks-bench params`.

use super::document::write_json;
use super::print;
use crate::cli::ParamsArgs;
use crate::error::{BenchError, Outcome};
use crate::{open, tables};
use ckks_backend::ParameterReport;
use serde::Serialize;
use std::io::Write;
use tensor_io::check_writable;

const SCHEMA: &str = "ckks-bench-params/1";

#[derive(Serialize)]
struct ParameterDocument {
    schema: &'static str,
    parameter_sets: Vec<ParameterReport>,
}

pub(super) fn params(args: &ParamsArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    if let Some(path) = &args.json {
        check_writable(path).map_err(|source| BenchError::File {
            flag: "--json",
            source,
        })?;
    }
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
