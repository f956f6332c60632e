//! Models in a Hugging Face Hub: where their files are, and access to them.

use std::collections::BTreeMap;
use std::fmt;

use safetensors_header::{close_names, listing};
use serde::Deserialize;
use ureq::http::header::HeaderValue;

use crate::error::{TensorError, shown};
use crate::http::{HttpClient, RemoteFile, Target};
use crate::load::LoadOptions;
use crate::redirect::{is_loopback, parse_address, shown_address};

/// The public Hub.
pub const DEFAULT_HUB_ENDPOINT: &str = "https://huggingface.co";

/// The file of an unsharded model.
const SINGLE_FILE: &str = "model.safetensors";
/// The file that tells which shard holds which tensor.
const INDEX_FILE: &str = "model.safetensors.index.json";
/// Longest index accepted.
const MAX_INDEX_BYTES: u64 = 64 * 1024 * 1024;

/// A secret access token. Its value is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

impl AccessToken {
    /// Takes the token's text (surrounding white space is dropped).
    #[must_use]
    pub fn new(text: &str) -> AccessToken {
        AccessToken(text.trim().to_owned())
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken(hidden)")
    }
}

/// Which Hub to use, and with which access token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubConfig {
    /// Base address, for example [`DEFAULT_HUB_ENDPOINT`].
    pub endpoint: String,
    /// Sent as a Bearer token to the endpoint's scheme, host and port only.
    pub token: Option<AccessToken>,
}

impl Default for HubConfig {
    /// The public Hub without a token.
    fn default() -> HubConfig {
        HubConfig {
            endpoint: DEFAULT_HUB_ENDPOINT.to_owned(),
            token: None,
        }
    }
}

impl HubConfig {
    /// Takes the endpoint from `HF_ENDPOINT` and the token from `HF_TOKEN`; a variable that is
    /// unset or empty leaves the default.
    #[must_use]
    pub fn from_env() -> HubConfig {
        let variable = |name| {
            std::env::var(name)
                .ok()
                .map(|v| v.trim().to_owned())
                .filter(|v| !v.is_empty())
        };
        HubConfig {
            endpoint: variable("HF_ENDPOINT").unwrap_or_else(|| DEFAULT_HUB_ENDPOINT.to_owned()),
            token: variable("HF_TOKEN").map(|text| AccessToken::new(&text)),
        }
    }

    /// The request for one file of a repository.
    fn target(&self, repo: &str, revision: &str, file: &str) -> Result<Target, TensorError> {
        let endpoint = self.endpoint.trim_end_matches('/');
        // A revision such as refs/pr/1 is one path segment.
        let revision = revision.replace('/', "%2F");
        let address = format!("{endpoint}/{repo}/resolve/{revision}/{file}");
        let unusable = |reason| TensorError::BadEndpoint { reason };
        if endpoint.contains(['?', '#']) {
            // The repository's path would become part of them.
            return Err(unusable("it has a '?' or '#' in it".to_owned()));
        }
        if endpoint.contains('@') {
            // Even in the path: a password with a '/' in it puts it there.
            return Err(unusable(
                "it has an '@' in it, and user names and passwords are refused".to_owned(),
            ));
        }
        let uri = parse_address(&address).map_err(unusable)?;
        let refused = |problem| TensorError::BadToken {
            url: shown_address(&uri),
            problem,
        };
        let authorization = match &self.token {
            None => None,
            Some(_) if uri.scheme_str() != Some("https") && !is_loopback(&uri) => {
                return Err(refused(
                    "the connection is not encrypted; use an https:// HF_ENDPOINT or unset \
                     HF_TOKEN",
                ));
            }
            Some(AccessToken(text)) => {
                let mut value = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| {
                    refused("it holds characters that a header cannot carry; set it again")
                })?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Target {
            uri,
            authorization,
            hub: true,
        })
    }
}

/// The part of a shard index that is needed.
#[derive(Deserialize)]
struct ShardIndex {
    weight_map: BTreeMap<String, String>,
}

/// Opens the file of the repository that holds `tensor` (with `None`: any file, if there is only
/// one; otherwise the error lists the tensors).
pub(crate) fn open(
    repo: &str,
    revision: &str,
    tensor: Option<&str>,
    options: &LoadOptions,
) -> Result<RemoteFile, TensorError> {
    let mut client = HttpClient::new(options);
    let index = options.hub.target(repo, revision, INDEX_FILE)?;
    let file = match client.get_small(&index, MAX_INDEX_BYTES)? {
        None => SINGLE_FILE.to_owned(),
        Some(json) => shard_of(tensor, &json, &shown_address(&index.uri))?,
    };
    RemoteFile::open(client, options.hub.target(repo, revision, &file)?)
}

