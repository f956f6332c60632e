//! A mount namespace of this process, and a file system in memory inside it.

use super::program::FAILED;
use crate::error::CliError;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};
use std::fs;
use std::path::Path;

/// Moves this process, which must have one thread, into a mount namespace of its own. Nothing that
/// is mounted there is seen outside; what is mounted outside is still seen here. Without the
/// privilege to mount, a user namespace is entered too.
///
/// # Errors
/// [`CliError::Exec`] where the system does not permit it, with the ways out.
pub fn enter() -> Result<(), CliError> {
    match unshare(CloneFlags::CLONE_NEWNS) {
        Ok(()) => {}
        Err(Errno::EPERM) => enter_as_user()?,
        Err(errno) => return Err(not_permitted(errno)),
    }
    let flags = MsFlags::MS_REC | MsFlags::MS_SLAVE;
    mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).map_err(not_permitted)
}

/// User and group keep their numbers, so that files look and behave as before.
fn enter_as_user() -> Result<(), CliError> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).map_err(not_permitted)?;
    let write = |name: &str, text: String| {
        fs::write(format!("/proc/self/{name}"), text).map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                return CliError::Exec {
                    message: format!(
                        "/proc/self/{name} is not there: a user namespace needs /proc to be mounted"
                    ),
                    code: FAILED,
                };
            }
            not_permitted(Errno::from_raw(error.raw_os_error().unwrap_or_default()))
        })
    };
    // Without this the kernel lets nobody map a group.
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{uid} {uid} 1"))?;
    write("gid_map", format!("{gid} {gid} 1"))
}

fn not_permitted(errno: Errno) -> CliError {
    CliError::Exec {
        message: format!(
            "private memory needs a mount namespace, which is not permitted here ({}). In a \
             container, add CAP_SYS_ADMIN; for users, allow user namespaces (sysctl \
             user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns). Or pass \
             --no-namespace, with which all processes of this user see the plaintext",
            errno.desc()
        ),
        code: FAILED,
    }
}

/// What a file system in memory is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Its limit in bytes.
    pub size: u64,
    /// Back it by huge pages, which is twice as fast to fill.
    pub huge_pages: bool,
}

/// What the kernel gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// It is never written to swap.
    pub no_swap: bool,
    /// It is backed by huge pages.
    pub huge_pages: bool,
}

const FLAGS: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV);

/// Mounts a file system in memory, readable by this user only, with as much of what is wanted as
/// the kernel gives; being kept out of swap comes before huge pages.
///
/// # Errors
/// [`CliError::Exec`] where the kernel refuses even the plainest.
pub fn mount_memory(at: &Path, memory: Memory) -> Result<Mounted, CliError> {
    let mut refusal = Errno::EINVAL;
    for (no_swap, huge_pages) in [(true, true), (true, false), (false, true), (false, false)] {
        if huge_pages && !memory.huge_pages {
            continue;
        }
        let mut options = format!("size={},mode=0700", memory.size);
        if huge_pages {
            options.push_str(",huge=always");
        }
        if no_swap {
            options.push_str(",noswap");
        }
        let (source, kind) = (Some("weights-seal"), Some("tmpfs"));
        match mount(source, at, kind, FLAGS, Some(options.as_str())) {
            Ok(()) => {
                return Ok(Mounted {
                    no_swap,
                    huge_pages,
                });
            }
            Err(errno) => refusal = errno,
        }
    }
    Err(CliError::Exec {
        message: format!(
            "cannot mount a file system in memory on {}: {}",
            at.display(),
            refusal.desc()
        ),
        code: FAILED,
    })
}

/// Nothing in the file system changes from here on.
///
/// # Errors
/// [`CliError::Exec`] where the kernel refuses.
pub fn make_read_only(at: &Path) -> Result<(), CliError> {
    let flags = FLAGS | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    mount(None::<&str>, at, None::<&str>, flags, None::<&str>).map_err(|errno| CliError::Exec {
        message: format!("cannot make {} read-only: {}", at.display(), errno.desc()),
        code: FAILED,
    })
}

/// Whether this machine swaps now; yes, where it does not say.
#[must_use]
pub fn swap_is_on() -> bool {
    // A title, then one line for each swap device.
    fs::read_to_string("/proc/swaps").map_or(true, |text| text.lines().count() > 1)
}
