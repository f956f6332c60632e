//! Rust declarations of `cuda/include/ckks_backend.h`.

use bindgen::callbacks::{IntKind, ParseCallbacks};
use bindgen::{Builder, Formatter};
use std::env;
use std::path::{Path, PathBuf};
use std::process::exit;

const HEADER: &str = "../../cuda/include/ckks_backend.h";

/// Statuses have the type that functions return; the version has its own.
#[derive(Debug)]
struct Constants;

impl ParseCallbacks for Constants {
    fn int_macro(&self, name: &str, _value: i64) -> Option<IntKind> {
        Some(if name.ends_with("_ABI_VERSION") {
            IntKind::U32
        } else {
            IntKind::I32
        })
    }
}

fn generate(header: &str, output: &Path) -> Result<(), String> {
    Builder::default()
        .header(header)
        .parse_callbacks(Box::new(Constants))
        .allowlist_function("ckks_backend_.*")
        .allowlist_type("ckks_backend_.*")
        .allowlist_var("CKKS_BACKEND_.*")
        // Nothing is linked: the functions are members that loading fills in, all or none.
        .dynamic_library_name("Functions")
        .dynamic_link_require_all(true)
        .derive_default(true)
        .derive_partialeq(true)
        .formatter(Formatter::None)
        .generate()
        .map_err(|error| error.to_string())?
        .write_to_file(output)
        .map_err(|error| format!("{}: {error}", output.display()))
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={HEADER}");
    let Some(folder) = env::var_os("OUT_DIR") else {
        eprintln!("error: OUT_DIR is not set; build this crate with cargo");
        exit(1);
    };
    let output = PathBuf::from(folder).join("ckks_backend.rs");
    // A libclang that cannot be loaded is a panic of bindgen.
    let failure = match std::panic::catch_unwind(|| generate(HEADER, &output)) {
        Ok(Ok(())) => return,
        Ok(Err(message)) => message,
        Err(_) => "libclang could not be loaded (see above)".to_owned(),
    };
    eprintln!(
        "error: no declarations could be made from cuda/include/ckks_backend.h: {failure}\n\
         They are generated with libclang. Install it (Debian and Ubuntu: apt install \
         libclang-dev), or set LIBCLANG_PATH to the folder that has libclang.so."
    );
    exit(1);
}
