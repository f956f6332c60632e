//! `ckks-bench libs`.

use super::document::{check_json, write_json};
use super::print;
use crate::error::{BenchError, Outcome};
use crate::open::{self, Library};
use crate::tables;
use clap::Args;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

const SCHEMA: &str = "ckks-bench-libs/1";

/// Options of `libs`.
#[derive(Debug, Args)]
pub struct LibsArgs {
    /// Everything about one library: pin, parameter sets, defects, what was looked for
    #[arg(long, value_name = "NAME")]
    pub lib: Option<String>,

    /// Write everything about the libraries
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Serialize)]
struct LibrariesDocument {
    schema: &'static str,
    libraries: Vec<Library>,
}

pub(super) fn libs(args: &LibsArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    check_json(args.json.as_deref())?;
    let libraries = match &args.lib {
        None => open::libraries(),
        Some(name) => vec![open::library(name)?],
    };
    let text = match (&args.lib, libraries.first()) {
        (Some(_), Some(library)) => tables::library(library),
        _ => tables::libraries(&libraries),
    };
    print(out, &text)?;
    if let Some(path) = &args.json {
        let document = LibrariesDocument {
            schema: SCHEMA,
            libraries,
        };
        write_json(path, &document)?;
    }
    Ok(Outcome::Passed)
}
