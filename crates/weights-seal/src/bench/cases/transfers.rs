//! The plain and the sealed file on their way to every destination.

use super::ciphers::{cipher_id, hash_id, outcome};
use super::{Bench, Case, Outcome};
use crate::bench::cipher::Operation;
use crate::bench::load::{Load, Target, copy_memory};
use crate::bench::spec::{Destination, Group, Part, Spec, Way};
use crate::bench::worker::{Answer, Task, Worker};
use crate::error::CliError;
use sealed_weights::cipher::Provider;
use sealed_weights::suite::Suite;
use std::time::Instant;

/// The case of a transfer.
pub(crate) fn transfer_id(way: Way, destination: Destination, threads: usize) -> String {
    format!("open/{}/{}/{threads}t", destination.id(), way.id())
}

/// The case of several processes.
pub(crate) fn processes_id(way: Way, processes: usize) -> String {
    format!("processes/fresh-huge/{}/{processes}p", way.id())
}

/// The case of a transfer from the disk.
pub(crate) fn disk_id(way: Way, threads: usize) -> String {
    format!("disk/fresh-huge/{}/{threads}t", way.id())
}

/// What opening consists of beside the transfer of the same bytes.
pub(super) fn opening_parts(way: Way, bytes: u64, threads: usize) -> Vec<Part> {
    let suite = Suite::for_this_machine();
    let provider = Provider::for_this_machine(suite);
    let mut parts = Vec::new();
    if way != Way::Plain {
        let case = cipher_id(provider, suite, Operation::Open, threads);
        parts.push(Part::measured(suite.name(), bytes, case));
    }
    if way == Way::Publisher {
        parts.push(Part::measured("BLAKE3", bytes, hash_id(threads)));
    }
    parts
}

impl Bench<'_> {
    pub(super) fn transfers<'b>(&'b self, cases: &mut Vec<Case<'b>>) {
        for &threads in &self.counts {
            let bytes = self.subject.bytes / 2;
            let id = format!("floor/memcpy/{threads}t");
            let label = "copy of a warm buffer";
            let mut spec = Spec::new(id, Group::Floor, label, bytes).threads(threads);
            spec.parts = vec![
                Part::named("read memory", bytes),
                Part::named("write memory", bytes),
            ];
            cases.push(Case::new(spec, move || {
                let mut warm = self.warm.borrow_mut();
                Ok(copy_memory(&mut warm, &self.watch.work(threads))?)
            }));
        }
        for destination in Destination::ALL {
            for &threads in &self.counts {
                for way in Way::ALL {
                    cases.push(self.transfer(way, destination, threads));
                }
            }
        }
        for &processes in &self.counts {
            for way in Way::ALL {
                cases.push(self.processes(way, processes));
            }
        }
    }

    /// Files read from the disk, not from the page cache.
    pub(super) fn disk<'b>(&'b self, cases: &mut Vec<Case<'b>>) {
        for way in Way::ALL {
            let (bytes, threads) = (self.subject.bytes, self.most());
            let label = format!("{}, from the disk", way.label());
            let mut spec = Spec::new(disk_id(way, threads), Group::Disk, label, bytes);
            spec = describe(
                spec,
                way,
                Destination::FreshHuge,
                disk_id(Way::Plain, threads),
            )
            .threads(threads);
            let load = Load {
                way,
                destination: Destination::FreshHuge,
                evict: true,
            };
            cases.push(Case::new(spec, move || {
                let work = self.watch.work(threads);
                Ok(load.run(&self.subject.paths, Target::Fresh, &work)?)
            }));
        }
    }

    fn transfer(&self, way: Way, destination: Destination, threads: usize) -> Case<'_> {
        let spec = Spec::new(
            transfer_id(way, destination, threads),
            if way == Way::Plain {
                Group::Floor
            } else {
                Group::Open
            },
            format!("{}, to {}", way.label(), destination.label()),
            self.subject.bytes,
        )
        .threads(threads);
        let floor = transfer_id(Way::Plain, destination, threads);
        let spec = describe(spec, way, destination, floor);
        let load = Load {
            way,
            destination,
            evict: false,
        };
        let paths = &self.subject.paths;
        match destination {
            Destination::Warm => Case::new(spec, move || {
                let mut warm = self.warm.borrow_mut();
                let target = Target::Warm(&mut warm);
                Ok(load.run(paths, target, &self.watch.work(threads))?)
            }),
            Destination::FreshHuge | Destination::FreshSmall => Case::new(spec, move || {
                Ok(load.run(paths, Target::Fresh, &self.watch.work(threads))?)
            }),
            Destination::Shm => match &self.shm {
                Err(reason) => Case::skipped(spec, reason),
                Ok(shm) => {
                    let path = shm.join("opened");
                    Case::new(spec, move || {
                        let target = Target::File(path.clone());
                        Ok(load.run(paths, target, &self.watch.work(threads))?)
                    })
                }
            },
            Destination::HugeTmpfs => {
                let task = Task::Load {
                    load,
                    paths: paths.clone(),
                    folder: self.mount.to_path_buf(),
                    threads,
                };
                Case {
                    spec,
                    run: Box::new(move || outcome(Worker::run(&task, &[])?)),
                }
            }
        }
    }

    fn processes(&self, way: Way, processes: usize) -> Case<'_> {
        let bytes = self.subject.bytes * processes as u64;
        let mut spec = Spec::new(
            processes_id(way, processes),
            Group::Processes,
            format!("{}, to fresh memory of each process", way.label()),
            bytes,
        );
        spec.processes = processes;
        // Processes share nothing, as threads that are not of one process.
        let floor = processes_id(Way::Plain, processes);
        let spec = describe(spec, way, Destination::FreshHuge, floor);
        if bytes > self.memory_bytes {
            return Case::skipped(spec, "the memory would not hold as many copies of the file");
        }
        let task = Task::Load {
            load: Load {
                way,
                destination: Destination::FreshHuge,
                evict: false,
            },
            paths: self.subject.paths.clone(),
            folder: self.mount.to_path_buf(),
            threads: 1,
        };
        Case {
            spec,
            run: Box::new(move || together(&task, processes)),
        }
    }
}

/// Way, destination, floor and parts of a transfer.
fn describe(spec: Spec, way: Way, destination: Destination, floor: String) -> Spec {
    let (bytes, lanes) = (spec.bytes, spec.threads.max(spec.processes));
    let mut parts = if way == Way::Plain {
        let read = if spec.group == Group::Disk {
            "read the disk"
        } else {
            "read the page cache"
        };
        vec![
            Part::named(read, bytes),
            Part::named("write the destination", bytes),
        ]
    } else {
        vec![Part::measured("transfer", bytes, floor.clone())]
    };
    parts.extend(opening_parts(way, bytes, lanes));
    Spec {
        way: Some(way),
        destination: Some(destination),
        floor: (way != Way::Plain).then_some(floor),
        parts,
        ..spec
    }
}

/// From the start of all to the end of the last.
fn together(task: &Task, processes: usize) -> Result<Outcome, CliError> {
    let mut workers = (0..processes)
        .map(|_| Worker::start(task, &[]))
        .collect::<Result<Vec<_>, _>>()?;
    let start = Instant::now();
    for worker in &mut workers {
        worker.go()?;
    }
    for worker in &mut workers {
        match worker.answer()? {
            Answer::Seconds(_) => {}
            other => return outcome(other),
        }
    }
    Ok(Outcome::Seconds(start.elapsed().as_secs_f64()))
}
