//! Evaluation of a prepared layer on the server.
//!
//! 1. **Babies**: each input's `c1` is decomposed once; each baby step is one key product and one
//!    division by P, permuted straight into the arena that the next phase reads.
//! 2. **Multiply-accumulate**: all inner sums of an output in one pass over its plaintexts, for
//!    all queries together.
//! 3. **Giants**: each inner sum is decomposed, multiplied by its key and added, permuted, over
//!    QP; one division by P ends an output.
//!
//! Everything but step 2 on c0 depends on `c1` alone. [`PreparedLayer::evaluate_ahead`] does that
//! part before the vector exists (with c0 = 0); [`PreparedLayer::evaluate_online`] adds the c0
//! part. Both together give the same bits as [`PreparedLayer::evaluate`], because division by P
//! is exact on multiples of P.

mod giants;
mod moves;
mod online;
mod run;
mod scratch;

pub(crate) use self::moves::BlockMoves;
use self::online::Online;
use self::run::Evaluation;
use crate::error::{LinearError, expect_count};
use crate::mac;
use crate::prepared::PreparedLayer;
use crate::workspace::Workspace;
use ckks::{Ciphertext, Context, GaloisKeys, ParameterDigest, RnsPoly, kernels};
use std::time::{Duration, Instant};

/// Queries whose plaintexts are streamed together; more are evaluated in turns.
pub const QUERIES_AT_ONCE: usize = 16;

/// One group of vectors under one client's keys.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The client's Galois keys.
    pub keys: &'a GaloisKeys,
    /// One ciphertext for each input of the plan.
    pub inputs: &'a [Ciphertext],
}

/// One group of vectors that does not exist yet: its public masks.
#[derive(Clone, Copy, Debug)]
pub struct AheadQuery<'a> {
    /// The client's Galois keys.
    pub keys: &'a GaloisKeys,
    /// `c1` of each input ciphertext to come.
    pub masks: &'a [RnsPoly],
}

/// All work on one group that depends on its masks alone: two polynomials for each output. Used
/// once: [`PreparedLayer::evaluate_online`] consumes it. Which masks it belongs to is for the
/// caller to remember: with other ones the answer is garbage.
#[derive(Debug)]
pub struct AheadResult {
    digest: ParameterDigest,
    outputs: Vec<Ciphertext>,
}

/// Wall time of the phases. The online part of four queries or more goes through all steps block
/// by block: all its time is that of `multiply_accumulate`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PhaseTimes {
    /// Rotations of the inputs.
    pub babies: Duration,
    /// Plaintext products and sums.
    pub multiply_accumulate: Duration,
    /// Rotations of the inner sums.
    pub giants: Duration,
}

/// Ciphertexts of each query's outputs, and where the time went.
pub type Evaluated<T> = (Vec<T>, PhaseTimes);

