//! Times one forward and one inverse transform on one core, all implementations interleaved.
//!
//! `cargo run --release --manifest-path benches-ntt/Cargo.toml`
//!
//! Optional arguments: the number of rounds (default 400), then ring degrees (default 4096).
//! Each round runs every implementation for a few transforms, one after the other, so that a
//! change of clock or a busy neighbour affects all of them alike. Printed are the minimum and the
//! median over rounds, and the ratio of medians to tfhe-ntt.

use std::hint::black_box;
use std::time::Instant;

use aligned_vec::AVec;
use ckks::modulus::{Modulus, ntt_primes};
use ckks::ntt::{Kernel, NttTable};

type Transform = Box<dyn Fn(&mut [u32])>;

struct Entry {
    name: String,
    forward: bool,
    run: Transform,
    data: AVec<u32>,
    times: Vec<f64>,
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| {
        argument
            .parse()
            .unwrap_or_else(|_| panic!("{argument:?} is not a number"))
    });
    let rounds: usize = arguments.next().unwrap_or(400);
    let mut degrees: Vec<usize> = arguments.collect();
    if degrees.is_empty() {
        degrees.push(4096);
    }
    println!(
        "{:>6} {:>4} {:<8} {:<10} {:>9} {:>9}  to tfhe-ntt",
        "N", "bits", "", "", "min/us", "median/us"
    );
    for degree in degrees {
        for bits in [29, 30, 31] {
            compare(degree, bits, rounds);
        }
    }
}

fn compare(degree: usize, bits: u32, rounds: usize) {
    let prime = ntt_primes(bits, degree, 1).expect("such primes exist")[0];
    let modulus = Modulus::new(prime).expect("ntt_primes gives primes");
    let table = NttTable::new(modulus, degree).expect("the degree is supported");
    let mut entries = Vec::new();
    for forward in [true, false] {
        let mut add = |name: &str, run: Transform| {
            let residues = (0..degree as u32).map(|i| i.wrapping_mul(2_654_435_761) % prime);
            let data = AVec::from_iter(64, residues);
            entries.push(Entry {
                name: name.into(),
                forward,
                run,
                data,
                times: Vec::new(),
            });
        };
        let plan = tfhe_ntt::prime32::Plan::try_new(degree, prime).expect("the prime is suitable");
        // Its inverse leaves out the factor 1/N.
        add(
            "tfhe-ntt",
            Box::new(move |v| if forward { plan.fwd(v) } else { plan.inv(v) }),
        );
        for kernel in Kernel::available() {
            let table = table
                .clone()
                .with_kernel(kernel)
                .expect("the kernel is available");
            add(
                kernel.name(),
                Box::new(move |v| {
                    if forward {
                        table.forward(v)
                    } else {
                        table.inverse(v)
                    }
                }),
            );
        }
    }
    // About 200 us for each entry in each round.
    let repeats = (200_000 / degree).clamp(2, 64);
    for _ in 0..rounds {
        for entry in &mut entries {
            (entry.run)(black_box(&mut entry.data));
            let start = Instant::now();
            for _ in 0..repeats {
                (entry.run)(black_box(&mut entry.data));
            }
            entry
                .times
                .push(start.elapsed().as_secs_f64() * 1e6 / repeats as f64);
        }
    }
    let mut baseline = f64::NAN;
    for entry in &mut entries {
        entry.times.sort_by(f64::total_cmp);
        let (min, median) = (entry.times[0], entry.times[rounds / 2]);
        if entry.name == "tfhe-ntt" {
            baseline = median;
        }
        let direction = if entry.forward { "forward" } else { "inverse" };
        let ratio = median / baseline;
        println!(
            "{degree:>6} {bits:>4} {direction:<8} {:<10} {min:>9.2} {median:>9.2}  {ratio:.2}",
            entry.name
        );
    }
}
