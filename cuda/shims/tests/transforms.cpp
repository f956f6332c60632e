// Programs as Cheddar evaluates them, against the formula of ckks_backend.h in the clear.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../cheddar/transforms.hpp"
#include "check.hpp"

namespace {

using shim::Mode;
using shim::Program;
using Slots = std::vector<double>;

constexpr std::size_t n = 16;

Slots rotate(const Slots &slots, std::uint32_t step) {
    Slots rotated(n);
    for (std::size_t p = 0; p < n; ++p) {
        rotated[p] = slots[(p + step) % n];
    }
    return rotated;
}

void add_product(Slots &sum, const Slots &a, const Slots &b) {
    for (std::size_t p = 0; p < n; ++p) {
        sum[p] += a[p] * b[p];
    }
}

void add(Slots &sum, const Slots &slots) {
    for (std::size_t p = 0; p < n; ++p) {
        sum[p] += slots[p];
    }
}

// A giant and its terms, as (input, baby step).
struct Giant {
    std::uint32_t output;
    std::uint32_t step;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> terms;
};

Program program_of(std::uint32_t inputs, std::uint32_t outputs, const std::vector<Giant> &giants) {
    Program program;
    program.inputs = inputs;
    program.outputs = outputs;
    for (const Giant &giant : giants) {
        program.giants.push_back(
            {giant.output, giant.step, program.terms.size(), giant.terms.size()});
        for (const auto &[input, baby] : giant.terms) {
            program.terms.push_back({input, baby, program.terms.size()});
        }
    }
    return program;
}

std::vector<Slots> formula(const Program &program, const std::vector<Slots> &inputs,
                           const std::vector<Slots> &diagonals) {
    std::vector<Slots> outputs(program.outputs, Slots(n, 0.0));
    for (const auto &giant : program.giants) {
        Slots sum(n, 0.0);
        for (std::uint64_t t = giant.first_term; t < giant.first_term + giant.term_count; ++t) {
            const auto &term = program.terms[t];
            add_product(sum, diagonals[term.diagonal], rotate(inputs[term.input], term.baby_step));
        }
        add(outputs[giant.output], rotate(sum, giant.giant_step));
    }
    return outputs;
}

std::vector<Slots> by_transforms(const Program &program, Mode mode,
                                 const std::vector<Slots> &inputs,
                                 const std::vector<Slots> &diagonals) {
    std::vector<Slots> outputs(program.outputs, Slots(n, 0.0));
    for (const auto &transform : shim::transforms_of(program, mode)) {
        for (const auto &[giant, terms] : transform.diagonals) {
            Slots sum(n, 0.0);
            for (const auto &[baby, diagonal] : terms) {
                Slots values = diagonal ? diagonals[*diagonal] : Slots(n, 0.0);
                if (transform.turned) {
                    values = rotate(values, baby);
                }
                add_product(sum, values, rotate(inputs[transform.input], baby));
            }
            add(outputs[transform.output], rotate(sum, giant));
        }
    }
    return outputs;
}

// Whole numbers, so that the order of additions does not matter.
std::vector<Slots> numbers(std::size_t count, std::mt19937 &generator) {
    std::uniform_int_distribution<int> values(-9, 9);
    std::vector<Slots> all(count, Slots(n));
    for (Slots &slots : all) {
        for (double &slot : slots) {
            slot = values(generator);
        }
    }
    return all;
}

// What Cheddar's kernels need of a transform in a mode; transforms.cpp says why.
bool fits(const shim::Transform &transform, Mode mode) {
    const auto babies = transform.baby_steps();
    const bool giants_only = babies.size() == 1 && babies.count(0) == 1;
    const bool babies_only =
        transform.diagonals.size() == 1 && transform.diagonals.count(0) == 1;
    switch (mode) {
        case Mode::fused:
            return giants_only || babies_only ||
                   (babies.size() >= 2 && transform.diagonals.count(0) == 1);
        case Mode::min_ks:
            return transform.minimum_key_switching ? babies.size() >= 2 && babies.count(0) == 1
                                                   : giants_only && babies_only;
        case Mode::no_bsgs:
            return giants_only || babies_only;
    }
    return false;
}

void agrees(const std::string &name, Mode mode, const Program &program) {
    std::mt19937 generator(7);
    const auto inputs = numbers(program.inputs, generator);
    const auto diagonals = numbers(program.terms.size(), generator);
    check::that(by_transforms(program, mode, inputs, diagonals) ==
                    formula(program, inputs, diagonals),
                name + ": another result than the formula");
    for (const auto &transform : shim::transforms_of(program, mode)) {
        check::that(fits(transform, mode), name + ": a form that Cheddar gets wrong");
    }
}

std::set<std::uint32_t> keys(const Program &program, Mode mode) {
    std::set<std::uint32_t> steps;
    for (const auto &transform : shim::transforms_of(program, mode)) {
        steps.merge(transform.key_steps());
    }
    return steps;
}

// Four baby steps by four giant steps.
Program dense() {
    std::vector<Giant> giants;
    for (std::uint32_t g = 0; g < 16; g += 4) {
        giants.push_back({0, g, {{0, 0}, {0, 1}, {0, 2}, {0, 3}}});
    }
    return program_of(1, 1, giants);
}

}  // namespace

