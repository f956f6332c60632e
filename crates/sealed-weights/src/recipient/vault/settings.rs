//! Address, token and certificates from the environment.

use std::net::IpAddr;
use std::path::Path;

use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};
use zeroize::Zeroizing;

use crate::error::KeyError;
use crate::path::shown;
use crate::private_file;
use crate::recipient::entry::printable;
use crate::recipient::options::Variables;

/// Whether the address is this machine's own; refuses what would carry the token in the clear.
pub(super) fn checked(address: &str, allow_plaintext: bool) -> Result<bool, KeyError> {
    let what = format!("the vault address {}", printable(address));
    let uri: Uri = address
        .parse()
        .map_err(|_| malformed(&what, "it must be https://HOST:PORT"))?;
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = bare == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    let userinfo = uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'));
    match uri.scheme_str() {
        _ if host.is_empty() || userinfo || uri.query().is_some() => Err(malformed(
            "the vault address",
            "it must be https://HOST:PORT",
        )),
        Some("https") => Ok(loopback),
        Some("http") if loopback || allow_plaintext => Ok(loopback),
        Some("http") => Err(malformed(
            &what,
            "plain http would show token and model key to everyone on the way; use https",
        )),
        _ => Err(malformed(&what, "it must be https://HOST:PORT")),
    }
}

/// The variable of OpenBao, or that of Vault.
pub(super) fn variable(variables: &Variables, name: &str) -> Option<Zeroizing<String>> {
    variables
        .get(&format!("BAO_{name}"))
        .or_else(|| variables.get(&format!("VAULT_{name}")))
}

/// The token, from the environment or where `vault login` leaves it.
pub(super) fn token(variables: &Variables) -> Result<Zeroizing<String>, KeyError> {
    if let Some(token) = variable(variables, "TOKEN") {
        return Ok(token);
    }
    let path = variables
        .get("HOME")
        .map(|home| Path::new(home.as_str()).join(".vault-token"))
        .filter(|path| path.exists())
        .ok_or_else(|| {
            malformed(
                "the token of the vault server",
                "set VAULT_TOKEN (or BAO_TOKEN), or log in with: vault login",
            )
        })?;
    let text = private_file::read(&path)?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}

/// The certificate authorities in a PEM file.
pub(super) fn certificates(path: &Path) -> Result<RootCerts, KeyError> {
    let pem = std::fs::read(path).map_err(|source| KeyError::File {
        action: "read",
        path: path.to_path_buf(),
        source,
    })?;
    let found: Vec<Certificate<'static>> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        let what = format!("the file {} of VAULT_CACERT", shown(path));
        return Err(malformed(&what, "it holds no certificate in PEM form"));
    }
    Ok(RootCerts::new_with_certs(&found))
}

pub(super) fn malformed(what: &str, reason: &str) -> KeyError {
    KeyError::Malformed {
        what: what.to_owned(),
        reason: reason.to_owned(),
    }
}
