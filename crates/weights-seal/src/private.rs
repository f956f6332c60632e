//! Plaintext in memory that only one command sees.
//!
//! Two processes:
//!
//! * The **supervisor** is the process that was started. It starts no thread, holds no secret but the
//!   variables it was started with, and forbids others to read those.
//!   It makes an empty directory to mount on, forks, passes signals on, and when the command has
//!   ended it removes the directory and ends with the command's exit code.
//! * The **child** enters a mount namespace of its own, mounts a tmpfs on the directory, opens the
//!   model into it, makes it read-only and becomes the command (`execve`).
//!
//! One process would do, were it not for the directory: nobody would remove it after `execve`. The
//! mount exists in the child's namespace only, so the kernel frees it with the last process in
//! there, however that ends. The child asks to be killed if the supervisor dies
//! (`PR_SET_PDEATHSIG`). Processes that the command leaves in the background keep the namespace;
//! removing the directory detaches the mount, so they keep only what they have open of it (files,
//! mappings, a working directory). A command that changes its user is not killed with the supervisor.
//!
//! Without namespaces (`--no-namespace`) the directory in `/dev/shm` holds the plaintext itself, and
//! the supervisor removes it. That is weaker: all processes of the user see it, and if the
//! supervisor is killed it stays until the next run.

pub mod directory;
pub mod namespace;
pub mod program;
pub mod supervisor;

pub use directory::{Directory, Kind};
pub use program::Program;
