//! The parts of a key switch at `diagonal-4096`, on one thread.
//!
//! `cargo bench -p ckks --bench key_switching`

use ckks::automorphism::{Automorphism, GaloisElement};
use ckks::upcoming::Upcoming;
use ckks::xof::Seed;
use ckks::{Context, GaloisKey, MaskId, RnsPoly, SeededGaloisKey, kernels};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

fn uniform(context: &Context, counter: u64) -> RnsPoly {
    MaskId {
        seed: Seed([3; 32]),
        counter,
    }
    .expand(context)
}

fn seeded_key(context: &Context, step: i64) -> SeededGaloisKey {
    let element = GaloisElement::rotation(step, context.degree());
    let digits = (0..context.q_limbs())
        .map(|d| ckks::keyswitch::expand_key_digit(context, &Seed([5; 32]), element, d))
        .collect();
    SeededGaloisKey {
        element,
        seed: Seed([4; 32]),
        digits,
    }
}

fn parts(c: &mut Criterion) {
    let context = Context::named("diagonal-4096").unwrap_or_else(|error| panic!("{error}"));
    let n = context.degree();
    let c1 = uniform(&context, 1);
    let mut scratch = context.buffer(1);
    let mut digits = context.buffer(context.qp_limbs() * context.q_limbs());
    let mut product = context.buffer(2 * context.qp_limbs());
    context.decompose(
        |limb| c1.limb(limb),
        &mut digits,
        &mut scratch,
        &mut Upcoming::none(),
    );
    // As many keys as a 2048 × 2048 layer has, so that they come from where they come from there.
    let seeded: Vec<_> = (1..63).map(|step| seeded_key(&context, step)).collect();
    let keys = GaloisKey::expand_all(&context, &seeded).unwrap_or_else(|error| panic!("{error}"));

    c.bench_function("decompose", |b| {
        b.iter(|| {
            context.decompose(
                |limb| c1.limb(limb),
                black_box(&mut digits),
                &mut scratch,
                &mut Upcoming::none(),
            )
        });
    });
    let mut next = 0;
    c.bench_function("key product, cycling through 62 keys", |b| {
        b.iter(|| {
            next = (next + 1) % keys.len();
            context.key_product(&digits, &keys[next], black_box(&mut product));
        });
    });
    c.bench_function("key product, one key", |b| {
        b.iter(|| context.key_product(&digits, &keys[0], black_box(&mut product)));
    });
    c.bench_function("division by P, one polynomial", |b| {
        let poly = &mut product[..context.qp_limbs() * n];
        b.iter(|| context.mod_down(black_box(poly), &mut scratch, &mut Upcoming::none()));
    });
    let automorphism = Automorphism::new(GaloisElement::rotation(7, n), n);
    c.bench_function("permute one limb", |b| {
        b.iter(|| automorphism.apply(context.level(), c1.limb(0), black_box(&mut scratch)));
    });
    c.bench_function("permute and add one limb", |b| {
        let q = context.modulus(0).value();
        b.iter(|| {
            automorphism.apply_add(context.level(), q, c1.limb(0), black_box(&mut scratch));
        });
    });
    let mut half = |context: &Context, poly: &mut [u32], upcoming: &mut Upcoming<'_>| {
        context.mod_down(poly, &mut scratch, upcoming);
    };
    c.bench_function("product and division, cycling through 62 keys", |b| {
        b.iter(|| {
            next = (next + 1) % keys.len();
            context.key_product(&digits, &keys[next], black_box(&mut product));
            let mut upcoming = keys[(next + 1) % keys.len()].upcoming();
            let (u0, u1) = product.split_at_mut(context.qp_limbs() * n);
            half(&context, u0, &mut upcoming);
            half(&context, u1, &mut upcoming);
        });
    });
    c.bench_function("product and division, cycling, not fetched ahead", |b| {
        b.iter(|| {
            next = (next + 1) % keys.len();
            context.key_product(&digits, &keys[next], black_box(&mut product));
            let (u0, u1) = product.split_at_mut(context.qp_limbs() * n);
            half(&context, u0, &mut Upcoming::none());
            half(&context, u1, &mut Upcoming::none());
        });
    });
    c.bench_function("product and division, one key", |b| {
        b.iter(|| {
            context.key_product(&digits, &keys[0], black_box(&mut product));
            let (u0, u1) = product.split_at_mut(context.qp_limbs() * n);
            half(&context, u0, &mut Upcoming::none());
            half(&context, u1, &mut Upcoming::none());
        });
    });
    c.bench_function("two divisions", |b| {
        b.iter(|| {
            let (u0, u1) = product.split_at_mut(context.qp_limbs() * n);
            half(&context, u0, &mut Upcoming::none());
            half(&context, black_box(u1), &mut Upcoming::none());
        });
    });
    let mut digits2 = digits.clone();
    let mut scratch2 = context.buffer(1);
    c.bench_function("decomposition and product, cycling through 62 keys", |b| {
        b.iter(|| {
            next = (next + 1) % keys.len();
            context.decompose(
                |limb| c1.limb(limb),
                black_box(&mut digits2),
                &mut scratch2,
                &mut Upcoming::none(),
            );
            context.key_product(&digits2, &keys[next], black_box(&mut product));
        });
    });
    c.bench_function("lift one limb", |b| {
        let (from, to) = (context.modulus(0), context.modulus(1));
        b.iter(|| {
            kernels::lift_centred(
                context.level(),
                from,
                to,
                c1.limb(0),
                black_box(&mut scratch),
            );
        });
    });
    c.bench_function("add one limb", |b| {
        let q = context.modulus(0);
        b.iter(|| kernels::add_assign(context.level(), q, black_box(&mut scratch), c1.limb(0)));
    });
    c.bench_function("transform one limb", |b| {
        scratch.copy_from_slice(c1.limb(0));
        b.iter(|| context.table(0).forward(black_box(&mut scratch)));
    });
    c.bench_function("round an answer polynomial to 40 bits", |b| {
        b.iter(|| context.round_poly(black_box(&c1).clone(), 40));
    });
    c.bench_function("expand a mask", |b| {
        b.iter(|| uniform(&context, black_box(9)))
    });
}

criterion_group!(benches, parts);
criterion_main!(benches);
