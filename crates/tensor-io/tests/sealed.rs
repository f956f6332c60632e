//! Weights out of sealed models, against the same weights in plain files.

// Helper functions of tests fail as tests do.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use sealed_weights::core_header::ChunkSize;
use sealed_weights::model::{Policy, SealJob, SealOptions};
use sealed_weights::recipient::Recipient;
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::signing::PublisherKey;
use sealed_weights::work::Work;
use tempfile::TempDir;
use tensor_io::{LoadOptions, LoadedMatrix, SealedOptions, TensorError, WeightSource};
use zeroize::Zeroizing;

const CHUNK: u32 = 4096;

struct Fixture {
    folder: TempDir,
    publisher: PublisherKey,
}

/// A safetensors file of F32 matrices: name, rows, columns; the elements count on from `first`.
fn safetensors(tensors: &[(&str, usize, usize)], first: usize) -> Vec<u8> {
    let (mut members, mut data) = (Vec::new(), Vec::new());
    for (name, rows, columns) in tensors {
        let begin = data.len();
        for i in 0..rows * columns {
            data.extend(((first + i) as f32 * 0.25 - 7.0).to_le_bytes());
        }
        members.push(format!(
            r#""{name}":{{"dtype":"F32","shape":[{rows},{columns}],"data_offsets":[{begin},{}]}}"#,
            data.len()
        ));
    }
    let header = format!("{{{}}}", members.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(&data);
    file
}

impl Fixture {
    /// Two shards and a configuration, plain and sealed.
    fn new() -> Fixture {
        let folder = TempDir::new().unwrap();
        let fixture = Fixture {
            publisher: PublisherKey::from_seed(&Zeroizing::new([5; 32])).unwrap(),
            folder,
        };
        for key in ["key", "other"] {
            KeyFile::create(&fixture.path(key)).unwrap();
        }
        fs::create_dir(fixture.path("plain")).unwrap();
        let one = safetensors(&[("a", 3, 5), ("b", 70, 90)], 0);
        let two = safetensors(&[("c", 2000, 33)], 9);
        fs::write(fixture.path("plain/m-1.safetensors"), one).unwrap();
        fs::write(fixture.path("plain/m-2.safetensors"), two).unwrap();
        fs::write(fixture.path("plain/config.json"), "{}").unwrap();
        let recipients: [Box<dyn Recipient>; 1] =
            [Box::new(KeyFile::read(&fixture.path("key")).unwrap())];
        let options = SealOptions {
            chunk_size: ChunkSize::new(CHUNK).unwrap(),
            model: Some("test model".into()),
            version: Some(7),
            ..SealOptions::default()
        };
        SealJob::prepare(&fixture.path("plain"), &fixture.path("sealed"), options)
            .unwrap()
            .run(&recipients, &fixture.publisher, &Work::default())
            .unwrap();
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn options(&self) -> LoadOptions {
        LoadOptions {
            sealed: SealedOptions {
                keys: vec![format!("key-file:{}", self.path("key").display())],
                policy: Policy::publisher(self.publisher.id()),
                ..SealedOptions::default()
            },
            ..LoadOptions::default()
        }
    }

    fn source(&self, prefix: &str, name: &str) -> String {
        format!("{prefix}{}", self.path(name).display())
    }
}

fn load(source: &str, options: &LoadOptions) -> Result<LoadedMatrix, TensorError> {
    source.parse::<WeightSource>()?.load(options)
}

/// The message of the refusal.
fn refusal(source: &str, options: &LoadOptions) -> String {
    load(source, options).unwrap_err().to_string()
}

/// Flips a bit of a file, counted from the end.
fn flip(path: &Path, from_end: usize) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() - from_end;
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn sealed_and_plain_directories_give_the_same_matrices() {
    let fixture = Fixture::new();
    for transpose in [false, true] {
        let options = LoadOptions {
            transpose,
            ..fixture.options()
        };
        for (name, file) in [("a", "m-1"), ("b", "m-1"), ("c", "m-2")] {
            let file = fixture.source("", &format!("plain/{file}.safetensors#{name}"));
            let plain = load(&file, &options).unwrap();
            let shards = load(&fixture.source("", &format!("plain#{name}")), &options).unwrap();
            assert_eq!(shards.matrix, plain.matrix);
            assert_eq!(shards.location, plain.location);
            assert_eq!(shards.sealed, None);
            for prefix in ["", "sealed:"] {
                let text = fixture.source(prefix, &format!("sealed#{name}"));
                let sealed = load(&text, &options).unwrap();
                assert_eq!(sealed.matrix, plain.matrix, "{text}");
                assert_eq!((sealed.dtype, sealed.shape), (plain.dtype, plain.shape));
                assert_eq!(sealed.source, text);
                let bytes = plain.shape[0] * plain.shape[1] * 4;
                assert_eq!(sealed.bytes_read, bytes as u64);
                let origin = sealed.sealed.unwrap();
                assert_eq!((origin.model.as_str(), origin.version), ("test model", 7));
                assert_eq!(origin.publisher, fixture.publisher.id().to_string());
            }
        }
    }
}

#[test]
fn only_those_who_are_meant_to_can_read() {
    let fixture = Fixture::new();
    let source = fixture.source("sealed:", "sealed#a");
    let changed = |change: &dyn Fn(&mut SealedOptions)| {
        let mut options = fixture.options();
        change(&mut options.sealed);
        refusal(&source, &options)
    };
    let other = PublisherKey::from_seed(&Zeroizing::new([6; 32]))
        .unwrap()
        .id();
    let key_of = |name: &str| vec![format!("key-file:{}", fixture.path(name).display())];
    for (what, message) in [
        ("no publisher", changed(&|o| o.policy.publishers.clear())),
        (
            "trusted publisher",
            changed(&|o| o.policy.publishers = vec![other]),
        ),
        ("version 7", changed(&|o| o.policy.min_version = Some(8))),
        ("keys given", changed(&|o| o.keys.clear())),
        ("keys given", changed(&|o| o.keys = key_of("other"))),
        ("nowhere", changed(&|o| o.keys = key_of("nowhere"))),
    ] {
        assert!(message.contains("is refused"), "{message}");
        assert!(message.contains(what), "{what}: {message}");
    }
}

#[test]
fn an_altered_model_gives_no_matrix() {
    let fixture = Fixture::new();
    let options = fixture.options();
    let everything = LoadOptions {
        sealed: SealedOptions {
            verify_all: true,
            ..fixture.options().sealed
        },
        ..fixture.options()
    };
    let (a, c) = (
        fixture.source("sealed:", "sealed#a"),
        fixture.source("sealed:", "sealed#c"),
    );
    let shard = fixture.path("sealed/m-2.safetensors.sealed");
    let before = fs::read(&shard).unwrap();
    load(&c, &everything).unwrap();
    // In the last chunk of c: a, in the other shard, is still authentic, the model is not.
    flip(&shard, 9);
    assert!(refusal(&c, &options).contains("publisher signed"));
    load(&a, &options).unwrap();
    assert!(refusal(&a, &everything).contains("publisher signed"));
    // A header, of whatever file, is noticed before anything is decrypted.
    let mut altered = before.clone();
    altered[40] ^= 1;
    fs::write(&shard, &altered).unwrap();
    assert!(refusal(&a, &options).contains("is refused"));
    // Plaintext in the place of a sealed file, and no file.
    fs::write(
        &shard,
        fs::read(fixture.path("plain/m-2.safetensors")).unwrap(),
    )
    .unwrap();
    assert!(refusal(&a, &options).contains("not a sealed file"));
    fs::remove_file(&shard).unwrap();
    assert!(refusal(&a, &options).contains("m-2.safetensors.sealed"));
    fs::write(&shard, before).unwrap();
    fs::write(fixture.path("sealed/extra"), "").unwrap();
    assert!(refusal(&a, &options).contains("extra"));
}

#[test]
fn wrong_names_are_answered_with_those_there_are() {
    let fixture = Fixture::new();
    let options = fixture.options();
    for source in ["sealed", "plain"] {
        let listing = refusal(&fixture.source("", source), &options);
        assert!(listing.contains("no tensor named"), "{listing}");
        assert!(listing.contains('a') && listing.contains('c'), "{listing}");
        let unknown = refusal(&fixture.source("", &format!("{source}#d")), &options);
        assert!(unknown.contains("'d'"), "{unknown}");
    }
    let file = fixture.source("", "sealed/m-1.safetensors.sealed#a");
    assert!(refusal(&file, &options).contains("sealed:DIR#TENSOR"));
    let not_sealed = refusal(&fixture.source("sealed:", "plain#a"), &options);
    assert!(not_sealed.contains("sealed.manifest"), "{not_sealed}");
    fs::create_dir(fixture.path("empty")).unwrap();
    let empty = refusal(&fixture.source("", "empty#a"), &options);
    assert!(empty.contains("no .safetensors file"), "{empty}");
    fs::copy(
        fixture.path("plain/m-1.safetensors"),
        fixture.path("plain/m-0.safetensors"),
    )
    .unwrap();
    let twice = refusal(&fixture.source("", "plain#a"), &options);
    assert!(twice.contains("m-0") && twice.contains("m-1"), "{twice}");
}
