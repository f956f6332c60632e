//! `libs`, and libraries that are not installed.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod program;

use ckks_backend::vendor;
use program::{assert_has, bare, run};
use std::fs;

const NAMES: [&str; 6] = [
    "native", "cheddar", "fideslib", "openfhe", "seal", "lattigo",
];

#[test]
fn libs_says_what_each_library_needs() {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = run(bare(folder.path()).arg("libs"));
    assert_eq!(code, 0, "{stderr}");
    assert_has(&stdout, &NAMES);
    assert_has(
        &stdout,
        &[
            "8df8b26ce541",
            "80f04b473554",
            "1306d14f8c26",
            "tenseal 0.3.18",
            "orion-v2-lattigo",
            "CHEDDAR_PREFIX",
            "CHEDDAR_RMM_INCLUDE",
            "FIDESLIB_PREFIX",
            "OPENFHE_PREFIX",
            "CUDA_HOME",
            "CKKS_PYTHON",
            "build-shim cheddar",
        ],
    );
}

#[test]
fn libs_tells_all_of_one() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let (code, stdout, stderr) = run(bare(folder.path()).args(["libs", "--lib", name]));
        assert_eq!(code, 0, "{stderr}");
        let Some(pinned) = vendor::find(name) else {
            continue;
        };
        assert_has(&stdout, &[&pinned.licence, &pinned.repository]);
        for preset in &pinned.presets {
            assert_has(&stdout, &[&preset.name]);
        }
        for defect in &pinned.defects {
            assert_has(&stdout, &[&defect.id]);
        }
    }
    let (_, cheddar, _) = run(bare(folder.path()).args(["libs", "--lib", "cheddar"]));
    assert_has(
        &cheddar,
        &[
            "8df8b26ce5411a68b68f0e7c2fb7e9a2f05f3e94",
            "974258177",
            "limit 1747",
            "min-ks",
            "not found: $CHEDDAR_PREFIX/lib/libcheddar.so",
        ],
    );
}

#[test]
fn libs_writes_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libs.json");
    let (code, _, stderr) = run(bare(folder.path()).args(["libs", "--json"]).arg(&path));
    assert_eq!(code, 0, "{stderr}");
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(document["schema"], "ckks-bench-libs/1");
    let libraries = document["libraries"].as_array().unwrap();
    let names: Vec<_> = libraries.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, NAMES);
    assert_eq!(libraries[0]["available"], true);
    assert_eq!(libraries[1]["available"], false);
    let primes = &libraries[1]["pinned"]["preset"][0]["primes"][0]["values"];
    assert_eq!(primes[0], 974_258_177);
}

#[test]
fn a_library_that_is_not_installed_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let run_with = |name: &str, device: &[&str]| {
        let line = [&["run", "--lib", name, "--shape", "64x64"], device].concat();
        let (code, stdout, stderr) = run(bare(folder.path()).args(line));
        assert_eq!((code, &*stdout), (3, ""), "{stderr}");
        stderr
    };
    assert_has(
        &run_with("cheddar", &[]),
        &[
            "\"cheddar\" is not available",
            "no shim libckks_backend_cheddar.so in",
            "data/ckks-bench/backends",
            "CKKS_BACKEND_PATH",
            "run `ckks-bench build-shim cheddar` after setting CHEDDAR_PREFIX (",
            "CHEDDAR_RMM_INCLUDE (",
            "CUDA_HOME (",
        ],
    );
    let device = run_with("cheddar", &["--device", "cpu"]);
    assert_has(&device, &["no shim", "give --device cuda"]);
    assert_has(
        &run_with("openfhe", &[]),
        &["build-shim openfhe", "OPENFHE_PREFIX ("],
    );
    let seal = [
        "no Python interpreter",
        "CKKS_PYTHON",
        "requirements-seal.txt",
    ];
    assert_has(&run_with("seal", &[]), &seal);
    assert_has(
        &run_with("nope", &[]),
        &["\"nope\"", "native, cheddar, fideslib", "ckks-bench libs"],
    );
}
