//! Evaluation of a prepared layer on the server.
//!
//! 1. **Babies**: each input's `c1` is decomposed once; each baby step is one key product and one
//!    division by P, permuted straight into the arena that the next phase reads.
//! 2. **Multiply-accumulate**: all inner sums of an output in one pass over its plaintexts, for
//!    all queries together (see [`crate::mac`]).
//! 3. **Giants**: each inner sum is decomposed, multiplied by its key and added, permuted, over
//!    QP; one division by P ends an output.
//!
//! Everything but step 2 on c0 depends on `c1` alone. [`PreparedLayer::evaluate_ahead`] does that
//! part before the vector exists (with c0 = 0); [`PreparedLayer::evaluate_online`] adds the c0
//! part. Both together give the same bits as [`PreparedLayer::evaluate`], because division by P
//! is exact on multiples of P.

use crate::error::LinearError;
use crate::mac::{self, Block, BlockInput, MacModulus};
use crate::memory::DisjointBlocks;
use crate::prepared::{PreparedLayer, PreparedOutput};
use crate::workspace::Workspace;
use ckks::automorphism::{Automorphism, GaloisElement};
use ckks::poly::AlignedResidues;
use ckks::upcoming::{ScatteredRows, Upcoming};
use ckks::{Ciphertext, Context, GaloisKey, GaloisKeys, RnsPoly, kernels};
use rayon::prelude::*;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Queries whose plaintexts are streamed together; more are evaluated in turns.
const QUERIES_AT_ONCE: usize = 16;
/// Blocks of 16 coefficients that one task of the multiply-accumulate phase takes.
const BLOCKS_PER_TASK: usize = 16;

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
/// once: [`PreparedLayer::evaluate_online`] consumes it.
#[derive(Debug)]
pub struct AheadResult(Vec<Ciphertext>);

/// Wall time of the phases.
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
        Ok((results.into_iter().map(AheadResult).collect(), times))
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
        let (ahead, parts): (Vec<_>, Vec<_>) = queries
            .into_iter()
            .map(|(ahead, c0)| {
                (
                    ahead,
                    Parts {
                        keys: None,
                        c0,
                        c1: Vec::new(),
                    },
                )
            })
            .unzip();
        for AheadResult(outputs) in &ahead {
            count("outputs done ahead", self.outputs.len(), outputs.len())?;
        }
        let (mut results, times) = self.run(context, &parts)?;
        for (result, AheadResult(ahead)) in results.iter_mut().zip(ahead) {
            for (online, ahead) in result.iter_mut().zip(ahead) {
                for limb in 0..context.q_limbs() {
                    let q = context.modulus(limb);
                    kernels::add_assign(
                        context.level(),
                        q,
                        online.c0.limb_mut(limb),
                        ahead.c0.limb(limb),
                    );
                }
                online.c1 = ahead.c1;
            }
        }
        Ok((results, times))
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
            let mut workspace = self.workspaces.take(turn.arena_len(), turn.sums_len())?;
            results.extend(turn.evaluate(&mut workspace, &mut times));
            self.workspaces.give_back(workspace);
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

fn count(what: &'static str, expected: usize, found: usize) -> Result<(), LinearError> {
    if expected == found {
        Ok(())
    } else {
        Err(LinearError::Count {
            what,
            expected,
            found,
        })
    }
}

/// How a step's rotation is done for one query.
enum Rotation<'a> {
    /// Step 0.
    Identity,
    /// With key switching of c1.
    Switched(&'a GaloisKey),
    /// c0 alone is permuted; its c1 was switched ahead of time.
    Permuted(&'a Automorphism),
}

/// The memory of the key that a rotation needs, if it needs one.
fn upcoming<'a>(rotation: Option<&Rotation<'a>>) -> Upcoming<'a> {
    match rotation {
        Some(Rotation::Switched(key)) => key.upcoming(),
        _ => Upcoming::none(),
    }
}

