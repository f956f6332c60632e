//! Sealing, rotating, and copying a file for comparison.

use super::ciphers::{cipher_id, hash_id};
use super::{Bench, Case};
use crate::bench::cipher::Operation;
use crate::bench::load::{copy_plain, io_error};
use crate::bench::spec::{Group, Part, Spec};
use crate::error::CliError;
use sealed_weights::cipher::Provider;
use sealed_weights::model::{RotateOptions, Rotation, SealJob, SealOptions, SealedModel};
use sealed_weights::sealed_file::Trust;
use sealed_weights::suite::Suite;
use std::fs::{self, File};
use std::time::Instant;

/// The case of a plain copy on the same disk.
pub(crate) fn copy_id(sync: bool, threads: usize) -> String {
    format!("floor/copy{}/{threads}t", suffix(sync))
}

/// The case of sealing.
pub(crate) fn seal_id(sync: bool, threads: usize) -> String {
    format!("seal{}/{threads}t", suffix(sync))
}

/// The case of rotating.
pub(crate) fn rotate_id(threads: usize) -> String {
    format!("rotate/{threads}t")
}

fn suffix(sync: bool) -> &'static str {
    if sync { "-fsync" } else { "" }
}

fn words(sync: bool) -> &'static str {
    if sync { "with fsync" } else { "without fsync" }
}

impl Bench<'_> {
    pub(super) fn sealing<'b>(&'b self, cases: &mut Vec<Case<'b>>) {
        for &threads in &self.counts {
            for sync in [false, true] {
                cases.push(self.copy(sync, threads));
                cases.push(self.seal(sync, threads));
            }
            cases.push(self.rotate(threads));
        }
    }

    fn copy(&self, sync: bool, threads: usize) -> Case<'_> {
        let bytes = self.subject.bytes;
        let label = format!("plain copy, {}", words(sync));
        let mut spec = Spec::new(copy_id(sync, threads), Group::Floor, label, bytes);
        spec.parts = vec![
            Part::named("read the page cache", bytes),
            Part::named("write a file", bytes),
        ];
        let plain = &self.subject.paths.plain;
        let path = self.subject.folder.path().join("copy");
        Case::new(spec.threads(threads), move || {
            let start = Instant::now();
            let from = File::open(plain).map_err(io_error("open", plain))?;
            let to = File::create_new(&path).map_err(io_error("create", &path))?;
            copy_plain(&from, plain, bytes, &to, &path, &self.watch.work(threads))?;
            if sync {
                to.sync_all().map_err(io_error("sync", &path))?;
            }
            let elapsed = start.elapsed();
            fs::remove_file(&path).map_err(io_error("remove", &path))?;
            Ok(elapsed.as_secs_f64())
        })
    }

    fn seal(&self, sync: bool, threads: usize) -> Case<'_> {
        let bytes = self.subject.bytes;
        let label = format!("seal, {}", words(sync));
        let mut spec = Spec::new(seal_id(sync, threads), Group::Seal, label, bytes);
        spec.floor = Some(copy_id(sync, threads));
        spec.parts = sealing_parts(bytes, sync, threads);
        let options = SealOptions {
            sync,
            ..SealOptions::default()
        };
        let paths = &self.subject.paths;
        let sealed = self.subject.folder.path().join("again");
        Case::new(spec.threads(threads), move || {
            let recipients = paths.recipients()?;
            let start = Instant::now();
            SealJob::prepare(&paths.plain, &sealed, options.clone())?.run(
                &recipients,
                &self.subject.publisher,
                &self.watch.work(threads),
            )?;
            let elapsed = start.elapsed();
            fs::remove_dir_all(&sealed).map_err(io_error("remove", &sealed))?;
            Ok(elapsed.as_secs_f64())
        })
    }

    /// Replaces the sealed file that everything else opens.
    fn rotate(&self, threads: usize) -> Case<'_> {
        let bytes = self.subject.bytes;
        let label = "rotate, without fsync";
        let mut spec = Spec::new(rotate_id(threads), Group::Seal, label, bytes);
        spec.floor = Some(copy_id(false, threads));
        spec.parts = sealing_parts(bytes, false, threads);
        let suite = Suite::for_this_machine();
        let provider = Provider::for_this_machine(suite);
        let open = cipher_id(provider, suite, Operation::Open, threads);
        spec.parts
            .push(Part::measured(&format!("{suite}, open"), bytes, open));
        spec.parts
            .push(Part::measured("BLAKE3 of the old", bytes, hash_id(threads)));
        Case::new(spec.threads(threads), move || self.rotate_once(threads))
    }

    fn rotate_once(&self, threads: usize) -> Result<f64, CliError> {
        let paths = &self.subject.paths;
        let recipients = paths.recipients()?;
        let options = RotateOptions {
            sync: false,
            ..RotateOptions::default()
        };
        let start = Instant::now();
        let policy = paths.policy(Trust::Publisher);
        let model = SealedModel::open(&paths.sealed, &paths.identities()?, policy)?;
        Rotation::prepare(&model, options)?.run(
            &recipients,
            &self.subject.publisher,
            &self.watch.work(threads),
        )?;
        let elapsed = start.elapsed();
        // Not to be written out in the middle of what comes next.
        let sealed = paths.sealed_file();
        File::open(&sealed)
            .and_then(|file| file.sync_all())
            .map_err(io_error("sync", &sealed))?;
        Ok(elapsed.as_secs_f64())
    }
}

fn sealing_parts(bytes: u64, sync: bool, threads: usize) -> Vec<Part> {
    let suite = Suite::for_this_machine();
    let provider = Provider::for_this_machine(suite);
    let cipher = cipher_id(provider, suite, Operation::Seal, threads);
    vec![
        Part::measured("copy to a file", bytes, copy_id(sync, threads)),
        Part::measured(&format!("{suite}, seal"), bytes, cipher),
        Part::measured("BLAKE3", bytes, hash_id(threads)),
    ]
}
