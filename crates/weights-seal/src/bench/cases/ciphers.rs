//! Raw AEADs and hashes, and AEADs in a process whose processor seems to have no AES.

use super::{Bench, Case, Outcome};
use crate::bench::cipher::{self, Aead, Operation, ProviderName};
use crate::bench::spec::{Group, Spec};
use crate::bench::worker::{Answer, Task, Worker};
use crate::error::CliError;
use sealed_weights::cipher::Provider;
use sealed_weights::suite::Suite;

/// Takes AES, carry-less multiplication and their vector forms from AWS-LC, which reads it when it
/// starts: two pairs of words of CPUID, inverted. Bits 33 (PCLMULQDQ) and 57 (AES) of the first,
/// 41 (VAES) and 42 (VPCLMULQDQ) of the second.
const MASK: (&str, &str) = ("OPENSSL_ia32cap", "~0x0200000200000000:~0x0000060000000000");

/// The case of a raw AEAD.
pub(crate) fn cipher_id(
    provider: Provider,
    suite: Suite,
    operation: Operation,
    threads: usize,
) -> String {
    let (provider, suite) = (provider.name(), suite.name());
    format!("cipher/{provider}/{suite}/{}/{threads}t", operation.id())
}

/// The case of the raw hash.
pub(crate) fn hash_id(threads: usize) -> String {
    format!("cipher/blake3/{threads}t")
}

/// The case of the masked processor.
pub(crate) fn mask_id(suite: Suite, masked: bool) -> String {
    let state = if masked { "off" } else { "on" };
    format!("mask/{}/aes-{state}", suite.name())
}

impl Bench<'_> {
    pub(super) fn ciphers<'b>(&'b self, cases: &mut Vec<Case<'b>>) {
        for &threads in &self.counts {
            for suite in Suite::ALL {
                for provider in Provider::ALL {
                    for operation in [Operation::Seal, Operation::Open] {
                        let aead = Aead {
                            provider: ProviderName::of(provider),
                            suite: suite.number(),
                            operation,
                        };
                        let spec = Spec::new(
                            cipher_id(provider, suite, operation, threads),
                            Group::Cipher,
                            format!("{suite} by {}, {}", provider.name(), operation.id()),
                            cipher::payload(threads, self.cipher_bytes),
                        );
                        cases.push(Case::new(spec.threads(threads), move || {
                            Ok(aead.run(threads, self.cipher_bytes)?)
                        }));
                    }
                }
            }
            let bytes = cipher::payload(threads, self.cipher_bytes);
            let spec = Spec::new(hash_id(threads), Group::Cipher, "BLAKE3", bytes);
            cases.push(Case::new(spec.threads(threads), move || {
                Ok(cipher::hash(threads, self.cipher_bytes)?)
            }));
        }
        for suite in Suite::ALL {
            for masked in [false, true] {
                cases.push(self.mask(suite, masked));
            }
        }
    }

    fn mask<'b>(&self, suite: Suite, masked: bool) -> Case<'b> {
        // Without its instructions AES is some thirty times slower.
        let bytes = self.cipher_bytes / 4;
        let state = if masked { "off" } else { "on" };
        let spec = Spec::new(
            mask_id(suite, masked),
            Group::Mask,
            format!("{suite} by aws-lc, AES instructions {state}"),
            cipher::payload(1, bytes),
        );
        if masked && !cfg!(target_arch = "x86_64") {
            return Case::skipped(spec, "AWS-LC has such a mask on x86-64 only");
        }
        let task = Task::Cipher {
            aead: Aead {
                provider: ProviderName::AwsLc,
                suite: suite.number(),
                operation: Operation::Open,
            },
            bytes,
        };
        Case {
            spec,
            run: Box::new(move || {
                let environment: &[(&str, &str)] = if masked { &[MASK] } else { &[] };
                outcome(Worker::run(&task, environment)?)
            }),
        }
    }
}

/// What a worker that takes time answered.
pub(super) fn outcome(answer: Answer) -> Result<Outcome, CliError> {
    match answer {
        Answer::Seconds(seconds) => Ok(Outcome::Seconds(seconds)),
        Answer::Skipped(reason) => Ok(Outcome::Skipped(reason)),
        Answer::Failed(reason) => Err(CliError::usage(reason)),
        Answer::Peak(_) => Err(CliError::usage("a worker answered another question")),
    }
}