struct Evaluation<'a> {
    layer: &'a PreparedLayer,
    context: &'a Context,
    queries: &'a [Parts<'a>],
    /// `[query][baby step]`.
    babies: Vec<Vec<Rotation<'a>>>,
    /// `[output][giant][query]`.
    giants: Vec<Vec<Vec<Rotation<'a>>>>,
    moduli: Vec<MacModulus>,
    /// Polynomials for each query: c0, c1 or both.
    polys: usize,
    /// Blocks between two blocks' rows of the arena.
    arena_stride: usize,
    /// Blocks between two inner-sum polynomials.
    sum_stride: usize,
}

impl<'a> Evaluation<'a> {
    fn new(
        layer: &'a PreparedLayer,
        context: &'a Context,
        queries: &'a [Parts<'a>],
    ) -> Result<Self, LinearError> {
        let plan = &layer.manifest.plan;
        let inputs = plan.inputs().len();
        for query in queries {
            if query.keys.is_some() {
                count("c1 of the inputs", inputs, query.c1.len())?;
            } else {
                count("c0 of the inputs", inputs, query.c0.len())?;
            }
            if !query.c0.is_empty() {
                count("c0 of the inputs", inputs, query.c0.len())?;
            }
            for poly in query.c0.iter().chain(&query.c1) {
                context.check_poly(poly)?;
            }
        }
        let rotation = |query: &Parts<'a>, step: usize| -> Result<Rotation<'a>, LinearError> {
            let element = GaloisElement::rotation(step as i64, context.degree());
            if element.is_identity() {
                return Ok(Rotation::Identity);
            }
            Ok(match query.keys {
                Some(keys) => Rotation::Switched(keys.get(element, context)?),
                None => match layer.automorphisms.get(&step) {
                    Some(automorphism) => Rotation::Permuted(automorphism),
                    None => {
                        let what = "rotations prepared for the online part";
                        return Err(LinearError::Count {
                            what,
                            expected: step,
                            found: 0,
                        });
                    }
                },
            })
        };
        let most_babies = (0..inputs).map(|i| plan.babies_of(i)).max().unwrap_or(0);
        let babies = queries
            .iter()
            .map(|query| (0..most_babies).map(|step| rotation(query, step)).collect())
            .collect::<Result<Vec<Vec<_>>, _>>()?;
        let giants = layer
            .outputs
            .iter()
            .map(|output| {
                let steps = output.steps.iter();
                steps
                    .map(|&step| queries.iter().map(|query| rotation(query, step)).collect())
                    .collect::<Result<Vec<Vec<_>>, LinearError>>()
            })
            .collect::<Result<Vec<_>, _>>()?;
        let both = queries.iter().any(|query| query.keys.is_some());
        let polys = if both { 2 } else { 1 };
        let columns = polys * queries.len();
        let blocks = context.degree() / 16;
        // Rows a multiple of 4 KiB apart would share one cache set.
        let row = layer.babies * columns;
        let arena_stride = row + usize::from(row % 64 == 0);
        Ok(Self {
            layer,
            context,
            queries,
            babies,
            giants,
            moduli: (0..context.q_limbs())
                .map(|i| MacModulus::new(context.modulus(i)))
                .collect(),
            polys,
            arena_stride,
            sum_stride: context.q_limbs() * blocks + 2,
        })
    }

    fn columns(&self) -> usize {
        self.polys * self.queries.len()
    }

    fn blocks(&self) -> usize {
        self.context.degree() / 16
    }

    fn arena_len(&self) -> usize {
        self.context.q_limbs() * self.blocks() * self.arena_stride
    }

    fn sums_len(&self) -> usize {
        let giants = self
            .layer
            .outputs
            .iter()
            .map(|o| o.steps.len())
            .max()
            .unwrap_or(0);
        giants * self.columns() * self.sum_stride
    }

    fn evaluate(&self, workspace: &mut Workspace, times: &mut PhaseTimes) -> Vec<Vec<Ciphertext>> {
        let start = Instant::now();
        self.fill_arena(workspace);
        times.babies += start.elapsed();
        let mut results: Vec<Vec<Ciphertext>> = self.queries.iter().map(|_| Vec::new()).collect();
        for (output, giants) in self.layer.outputs.iter().zip(&self.giants) {
            let start = Instant::now();
            self.multiply_accumulate(output, workspace);
            let middle = Instant::now();
            times.multiply_accumulate += middle - start;
            for (query, result) in results.iter_mut().enumerate() {
                result.push(self.finish(query, giants, workspace));
            }
            times.giants += middle.elapsed();
        }
        results
    }

    /// Writes every rotated input of every query into the arena.
    fn fill_arena(&self, workspace: &mut Workspace) {
        let inputs = self.layer.manifest.plan.inputs().len();
        let context = self.context;
        let arena = DisjointBlocks::new(workspace.babies.blocks_mut());
        for (q, query) in self.queries.iter().enumerate() {
            for input in 0..inputs {
                let count = self.layer.manifest.plan.babies_of(input);
                let mut digits = AlignedResidues::new(64);
                if query.keys.is_some() && count > 1 {
                    digits.resize(context.decomposition_len(), 0);
                    let mut scratch = context.buffer(1);
                    let mut upcoming = upcoming(self.babies[q].get(1));
                    context.decompose(
                        |limb| query.c1[input].limb(limb),
                        &mut digits,
                        &mut scratch,
                        &mut upcoming,
                    );
                }
                (0..count).into_par_iter().for_each(|step| {
                    let baby = self.layer.baby_base[input] + step;
                    let column = q * self.polys;
                    let place = Place {
                        arena,
                        row: baby * self.columns() + column,
                    };
                    SwitchScratch::with(context, |scratch| {
                        self.baby(
                            query,
                            input,
                            &self.babies[q][step..],
                            &digits,
                            scratch,
                            &place,
                        );
                    });
                });
            }
        }
    }

    fn baby(
        &self,
        query: &Parts<'_>,
        input: usize,
        rotations: &[Rotation<'_>],
        digits: &[u32],
        scratch: &mut SwitchScratch,
        place: &Place<'_>,
    ) {
        let context = self.context;
        let (n, limbs, level) = (context.degree(), context.q_limbs(), context.level());
        let write = |limb: usize, poly: usize, block: usize, value: Block| {
            let at = (limb * self.blocks() + block) * self.arena_stride + place.row + poly;
            // SAFETY: the row belongs to one baby step of one query, which one task handles.
            unsafe { place.arena.write(at, value) };
        };
        let zero = [0; 16];
        let [rotation, following @ ..] = rotations else {
            return;
        };
        let next = following.first();
        match rotation {
            Rotation::Identity => {
                for limb in 0..limbs {
                    for (poly, half) in [(0, query.c0.get(input)), (1, query.c1.get(input))] {
                        if poly >= self.polys {
                            continue;
                        }
                        for block in 0..self.blocks() {
                            let value =
                                half.map_or(zero, |p| p.limb(limb).as_chunks::<16>().0[block]);
                            write(limb, poly, block, value);
                        }
                    }
                }
            }
            Rotation::Permuted(automorphism) => {
                for limb in 0..limbs {
                    let values = query.c0[input].limb(limb);
                    automorphism.for_each_block(level, values, |block, value| {
                        write(limb, 0, block, value);
                    });
                }
            }
            Rotation::Switched(key) => {
                context.key_product(digits, key, &mut scratch.product);
                let rows = ScatteredRows::new(
                    place.arena.address(place.row),
                    self.polys,
                    self.arena_stride,
                    limbs * self.blocks(),
                );
                let mut upcoming = upcoming(next).with_rows(rows);
                let (u0, u1) = scratch.product.split_at_mut(context.qp_limbs() * n);
                context.mod_down(u0, &mut scratch.limb, &mut upcoming);
                context.mod_down(u1, &mut scratch.limb, &mut upcoming);
                for limb in 0..limbs {
                    let range = limb * n..(limb + 1) * n;
                    if let Some(c0) = query.c0.get(input) {
                        let q = context.modulus(limb);
                        kernels::add_assign(level, q, &mut u0[range.clone()], c0.limb(limb));
                    }
                    for (poly, values) in [(0, &*u0), (1, &*u1)] {
                        key.automorphism().for_each_block(
                            level,
                            &values[range.clone()],
                            |block, value| write(limb, poly, block, value),
                        );
                    }
                }
            }
        }
    }

    /// All inner sums of one output.
    fn multiply_accumulate(&self, output: &PreparedOutput, workspace: &mut Workspace) {
        let (blocks, columns) = (self.blocks(), self.columns());
        let terms = output.terms();
        let plaintexts = output.plaintexts.blocks();
        let babies = workspace.babies.blocks();
        let sums = DisjointBlocks::new(workspace.sums.blocks_mut());
        let rows = self.layer.babies * columns;
        let total = self.context.q_limbs() * blocks;
        (0..total.div_ceil(BLOCKS_PER_TASK))
            .into_par_iter()
            .for_each(|task| {
                for at in task * BLOCKS_PER_TASK..total.min((task + 1) * BLOCKS_PER_TASK) {
                    let input = BlockInput {
                        spans: &output.spans,
                        babies_of_terms: &output.babies_of_terms,
                        plaintexts: &plaintexts[at * terms..(at + 1) * terms],
                        babies: &babies[at * self.arena_stride..at * self.arena_stride + rows],
                        columns,
                    };
                    let modulus = &self.moduli[at / blocks];
                    mac::block(
                        self.context.level(),
                        modulus,
                        input,
                        |giant, column, sum| {
                            // SAFETY: `at` belongs to one task, and with giant and column it names a block.
                            unsafe {
                                sums.write((giant * columns + column) * self.sum_stride + at, sum)
                            };
                        },
                    );
                }
            });
    }

    /// Limb of an inner sum.
    fn sum_limb<'w>(
        &self,
        workspace: &'w Workspace,
        giant: usize,
        column: usize,
        limb: usize,
    ) -> &'w [u32] {
        let at = (giant * self.columns() + column) * self.sum_stride + limb * self.blocks();
        workspace.sums.blocks()[at..at + self.blocks()].as_flattened()
    }

    /// Rotates and adds the inner sums of one query.
    fn finish(
        &self,
        query: usize,
        giants: &[Vec<Rotation<'_>>],
        workspace: &Workspace,
    ) -> Ciphertext {
        let context = self.context;
        let (n, level) = (context.degree(), context.level());
        let tasks = rayon::current_num_threads().min(giants.len()).max(1);
        let per_task = giants.len().div_ceil(tasks).max(1);
        let partial: Vec<GiantSum> = (0..tasks)
            .into_par_iter()
            .map(|task| {
                let mut sum = GiantSum::new(context);
                SwitchScratch::with(context, |scratch| {
                    for giant in task * per_task..giants.len().min((task + 1) * per_task) {
                        let rotation = &giants[giant][query];
                        self.add_giant(query, giant, rotation, workspace, &mut sum, scratch);
                    }
                });
                sum
            })
            .collect();
        let mut partial = partial.into_iter();
        let mut sum = partial.next().unwrap_or_else(|| GiantSum::new(context));
        for other in partial {
            sum.add(context, &other);
        }
        if sum.switched {
            let mut scratch = context.buffer(1);
            for (poly, half) in sum
                .qp
                .chunks_mut(context.qp_limbs() * n)
                .zip([&mut sum.plain.c0, &mut sum.plain.c1])
            {
                context.mod_down(poly, &mut scratch, &mut Upcoming::none());
                for limb in 0..context.q_limbs() {
                    let q = context.modulus(limb);
                    kernels::add_assign(
                        level,
                        q,
                        half.limb_mut(limb),
                        &poly[limb * n..(limb + 1) * n],
                    );
                }
            }
        }
        sum.plain
    }

    fn add_giant(
        &self,
        query: usize,
        giant: usize,
        rotation: &Rotation<'_>,
        workspace: &Workspace,
        sum: &mut GiantSum,
        scratch: &mut SwitchScratch,
    ) {
        let context = self.context;
        let (n, level) = (context.degree(), context.level());
        let column = query * self.polys;
        for limb in 0..context.q_limbs() {
            let q = context.modulus(limb);
            let s0 = self.sum_limb(workspace, giant, column, limb);
            let out = sum.plain.c0.limb_mut(limb);
            match rotation {
                Rotation::Identity => {
                    kernels::add_assign(level, q, out, s0);
                    if self.polys == 2 {
                        let s1 = self.sum_limb(workspace, giant, column + 1, limb);
                        kernels::add_assign(level, q, sum.plain.c1.limb_mut(limb), s1);
                    }
                }
                Rotation::Permuted(a) => a.apply_add(level, q.value(), s0, out),
                Rotation::Switched(key) => key.automorphism().apply_add(level, q.value(), s0, out),
            }
        }
        let Rotation::Switched(key) = rotation else {
            return;
        };
        sum.switched = true;
        context.decompose(
            |limb| self.sum_limb(workspace, giant, column + 1, limb),
            &mut scratch.digits,
            &mut scratch.limb,
            &mut key.upcoming(),
        );
        context.key_product(&scratch.digits, key, &mut scratch.product);
        for (i, (from, to)) in scratch
            .product
            .chunks(n)
            .zip(sum.qp.chunks_mut(n))
            .enumerate()
        {
            let q = context.modulus(i % context.qp_limbs()).value();
            key.automorphism().apply_add(level, q, from, to);
        }
    }
}

