//! What is at a destination, or between two runs, is never lost and never in the way.

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use common::{Fixture, files_below, threads};
use sealed_weights::error::{ModelError, SealError};
use sealed_weights::model::{
    ExtractOptions, Extraction, Rewrap, RotateOptions, Rotation, SealOptions, SealedModel, rewrap,
};
use sealed_weights::sealed_file::Trust;
use sealed_weights::signing::PublisherKey;
use zeroize::Zeroizing;

fn replacing() -> SealOptions {
    SealOptions {
        replace: true,
        model: Some("m".to_owned()),
        ..SealOptions::default()
    }
}

fn sealed_fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("a.bin", b"one");
    let options = SealOptions {
        model: Some("m".to_owned()),
        ..SealOptions::default()
    };
    fixture.seal(options, &threads(1));
    fixture
}

fn rotate(fixture: &Fixture, model: &SealedModel) -> Result<(), SealError> {
    Rotation::prepare(model, RotateOptions::default())?
        .run(&[fixture.recipient("key")], &fixture.publisher, &threads(1))
        .map(|_| ())
}

#[test]
fn a_directory_with_anything_else_in_it_is_not_replaced() {
    let fixture = sealed_fixture();
    let before = files_below(&fixture.sealed());
    let model = fixture.open("key", Trust::Publisher);
    fs::write(fixture.sealed().join("NOTES"), b"mine").unwrap();
    let refused = [
        fixture.try_seal(
            &fixture.plain(),
            &fixture.sealed(),
            replacing(),
            &threads(1),
        ),
        rotate(&fixture, &model),
    ];
    for result in refused {
        assert!(
            matches!(
                result,
                Err(SealError::Model(ModelError::Unlisted { ref path })) if path.ends_with("NOTES")
            ),
            "{result:?}"
        );
    }
    fs::remove_file(fixture.sealed().join("NOTES")).unwrap();
    assert_eq!(files_below(&fixture.sealed()), before);
}

#[test]
fn a_source_in_its_destination_is_refused() {
    let fixture = sealed_fixture();
    let before = files_below(&fixture.sealed());
    let inside = fixture.sealed().join("plain");
    for (source, destination) in [
        (fixture.sealed(), fixture.sealed()),
        (inside.clone(), fixture.sealed()),
        (fixture.plain(), fixture.plain().join("sealed")),
    ] {
        fs::create_dir_all(&inside).unwrap();
        let result = fixture.try_seal(&source, &destination, replacing(), &threads(1));
        assert!(
            matches!(result, Err(SealError::Model(ModelError::BadName { .. }))),
            "{result:?}"
        );
        fs::remove_dir(&inside).unwrap();
    }
    assert_eq!(files_below(&fixture.sealed()), before);
}

#[test]
fn a_link_to_a_model_is_followed_to_the_model() {
    let fixture = sealed_fixture();
    let link = fixture.folder.path().join("current");
    symlink("sealed", &link).unwrap();
    let model = fixture.open_at(&link);
    rotate(&fixture, &model).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fixture.open("key", Trust::Publisher).manifest().version, 2);
    fixture
        .try_seal(&fixture.plain(), &link, replacing(), &threads(1))
        .unwrap();
    assert!(link.is_symlink());
    assert_eq!(fixture.open("key", Trust::Publisher).manifest().version, 3);
}

#[test]
fn modes_stay_and_ciphertext_has_the_usual_one() {
    let fixture = sealed_fixture();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // Whatever the umask is, as for any new directory.
    let usual = fixture.folder.path().join("usual");
    fs::create_dir(&usual).unwrap();
    assert_eq!(mode(&fixture.sealed()), mode(&usual));
    fs::set_permissions(fixture.sealed(), fs::Permissions::from_mode(0o750)).unwrap();
    let section = fixture.sealed().join("sealed.recipients");
    let model = fixture.open("key", Trust::Publisher);
    fs::set_permissions(&section, fs::Permissions::from_mode(0o640)).unwrap();
    rewrap(&model, Rewrap::Add, &[fixture.recipient("other")]).unwrap();
    assert_eq!(mode(&section), 0o640);
    rotate(&fixture, &model).unwrap();
    assert_eq!(mode(&fixture.sealed()), 0o750);
}

#[test]
fn a_recipient_is_listed_once() {
    let fixture = sealed_fixture();
    let model = fixture.open("key", Trust::Publisher);
    for (name, expected) in [("key", 1), ("other", 2), ("key", 2)] {
        let entries = rewrap(&model, Rewrap::Add, &[fixture.recipient(name)]).unwrap();
        assert_eq!(entries.len(), expected);
    }
}

