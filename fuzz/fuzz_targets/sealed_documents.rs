//! Manifest and recipients section of sealed models.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sealed_weights::manifest::{Manifest, SignedManifest};
use sealed_weights::recipients::RecipientsFile;
use sealed_weights::secret::ModelKey;
use sealed_weights::signing::PublisherKey;
use std::sync::LazyLock;
use zeroize::Zeroizing;

static PUBLISHER: LazyLock<PublisherKey> =
    LazyLock::new(|| PublisherKey::from_seed(&Zeroizing::new([1; 32])).expect("any seed is a key"));

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match SignedManifest::parse(text) {
        Ok(signed) => assert_eq!(signed.text(), text),
        Err(defect) => drop(defect.to_string()),
    }
    match RecipientsFile::parse(text) {
        Ok(file) => {
            let json = serde_json::to_string(file.recipients()).expect("it was read from JSON");
            assert_eq!(text.lines().nth(1), Some(json.as_str()));
        }
        Err(defect) => drop(defect.to_string()),
    }
    // Behind the signature, which no fuzzer finds: the input is the JSON.
    if let Ok(manifest) = serde_json::from_str::<Manifest>(text) {
        let key = ModelKey::new(Zeroizing::new([2; 32]));
        match SignedManifest::sign(manifest.clone(), &key, &PUBLISHER) {
            Ok(signed) => assert_eq!(signed.manifest(), &manifest),
            Err(defect) => drop(defect.to_string()),
        }
    }
});
