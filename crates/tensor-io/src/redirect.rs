//! Addresses: what is accepted, where redirects lead, and what of them is shown.

use ureq::http::Uri;

/// Parses an absolute http or https address, or tells what is wrong with it.
pub(crate) fn parse_address(text: &str) -> Result<Uri, String> {
    let uri: Uri = text.parse().map_err(|e| format!("not a valid URL ({e})"))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        _ => return Err("only http:// and https:// URLs are read".to_owned()),
    }
    let Some(authority) = uri.authority() else {
        return Err("the URL has no host".to_owned());
    };
    if authority.host().is_empty() {
        return Err("the URL has no host".to_owned());
    }
    if authority.as_str().contains('@') {
        return Err("a URL with a user name or password in it is refused".to_owned());
    }
    Ok(uri)
}

/// The address for messages: without the query, which may hold a signature.
pub(crate) fn shown_address(uri: &Uri) -> String {
    let scheme = uri.scheme_str().unwrap_or("http");
    let authority = uri.authority().map_or("", |a| a.as_str());
    crate::error::shown(&format!("{scheme}://{authority}{}", uri.path()))
}

/// Where a redirect from `base` with this Location header leads.
pub(crate) fn resolve(base: &Uri, location: &str) -> Result<Uri, String> {
    // A fragment stays on the client.
    let location = location.split('#').next().unwrap_or_default();
    let scheme = base.scheme_str().unwrap_or("http");
    let authority = base.authority().map_or("", |a| a.as_str());
    let lower = location.to_ascii_lowercase();
    let absolute = if lower.starts_with("http://") || lower.starts_with("https://") {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.is_empty() || location.contains(':') {
        return Err("to an address that is not http or https".to_owned());
    } else {
        let directory = base
            .path()
            .rsplit_once('/')
            .map_or("", |(directory, _)| directory);
        format!("{scheme}://{authority}{directory}/{location}")
    };
    let target = parse_address(&absolute).map_err(|problem| format!("badly: {problem}"))?;
    if scheme == "https" && target.scheme_str() != Some("https") {
        return Err("from https to unencrypted http".to_owned());
    }
    Ok(target)
}

/// Whether both addresses have the same scheme, host and port.
pub(crate) fn same_origin(a: &Uri, b: &Uri) -> bool {
    let port = |uri: &Uri| {
        uri.port_u16()
            .unwrap_or(if uri.scheme_str() == Some("https") {
                443
            } else {
                80
            })
    };
    let host = |uri: &Uri| uri.host().unwrap_or_default().to_ascii_lowercase();
    a.scheme_str() == b.scheme_str() && host(a) == host(b) && port(a) == port(b)
}

/// Whether the address is on this machine.
pub(crate) fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        parse_address(text).unwrap()
    }

    #[test]
    fn locations_resolve_against_the_base() {
        let base = uri("https://hub.example/a/b/file?x=1");
        for (location, expected) in [
            ("https://cdn.example/f?sig=1", "https://cdn.example/f?sig=1"),
            ("//cdn.example/f", "https://cdn.example/f"),
            ("/c/d", "https://hub.example/c/d"),
            ("other#part", "https://hub.example/a/b/other"),
        ] {
            assert_eq!(
                resolve(&base, location).unwrap(),
                uri(expected),
                "{location}"
            );
        }
        for location in [
            "http://hub.example/f",
            "ftp://x/y",
            "file:/etc/passwd",
            "",
            "//u@h/f",
        ] {
            assert!(resolve(&base, location).is_err(), "{location}");
        }
    }

    #[test]
    fn origins() {
        let base = uri("https://hub.example/a");
        assert!(same_origin(&base, &uri("https://HUB.example:443/b")));
        for other in [
            "http://hub.example/a",
            "https://hub.example:444/a",
            "https://x.example/a",
        ] {
            assert!(!same_origin(&base, &uri(other)), "{other}");
        }
    }

    #[test]
    fn loopback_and_shown() {
        for yes in [
            "http://localhost:1/",
            "http://127.0.0.1/",
            "http://[::1]:80/",
        ] {
            assert!(is_loopback(&uri(yes)), "{yes}");
        }
        assert!(!is_loopback(&uri("http://127.0.0.1.example/")));
        assert_eq!(
            shown_address(&uri("https://h:1/p?secret=1")),
            "https://h:1/p"
        );
        assert!(parse_address("https://user:pw@h/p").is_err());
        assert!(parse_address("/p").is_err());
    }
}