int main() {
    const Program one_term = program_of(1, 1, {{0, 0, {{0, 0}}}});
    const Program babies_only = program_of(1, 1, {{0, 0, {{0, 0}, {0, 2}, {0, 4}}}});
    const Program giants_only =
        program_of(1, 1, {{0, 3, {{0, 0}}}, {0, 6, {{0, 0}}}, {0, 9, {{0, 0}}}});
    const Program one_baby = program_of(1, 1, {{0, 0, {{0, 5}}}, {0, 8, {{0, 5}}}});
    const Program no_giant_0 = program_of(1, 1, {{0, 4, {{0, 1}, {0, 2}}}, {0, 8, {{0, 1}}}});
    const Program one_baby_one_giant = program_of(1, 1, {{0, 4, {{0, 3}}}});
    const Program two_by_three = program_of(
        2, 3,
        {{0, 0, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}}, {0, 2, {{0, 0}, {1, 1}}}, {2, 0, {{1, 0}}}});

    for (const Mode mode : {Mode::min_ks, Mode::fused, Mode::no_bsgs}) {
        agrees("one term", mode, one_term);
        agrees("baby steps only", mode, babies_only);
        agrees("giant steps only", mode, giants_only);
    }
    for (const Mode mode : {Mode::min_ks, Mode::fused}) {
        agrees("dense", mode, dense());
        agrees("one baby step", mode, one_baby);
        agrees("no giant step 0", mode, no_giant_0);
        agrees("one of each", mode, one_baby_one_giant);
        agrees("two inputs, three outputs", mode, two_by_three);
    }

    check::that(keys(one_term, Mode::min_ks).empty(), "a key for no rotation");
    check::that(keys(dense(), Mode::min_ks) == std::set<std::uint32_t>{1, 4},
                "min-ks needs other keys than the two strides");
    check::that(keys(dense(), Mode::fused) == std::set<std::uint32_t>{1, 2, 3, 4, 8, 12},
                "fused needs other keys than its steps");
    check::that(keys(giants_only, Mode::no_bsgs) == std::set<std::uint32_t>{3, 6, 9},
                "no-bsgs needs other keys than its steps");
    check::that(keys(giants_only, Mode::min_ks) == std::set<std::uint32_t>{3},
                "min-ks needs another key than the stride");

    check::refuses(CKKS_BACKEND_UNSUPPORTED, "has both baby and giant steps",
                   [] { shim::transforms_of(dense(), Mode::no_bsgs); });
    check::refuses(CKKS_BACKEND_UNSUPPORTED, "has no step 3", [] {
        const auto gap = program_of(1, 1, {{0, 0, {{0, 0}, {0, 1}, {0, 2}, {0, 4}}}});
        shim::transforms_of(gap, Mode::min_ks);
    });
    check::refuses(CKKS_BACKEND_UNSUPPORTED, "giant steps without a gap", [] {
        const auto gap = program_of(
            1, 1, {{0, 0, {{0, 0}, {0, 1}}}, {0, 2, {{0, 0}}}, {0, 8, {{0, 0}}}});
        shim::transforms_of(gap, Mode::min_ks);
    });
    return check::finish();
}
