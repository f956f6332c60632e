// A copy of ckks_backend_program that has been checked.
#ifndef CKKS_SHIM_COMMON_PROGRAM_HPP
#define CKKS_SHIM_COMMON_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "failure.hpp"

namespace shim {

struct Program {
    std::uint32_t inputs = 0;
    std::uint32_t outputs = 0;
    // Ascending output, then step; first_term and term_count index `terms`.
    std::vector<ckks_backend_giant> giants;
    // As many as there are diagonals, each diagonal once.
    std::vector<ckks_backend_term> terms;

    // All steps but 0, of both kinds.
    std::set<std::uint32_t> steps() const {
        std::set<std::uint32_t> steps;
        for (const auto &giant : giants) {
            steps.insert(giant.giant_step);
        }
        for (const auto &term : terms) {
            steps.insert(term.baby_step);
        }
        steps.erase(0);
        return steps;
    }
};

namespace program_detail {

[[noreturn]] inline void wrong(const char *kind, std::uint64_t index, const char *what) {
    bad_argument(std::string(kind) + " " + std::to_string(index) + " " + what);
}

inline void check_terms(const Program &program, const ckks_backend_giant &giant,
                        std::size_t slots, std::vector<bool> &used) {
    for (std::uint64_t t = giant.first_term; t < giant.first_term + giant.term_count; ++t) {
        const auto &term = program.terms[t];
        if (term.input >= program.inputs) {
            wrong("term", t, "names an input that does not exist");
        }
        if (term.baby_step >= slots) {
            wrong("term", t, "has a baby step that is not below the number of slots");
        }
        if (term.diagonal >= used.size()) {
            wrong("term", t, "names a diagonal that does not exist");
        }
        if (used[term.diagonal]) {
            wrong("term", t, "uses a diagonal that an earlier one uses");
        }
        used[term.diagonal] = true;
        if (t > giant.first_term) {
            const auto &before = program.terms[t - 1];
            if (std::tie(before.input, before.baby_step) >= std::tie(term.input, term.baby_step)) {
                wrong("term", t, "is not in ascending order within its giant");
            }
        }
    }
}

}  // namespace program_detail

inline Program check_program(const ckks_backend_program *given, std::size_t slots) {
    using program_detail::wrong;
    require(given != nullptr, "program is null");
    require(given->size == sizeof(ckks_backend_program),
            "program has another size: built for another version of the header");
    require(given->inputs > 0, "program has no inputs");
    require(given->outputs > 0, "program has no outputs");
    require(given->giant_count > 0 && given->giants != nullptr, "program has no giants");
    require(given->term_count > 0 && given->terms != nullptr, "program has no terms");
    require(given->giant_count <= given->term_count, "program has more giants than terms");
    require(given->diagonals == given->term_count,
            "program has not as many diagonals as terms: each diagonal is used once");

    Program program;
    program.inputs = given->inputs;
    program.outputs = given->outputs;
    program.giants.assign(given->giants, given->giants + given->giant_count);
    program.terms.assign(given->terms, given->terms + given->term_count);

    std::vector<bool> used(program.terms.size(), false);
    std::uint64_t next_term = 0;
    for (std::size_t g = 0; g < program.giants.size(); ++g) {
        const auto &giant = program.giants[g];
        if (giant.output >= program.outputs) {
            wrong("giant", g, "names an output that does not exist");
        }
        if (giant.giant_step >= slots) {
            wrong("giant", g, "has a step that is not below the number of slots");
        }
        if (g > 0) {
            const auto &before = program.giants[g - 1];
            if (std::tie(before.output, before.giant_step) >=
                std::tie(giant.output, giant.giant_step)) {
                wrong("giant", g, "is not in ascending order");
            }
        }
        if (giant.first_term != next_term) {
            wrong("giant", g, "does not start where the one before ends");
        }
        if (giant.term_count == 0 || giant.term_count > program.terms.size() - next_term) {
            wrong("giant", g, "has no terms, or more than there are");
        }
        program_detail::check_terms(program, giant, slots, used);
        next_term += giant.term_count;
    }
    require(next_term == program.terms.size(), "program has terms that no giant uses");
    return program;
}

}  // namespace shim

#endif
