//! The program of a layer, checked.

use crate::sys;
use thiserror::Error;

/// One product: an input, rotated, times a diagonal.
pub use sys::ckks_backend_term as Term;

/// One giant step of one output: the sum of some products, rotated.
pub use sys::ckks_backend_giant as Giant;

/// A layer for one group of vectors, as baby steps and giant steps, that keeps all rules of
/// `ckks_backend_program`.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    inputs: u32,
    outputs: u32,
    diagonals: u64,
    giants: Vec<Giant>,
    terms: Vec<Term>,
}

/// A rule that a program breaks.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// No inputs, outputs, giants or terms.
    #[error("the program has no {0}; at least one is needed")]
    Empty(&'static str),
    /// Another number of diagonals than of terms.
    #[error("{diagonals} diagonals for {terms} terms; each diagonal is used by exactly one term")]
    Diagonals {
        /// Diagonals of the program.
        diagonals: u64,
        /// Its terms.
        terms: usize,
    },
    /// A number out of range.
    #[error("{what} of {place} {index} is {value}; it must be below {limit}")]
    Range {
        /// Which number.
        what: &'static str,
        /// "term" or "giant".
        place: &'static str,
        /// Which of them.
        index: usize,
        /// The number.
        value: u64,
        /// The first that is too large.
        limit: u64,
    },
    /// Terms that are missing, shared, left over, or outside the list.
    #[error(
        "giant {index} has the {count} terms from {first} on, and they must be those from \
         {expected} on, at least one, within {terms}"
    )]
    Terms {
        /// Which giant.
        index: usize,
        /// Its first term.
        first: u64,
        /// Its number of terms.
        count: u64,
        /// Where the terms of the giant before end.
        expected: u64,
        /// Terms of the program.
        terms: usize,
    },
    /// Terms that belong to no giant.
    #[error("{used} of {terms} terms belong to a giant; all must")]
    LeftOver {
        /// Terms of all giants.
        used: u64,
        /// Terms of the program.
        terms: usize,
    },
    /// Giants or terms out of order.
    #[error("{place} {index} does not come after the one before it; {order}")]
    Order {
        /// "term" or "giant".
        place: &'static str,
        /// Which of them.
        index: usize,
        /// The order that is needed.
        order: &'static str,
    },
    /// A diagonal of two terms.
    #[error("diagonal {diagonal} is used by term {index} and by one before it")]
    Repeated {
        /// The diagonal.
        diagonal: u64,
        /// The second term.
        index: usize,
    },
}

fn below(
    what: &'static str,
    place: &'static str,
    index: usize,
    value: u64,
    limit: u64,
) -> Result<(), ProgramError> {
    if value < limit {
        return Ok(());
    }
    Err(ProgramError::Range {
        what,
        place,
        index,
        value,
        limit,
    })
}

impl Program {
    /// Checks a program for ciphertexts of `slots` slots.
    ///
    /// # Errors
    /// [`ProgramError`], which names the first rule of the header that is broken.
    pub fn new(
        slots: u32,
        inputs: u32,
        outputs: u32,
        diagonals: u64,
        giants: Vec<Giant>,
        terms: Vec<Term>,
    ) -> Result<Self, ProgramError> {
        for (empty, what) in [
            (inputs == 0, "inputs"),
            (outputs == 0, "outputs"),
            (giants.is_empty(), "giants"),
            (terms.is_empty(), "terms"),
        ] {
            if empty {
                return Err(ProgramError::Empty(what));
            }
        }
        if diagonals != terms.len() as u64 {
            return Err(ProgramError::Diagonals {
                diagonals,
                terms: terms.len(),
            });
        }
        let program = Self {
            inputs,
            outputs,
            diagonals,
            giants,
            terms,
        };
        program.check_giants(slots)?;
        program.check_terms(slots)?;
        Ok(program)
    }

