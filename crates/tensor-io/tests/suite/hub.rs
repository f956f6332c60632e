//! Hub repositories on a loopback server: shards, fallback, access token.

use tensor_io::{AccessToken, HubConfig, LoadOptions, TensorError};

use crate::support::server::{Answer, Route, Server};
use crate::support::{f32_bytes, load, quick, safetensors_file};

const INDEX: &str = "/org/model/resolve/main/model.safetensors.index.json";
const SINGLE: &str = "/org/model/resolve/main/model.safetensors";
const SHARD_2: &str = "/org/model/resolve/main/model-00002-of-00002.safetensors";

fn options(endpoint: String, token: Option<&str>) -> LoadOptions {
    LoadOptions {
        hub: HubConfig {
            endpoint,
            token: token.map(AccessToken::new),
        },
        ..quick()
    }
}

fn file(values: [f32; 4]) -> Vec<u8> {
    safetensors_file(&[("w", "F32", &[2, 2], f32_bytes(&values))])
}

fn index() -> Route {
    let json = br#"{"metadata":{"total_size":32},"weight_map":{
        "v":"model-00001-of-00002.safetensors","w":"model-00002-of-00002.safetensors"}}"#;
    Route::good(json.to_vec())
}

#[test]
fn a_sharded_model_reads_the_index_and_one_shard() {
    let server = Server::start(vec![
        (INDEX, index()),
        (SHARD_2, Route::good(file([1.0, 2.0, 3.0, 4.0]))),
    ]);
    // A slash at the end of the endpoint does no harm.
    let options = options(format!("{}/", server.origin()), Some("hf_secret"));
    let loaded = load("hf://org/model#w", &options).unwrap();
    assert_eq!(loaded.matrix.data(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(loaded.source, "hf://org/model@main#w");
    assert_eq!(loaded.location, server.url(SHARD_2));
    assert_eq!(loaded.bytes_read, server.body_bytes());
    let requests = server.requests();
    assert_eq!(
        requests.iter().map(|r| r.path.as_str()).collect::<Vec<_>>(),
        [INDEX, SHARD_2]
    );
    assert!(
        requests
            .iter()
            .all(|r| r.authorization.as_deref() == Some("Bearer hf_secret"))
    );
}

#[test]
fn a_model_without_an_index_is_one_file() {
    let path = "/org/model/resolve/refs%2Fpr%2F7/model.safetensors";
    let server = Server::start(vec![(path, Route::good(file([5.0, 6.0, 7.0, 8.0])))]);
    let loaded = load(
        "hf://org/model@refs/pr/7#w",
        &options(server.origin(), None),
    )
    .unwrap();
    assert_eq!(loaded.matrix.data(), [5.0, 6.0, 7.0, 8.0]);
    assert!(server.requests().iter().all(|r| r.authorization.is_none()));
}

#[test]
fn the_token_does_not_follow_a_redirect_to_another_origin() {
    let cdn = Server::start(vec![("/blob", Route::good(file([1.0, 2.0, 3.0, 4.0])))]);
    let to = cdn.url("/blob");
    let hub = Server::start(vec![
        (
            INDEX,
            Route::new(Vec::new(), |_| Answer::Redirect("/cache/index".into())),
        ),
        ("/cache/index", index()),
        (
            SHARD_2,
            Route::new(Vec::new(), move |_| Answer::Redirect(to.clone())),
        ),
    ]);
    let loaded = load(
        "hf://org/model#w",
        &options(hub.origin(), Some("hf_secret")),
    )
    .unwrap();
    assert_eq!(loaded.matrix.data(), [1.0, 2.0, 3.0, 4.0]);
    // The same host on another port is another origin; the same origin keeps the token.
    assert!(!cdn.requests().is_empty());
    assert!(cdn.requests().iter().all(|r| r.authorization.is_none()));
    assert_eq!(hub.requests().len(), 3);
    assert!(hub.requests().iter().all(|r| r.authorization.is_some()));
}

#[test]
fn refusals_name_the_url_and_the_token() {
    for status in [401, 403] {
        let server = Server::start(vec![(
            INDEX,
            Route::new(Vec::new(), move |_| Answer::Status(status)),
        )]);
        let error = load(
            "hf://org/model#w",
            &options(server.origin(), Some("hf_secret")),
        )
        .unwrap_err();
        assert!(matches!(error, TensorError::HttpStatus { status: s, .. } if s == status));
        let text = error.to_string();
        assert!(
            text.contains(&server.url(INDEX)) && text.contains("HF_TOKEN"),
            "{text}"
        );
        assert!(!text.contains("hf_secret"), "{text}");
    }
    let server = Server::start(vec![]);
    let error = load("hf://org/model#w", &options(server.origin(), None)).unwrap_err();
    assert!(matches!(error, TensorError::HttpStatus { status: 404, .. }));
    assert!(error.to_string().contains(&server.url(SINGLE)), "{error}");
    assert!(error.to_string().contains("HF_TOKEN"), "{error}");
}

#[test]
fn the_index_is_checked() {
    let refusal = |json: &str, source: &str| {
        let server = Server::start(vec![(INDEX, Route::good(json.as_bytes().to_vec()))]);
        load(source, &options(server.origin(), None)).unwrap_err()
    };
    for json in [
        "",
        "{}",
        "[1]",
        r#"{"weight_map":{"w":"../../other/model.safetensors"}}"#,
    ] {
        let error = refusal(json, "hf://org/model#w");
        assert!(
            matches!(error, TensorError::HubIndex { .. }),
            "{json}: {error}"
        );
    }
    let json = r#"{"weight_map":{"encoder.weight":"a.safetensors"}}"#;
    let error = refusal(json, "hf://org/model#encoder.weigth");
    assert!(matches!(error, TensorError::UnknownTensor { .. }));
    assert!(error.to_string().contains("'encoder.weight'"), "{error}");
    let error = refusal(json, "hf://org/model");
    assert!(matches!(error, TensorError::MissingTensorName { .. }));
    assert!(error.to_string().contains("encoder.weight"), "{error}");
}

#[test]
fn an_unusable_endpoint_or_token_is_refused_before_any_request() {
    let error = load("hf://o/m#w", &options("not a url".into(), None)).unwrap_err();
    assert!(matches!(error, TensorError::BadEndpoint { .. }));
    assert!(error.to_string().contains("HF_ENDPOINT"), "{error}");
    let server = Server::start(vec![]);
    let error = load("hf://o/m#w", &options(server.origin(), Some("a\nb"))).unwrap_err();
    assert!(matches!(error, TensorError::BadToken { .. }));
    assert!(server.requests().is_empty());
}