#[test]
fn versions_end_with_the_largest_one() {
    let fixture = sealed_fixture();
    let options = SealOptions {
        version: Some(u64::MAX),
        ..replacing()
    };
    fixture
        .try_seal(&fixture.plain(), &fixture.sealed(), options, &threads(1))
        .unwrap();
    let last = |result: Result<(), SealError>| {
        assert!(
            matches!(
                result,
                Err(SealError::Model(ModelError::LastVersion {
                    version: u64::MAX
                }))
            ),
            "{result:?}"
        );
    };
    last(fixture.try_seal(
        &fixture.plain(),
        &fixture.sealed(),
        replacing(),
        &threads(1),
    ));
    last(rotate(&fixture, &fixture.open("key", Trust::Publisher)));
}

#[test]
fn only_the_publisher_signs_the_next_version() {
    let mut fixture = sealed_fixture();
    let model = fixture.open("key", Trust::Publisher);
    fixture.publisher = PublisherKey::from_seed(&Zeroizing::new([6; 32])).unwrap();
    for result in [
        rotate(&fixture, &model),
        fixture.try_seal(
            &fixture.plain(),
            &fixture.sealed(),
            replacing(),
            &threads(1),
        ),
    ] {
        assert!(
            matches!(
                result,
                Err(SealError::Model(ModelError::OtherPublisher { .. }))
            ),
            "{result:?}"
        );
    }
}

#[test]
fn only_what_a_killed_run_left_is_removed() {
    let fixture = sealed_fixture();
    let folder = fixture.folder.path();
    let out = folder.join("out");
    fs::create_dir(&out).unwrap();
    let kept = [
        folder.join(".sealed.weights-seal-backup"),
        folder.join(".sealed.weights-seal-0123456789abcdeF"),
        folder.join(".other.weights-seal-0123456789abcdef"),
    ];
    let left = [
        folder.join(".sealed.weights-seal-0123456789abcdef"),
        out.join(".model.weights-seal-0123456789abcdef"),
    ];
    for directory in kept.iter().chain(&left) {
        fs::create_dir(directory).unwrap();
        fs::write(directory.join("f"), b"x").unwrap();
    }
    // A pipe of such a name must not block anybody.
    let pipe = folder.join(".sealed.weights-seal-fedcba9876543210");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    let model = fixture.open("key", Trust::Publisher);
    rotate(&fixture, &model).unwrap();
    let model = fixture.open("key", Trust::Publisher);
    Extraction::prepare(&model, &out, ExtractOptions { allow_disk: true })
        .unwrap()
        .run(&threads(1))
        .unwrap();
    for directory in &kept {
        assert!(directory.join("f").exists(), "{}", directory.display());
    }
    for directory in &left {
        assert!(!directory.exists(), "{}", directory.display());
    }
    assert!(pipe.exists());
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    assert_eq!(fs::read(out.join("a.bin")).unwrap(), b"one");
}

#[test]
fn a_directory_to_open_into_must_be_empty() {
    let fixture = sealed_fixture();
    let model = fixture.open("key", Trust::Publisher);
    let folder = fixture.folder.path();
    let dangling = folder.join("dangling");
    symlink("nowhere", &dangling).unwrap();
    for directory in [fixture.plain(), dangling] {
        let options = ExtractOptions { allow_disk: true };
        assert!(Extraction::prepare(&model, &directory, options).is_err());
    }
    assert_eq!(fs::read(fixture.plain().join("a.bin")).unwrap(), b"one");
}

#[test]
fn names_without_a_sealed_form_are_refused_before_the_work() {
    let fixture = Fixture::new();
    fixture.write("a.bin", b"one");
    let long = "x".repeat(249);
    fixture.write(&long, b"");
    let refused = |expected: &str| {
        let result = fixture.try_seal(
            &fixture.plain(),
            &fixture.sealed(),
            SealOptions::default(),
            &threads(1),
        );
        let message = result.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    refused("more than 248");
    fs::rename(
        fixture.plain().join(&long),
        fixture.plain().join("x".repeat(248)),
    )
    .unwrap();
    fs::create_dir(fixture.plain().join("a.bin.sealed")).unwrap();
    fixture.write("a.bin.sealed/b", b"");
    refused("the name of the directory");
    fs::rename(
        fixture.plain().join("a.bin.sealed"),
        fixture.plain().join("c"),
    )
    .unwrap();
    fixture.seal(SealOptions::default(), &threads(1));
    assert!(fixture.sealed().join("c/b.sealed").exists());
}