    fn check_giants(&self, slots: u32) -> Result<(), ProgramError> {
        let mut used = 0;
        for (index, giant) in self.giants.iter().enumerate() {
            let in_range = |what, value: u32, limit: u32| {
                below(what, "giant", index, u64::from(value), u64::from(limit))
            };
            in_range("output", giant.output, self.outputs)?;
            in_range("step", giant.giant_step, slots)?;
            let left = self.terms.len() as u64 - used;
            if giant.first_term != used || giant.term_count == 0 || giant.term_count > left {
                return Err(ProgramError::Terms {
                    index,
                    first: giant.first_term,
                    count: giant.term_count,
                    expected: used,
                    terms: self.terms.len(),
                });
            }
            used += giant.term_count;
        }
        if used != self.terms.len() as u64 {
            return Err(ProgramError::LeftOver {
                used,
                terms: self.terms.len(),
            });
        }
        let order = "giants ascend by output, then by step";
        match disorder(&self.giants, |giant| (giant.output, giant.giant_step)) {
            Some(index) => Err(ProgramError::Order {
                place: "giant",
                index,
                order,
            }),
            None => Ok(()),
        }
    }

    fn check_terms(&self, slots: u32) -> Result<(), ProgramError> {
        let mut seen = vec![false; self.terms.len()];
        for (index, term) in self.terms.iter().enumerate() {
            let in_range = |what, value: u64, limit: u64| below(what, "term", index, value, limit);
            in_range("input", u64::from(term.input), u64::from(self.inputs))?;
            in_range("baby step", u64::from(term.baby_step), u64::from(slots))?;
            in_range("diagonal", term.diagonal, self.diagonals)?;
            // In range: there are as many diagonals as terms.
            if std::mem::replace(&mut seen[term.diagonal as usize], true) {
                return Err(ProgramError::Repeated {
                    diagonal: term.diagonal,
                    index,
                });
            }
        }
        for giant in &self.giants {
            let first = giant.first_term as usize;
            let terms = &self.terms[first..first + giant.term_count as usize];
            if let Some(index) = disorder(terms, |term| (term.input, term.baby_step)) {
                return Err(ProgramError::Order {
                    place: "term",
                    index: first + index,
                    order: "the terms of a giant ascend by input, then by baby step",
                });
            }
        }
        Ok(())
    }

    /// Input ciphertexts of a group.
    #[must_use]
    pub fn inputs(&self) -> u32 {
        self.inputs
    }

    /// Output ciphertexts of a group.
    #[must_use]
    pub fn outputs(&self) -> u32 {
        self.outputs
    }

    /// Diagonals, as many as terms.
    #[must_use]
    pub fn diagonals(&self) -> u64 {
        self.diagonals
    }

    /// Giant steps, by output and step.
    #[must_use]
    pub fn giants(&self) -> &[Giant] {
        &self.giants
    }

    /// Products, giant by giant.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The products of one giant step of this program.
    ///
    /// # Panics
    /// For a giant of another program.
    #[must_use]
    pub fn terms_of(&self, giant: &Giant) -> &[Term] {
        let first = giant.first_term as usize;
        &self.terms[first..first + giant.term_count as usize]
    }

    /// The steps that need keys: ascending, without duplicates and without 0.
    #[must_use]
    pub fn steps(&self) -> Vec<u32> {
        let babies = self.terms.iter().map(|term| term.baby_step);
        let giants = self.giants.iter().map(|giant| giant.giant_step);
        let mut steps: Vec<u32> = babies.chain(giants).filter(|&step| step > 0).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }

    /// The program as the ABI takes it; it points into this one.
    pub(crate) fn raw(&self) -> sys::ckks_backend_program {
        sys::ckks_backend_program {
            size: size_of::<sys::ckks_backend_program>(),
            inputs: self.inputs,
            outputs: self.outputs,
            diagonals: self.diagonals,
            giants: self.giants.as_ptr(),
            giant_count: self.giants.len() as u64,
            terms: self.terms.as_ptr(),
            term_count: self.terms.len() as u64,
        }
    }
}

