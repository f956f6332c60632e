//! What a context is opened with.

use crate::failure::{Failure, refuse};
use ckks_abi::Status;
use serde::Deserialize;

/// The one parameter set.
pub(crate) const PARAMETERS: &str = "diagonal-4096";

/// Most threads that are accepted.
const MAX_THREADS: usize = 4096;

/// The specification of `ckks_backend_open`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    params: Option<String>,
    mode: Option<String>,
    device: u64,
    threads: usize,
    bootstrap: bool,
}

/// Checks a specification; gives its threads.
pub(crate) fn threads(text: &[u8]) -> Result<usize, Failure> {
    let spec: Spec = serde_json::from_slice(text)
        .map_err(|error| refuse(format!("the specification is not as documented: {error}")))?;
    if let Some(name) = spec.params.filter(|name| name != PARAMETERS) {
        let message = format!("there is no parameter set \"{name}\"; there is {PARAMETERS}");
        return Err(refuse(message));
    }
    if let Some(mode) = spec.mode {
        return Err(refuse(format!("there is no mode \"{mode}\"; give null")));
    }
    if spec.device != 0 {
        let message = format!("there is no device {}; the only one is 0", spec.device);
        return Err(refuse(message));
    }
    if !(1..=MAX_THREADS).contains(&spec.threads) {
        let message = format!("{} threads; give 1 to {MAX_THREADS}", spec.threads);
        return Err(refuse(message));
    }
    if spec.bootstrap {
        let message = "the parameters have no bootstrapping: they are for one product";
        return Err(Failure::new(Status::Unsupported, message));
    }
    Ok(spec.threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn specifications() {
        let good = json!({"params": null, "mode": null, "device": 0, "threads": 3,
                          "bootstrap": false});
        let with = |name: &str, value: serde_json::Value| {
            let mut spec = good.clone();
            spec[name] = value;
            threads(spec.to_string().as_bytes())
        };
        assert_eq!(with("params", json!(PARAMETERS)).unwrap(), 3);
        assert_eq!(with("params", json!(null)).unwrap(), 3);
        for (name, value, part) in [
            ("params", json!("gemm-2048"), "gemm-2048"),
            ("mode", json!("fused"), "fused"),
            ("device", json!(1), "device 1"),
            ("threads", json!(0), "0 threads"),
            ("threads", json!(4097), "4097 threads"),
            ("more", json!(1), "more"),
        ] {
            let failure = with(name, value).unwrap_err();
            assert_eq!(failure.status, Status::BadArgument);
            assert!(failure.message.contains(part), "{}", failure.message);
        }
        assert_eq!(
            with("bootstrap", json!(true)).unwrap_err().status,
            Status::Unsupported
        );
        for bad in ["", "[]", "{", "{}", "\u{0}"] {
            assert_eq!(
                threads(bad.as_bytes()).unwrap_err().status,
                Status::BadArgument
            );
        }
        assert!(threads(b"\xff").is_err());
    }
}
