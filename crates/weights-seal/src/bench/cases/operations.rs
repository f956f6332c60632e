//! What takes milliseconds: one tensor, new recipients for a model of many files, keys.

use super::transfers::{opening_parts, transfer_id};
use super::{Bench, Case};
use crate::bench::load::io_error;
use crate::bench::spec::{Destination, Group, Part, Spec, Way};
use crate::error::CliError;
use sealed_weights::error::SealError;
use sealed_weights::model::{Rewrap, SealJob, SealOptions, SealedModel, SignedModel, rewrap};
use sealed_weights::recipient::passphrase::Passphrase;
use sealed_weights::recipient::{Identity, Recipient};
use sealed_weights::sealed_file::Trust;
use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;
use zeroize::Zeroizing;

/// Files of the model that gets new recipients.
const SHARDS: u32 = 100;
/// The case of new recipients.
const REWRAP: &str = "operation/rewrap";
/// The case of a key in a file.
const KEY_FILE: &str = "operation/unwrap-key-file";
/// The case of a passphrase.
const PASSPHRASE: &str = "operation/unwrap-passphrase";
const WORDS: &str = "correct horse battery staple";

/// The case of one tensor; `first` includes opening the directory and reading the header.
fn tensor_id(first: bool, threads: usize) -> String {
    let which = if first { "first-tensor" } else { "tensor" };
    format!("operation/{which}/{threads}t")
}

impl Bench<'_> {
    pub(super) fn operations<'b>(&'b self, cases: &mut Vec<Case<'b>>) -> Result<(), CliError> {
        let mut tensor_threads = vec![1, self.most()];
        tensor_threads.dedup();
        for threads in tensor_threads {
            cases.push(self.tensor(threads));
            cases.push(self.first_tensor(threads));
        }
        cases.push(self.rewrap()?);
        let spec = Spec::new(
            KEY_FILE.to_owned(),
            Group::Operation,
            "unwrap the key with a key file",
            0,
        );
        cases.push(Case::new(spec, move || self.unwrap_key_file()));
        cases.push(self.passphrase()?);
        Ok(())
    }

    fn tensor(&self, threads: usize) -> Case<'_> {
        let Some(tensor) = &self.subject.tensor else {
            return Case::skipped(
                self.tensor_spec(false, threads),
                "the file is not safetensors",
            );
        };
        Case::new(self.tensor_spec(false, threads), move || {
            let paths = &self.subject.paths;
            let policy = paths.policy(Trust::Publisher);
            let model = SealedModel::open(&paths.sealed, &paths.identities()?, policy)?;
            model.tensor_info(&tensor.name)?;
            let start = Instant::now();
            let read = model.tensor(&tensor.name, &self.watch.work(threads))?;
            let elapsed = start.elapsed();
            black_box(&read);
            Ok(elapsed.as_secs_f64())
        })
    }

    fn first_tensor(&self, threads: usize) -> Case<'_> {
        let Some(tensor) = &self.subject.tensor else {
            return Case::skipped(
                self.tensor_spec(true, threads),
                "the file is not safetensors",
            );
        };
        Case::new(self.tensor_spec(true, threads), move || {
            let paths = &self.subject.paths;
            let start = Instant::now();
            let policy = paths.policy(Trust::Publisher);
            let model = SealedModel::open(&paths.sealed, &paths.identities()?, policy)?;
            let read = model.tensor(&tensor.name, &self.watch.work(threads))?;
            let elapsed = start.elapsed();
            black_box(&read);
            Ok(elapsed.as_secs_f64())
        })
    }

    fn tensor_spec(&self, first: bool, threads: usize) -> Spec {
        let bytes = self.subject.tensor.as_ref().map_or(0, |t| t.bytes);
        let label = if first {
            "one tensor, with opening the model"
        } else {
            "one tensor of an open model"
        };
        let mut spec = Spec::new(tensor_id(first, threads), Group::Operation, label, bytes);
        spec.way = Some(Way::Publisher);
        spec.parts = vec![Part::measured(
            "transfer",
            bytes,
            transfer_id(Way::Plain, Destination::FreshHuge, threads),
        )];
        spec.parts
            .extend(opening_parts(Way::Publisher, bytes, threads));
        spec.threads(threads)
    }

    fn rewrap(&self) -> Result<Case<'_>, CliError> {
        let shards = self.seal_shards()?;
        let spec = Spec::new(
            REWRAP.to_owned(),
            Group::Operation,
            format!("rewrap a model of {SHARDS} files"),
            0,
        );
        Ok(Case::new(spec, move || {
            let paths = &self.subject.paths;
            let start = Instant::now();
            let policy = paths.policy(Trust::Publisher);
            let model = SealedModel::open(&shards, &paths.identities()?, policy)?;
            rewrap(&model, Rewrap::Replace, &paths.recipients()?)?;
            Ok(start.elapsed().as_secs_f64())
        }))
    }

    fn seal_shards(&self) -> Result<PathBuf, CliError> {
        let plain = self.subject.folder.path().join("shards");
        let sealed = self.subject.folder.path().join("shards-sealed");
        fs::create_dir(&plain).map_err(io_error("create", &plain))?;
        for shard in 0..SHARDS {
            let path = plain.join(format!("shard-{shard:05}.bin"));
            let bytes: Vec<u8> = (0..self.shard_bytes)
                .map(|i| (i * 31 + i / 251) as u8)
                .collect();
            fs::write(&path, bytes).map_err(io_error("write", &path))?;
        }
        let options = SealOptions {
            sync: false,
            ..SealOptions::default()
        };
        SealJob::prepare(&plain, &sealed, options)?.run(
            &self.subject.paths.recipients()?,
            &self.subject.publisher,
            &self.watch.work(self.most()),
        )?;
        fs::remove_dir_all(&plain).map_err(io_error("remove", &plain))?;
        Ok(sealed)
    }

    fn unwrap_key_file(&self) -> Result<f64, CliError> {
        let paths = &self.subject.paths;
        let signed = SignedModel::read(&paths.sealed, paths.policy(Trust::Publisher))?;
        let start = Instant::now();
        let model = signed.unlock(&paths.identities()?)?;
        let elapsed = start.elapsed();
        black_box(&model);
        Ok(elapsed.as_secs_f64())
    }

    /// A model of one small file, sealed for a passphrase.
    fn passphrase(&self) -> Result<Case<'_>, CliError> {
        let folder = self.subject.folder.path();
        let (plain, sealed) = (folder.join("word"), folder.join("word-sealed"));
        fs::write(&plain, "a").map_err(io_error("write", &plain))?;
        let phrase = || Passphrase::new(Zeroizing::new(WORDS.to_owned())).map_err(SealError::from);
        let recipients: Vec<Box<dyn Recipient>> = vec![Box::new(phrase()?)];
        SealJob::prepare(&plain, &sealed, SealOptions::default())?.run(
            &recipients,
            &self.subject.publisher,
            &self.watch.work(1),
        )?;
        let spec = Spec::new(
            PASSPHRASE.to_owned(),
            Group::Operation,
            "unwrap the key with a passphrase (Argon2id)",
            0,
        );
        Ok(Case::new(spec, move || {
            let policy = self.subject.paths.policy(Trust::Publisher);
            let signed = SignedModel::read(&sealed, policy)?;
            let identities: Vec<Box<dyn Identity>> = vec![Box::new(phrase()?)];
            let start = Instant::now();
            let model = signed.unlock(&identities)?;
            let elapsed = start.elapsed();
            black_box(&model);
            Ok(elapsed.as_secs_f64())
        }))
    }
}
