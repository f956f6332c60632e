//! The build script of the programs that report: records the commit that they were built from, for
//! `bench_report::build!`.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    println!("cargo:rerun-if-changed=../bench-report/build-script.rs");
    for variable in ["TARGET", "PROFILE"] {
        let value = std::env::var(variable).unwrap_or_default();
        println!("cargo:rustc-env=BENCH_BUILD_{variable}={value}");
    }

    // A source tree without git (a release archive) builds too; its report has no commit.
    let Some(commit) = git(&["rev-parse", "--verify", "HEAD"]) else {
        return;
    };
    println!("cargo:rustc-env=BENCH_BUILD_COMMIT={commit}");
    if let Some(changes) = git(&["status", "--porcelain"]) {
        println!("cargo:rustc-env=BENCH_BUILD_DIRTY={}", !changes.is_empty());
    }

    // The flag has to follow every edit of a source that the program is made of.
    for path in ["../../crates", "../../Cargo.toml", "../../Cargo.lock"] {
        println!("cargo:rerun-if-changed={path}");
    }
    for name in ["HEAD", "index", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && std::path::Path::new(&path).exists()
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}