/// Where one baby step of one query goes.
struct Place<'a> {
    arena: DisjointBlocks<'a>,
    /// Block within each row.
    row: usize,
}

/// Buffers of one thread's key switches.
struct SwitchScratch {
    digits: AlignedResidues,
    product: AlignedResidues,
    limb: AlignedResidues,
}

thread_local! {
    /// Kept by each thread between key switches and evaluations: fresh pages cost more than the
    /// transforms. Holds public values only.
    static SCRATCH: RefCell<Option<SwitchScratch>> = const { RefCell::new(None) };
}

impl SwitchScratch {
    fn new(context: &Context) -> Self {
        Self {
            digits: context.buffer(context.qp_limbs() * context.q_limbs()),
            product: context.buffer(2 * context.qp_limbs()),
            limb: context.buffer(1),
        }
    }

    fn fits(&self, context: &Context) -> bool {
        self.limb.len() == context.degree()
            && self.digits.len() == context.decomposition_len()
            && self.product.len() == 2 * context.qp_limbs() * context.degree()
    }

    /// Runs `work` with this thread's buffers. `work` must not wait for other tasks, which could
    /// ask for the same buffers.
    fn with<T>(context: &Context, work: impl FnOnce(&mut Self) -> T) -> T {
        SCRATCH.with_borrow_mut(|slot| {
            let scratch = slot.take().filter(|scratch| scratch.fits(context));
            work(slot.insert(scratch.unwrap_or_else(|| Self::new(context))))
        })
    }
}

/// A sum of rotated inner sums: the part over Q, and the part over QP still to be divided by P.
struct GiantSum {
    plain: Ciphertext,
    qp: AlignedResidues,
    switched: bool,
}

impl GiantSum {
    fn new(context: &Context) -> Self {
        let zero = || RnsPoly::zero(context.q_limbs(), context.degree());
        Self {
            plain: Ciphertext {
                c0: zero(),
                c1: zero(),
            },
            qp: context.buffer(2 * context.qp_limbs()),
            switched: false,
        }
    }

    fn add(&mut self, context: &Context, other: &Self) {
        let (n, level) = (context.degree(), context.level());
        for limb in 0..context.q_limbs() {
            let q = context.modulus(limb);
            kernels::add_assign(
                level,
                q,
                self.plain.c0.limb_mut(limb),
                other.plain.c0.limb(limb),
            );
            kernels::add_assign(
                level,
                q,
                self.plain.c1.limb_mut(limb),
                other.plain.c1.limb(limb),
            );
        }
        for (i, (a, b)) in self.qp.chunks_mut(n).zip(other.qp.chunks(n)).enumerate() {
            kernels::add_assign(level, context.modulus(i % context.qp_limbs()), a, b);
        }
        self.switched |= other.switched;
    }
}
