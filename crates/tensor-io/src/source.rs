//! The text that names one tensor: `FILE#TENSOR`, a URL, or a Hub repository.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::{TensorError, shown};
use crate::redirect::{parse_address, shown_address};

/// Revision used when a Hub source names none.
const DEFAULT_REVISION: &str = "main";
/// Begins the text of a sealed source.
const SEALED: &str = "sealed:";

/// Where a weight matrix comes from.
///
/// Parsed from one of
///
/// * `FILE#TENSOR` — a safetensors file on disk (split at the last `#`), or a directory of them,
/// * `sealed:DIR#TENSOR` — a sealed model; `DIR#TENSOR` finds out by itself that it is one,
/// * `https://HOST/PATH#TENSOR` or `http://…` — a safetensors file behind a URL,
/// * `hf://ORG/MODEL@REV#TENSOR` — a Hub repository; `@REV` is a branch, tag or commit and may be
///   left out (`main`).
///
/// Without `#TENSOR` the source still parses, and loading it fails with a list of the tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WeightSource {
    /// A safetensors file on disk, or a directory of safetensors files, which may be sealed.
    File {
        /// Its path.
        path: PathBuf,
        /// The tensor.
        tensor: Option<String>,
    },
    /// A sealed model and nothing else. Read with the feature `sealed`.
    Sealed {
        /// Its directory.
        directory: PathBuf,
        /// The tensor.
        tensor: Option<String>,
    },
    /// A safetensors file behind an HTTP(S) URL.
    Url {
        /// The URL without the fragment.
        url: String,
        /// The tensor.
        tensor: Option<String>,
    },
    /// A Hub repository.
    Hub {
        /// `ORG/MODEL` (or `MODEL` alone for the Hub's oldest repositories).
        repo: String,
        /// Branch, tag or commit.
        revision: String,
        /// The tensor.
        tensor: Option<String>,
    },
}

impl WeightSource {
    /// The tensor named, if any.
    #[must_use]
    pub fn tensor(&self) -> Option<&str> {
        match self {
            WeightSource::File { tensor, .. }
            | WeightSource::Sealed { tensor, .. }
            | WeightSource::Url { tensor, .. }
            | WeightSource::Hub { tensor, .. } => tensor.as_deref(),
        }
    }
}

impl FromStr for WeightSource {
    type Err = TensorError;

    /// # Errors
    ///
    /// [`TensorError::BadSource`] saying what is wrong with the text.
    fn from_str(text: &str) -> Result<WeightSource, TensorError> {
        let refuse = |reason: &str| TensorError::BadSource {
            text: without_secrets(text),
            reason: reason.to_owned(),
        };
        if let Some(rest) = text.strip_prefix(SEALED) {
            let (directory, tensor) = cut_tensor(rest.rsplit_once('#'), rest);
            if directory.is_empty() {
                return Err(refuse("the name of the sealed directory is empty"));
            }
            return Ok(WeightSource::Sealed {
                directory: PathBuf::from(directory),
                tensor,
            });
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
            _ => (String::new(), text),
        };
        match scheme.as_str() {
            "" => {
                let (path, tensor) = cut_tensor(text.rsplit_once('#'), text);
                if path.is_empty() {
                    return Err(refuse("the file name is empty"));
                }
                Ok(WeightSource::File {
                    path: PathBuf::from(path),
                    tensor,
                })
            }
            "http" | "https" => {
                let (url, tensor) = cut_tensor(text.split_once('#'), text);
                parse_address(url).map_err(|reason| refuse(&reason))?;
                Ok(WeightSource::Url {
                    url: url.to_owned(),
                    tensor,
                })
            }
            "hf" => {
                let (address, tensor) = cut_tensor(rest.split_once('#'), rest);
                let (repo, revision) = address
                    .split_once('@')
                    .unwrap_or((address, DEFAULT_REVISION));
                let parts: Vec<&str> = repo.split('/').collect();
                if parts.len() > 2 || !parts.iter().all(|part| is_repo_part(part)) {
                    return Err(refuse(
                        "a repository is ORG/MODEL of letters, digits, '.', '_' and '-'",
                    ));
                }
                if !revision.split('/').all(is_repo_part) {
                    return Err(refuse(
                        "a revision is a branch, tag or commit of letters, digits, '.', '_', '-' \
                         and '/'",
                    ));
                }
                Ok(WeightSource::Hub {
                    repo: repo.to_owned(),
                    revision: revision.to_owned(),
                    tensor,
                })
            }
            _ => Err(refuse(
                "only http://, https:// and hf:// addresses are read",
            )),
        }
    }
}

