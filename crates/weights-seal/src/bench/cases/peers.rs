//! Other programs, and this one beside them: each run in a fresh process.

use super::ciphers::outcome;
use super::{Bench, Case};
use crate::bench::load::Load;
use crate::bench::peers::Peer;
use crate::bench::spec::{Destination, Group, Spec, Way};
use crate::bench::worker::{Task, Worker};

/// The case of another program.
pub(crate) fn peer_id(peer: Peer, destination: Destination, threads: usize) -> String {
    format!("peer/{}/{}/{threads}t", peer.id(), destination.id())
}

/// The case of this program, in a fresh process.
pub(crate) fn fresh_process_id(way: Way, destination: Destination, threads: usize) -> String {
    format!("peer/ours/{}/{}/{threads}t", way.id(), destination.id())
}

/// Where a program opens to.
pub(crate) fn destinations(peer: Peer) -> &'static [Destination] {
    match peer {
        Peer::Cryptography => &[Destination::FreshHuge, Destination::Shm],
        // It has no way to open into a file.
        Peer::CryptoTensors => &[Destination::FreshHuge],
    }
}

impl Bench<'_> {
    pub(super) fn peer_cases<'b>(&'b self, cases: &mut Vec<Case<'b>>) {
        if self.peers.available.is_empty() {
            return;
        }
        let bytes = self.subject.bytes;
        for &threads in &self.counts {
            for fact in &self.peers.available {
                for &destination in destinations(fact.peer) {
                    let id = peer_id(fact.peer, destination, threads);
                    let place = place(destination);
                    let label = format!("{}, to {place}", fact.peer.label());
                    let spec = Spec {
                        destination: Some(destination),
                        ..Spec::new(id, Group::Peer, label, bytes).threads(threads)
                    };
                    cases.push(self.peer(spec, fact.peer, destination, threads));
                }
            }
            for destination in [Destination::FreshHuge, Destination::Shm] {
                for way in [Way::KeyHolders, Way::Publisher] {
                    cases.push(self.fresh_process(way, destination, threads));
                }
            }
        }
    }

    fn peer(&self, spec: Spec, peer: Peer, destination: Destination, threads: usize) -> Case<'_> {
        let file = match (destination, &self.shm) {
            (Destination::Shm, Err(reason)) => return Case::skipped(spec, reason),
            (Destination::Shm, Ok(shm)) => Some(shm.join("peer")),
            _ => None,
        };
        Case {
            spec,
            run: Box::new(move || outcome(self.peers.open(peer, threads, file.as_deref())?)),
        }
    }

    fn fresh_process(&self, way: Way, destination: Destination, threads: usize) -> Case<'_> {
        let label = format!("{}, to {}", way.label(), place(destination));
        let id = fresh_process_id(way, destination, threads);
        let spec = Spec {
            way: Some(way),
            destination: Some(destination),
            ..Spec::new(id, Group::Peer, label, self.subject.bytes).threads(threads)
        };
        let folder = match (destination, &self.shm) {
            (Destination::Shm, Err(reason)) => return Case::skipped(spec, reason),
            (Destination::Shm, Ok(shm)) => shm.to_path_buf(),
            _ => self.mount.to_path_buf(),
        };
        let task = Task::Load {
            load: Load {
                way,
                destination,
                evict: false,
            },
            paths: self.subject.paths.clone(),
            folder,
            threads,
        };
        Case {
            spec,
            run: Box::new(move || outcome(Worker::run(&task, &[])?)),
        }
    }
}

/// Other programs choose their pages themselves.
pub(crate) fn place(destination: Destination) -> &'static str {
    match destination {
        Destination::Shm => "/dev/shm",
        _ => "memory",
    }
}
