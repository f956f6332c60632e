//! Range requests against a real server on the loopback interface, also a misbehaving one.

use tensor_io::{HeaderDefect, LoadOptions, TensorError};

use crate::support::server::{Answer, Route, Server};
use crate::support::{f32_bytes, load, quick, ramp, safetensors_bytes, safetensors_file};

/// Bytes that the first request asks for.
const PREFIX: u64 = 16 * 1024;

/// A file whose matrix `w` (100 x 90) lies behind the first request, among others.
fn model() -> (Vec<u8>, Vec<f32>) {
    let values = ramp(9000);
    let bytes = safetensors_file(&[
        ("before", "U8", &[20_000], vec![1; 20_000]),
        ("w", "F32", &[100, 90], f32_bytes(&values)),
        ("after", "U8", &[50_000], vec![2; 50_000]),
    ]);
    (bytes, values)
}

fn serve(script: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Server {
    Server::start(vec![("/m.safetensors", Route::new(model().0, script))])
}

fn load_from(server: &Server) -> Result<tensor_io::LoadedMatrix, TensorError> {
    load(&server.url("/m.safetensors#w"), &quick())
}

#[test]
fn only_the_header_and_the_tensor_travel() {
    let server = serve(|_| Answer::Good("e"));
    let loaded = load_from(&server).unwrap();
    assert_eq!(loaded.matrix.data(), model().1);
    assert_eq!((loaded.matrix.d_in(), loaded.matrix.d_out()), (90, 100));
    assert_eq!(server.body_bytes(), PREFIX + 36_000);
    assert_eq!(loaded.bytes_read, server.body_bytes());
    assert_eq!(server.requests().len(), 2);
    assert!(server.requests().iter().all(|r| r.authorization.is_none()));
    assert_eq!(loaded.location, server.url("/m.safetensors"));
}

#[test]
fn a_small_file_takes_one_request() {
    let bytes = safetensors_file(&[("w", "F32", &[2, 2], f32_bytes(&[1.0, 2.0, 3.0, 4.0]))]);
    let size = bytes.len() as u64;
    let server = Server::start(vec![("/m", Route::good(bytes))]);
    let loaded = load(&server.url("/m#w"), &quick()).unwrap();
    assert_eq!(loaded.matrix.data(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(server.requests().len(), 1);
    assert_eq!((loaded.bytes_read, server.body_bytes()), (size, size));
}

#[test]
fn a_long_header_and_a_tensor_across_the_first_request() {
    let names: Vec<String> = (0..300).map(|i| format!("layer.{i}.weight")).collect();
    let mut tensors: Vec<(&str, &str, &[usize], Vec<u8>)> = names
        .iter()
        .map(|n| (n.as_str(), "U8", &[1usize][..], vec![0]))
        .collect();
    tensors.push(("w", "F32", &[2, 1], f32_bytes(&[5.0, 6.0])));
    let bytes = safetensors_file(&tensors);
    assert!(bytes.len() as u64 > PREFIX);
    let size = bytes.len() as u64;
    let server = Server::start(vec![("/m", Route::good(bytes))]);
    let loaded = load(&server.url("/m#w"), &quick()).unwrap();
    assert_eq!(loaded.matrix.data(), [5.0, 6.0]);
    assert_eq!(loaded.bytes_read, server.body_bytes());
    assert!(server.body_bytes() <= size);

    let values = ramp(8000);
    let bytes = safetensors_file(&[("w", "F32", &[80, 100], f32_bytes(&values))]);
    let size = bytes.len() as u64;
    let server = Server::start(vec![("/m", Route::good(bytes))]);
    let loaded = load(&server.url("/m#w"), &quick()).unwrap();
    assert_eq!(loaded.matrix.data(), values);
    assert_eq!(server.body_bytes(), size, "no byte travels twice");
}

#[test]
fn a_server_that_ignores_ranges_is_refused() {
    let server = serve(|_| Answer::Whole);
    let error = load_from(&server).unwrap_err();
    assert!(matches!(error, TensorError::RangeIgnored { .. }));
    assert!(
        error.to_string().contains(&server.url("/m.safetensors")),
        "{error}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_broken_transfer_resumes_where_it_stopped() {
    let server = serve(|n| match n {
        1 => Answer::CutAfter(10_001),
        2 => Answer::HangUp,
        _ => Answer::Good("e"),
    });
    let loaded = load_from(&server).unwrap();
    assert_eq!(loaded.matrix.data(), model().1);
    let ranges: Vec<_> = server.requests().iter().map(|r| r.range.unwrap()).collect();
    let (first, last) = ranges[1];
    assert_eq!(
        ranges[2..],
        [(first + 10_001, last), (first + 10_001, last)]
    );
    assert_eq!(loaded.bytes_read, PREFIX + 36_000);
}

#[test]
fn a_broken_first_answer_resumes_as_well() {
    let server = serve(|n| {
        if n == 0 {
            Answer::CutAfter(5)
        } else {
            Answer::Good("e")
        }
    });
    assert_eq!(load_from(&server).unwrap().matrix.data(), model().1);
    assert_eq!(server.requests()[1].range, Some((5, PREFIX as usize - 1)));
    assert_eq!(server.body_bytes(), PREFIX + 36_000);
}

#[test]
fn a_server_that_always_breaks_is_given_up() {
    let server = serve(|n| {
        if n == 0 {
            Answer::Good("e")
        } else {
            Answer::CutAfter(100)
        }
    });
    let error = load_from(&server).unwrap_err();
    let start = server.requests()[1].range.unwrap().0 as u64;
    match error {
        TensorError::Transport {
            offset, attempts, ..
        } => {
            assert_eq!((offset, attempts), (start + 300, 3));
        }
        other => panic!("{other}"),
    }
    assert_eq!(server.requests().len(), 4);

    let server = serve(|_| Answer::HangUp);
    assert!(matches!(
        load_from(&server),
        Err(TensorError::Transport { attempts: 3, .. })
    ));
    let nobody_listens = {
        let server = serve(|_| Answer::HangUp);
        server.url("/m.safetensors#w")
    };
    let error = load(&nobody_listens, &quick()).unwrap_err();
    assert!(matches!(
        error,
        TensorError::Transport {
            attempts: 3,
            offset: 0,
            ..
        }
    ));
}

#[test]
fn a_busy_server_is_asked_again() {
    let server = serve(|n| {
        if n < 2 {
            Answer::Status(503)
        } else {
            Answer::Good("e")
        }
    });
    assert_eq!(load_from(&server).unwrap().matrix.data(), model().1);
    let server = serve(|_| Answer::Status(503));
    let error = load_from(&server).unwrap_err();
    assert!(matches!(&error, TensorError::Transport { .. }) && error.to_string().contains("503"));
}

#[test]
fn a_file_that_changes_between_requests_is_refused() {
    let server = serve(|n| {
        if n == 0 {
            Answer::Good("one")
        } else {
            Answer::Good("two")
        }
    });
    let error = load_from(&server).unwrap_err();
    assert!(
        matches!(error, TensorError::RemoteChanged { what: "ETag", .. }),
        "{error}"
    );

    let server = serve(|n| match n {
        0 => Answer::Good("e"),
        _ => Answer::ContentRange(Some("bytes 0-35999/36000".into())),
    });
    let error = load_from(&server).unwrap_err();
    assert!(
        matches!(error, TensorError::RemoteChanged { what: "size", .. }),
        "{error}"
    );
}

#[test]
fn wrong_content_ranges_are_refused() {
    for line in [
        None,
        Some("bytes 0-16383/*"),
        Some("bytes 1-16383/100000"),
        Some("bytes 1-16384/100000"),
        Some("bytes 0-99/100000"),
        Some("bytes 0-16383/0"),
        Some("bytes 0-18446744073709551615/18446744073709551615"),
        Some("items 0-16383/100000"),
    ] {
        let server = serve(move |_| Answer::ContentRange(line.map(str::to_owned)));
        let error = load_from(&server).unwrap_err();
        assert!(
            matches!(error, TensorError::BadContentRange { .. }),
            "{line:?}: {error}"
        );
    }
}

#[test]
fn a_lying_size_does_not_reserve_memory() {
    // The server claims an exabyte, and a header that fits the claim.
    let header = r#"{"w":{"dtype":"F32","shape":[268435456,1073741824],"data_offsets":[0,1152921504606846976]}}"#;
    let bytes = safetensors_bytes(header, &[0; 20_000]);
    let size = 8 + header.len() as u64 + (1 << 60);
    let server = Server::start(vec![(
        "/m",
        Route::new(bytes, move |n| match n {
            0 => Answer::ContentRange(Some(format!("bytes 0-16383/{size}"))),
            _ => Answer::HangUp,
        }),
    )]);
    let error = load(&server.url("/m#w"), &quick()).unwrap_err();
    assert!(
        matches!(error, TensorError::TensorTooLarge { .. }),
        "{error}"
    );
    let unlimited = LoadOptions {
        max_bytes: u64::MAX,
        max_retries: 0,
        ..quick()
    };
    let server = Server::start(vec![(
        "/m",
        Route::new(safetensors_bytes(header, &[0; 20_000]), move |n| match n {
            0 => Answer::ContentRange(Some(format!("bytes 0-16383/{size}"))),
            _ => Answer::HangUp,
        }),
    )]);
    let error = load(&server.url("/m#w"), &unlimited).unwrap_err();
    assert!(
        matches!(error, TensorError::Transport { offset: PREFIX, .. }),
        "{error}"
    );
}

#[test]
fn error_statuses_name_the_url_but_not_its_query() {
    for status in [401, 403, 404, 410, 418] {
        let server = Server::start(vec![(
            "/m.safetensors?signature=secret",
            Route::new(Vec::new(), move |_| Answer::Status(status)),
        )]);
        let source = server.url("/m.safetensors?signature=secret#w");
        let error = load(&source, &quick()).unwrap_err();
        assert!(matches!(error, TensorError::HttpStatus { status: s, .. } if s == status));
        let text = error.to_string();
        assert!(text.contains(&server.url("/m.safetensors")), "{text}");
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn an_empty_or_invalid_file_is_refused() {
    let server = Server::start(vec![("/m", Route::good(Vec::new()))]);
    let error = load(&server.url("/m#w"), &quick()).unwrap_err();
    assert!(
        matches!(error, TensorError::HttpStatus { status: 416, .. }),
        "{error}"
    );
    let server = Server::start(vec![(
        "/m",
        Route::good(b"<html>not found</html>".to_vec()),
    )]);
    let error = load(&server.url("/m#w"), &quick()).unwrap_err();
    assert!(matches!(
        error,
        TensorError::Header {
            defect: HeaderDefect::LengthOverLimit { .. },
            ..
        }
    ));
}

#[test]
fn redirects_are_followed_within_reason() {
    let signed = "/blob?signature=secret";
    let content = Server::start(vec![(signed, Route::good(model().0))]);
    let to = content.url(signed);
    let front = Server::start(vec![
        (
            "/m.safetensors",
            Route::new(Vec::new(), |_| Answer::Redirect("/next".into())),
        ),
        (
            "/next",
            Route::new(Vec::new(), move |_| Answer::Redirect(to.clone())),
        ),
        (
            "/loop",
            Route::new(Vec::new(), |_| Answer::Redirect("loop".into())),
        ),
        (
            "/ftp",
            Route::new(Vec::new(), |_| Answer::Redirect("ftp://127.0.0.1/m".into())),
        ),
    ]);
    assert_eq!(load_from(&front).unwrap().matrix.data(), model().1);
    assert_eq!(content.body_bytes(), PREFIX + 36_000);
    for path in ["/loop#w", "/ftp#w"] {
        let error = load(&front.url(path), &quick()).unwrap_err();
        assert!(
            matches!(error, TensorError::BadRedirect { .. }),
            "{path}: {error}"
        );
    }
}

#[test]
fn a_url_without_a_tensor_lists_the_tensors() {
    let server = serve(|_| Answer::Good("e"));
    let error = load(&server.url("/m.safetensors"), &quick()).unwrap_err();
    assert!(matches!(error, TensorError::MissingTensorName { .. }));
    assert!(error.to_string().contains("w (F32 [100, 90])"), "{error}");
    assert_eq!(server.body_bytes(), PREFIX);
}
