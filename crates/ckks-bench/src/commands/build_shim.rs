//! `ckks-bench build-shim`.

use super::print;
use crate::error::{BenchError, Outcome};
use ckks_backend::discovery::Surroundings;
use ckks_backend::shim::{ShimBuild, ShimOptions, plan_shim};
use ckks_backend::{BackendError, known};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Options of `build-shim`.
#[derive(Debug, Args)]
pub struct BuildShimArgs {
    /// Library under test; `ckks-bench libs` lists them
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Folder for the shared object [default: CKKS_BACKEND_PATH, or ckks-bench/backends in the
    /// user's data folder]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Compiler [default: the library's]
    #[arg(long, value_name = "PROGRAM")]
    pub compiler: Option<PathBuf>,

    /// Print the command without running it
    #[arg(long)]
    pub print: bool,

    /// Build even if the installed headers are not those of the pinned version; reports say so
    #[arg(long)]
    pub other_version: bool,
}

pub(super) fn build_shim(args: &BuildShimArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    if args.name == "native" {
        return Err(BenchError::usage(
            "native is built in and needs no shim; `ckks-bench libs` lists the other libraries",
        ));
    }
    let options = ShimOptions {
        output: args.output.clone(),
        compiler: args.compiler.clone(),
        other_version: args.other_version,
    };
    let build = plan_shim(known(&args.name)?, &Surroundings::current(), &options)
        .map_err(BenchError::Shim)?;
    if args.print {
        print(out, &format!("{}\n", command_line(&build)?))?;
        return Ok(Outcome::Passed);
    }
    let built = build.run().map_err(BenchError::Shim)?;
    if !built.warnings.is_empty() {
        // Where standard error is gone, so are the warnings.
        let _ = writeln!(std::io::stderr(), "{}", built.warnings);
    }
    let rows = [
        ("shim", built.object.display().to_string()),
        ("sha256", built.sha256.clone()),
        ("headers", built.headers.summary()),
    ];
    let mut text = bench_report::terminal::facts(rows);
    for complaint in built.headers.complaints() {
        text.push_str(&format!("warning: {complaint}\n"));
    }
    print(out, &text)?;
    Ok(Outcome::Passed)
}

/// The command as a shell would take it.
fn command_line(build: &ShimBuild) -> Result<String, BenchError> {
    let words: Vec<_> = build
        .command()
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    shlex::try_join(words.iter().map(String::as_str)).map_err(|_| {
        let reason = "a path of the command contains a zero byte".to_owned();
        BenchError::Backend(BackendError::BadArgument(reason))
    })
}
