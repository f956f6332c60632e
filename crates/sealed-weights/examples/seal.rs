//! Seals a directory for one key file, signed by a fixed publisher: for tests of other languages.
//!
//! usage: seal SOURCE DESTINATION KEY PUBLISHER
//!
//! KEY is made if it does not exist, and the publisher's public key is written to PUBLISHER. The
//! publisher's private key is public: what this seals is for tests only.

use std::path::Path;

use sealed_weights::core_header::ChunkSize;
use sealed_weights::model::{SealJob, SealOptions};
use sealed_weights::publisher_file;
use sealed_weights::recipient::Recipient;
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::signing::PublisherKey;
use sealed_weights::work::Work;
use zeroize::Zeroizing;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, destination, key, publisher] = &arguments[..] else {
        return Err("usage: seal SOURCE DESTINATION KEY PUBLISHER".into());
    };
    let key = Path::new(key);
    let recipient = if key.exists() {
        KeyFile::read(key)?
    } else {
        KeyFile::create(key)?
    };
    let signer = PublisherKey::from_seed(&Zeroizing::new([5; 32]))?;
    let publisher = Path::new(publisher);
    if !publisher.exists() {
        publisher_file::create_public(publisher, signer.id())?;
    }
    let options = SealOptions {
        // Short chunks make many borders; large models get the usual ones.
        chunk_size: match std::env::var("CHUNK_SIZE") {
            Ok(text) => ChunkSize::new(text.parse()?)?,
            Err(_) => ChunkSize::DEFAULT,
        },
        ..SealOptions::default()
    };
    let recipients: [Box<dyn Recipient>; 1] = [Box::new(recipient)];
    SealJob::prepare(Path::new(source), Path::new(destination), options)?.run(
        &recipients,
        &signer,
        &Work::default(),
    )?;
    Ok(())
}