/// The first element that is not above the one before it.
fn disorder<T, K: Ord>(list: &[T], key: impl Fn(&T) -> K) -> Option<usize> {
    let pairs = list.windows(2);
    let found = pairs.into_iter().position(|p| key(&p[0]) >= key(&p[1]));
    found.map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(input: u32, baby_step: u32, diagonal: u64) -> Term {
        Term {
            input,
            baby_step,
            diagonal,
        }
    }

    fn giant(output: u32, giant_step: u32, first_term: u64, term_count: u64) -> Giant {
        Giant {
            output,
            giant_step,
            first_term,
            term_count,
        }
    }

    /// Two outputs of three, with giants 0 and 4, babies 0 and 1, two inputs.
    fn parts() -> (Vec<Giant>, Vec<Term>) {
        (
            vec![giant(0, 0, 0, 3), giant(0, 4, 3, 1), giant(2, 0, 4, 1)],
            vec![
                term(0, 0, 4),
                term(0, 1, 0),
                term(1, 0, 1),
                term(1, 1, 3),
                term(0, 7, 2),
            ],
        )
    }

    fn refusal(change: impl FnOnce(&mut Vec<Giant>, &mut Vec<Term>)) -> String {
        let (mut giants, mut terms) = parts();
        change(&mut giants, &mut terms);
        Program::new(8, 2, 3, terms.len() as u64, giants, terms)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_program_by_the_rules() {
        let (giants, terms) = parts();
        let program = Program::new(8, 2, 3, 5, giants, terms.clone()).unwrap();
        assert_eq!(program.steps(), [1, 4, 7]);
        assert_eq!(program.terms_of(&program.giants()[1]), &terms[3..4]);
        let raw = program.raw();
        assert_eq!((raw.giant_count, raw.term_count, raw.diagonals), (3, 5, 5));
    }

    #[test]
    fn every_rule_is_checked() {
        let (giants, terms) = parts();
        let with = |slots, inputs, outputs, diagonals| {
            Program::new(
                slots,
                inputs,
                outputs,
                diagonals,
                giants.clone(),
                terms.clone(),
            )
            .unwrap_err()
            .to_string()
        };
        assert!(with(8, 0, 3, 5).contains("no inputs"));
        assert!(with(8, 2, 0, 5).contains("no outputs"));
        assert!(with(8, 2, 3, 6).contains("6 diagonals for 5 terms"));
        assert!(with(8, 2, 2, 5).contains("output of giant 2 is 2"));
        assert!(with(7, 2, 3, 5).contains("baby step of term 4 is 7"));
        assert!(with(4, 2, 3, 5).contains("step of giant 1 is 4"));
        assert!(with(8, 1, 3, 5).contains("input of term 2 is 1"));
        assert!(refusal(|g, _| g.clear()).contains("no giants"));
        assert!(refusal(|_, t| t.clear()).contains("no terms"));
        assert!(refusal(|g, _| g[1].first_term = 2).contains("giant 1 has the 1 terms from 2 on"));
        assert!(refusal(|g, _| g[2].term_count = 0).contains("giant 2"));
        assert!(refusal(|g, _| g[2].term_count = u64::MAX).contains("giant 2"));
        assert!(refusal(|g, _| g.truncate(2)).contains("4 of 5 terms"));
        assert!(refusal(|g, _| g[1].giant_step = 0).contains("giant 1 does not come after"));
        assert!(refusal(|g, _| g[0].output = 1).contains("giant 1 does not come after"));
        assert!(refusal(|_, t| t[1].baby_step = 0).contains("term 1 does not come after"));
        assert!(refusal(|_, t| t[1].diagonal = 5).contains("diagonal of term 1 is 5"));
        assert!(refusal(|_, t| t[3].diagonal = 4).contains("diagonal 4 is used by term 3"));
        assert!(refusal(|_, t| t[3].diagonal = u64::MAX).contains("diagonal of term 3"));
    }
}
