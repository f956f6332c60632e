//! `weights-seal exec`.

use super::open::{PAGE, pages};
use super::{check_exists, note};
use crate::cancel::Cancel;
use crate::error::CliError;
use crate::keys::secret_variables;
use crate::memory;
use crate::options::{KeyArgs, PolicyArgs, WorkArgs};
use crate::private::namespace::{self, Memory, Mounted};
use crate::private::{Directory, Kind, Program, supervisor};
use crate::process;
use crate::progress::{Meter, summary};
use crate::shown;
use crate::units::{self, parse_size};
use clap::{Args, ValueEnum};
use sealed_weights::error::{ModelError, SealError};
use sealed_weights::model::{ExtractOptions, Extraction, SealedModel, SignedModel};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes of a huge page.
const HUGE_PAGE: u64 = 2 << 20;
/// Room for directories and for what the kernel rounds up.
const SLACK: u64 = 4 << 20;

/// Options of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Sealed directory
    pub sealed: PathBuf,

    /// Show the plaintext at this existing directory, for the command only [default: a new one]
    #[arg(long, value_name = "DIR", conflicts_with = "no_namespace")]
    pub at: Option<PathBuf>,

    /// Limit of the memory file system [default: what the model needs]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "no_namespace")]
    pub size: Option<u64>,

    /// Back the memory by huge pages
    #[arg(long, value_enum, default_value_t = Switch::Yes, alias = "keep-huge",
          conflicts_with = "no_namespace")]
    pub huge_pages: Switch,

    /// Where namespaces are not permitted: open into a directory of /dev/shm that all processes of
    /// this user see, and that stays until the next run if this one is killed
    #[arg(long)]
    pub no_namespace: bool,

    /// Text that stands for the directory in the command's arguments
    #[arg(long, value_name = "TEXT", default_value = "{}")]
    pub placeholder: OsString,

    /// Keys.
    #[command(flatten)]
    pub keys: KeyArgs,

    /// What is insisted on.
    #[command(flatten)]
    pub policy: PolicyArgs,

    /// Threads and messages.
    #[command(flatten)]
    pub work: WorkArgs,

    /// The command and its arguments, run as this user: another one cannot read the model. A process
    /// that it leaves behind keeps what it has open. {} in an argument is replaced by the directory, which is also
    /// in WEIGHTS_SEAL_DIR
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Yes or no.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Switch {
    /// Where the kernel gives them
    Yes,
    /// Never
    No,
}

/// Opens a model into private memory and runs a command with it; gives the command's exit code.
///
/// # Errors
/// [`CliError`] where nothing was started.
pub fn exec(args: ExecArgs) -> Result<u8, CliError> {
    let program = Program::find(&args.command)?;
    let (kind, made) = match &args.at {
        Some(at) if at.is_dir() => (Kind::MountPoint, None),
        Some(at) => {
            return Err(CliError::usage(format!(
                "--at {}: it is no directory; make it first, it may be empty",
                shown::path(at)
            )));
        }
        None => {
            let kind = if args.no_namespace {
                Kind::Plaintext
            } else {
                Kind::MountPoint
            };
            (kind, Some(Directory::create(kind)?))
        }
    };
    let at = match (&made, &args.at) {
        (Some(directory), _) => directory.path().to_path_buf(),
        (None, at) => std::path::absolute(at.clone().unwrap_or_default())
            .map_err(|error| CliError::usage(format!("--at: {error}")))?,
    };
    check_exists(&args.sealed)?;
    if made.is_none() {
        check_apart(&at, &args.sealed)?;
    }
    // The child's memory is this process's: `made` is dropped here only, after the child's end.
    let code = supervisor::supervise(|| {
        let error = match become_command(&args, &program, &at, kind) {
            Ok(never) => match never {},
            Err(error) => error,
        };
        let _ = writeln!(
            std::io::stderr(),
            "error: {}",
            shown::message(&error.to_string())
        );
        match error {
            CliError::Exec { code, .. } => code,
            CliError::Interrupted { .. } => error.exit_code(),
            _ => crate::private::program::FAILED,
        }
    });
    drop(made);
    code
}

