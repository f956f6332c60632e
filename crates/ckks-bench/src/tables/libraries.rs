//! The libraries under test, for `libs`.

use super::{text, words};
use crate::open::Library;

/// Each library, whether it is available, and what to set where it is not.
#[must_use]
pub fn libraries(libraries: &[Library]) -> String {
    let mut table = words(&["library", "available", "what it is", "looked for"]);
    for library in libraries {
        let available = if library.available { "yes" } else { "no" };
        table.add_row([
            library.name,
            available,
            library.description,
            &library.looked_for,
        ]);
    }
    text(&table)
}
