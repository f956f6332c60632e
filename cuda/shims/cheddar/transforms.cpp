#include "transforms.hpp"

#include <algorithm>
#include <numeric>

#include "../common/failure.hpp"

namespace shim {
namespace {

std::string place(const Transform &transform) {
    return "output " + std::to_string(transform.output) + " from input " +
           std::to_string(transform.input);
}

std::set<std::uint32_t> giant_steps(const Transform &transform) {
    std::set<std::uint32_t> steps;
    for (const auto &[giant, terms] : transform.diagonals) {
        steps.insert(giant);
    }
    return steps;
}

bool only_zero(const std::set<std::uint32_t> &steps) {
    return steps.size() == 1 && *steps.begin() == 0;
}

// The greatest common divisor: 0 where all steps are 0.
std::uint32_t stride(const std::set<std::uint32_t> &steps) {
    return std::accumulate(steps.begin(), steps.end(), std::uint32_t{0},
                           [](std::uint32_t a, std::uint32_t b) { return std::gcd(a, b); });
}

// Every multiple of the stride up to the largest step, but 0.
void require_no_gap(const Transform &transform, const char *kind,
                    const std::set<std::uint32_t> &steps) {
    const std::uint32_t by = stride(steps);
    if (by == 0) {
        return;
    }
    for (std::uint32_t step = by; step < *steps.rbegin(); step += by) {
        if (steps.count(step) == 0) {
            unsupported("mode min-ks rotates by one stride at a time and needs " +
                        std::string(kind) + " steps without a gap: " + place(transform) +
                        " has no step " + std::to_string(step));
        }
    }
}

// Cheddar takes min_ks for baby steps only, or for both kinds, never for giant steps alone.
void turn(Transform &transform) {
    std::map<std::uint32_t, std::optional<std::uint64_t>> babies;
    for (const auto &[giant, terms] : transform.diagonals) {
        babies[giant] = terms.at(0);
    }
    transform.diagonals.clear();
    transform.diagonals[0] = std::move(babies);
    transform.turned = true;
}

void fit_min_ks(Transform &transform) {
    const auto giants = giant_steps(transform);
    if (only_zero(transform.baby_steps())) {
        if (only_zero(giants)) {
            return;
        }
        turn(transform);
    }
    if (transform.baby_steps().count(0) == 0) {
        // The first rotation starts from it.
        transform.diagonals.begin()->second.emplace(0, std::nullopt);
    }
    require_no_gap(transform, "baby", transform.baby_steps());
    require_no_gap(transform, "giant", giant_steps(transform));
    transform.minimum_key_switching = true;
}

// Where both kinds of steps occur, the fused kernels are launched for two baby steps or more, and
// the sum starts from giant step 0, whether or not it is there. Zero vectors make up for both.
void fit_fused(Transform &transform) {
    if (only_zero(transform.baby_steps()) || only_zero(giant_steps(transform))) {
        return;
    }
    const auto babies = transform.baby_steps();
    if (babies.size() == 1) {
        transform.diagonals[0].emplace(0, std::nullopt);
    } else if (transform.diagonals.count(0) == 0) {
        transform.diagonals[0].emplace(*babies.begin(), std::nullopt);
    }
}

void fit_no_bsgs(const Transform &transform) {
    if (!only_zero(transform.baby_steps()) && !only_zero(giant_steps(transform))) {
        unsupported("mode no-bsgs takes one kind of step: " + place(transform) +
                    " has both baby and giant steps");
    }
}

}  // namespace

const std::vector<std::string> &mode_names() {
    // In the order of Mode.
    static const std::vector<std::string> names = {"min-ks", "fused", "no-bsgs"};
    return names;
}

Mode mode_of(const std::string &name) {
    const auto &names = mode_names();
    const auto found = std::find(names.begin(), names.end(), name);
    require(found != names.end(), "unknown mode");
    return static_cast<Mode>(found - names.begin());
}

std::set<std::uint32_t> Transform::baby_steps() const {
    std::set<std::uint32_t> steps;
    for (const auto &[giant, terms] : diagonals) {
        for (const auto &[baby, diagonal] : terms) {
            steps.insert(baby);
        }
    }
    return steps;
}

std::set<std::uint32_t> Transform::key_steps() const {
    std::set<std::uint32_t> steps;
    if (minimum_key_switching) {
        steps = {stride(baby_steps()), stride(giant_steps(*this))};
    } else {
        steps = baby_steps();
        const auto giants = giant_steps(*this);
        steps.insert(giants.begin(), giants.end());
    }
    steps.erase(0);
    return steps;
}

std::vector<Transform> transforms_of(const Program &program, Mode mode) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Transform> by_pair;
    for (const auto &giant : program.giants) {
        for (std::uint64_t t = giant.first_term; t < giant.first_term + giant.term_count; ++t) {
            const auto &term = program.terms[t];
            auto &transform = by_pair[{term.input, giant.output}];
            transform.input = term.input;
            transform.output = giant.output;
            transform.diagonals[giant.giant_step][term.baby_step] = term.diagonal;
        }
    }
    std::vector<Transform> transforms;
    for (auto &[pair, transform] : by_pair) {
        switch (mode) {
            case Mode::min_ks:
                fit_min_ks(transform);
                break;
            case Mode::fused:
                fit_fused(transform);
                break;
            case Mode::no_bsgs:
                fit_no_bsgs(transform);
                break;
        }
        transforms.push_back(std::move(transform));
    }
    return transforms;
}

}  // namespace shim