impl PreparedLayer {
    /// Evaluates whole queries. The inputs are not changed.
    ///
    /// # Errors
    /// [`LinearError::Count`] for a wrong number of inputs, [`LinearError::Ckks`] for a missing
    /// key or other parameters; nothing is evaluated then.
    pub fn evaluate(
        &self,
        context: &Context,
        queries: &[Query<'_>],
    ) -> Result<Evaluated<Vec<Ciphertext>>, LinearError> {
        let parts: Vec<_> = queries
            .iter()
            .map(|query| Parts {
                keys: Some(query.keys),
                c0: query.inputs.iter().map(|c| &c.c0).collect(),
                c1: query.inputs.iter().map(|c| &c.c1).collect(),
            })
            .collect();
        self.run(context, &parts)
    }

    /// The part that needs the masks only.
    ///
    /// # Errors
    /// As [`PreparedLayer::evaluate`].
    pub fn evaluate_ahead(
        &self,
        context: &Context,
        queries: &[AheadQuery<'_>],
    ) -> Result<Evaluated<AheadResult>, LinearError> {
        let parts: Vec<_> = queries
            .iter()
            .map(|query| Parts {
                keys: Some(query.keys),
                c0: Vec::new(),
                c1: query.masks.iter().collect(),
            })
            .collect();
        let (results, times) = self.run(context, &parts)?;
        let digest = context.digest();
        let bind = |outputs| AheadResult { digest, outputs };
        Ok((results.into_iter().map(bind).collect(), times))
    }

    /// The part that needs the vectors: `queries` pairs the `c0` of each input with what was done
    /// ahead for its masks.
    ///
    /// # Errors
    /// [`LinearError::Count`], [`LinearError::Ckks`].
    pub fn evaluate_online(
        &self,
        context: &Context,
        queries: Vec<(AheadResult, Vec<&RnsPoly>)>,
    ) -> Result<Evaluated<Vec<Ciphertext>>, LinearError> {
        self.check(context)?;
        let inputs = self.manifest.plan.inputs().len();
        let (mut ahead, halves): (Vec<_>, Vec<_>) = queries.into_iter().unzip();
        for (AheadResult { digest, outputs }, c0) in ahead.iter().zip(&halves) {
            context.check_digest("a result done ahead", *digest)?;
            expect_count("outputs done ahead", self.outputs.len(), outputs.len())?;
            expect_count("c0 of the inputs", inputs, c0.len())?;
            c0.iter().try_for_each(|poly| context.check_poly(poly))?;
        }
        let halves: Vec<&[&RnsPoly]> = halves.iter().map(Vec::as_slice).collect();
        let mut times = PhaseTimes::default();
        let turns = ahead.chunks_mut(QUERIES_AT_ONCE);
        for (ahead, queries) in turns.zip(halves.chunks(QUERIES_AT_ONCE)) {
            if queries.len() < mac::GROUP {
                self.add_few(context, queries, ahead, &mut times)?;
                continue;
            }
            let start = Instant::now();
            let online = Online {
                layer: self,
                context,
                queries,
            };
            for output in 0..self.outputs.len() {
                let results = ahead.iter_mut().map(|ahead| &mut ahead.outputs[output]);
                online.add_output(output, &mut results.collect::<Vec<_>>());
            }
            times.multiply_accumulate += start.elapsed();
        }
        let results = ahead.into_iter().map(|ahead| ahead.outputs);
        Ok((results.collect(), times))
    }

    /// The online part of few queries, phase after phase as in the whole evaluation: the weights'
    /// way from memory is the limit, and it stands still while blocks are gathered and scattered.
    fn add_few(
        &self,
        context: &Context,
        queries: &[&[&RnsPoly]],
        ahead: &mut [AheadResult],
        times: &mut PhaseTimes,
    ) -> Result<(), LinearError> {
        let parts: Vec<_> = queries
            .iter()
            .map(|c0| Parts {
                keys: None,
                c0: c0.to_vec(),
                c1: Vec::new(),
            })
            .collect();
        let (results, phases) = self.run(context, &parts)?;
        times.babies += phases.babies;
        times.multiply_accumulate += phases.multiply_accumulate;
        times.giants += phases.giants;
        for (online, ahead) in results.iter().zip(ahead) {
            for (online, ahead) in online.iter().zip(&mut ahead.outputs) {
                for limb in 0..context.q_limbs() {
                    let q = context.modulus(limb);
                    let sum = ahead.c0.limb_mut(limb);
                    kernels::add_assign(context.level(), q, sum, online.c0.limb(limb));
                }
            }
        }
        Ok(())
    }

    fn run(
        &self,
        context: &Context,
        queries: &[Parts<'_>],
    ) -> Result<Evaluated<Vec<Ciphertext>>, LinearError> {
        self.check(context)?;
        let mut results = Vec::with_capacity(queries.len());
        let mut times = PhaseTimes::default();
        let turns = queries
            .chunks(QUERIES_AT_ONCE)
            .map(|queries| Evaluation::new(self, context, queries))
            .collect::<Result<Vec<_>, _>>()?;
        for turn in turns {
            let mut workspace = Workspace::take(turn.arena_len(), turn.sums_len())?;
            results.extend(turn.evaluate(&mut workspace, &mut times));
            workspace.give_back();
        }
        Ok((results, times))
    }
}

/// The halves of a query's inputs that are there.
struct Parts<'a> {
    keys: Option<&'a GaloisKeys>,
    c0: Vec<&'a RnsPoly>,
    c1: Vec<&'a RnsPoly>,
}
