//! The plain transform that the vector kernels are checked against.
//!
//! Cooley–Tukey forward and Gentleman–Sande inverse with the negacyclic twist merged into the
//! twiddles (P. Longa and M. Naehrig, CANS 2016, algorithms 1 and 2), fully reduced at each step.

use super::NttTable;

pub(super) fn forward(table: &NttTable, values: &mut [u32]) {
    let q = table.modulus;
    let n = values.len();
    let mut groups = 1;
    while groups < n {
        let t = n / (2 * groups);
        for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
            let w = table.roots[groups + i];
            let w_shoup = table.roots_shoup[groups + i];
            let (low, high) = block.split_at_mut(t);
            for (x, y) in low.iter_mut().zip(high) {
                let mut v = q.mul_shoup_lazy(*y, w, w_shoup);
                if v >= q.value() {
                    v -= q.value();
                }
                let u = *x;
                *x = q.add(u, v);
                *y = q.sub(u, v);
            }
        }
        groups *= 2;
    }
}

pub(super) fn inverse(table: &NttTable, values: &mut [u32]) {
    let q = table.modulus;
    let n = values.len();
    let reduce = |v: u32| if v >= q.value() { v - q.value() } else { v };
    let mut groups = n / 2;
    while groups > 0 {
        let t = n / (2 * groups);
        for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
            let w = table.inv_roots[groups + i];
            let w_shoup = table.inv_roots_shoup[groups + i];
            let (low, high) = block.split_at_mut(t);
            for (x, y) in low.iter_mut().zip(high) {
                let (u, v) = (*x, *y);
                *x = q.add(u, v);
                *y = reduce(q.mul_shoup_lazy(q.sub(u, v), w, w_shoup));
            }
        }
        groups /= 2;
    }
    for v in values {
        *v = reduce(q.mul_shoup_lazy(*v, table.inv_degree, table.inv_degree_shoup));
    }
}
