//! One list of attacks, from which both the tests and the table in the documentation come.

use std::collections::BTreeSet;

use crate::site::Refusals;

/// One attack.
pub(crate) struct Attack {
    /// The name of its test.
    pub test: &'static str,
    /// Its heading in the table.
    pub group: &'static str,
    /// What is done.
    pub done: &'static str,
    /// Every error that it is refused with, and no other.
    pub refused: &'static [&'static str],
    /// Which check finds it.
    pub checked: &'static str,
    /// What other tools do with it.
    pub elsewhere: &'static str,
    /// Carries it out and returns what it was refused with.
    pub run: fn() -> Refusals,
}

impl Attack {
    /// Carries it out and compares.
    pub(crate) fn check(&self) {
        let expected: BTreeSet<String> = self.refused.iter().map(ToString::to_string).collect();
        assert_eq!((self.run)(), expected, "{}", self.done);
    }
}

/// Something that the format does not protect from.
pub(crate) struct Limit {
    /// What is done.
    pub done: &'static str,
    /// What helps.
    pub instead: &'static str,
    /// Shows that it opens.
    pub run: fn(),
}

/// Attacks of one group: a test for each, and the list of them.
macro_rules! attacks {
    ($group:literal, $($test:ident {
        done: $done:literal,
        refused: $refused:expr,
        checked: $checked:literal,
        $(elsewhere: $elsewhere:literal,)?
        run: $run:expr $(,)?
    })*) => {
        /// The attacks of this file.
        pub(crate) const ATTACKS: &[$crate::registry::Attack] = &[$($crate::registry::Attack {
            test: stringify!($test),
            group: $group,
            done: $done,
            refused: &$refused,
            checked: $checked,
            elsewhere: concat!($($elsewhere)?),
            run: $run,
        }),*];

        $(#[test]
        fn $test() {
            let mut attacks = ATTACKS.iter();
            attacks.find(|attack| attack.test == stringify!($test)).unwrap().check();
        })*
    };
}

pub(crate) use attacks;
