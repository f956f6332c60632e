//! Options for weights in sealed models.

use crate::error::BenchError;
use clap::Args;
use sealed_weights::ids::ModelId;
use sealed_weights::model::Policy;
use sealed_weights::publisher_file;
use tensor_io::{SealedOptions, SealedOrigin};

/// Keys, one a line, where no --key is given; the variable that weights-seal reads too.
const KEY_VARIABLE: &str = "WEIGHTS_SEAL_KEY";
/// Publishers, one a line, where neither --publisher nor --any-publisher is given.
const PUBLISHER_VARIABLE: &str = "WEIGHTS_SEAL_PUBLISHER";

/// Options of commands that read sealed weights.
#[derive(Clone, Debug, Default, Args)]
pub struct SealedArgs {
    /// Open sealed weights with this key, such as key-file:PATH; may be repeated, the first that
    /// fits is used [env: WEIGHTS_SEAL_KEY, one a line]
    #[arg(long, value_name = "KEY", requires = "weights")]
    pub key: Vec<String>,

    /// Accept sealed weights signed by this publisher: a publisher.pub or its 64 hexadecimal
    /// digits; may be repeated [env: WEIGHTS_SEAL_PUBLISHER, one a line]
    #[arg(long, value_name = "FILE|HEX", requires = "weights")]
    pub publisher: Vec<String>,

    /// Accept sealed weights whoever signed them
    #[arg(long, requires = "weights", conflicts_with = "publisher")]
    pub any_publisher: bool,

    /// Accept only the sealed model with this id (see: weights-seal inspect)
    #[arg(long, value_name = "ID", requires = "weights")]
    pub expect_model: Option<ModelId>,

    /// Refuse versions of the sealed model below this one
    #[arg(long, value_name = "N", requires = "weights")]
    pub min_version: Option<u64>,

    /// Check every file of a sealed model first, not only the tensor that is read
    #[arg(long, requires = "weights")]
    pub verify_all: bool,
}

impl SealedArgs {
    /// The options, with the publishers' keys read.
    ///
    /// # Errors
    /// [`BenchError::Usage`] naming the flag or variable of a publisher that cannot be read.
    pub fn options(&self) -> Result<SealedOptions, BenchError> {
        let (flag, publishers) = if self.any_publisher {
            ("--publisher", Vec::new())
        } else {
            or_variable("--publisher", &self.publisher, PUBLISHER_VARIABLE)
        };
        let publishers = publishers
            .iter()
            .map(|text| publisher_file::find_public(text))
            .collect::<Result<_, _>>()
            .map_err(|error| BenchError::usage(format!("{flag}: {error}")))?;
        let (_, keys) = or_variable("--key", &self.key, KEY_VARIABLE);
        Ok(SealedOptions {
            keys,
            policy: Policy {
                publishers,
                any_publisher: self.any_publisher,
                model_id: self.expect_model,
                min_version: self.min_version,
                ..Policy::default()
            },
            verify_all: self.verify_all,
            ..SealedOptions::default()
        })
    }
}

/// The source of sealed weights as a report names it.
pub(crate) fn describe(source: &str, origin: &SealedOrigin) -> String {
    format!(
        "{source} (sealed: {} version {}, publisher {}, manifest {})",
        origin.model, origin.version, origin.publisher, origin.manifest
    )
}

fn or_variable(
    flag: &'static str,
    given: &[String],
    variable: &'static str,
) -> (&'static str, Vec<String>) {
    if !given.is_empty() {
        return (flag, given.to_vec());
    }
    let value = std::env::var(variable).unwrap_or_default();
    let lines = value.lines().map(str::trim).filter(|line| !line.is_empty());
    (variable, lines.map(str::to_owned).collect())
}
