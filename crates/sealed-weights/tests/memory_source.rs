//! Files that exist in memory only, sealed.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use sealed_weights::error::{ModelError, SealError};
use sealed_weights::model::{Policy, SealJob, SealOptions, SealedModel};
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::recipient::{Identity, Recipient};
use sealed_weights::signing::PublisherKey;
use sealed_weights::work::Work;
use zeroize::Zeroizing;

type Files<'a> = &'a [(&'a str, &'a [u8])];

fn job(files: Files<'_>, destination: &std::path::Path) -> Result<SealJob, SealError> {
    let files = files
        .iter()
        .map(|(path, bytes)| (path.parse().unwrap(), Zeroizing::new(bytes.to_vec())))
        .collect();
    SealJob::from_memory(files, destination, SealOptions::default())
}

#[test]
fn files_in_memory_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("made");
    let files: Files<'_> = &[("z/b.bin", &[7; 5000]), ("a.bin", b""), ("m.txt", b"text")];
    let publisher = PublisherKey::from_seed(&Zeroizing::new([5; 32])).unwrap();
    let recipients: [Box<dyn Recipient>; 1] = [Box::new(
        KeyFile::create(&folder.path().join("key")).unwrap(),
    )];
    let job = job(files, &destination).unwrap();
    assert_eq!((job.model(), job.files(), job.bytes()), ("made", 3, 5004));
    assert!(!format!("{job:?}").contains("7, 7"));
    job.run(&recipients, &publisher, &Work::default()).unwrap();
    let identities: [Box<dyn Identity>; 1] =
        [Box::new(KeyFile::read(&folder.path().join("key")).unwrap())];
    let policy = Policy::publisher(publisher.id());
    let model = SealedModel::open(&destination, &identities, policy).unwrap();
    for (path, bytes) in files {
        let file = model.file(path).unwrap();
        assert_eq!(&*file.read_all(&Work::default()).unwrap(), *bytes, "{path}");
    }
}

#[test]
fn what_cannot_be_a_model_is_refused_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let destination = folder.path().join("made");
    let refusal = |files: Files<'_>| job(files, &destination).unwrap_err();
    assert!(matches!(
        refusal(&[]),
        SealError::Model(ModelError::Empty { .. })
    ));
    let twice = refusal(&[("a", b"1"), ("b", b""), ("a", b"2")]);
    assert!(twice.to_string().contains("twice"), "{twice}");
    std::fs::create_dir(&destination).unwrap();
    assert!(matches!(
        refusal(&[("a", b"1")]),
        SealError::Model(ModelError::Exists { .. })
    ));
}