/// The canonical text. A URL's query, which may hold a signature, is left out.
impl fmt::Display for WeightSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightSource::File { path, .. } => write!(f, "{}", path.display())?,
            WeightSource::Sealed { directory, .. } => {
                write!(f, "{SEALED}{}", directory.display())?;
            }
            WeightSource::Url { url, .. } => f.write_str(&without_secrets(url))?,
            WeightSource::Hub { repo, revision, .. } => write!(f, "hf://{repo}@{revision}")?,
        }
        match self.tensor() {
            Some(tensor) => write!(f, "#{}", shown(tensor)),
            None => Ok(()),
        }
    }
}

fn cut_tensor<'a>(cut: Option<(&'a str, &str)>, whole: &'a str) -> (&'a str, Option<String>) {
    match cut {
        Some((before, tensor)) => (
            before,
            Some(tensor.to_owned()).filter(|name| !name.is_empty()),
        ),
        None => (whole, None),
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-'))
}

fn is_repo_part(text: &str) -> bool {
    !text.is_empty()
        && text != "."
        && text != ".."
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// The text for messages: of a URL, neither user name, password nor query.
fn without_secrets(text: &str) -> String {
    let address = text.split('#').next().unwrap_or_default();
    if let Ok(uri) = parse_address(address) {
        return shown_address(&uri);
    }
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let rest = rest.split(['?', '#']).next().unwrap_or_default();
            let rest = rest.rsplit_once('@').map_or(rest, |(user, host)| {
                if scheme.eq_ignore_ascii_case("hf") || user.contains('/') {
                    rest
                } else {
                    host
                }
            });
            shown(&format!("{scheme}://{rest}"))
        }
        None => shown(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> WeightSource {
        text.parse().unwrap()
    }

    fn named(tensor: &str) -> Option<String> {
        Some(tensor.to_owned())
    }

    #[test]
    fn the_accepted_forms() {
        assert_eq!(
            parse("dir#1/m.safetensors#a.weight"),
            WeightSource::File {
                path: "dir#1/m.safetensors".into(),
                tensor: named("a.weight")
            }
        );
        assert_eq!(
            parse("m.safetensors"),
            WeightSource::File {
                path: "m.safetensors".into(),
                tensor: None
            }
        );
        assert_eq!(
            parse("m.safetensors#"),
            WeightSource::File {
                path: "m.safetensors".into(),
                tensor: None
            }
        );
        assert_eq!(
            parse("sealed:dir#1#a.weight"),
            WeightSource::Sealed {
                directory: "dir#1".into(),
                tensor: named("a.weight")
            }
        );
        assert_eq!(
            parse("HTTPS://h:8/p/m.safetensors?x=1#w"),
            WeightSource::Url {
                url: "HTTPS://h:8/p/m.safetensors?x=1".into(),
                tensor: named("w")
            }
        );
        assert_eq!(
            parse("hf://org/model@refs/pr/2#w"),
            WeightSource::Hub {
                repo: "org/model".into(),
                revision: "refs/pr/2".into(),
                tensor: named("w")
            }
        );
        assert_eq!(
            parse("hf://gpt2#w"),
            WeightSource::Hub {
                repo: "gpt2".into(),
                revision: "main".into(),
                tensor: named("w")
            }
        );
    }

    #[test]
    fn display_parses_back_and_hides_queries() {
        for text in [
            "a/m.safetensors#w",
            "http://h/m#w",
            "hf://o/m@v1#w",
            "m.safetensors",
            "sealed:some/dir#w",
            "sealed:dir",
        ] {
            assert_eq!(parse(text).to_string(), text);
            assert_eq!(parse(&parse(text).to_string()), parse(text));
        }
        assert_eq!(parse("hf://o/m#w").to_string(), "hf://o/m@main#w");
        assert_eq!(
            parse("https://h/m?sig=secret#w").to_string(),
            "https://h/m#w"
        );
    }

    #[test]
    fn the_refused_forms() {
        for text in [
            "",
            "#w",
            "sealed:",
            "sealed:#w",
            "ftp://h/m#w",
            "https://#w",
            "https://user:secret@h/m#w",
            "https://user:secret@h/m?x=secret#w",
            "hf://#w",
            "hf://o/m/x#w",
            "hf://o/../m#w",
            "hf://../m#w",
            "hf://o/m@#w",
            "hf://o/m@a/../b#w",
            "hf://o/m?x#w",
        ] {
            let error = text.parse::<WeightSource>().unwrap_err();
            assert!(matches!(error, TensorError::BadSource { .. }), "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