/// The checked name of the shard that holds `tensor`.
fn shard_of(tensor: Option<&str>, json: &[u8], url: &str) -> Result<String, TensorError> {
    let refuse = |problem| TensorError::HubIndex {
        url: url.to_owned(),
        problem,
    };
    let index: ShardIndex = serde_json::from_slice(json).map_err(|e| {
        refuse(format!(
            "it is not the expected JSON ({})",
            shown(&e.to_string())
        ))
    })?;
    let names = || index.weight_map.keys();
    let Some(name) = tensor else {
        return Err(TensorError::MissingTensorName {
            location: url.to_owned(),
            listing: listing(names().len(), names().map(|n| shown(n))),
        });
    };
    let Some(shard) = index.weight_map.get(name) else {
        return Err(TensorError::UnknownTensor {
            location: url.to_owned(),
            name: shown(name),
            hint: close_names(name, names().map(String::as_str)),
        });
    };
    if !is_plain_file_name(shard) {
        return Err(refuse(format!(
            "it places '{}' in '{}', which is not a plain file name",
            shown(name),
            shown(shard)
        )));
    }
    Ok(shard.clone())
}

/// Whether the text is one file name of letters, digits, `.`, `_` and `-`, and not hidden.
fn is_plain_file_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('.')
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shard_names_cannot_escape() {
        for bad in [
            "../x",
            "/etc/passwd",
            "a/b",
            "a\\b",
            "..",
            ".x",
            "",
            "a?b",
            "a#b",
            "a%2Fb",
        ] {
            let json = serde_json::json!({ "weight_map": { "w": bad } }).to_string();
            let result = shard_of(Some("w"), json.as_bytes(), "u");
            assert!(matches!(result, Err(TensorError::HubIndex { .. })), "{bad}");
        }
        let json = br#"{"metadata":{},"weight_map":{"w":"model-00001-of-00002.safetensors"}}"#;
        assert_eq!(
            shard_of(Some("w"), json, "u").unwrap(),
            "model-00001-of-00002.safetensors"
        );
        assert!(matches!(
            shard_of(Some("w"), b"[]", "u"),
            Err(TensorError::HubIndex { .. })
        ));
    }

    #[test]
    fn an_unusable_endpoint_is_named_but_not_shown() {
        for endpoint in [
            "https://user:hunter2@mirror.example",
            "https://hunter2@mirror.example/",
            "user:hunter2@mirror.example",
            "https://user:hunter2@mirror example",
            "https://user:hunter2/x@mirror.example:port",
            "https://mirror.example?key=hunter2",
            "https://mirror.example/#hunter2",
            "ftp://user:hunter2@mirror.example",
            "hunter2",
        ] {
            let config = HubConfig {
                endpoint: endpoint.to_owned(),
                token: None,
            };
            let error = config.target("o/m", "main", "f").err().unwrap();
            assert!(
                matches!(error, TensorError::BadEndpoint { .. }),
                "{endpoint}: {error}"
            );
            let message = error.to_string();
            assert!(
                message.starts_with("HF_ENDPOINT is not usable: "),
                "{message}"
            );
            for text in [message, format!("{error:?}")] {
                assert!(!text.contains("hunter2"), "{text}");
            }
        }
    }

    #[test]
    fn the_token_is_hidden_and_stays_off_open_connections() {
        let config = HubConfig {
            endpoint: "http://mirror.example/".to_owned(),
            token: Some(AccessToken::new(" hf_secret\n")),
        };
        assert!(!format!("{config:?}").contains("hf_secret"));
        let error = config.target("o/m", "main", "f").err().unwrap();
        assert!(matches!(error, TensorError::BadToken { .. }));
        assert!(!error.to_string().contains("hf_secret"));

        let config = HubConfig {
            endpoint: DEFAULT_HUB_ENDPOINT.to_owned(),
            ..config
        };
        let target = config.target("o/m", "refs/pr/1", "f").unwrap();
        assert_eq!(
            target.uri,
            "https://huggingface.co/o/m/resolve/refs%2Fpr%2F1/f"
        );
        assert_eq!(target.authorization.unwrap(), "Bearer hf_secret");
    }
}
