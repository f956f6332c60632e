//! Signs of an NVIDIA GPU. Whether it works is for the worker to find out.

use super::Surroundings;
use std::env;
use std::path::{Path, PathBuf};

/// Device nodes of the driver, natively and under WSL.
const NODES: [&str; 3] = ["/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"];

/// Where distributions keep the driver's library.
const LIBRARY_FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/cuda/compat",
];

/// What is absent that a GPU needs.
pub(super) fn absent(surroundings: &Surroundings) -> Vec<String> {
    let mut absent = Vec::new();
    if !NODES.iter().any(|node| Path::new(node).exists()) {
        absent.push("no NVIDIA device here (no /dev/nvidia*)".to_owned());
    }
    let named = surroundings.variable("LD_LIBRARY_PATH");
    let mut folders: Vec<PathBuf> = LIBRARY_FOLDERS.iter().map(PathBuf::from).collect();
    folders.extend(named.iter().flat_map(env::split_paths));
    if !folders
        .iter()
        .any(|folder| folder.join("libcuda.so.1").exists())
    {
        absent.push("no CUDA driver found (libcuda.so.1)".to_owned());
    }
    absent
}