/// What is mounted at a directory hides what is in it: that must not be the sealed model.
fn check_apart(at: &Path, sealed: &Path) -> Result<(), CliError> {
    let hides = match (at.canonicalize(), sealed.canonicalize()) {
        (Ok(at), Ok(sealed)) => sealed.starts_with(at),
        _ => false,
    };
    if hides {
        return Err(CliError::usage(format!(
            "--at {}: it is or holds the sealed model, which would be hidden; choose an empty \
             directory",
            shown::path(at)
        )));
    }
    Ok(())
}

enum Never {}

/// In the child: everything from the namespace to the command.
fn become_command(
    args: &ExecArgs,
    program: &Program,
    at: &Path,
    kind: Kind,
) -> Result<Never, CliError> {
    let quiet = args.work.quiet;
    if kind == Kind::MountPoint {
        // Before anything is read or any thread exists; and before dumps are forbidden, which would
        // keep a user's process from mapping itself.
        namespace::enter()?;
    }
    let core_limit = process::forbid_dumps();
    let file_size_signal = process::ignore_file_size_signal();
    let signed = SignedModel::read(&args.sealed, args.policy.policy()?)?;
    let model = signed.unlock(&args.keys.identities()?)?;
    let huge_pages = kind == Kind::MountPoint && args.huge_pages == Switch::Yes;
    memory::check(pages(&model, if huge_pages { HUGE_PAGE } else { PAGE }))?;
    if kind == Kind::MountPoint {
        let size = size(args, &model)?;
        let mounted = namespace::mount_memory(at, Memory { size, huge_pages })?;
        explain(quiet, mounted, huge_pages);
    } else {
        note(
            quiet,
            &format!(
                "without a namespace, all processes of this user see the plaintext in {}",
                shown::path(at)
            ),
        );
    }
    let bytes = model.signed().bytes();
    let extraction = Extraction::prepare(&model, at, ExtractOptions::default())
        .map_err(|error| not_empty(at, error))?;
    let cancel = Cancel::on_signals()?;
    let meter = Meter::new("opening", bytes, quiet, cancel.clone());
    extraction
        .run(&args.work.work(&meter))
        .map_err(|error| meter.failure(error))?;
    note(
        quiet,
        &format!("opened {} into memory", summary(bytes, meter.finish())),
    );
    if kind == Kind::MountPoint {
        namespace::make_read_only(at)?;
    }
    // A signal since the last byte is still meant.
    if let Some(signal) = cancel.signal() {
        return Err(CliError::Interrupted { signal });
    }
    core_limit.restore();
    file_size_signal.restore();
    let (_, texts) = args.keys.texts()?;
    let hidden: Vec<String> = texts.iter().flat_map(|key| secret_variables(key)).collect();
    Err(program.exec(at, &args.placeholder, &hidden))
}

/// The library's message names a flag that `exec` does not have.
fn not_empty(at: &Path, error: SealError) -> CliError {
    match error {
        SealError::Model(ModelError::Exists { .. }) => CliError::usage(format!(
            "{}: it is not an empty directory in memory",
            shown::path(at)
        )),
        error => CliError::Seal(error),
    }
}

fn size(args: &ExecArgs, model: &SealedModel) -> Result<u64, CliError> {
    let needed = pages(model, PAGE);
    match args.size {
        // With huge pages each file may take one more than it needs.
        None => Ok(pages(model, HUGE_PAGE).saturating_add(SLACK)),
        Some(size) if size >= needed => Ok(size),
        Some(size) => Err(CliError::usage(format!(
            "--size: the model takes {} in memory, more than {}; nothing was written",
            units::bytes(needed),
            units::bytes(size)
        ))),
    }
}

fn explain(quiet: bool, mounted: Mounted, huge_pages: bool) {
    if !mounted.no_swap {
        let now = if namespace::swap_is_on() {
            "this machine has swap, so the plaintext may reach a disk"
        } else {
            "this machine has no swap now, so nothing reaches a disk"
        };
        note(
            quiet,
            &format!("the kernel does not give noswap here; {now}"),
        );
    }
    if huge_pages && !mounted.huge_pages {
        note(
            quiet,
            "the kernel does not give huge pages here; opening is slower",
        );
    }
}
