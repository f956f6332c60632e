//! `run --weights` on a sealed model.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod program;

use ckks_bench::report::{Report, Verdict};
use program::{assert_has, program, run};
use sealed_weights::model::{SealJob, SealOptions};
use sealed_weights::publisher_file;
use sealed_weights::recipient::Recipient;
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::signing::PublisherKey;
use sealed_weights::work::Work;
use std::fs;
use std::path::Path;
use std::process::Command;
use zeroize::Zeroizing;

/// A model of one 4 x 6 matrix and a configuration, plain and sealed, its key and the publisher's
/// public key.
fn model(folder: &Path) -> PublisherKey {
    let header = r#"{"w":{"dtype":"F32","shape":[4,6],"data_offsets":[0,96]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend((0..24).flat_map(|i| (i as f32 / 24.0 - 0.5).to_le_bytes()));
    fs::create_dir(folder.join("plain")).unwrap();
    fs::write(folder.join("plain/model.safetensors"), file).unwrap();
    fs::write(folder.join("plain/config.json"), "{}").unwrap();
    let publisher = PublisherKey::from_seed(&Zeroizing::new([5; 32])).unwrap();
    publisher_file::create_public(&folder.join("publisher.pub"), publisher.id()).unwrap();
    let recipients: [Box<dyn Recipient>; 1] =
        [Box::new(KeyFile::create(&folder.join("key")).unwrap())];
    SealJob::prepare(
        &folder.join("plain"),
        &folder.join("sealed"),
        SealOptions::default(),
    )
    .unwrap()
    .run(&recipients, &publisher, &Work::default())
    .unwrap();
    publisher
}

/// Options of a short run.
const SHORT: [&str; 8] = [
    "run", "--quiet", "--trials", "1", "--warmup", "0", "--plan", "diagonal",
];

/// The program in that folder, without the user's key and publisher.
fn program_in(folder: &Path) -> Command {
    let mut command = program();
    command
        .current_dir(folder)
        .env_remove("WEIGHTS_SEAL_KEY")
        .env_remove("WEIGHTS_SEAL_PUBLISHER");
    command
}

/// Inverts the last byte of a file.
fn alter(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 0xff;
    fs::write(path, bytes).unwrap();
}

#[test]
fn sealed_weights_give_the_outputs_of_plain_ones() {
    let folder = tempfile::tempdir().unwrap();
    let publisher = model(folder.path());
    let measure = |weights: &str, output: &str| {
        let mut command = program_in(folder.path());
        command
            .args(SHORT)
            .args(["--weights", weights, "--output", output])
            .args(["--json", "report.json"])
            .env("WEIGHTS_SEAL_KEY", "\nkey-file:key\n")
            .env("WEIGHTS_SEAL_PUBLISHER", "publisher.pub");
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, 0, "{stdout}{stderr}");
        let report: Report =
            serde_json::from_slice(&fs::read(folder.path().join("report.json")).unwrap()).unwrap();
        assert_eq!(report.configurations[0].verdict, Verdict::Passed);
        fs::remove_file(folder.path().join("report.json")).unwrap();
        report.settings.weights
    };
    let source = measure("sealed:sealed#w", "sealed.npy");
    assert_has(
        &source,
        &["sealed:sealed#w", "version 1", &publisher.id().to_string()],
    );
    assert_eq!(measure("plain#w", "plain.npy"), "plain#w");
    let outputs = |name| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(outputs("sealed.npy"), outputs("plain.npy"));
}

#[test]
fn sealed_weights_are_refused_without_key_or_publisher() {
    let folder = tempfile::tempdir().unwrap();
    model(folder.path());
    KeyFile::create(&folder.path().join("other")).unwrap();
    let other_model = "5".repeat(32);
    let key = ["--key", "key-file:key"];
    let publisher = ["--publisher", "publisher.pub"];
    let cases: [(&[&[&str]], &str); 9] = [
        (&[&key], "no publisher is given"),
        (&[&publisher], "none of the keys"),
        (
            &[&["--any-publisher", "--key", "key-file:other"]],
            "none of the keys",
        ),
        (
            &[&["--any-publisher", "--key", "key-file:nowhere"]],
            "nowhere",
        ),
        (&[&key, &["--publisher", "nowhere"]], "--publisher"),
        (&[&key, &publisher, &["--min-version", "2"]], "version 1"),
        (
            &[&key, &publisher, &["--expect-model", &other_model]],
            &other_model,
        ),
        (
            &[&key, &publisher, &["--expect-model", "x"]],
            "--expect-model",
        ),
        (&[&key, &publisher, &["--any-publisher"]], "--any-publisher"),
    ];
    for (arguments, message) in cases {
        let mut command = program_in(folder.path());
        command
            .args(["run", "--quiet", "--weights", "sealed#w"])
            .args(arguments.concat());
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(code, 2, "{stdout}{stderr}");
        assert_has(&stderr, &[message]);
    }
}

#[test]
fn altered_weights_are_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    model(folder.path());
    let measure = |more: &[&str]| {
        let mut command = program_in(folder.path());
        command
            .args(SHORT)
            .args(["--weights", "sealed#w", "--json", "report.json"])
            .args(["--key", "key-file:key", "--publisher", "publisher.pub"])
            .args(more);
        run(&mut command)
    };
    let refuse = |more: &[&str], file: &str| {
        let (code, stdout, stderr) = measure(more);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert_has(&stderr, &["--weights", file]);
        assert!(!folder.path().join("report.json").exists());
    };
    // A file that is not read: only --verify-all looks at it.
    alter(&folder.path().join("sealed/config.json.sealed"));
    let (code, stdout, stderr) = measure(&[]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    fs::remove_file(folder.path().join("report.json")).unwrap();
    refuse(&["--verify-all"], "config.json");
    alter(&folder.path().join("sealed/model.safetensors.sealed"));
    refuse(&[], "model.safetensors");
}

#[test]
fn keys_are_only_for_weights() {
    for arguments in [
        ["--key", "key-file:key"],
        ["--publisher", "publisher.pub"],
        ["--min-version", "2"],
    ] {
        let mut command = program();
        let (code, stdout, stderr) = run(command.args(["run", "--quiet"]).args(arguments));
        assert_eq!(code, 2, "{stdout}{stderr}");
        assert_has(&stderr, &["--weights"]);
    }
}
