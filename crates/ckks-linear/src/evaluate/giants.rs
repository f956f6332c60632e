//! Giant steps: inner sums rotated and added.

use super::run::{Evaluation, Rotation};
use super::scratch::SwitchScratch;
use crate::workspace::Workspace;
use ckks::poly::AlignedResidues;
use ckks::upcoming::{ScatteredRows, Upcoming};
use ckks::{Ciphertext, Context, RnsPoly, kernels};
use rayon::prelude::*;

impl Evaluation<'_> {
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

    /// The two polynomials of a query's next inner sum, to be fetched while this one is decomposed.
    fn next_sums(&self, workspace: &Workspace, giant: usize, column: usize) -> ScatteredRows {
        const LINES: usize = 4;
        let at = ((giant + 1) * self.columns() + column) * self.sum_stride;
        let first = workspace.sums.blocks().as_ptr().wrapping_add(at);
        ScatteredRows::new(first, LINES, LINES, 2 * self.sum_stride / LINES)
    }

    /// Rotates and adds the inner sums of one query.
    pub(super) fn finish(
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
                    let own = giants
                        .iter()
                        .enumerate()
                        .skip(task * per_task)
                        .take(per_task);
                    for (giant, rotations) in own {
                        let rotation = &rotations[query];
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
            &mut key
                .upcoming()
                .with_rows(self.next_sums(workspace, giant, column)),
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
