//! The program as a process, and a small model with its keys.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

pub(crate) mod exec;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Exit code, standard output, standard error.
pub(crate) type Answer = (i32, String, String);

/// The program, without arguments and without the user's variables.
pub(crate) fn program() -> Command {
    clean(Command::new(assert_cmd::cargo::cargo_bin("weights-seal")))
}

fn clean(mut command: Command) -> Command {
    command
        .env_remove("WEIGHTS_SEAL_KEY")
        .env_remove("WEIGHTS_SEAL_PUBLISHER")
        .env_remove("XDG_RUNTIME_DIR")
        .stdin(Stdio::null());
    command
}

pub(crate) fn run(command: &mut Command) -> Answer {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output
        .status
        .code()
        .unwrap_or_else(|| panic!("{}", output.status));
    (code, text(output.stdout), text(output.stderr))
}

pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no \"{part}\" in: {text}");
    }
}

/// A folder with keys and a plaintext model in `plain`.
pub(crate) struct Fixture {
    folder: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        Fixture::in_folder(TempDir::new().unwrap())
    }

    /// In a folder in memory, where waiting for the disk costs nothing.
    pub(crate) fn in_memory() -> Fixture {
        Fixture::in_folder(
            TempDir::new_in("/dev/shm")
                .or_else(|_| TempDir::new())
                .unwrap(),
        )
    }

    fn in_folder(folder: TempDir) -> Fixture {
        let fixture = Fixture { folder };
        let (code, _, stderr) = run(program()
            .args(["keygen", "--out"])
            .arg(fixture.path("keys")));
        assert_eq!(code, 0, "{stderr}");
        fs::create_dir_all(fixture.path("plain/sub")).unwrap();
        let weights = safetensors(&[("a", &pattern(70_000, 1)), ("empty", b""), ("b", b"x")]);
        fixture.write("plain/model.safetensors", &weights);
        fixture.write("plain/config.json", b"{\"marker\":\"plain-text-marker\"}");
        fixture.write("plain/empty.txt", b"");
        fixture.write("plain/sub/tokenizer.model", &pattern(9000, 2));
        fixture
    }

    /// With the model sealed.
    pub(crate) fn sealed() -> Fixture {
        Fixture::new().and_sealed()
    }

    /// The model sealed into `sealed`.
    pub(crate) fn and_sealed(self) -> Fixture {
        let (code, _, stderr) = self.seal("plain", "sealed", &[]);
        assert_eq!(code, 0, "{stderr}");
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn key(&self) -> String {
        format!("key-file:{}", self.text("keys/model.key"))
    }

    pub(crate) fn publisher(&self) -> String {
        self.text("keys/publisher.pub")
    }

    /// `seal` with this fixture's keys.
    pub(crate) fn seal_command(&self, source: &str, dest: &str) -> Command {
        let mut command = program();
        command
            .arg("seal")
            .args([self.path(source), self.path(dest)])
            .args(["--recipient", &self.key()])
            .args(["--sign", &self.text("keys/publisher.key"), "--no-sync"]);
        command
    }

    pub(crate) fn seal(&self, source: &str, dest: &str, arguments: &[&str]) -> Answer {
        run(self.seal_command(source, dest).args(arguments))
    }

    /// A command on `sealed`, with this fixture's keys and publisher.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = program();
        command
            .arg(name)
            .arg(self.path("sealed"))
            .args(["--key", &self.key()])
            .args(["--publisher", &self.publisher()]);
        command
    }

    pub(crate) fn verify(&self) {
        let (code, _, stderr) = run(&mut self.command("verify"));
        assert_eq!(code, 0, "{stderr}");
    }

    /// The plaintext of `sealed`, through `open` into a directory that is then removed.
    pub(crate) fn opened(&self) -> BTreeMap<String, Vec<u8>> {
        let to = self.path("opened");
        let mut command = self.command("open");
        let (code, _, stderr) = run(command.arg("--to").arg(&to).arg("--allow-disk"));
        assert_eq!(code, 0, "{stderr}");
        let files = files_below(&to);
        fs::remove_dir_all(to).unwrap();
        files
    }

    pub(crate) fn plain(&self) -> BTreeMap<String, Vec<u8>> {
        files_below(&self.path("plain"))
    }

    /// Names in the folder itself.
    pub(crate) fn names(&self) -> Vec<String> {
        names_in(self.folder.path())
    }

    /// Makes everything the other user's.
    pub(crate) fn give_to_nobody(&self) {
        let status = Command::new("chown")
            .args(["-R", "65534"])
            .arg(self.folder.path())
            .status();
        assert!(status.unwrap().success());
    }

    /// Lets another user in; gives a command that runs the program as that user.
    pub(crate) fn as_nobody(&self) -> Command {
        let open =
            |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        open(self.folder.path());
        // Where the build lies may be closed to others.
        let copy = self.path("program");
        if !copy.exists() {
            fs::copy(assert_cmd::cargo::cargo_bin("weights-seal"), &copy).unwrap();
            open(&copy);
        }
        let mut command = clean(Command::new("setpriv"));
        command
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(copy);
        command
    }
}

pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

pub(crate) fn files_below(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().to_string_lossy();
                found.insert(name.into_owned(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// A safetensors file of byte tensors.
pub(crate) fn safetensors(tensors: &[(&str, &[u8])]) -> Vec<u8> {
    let mut fields = Vec::new();
    let mut data = Vec::new();
    for (name, bytes) in tensors {
        let (begin, end) = (data.len(), data.len() + bytes.len());
        fields.push(format!(
            "\"{name}\":{{\"dtype\":\"U8\",\"shape\":[{}],\"data_offsets\":[{begin},{end}]}}",
            bytes.len()
        ));
        data.extend_from_slice(bytes);
    }
    with_header(&format!("{{{}}}", fields.join(",")), &data)
}

/// A header of that text before the data.
pub(crate) fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(data);
    file
}

/// Bytes that repeat nowhere near.
pub(crate) fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    (0..length).map(|_| (random.next() >> 32) as u8).collect()
}

/// Xorshift.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        // Zero would stay zero.
        self.0 = self.0.max(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
        self.0
    }

    /// From 0 to 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Starts a command with pipes.
pub(crate) fn spawn(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn signal(child: &Child, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), signal).unwrap();
}
