#include "plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace ckks_fideslib {

std::optional<UniformPlan> uniform_plan(const shim::Program &program,
                                        const std::set<std::uint32_t> &key_steps) {
    UniformPlan plan{0, 0, {}};
    std::uint32_t largest = 0;
    for (const auto &term : program.terms) {
        plan.stride = std::gcd(plan.stride, term.baby_step);
        largest = std::max(largest, term.baby_step);
    }
    // Without baby steps there is nothing to hoist, and the library would launch empty kernels.
    if (plan.stride == 0) {
        return std::nullopt;
    }
    plan.baby_steps = largest / plan.stride + 1;
    for (std::uint32_t i = 1; i < plan.baby_steps; i++) {
        if (key_steps.count(i * plan.stride) == 0) {
            return std::nullopt;
        }
    }

    const std::uint64_t span = std::uint64_t{plan.baby_steps} * plan.stride;
    std::map<std::pair<std::uint32_t, std::uint32_t>, UniformPlan::Transform> transforms;
    for (const auto &giant : program.giants) {
        if (giant.giant_step % span != 0) {
            return std::nullopt;
        }
        if (giant.giant_step != 0 && key_steps.count(static_cast<std::uint32_t>(span)) == 0) {
            return std::nullopt;
        }
        const std::size_t first_row = giant.giant_step / span * plan.baby_steps;
        for (std::uint64_t t = giant.first_term; t < giant.first_term + giant.term_count; t++) {
            const auto &term = program.terms[t];
            auto &transform = transforms[{giant.output, term.input}];
            transform.input = term.input;
            transform.output = giant.output;
            const std::size_t row = first_row + term.baby_step / plan.stride;
            transform.rows.resize(std::max(transform.rows.size(), row + 1));
            transform.rows[row] = term.diagonal;
        }
    }
    std::size_t rows = 0;
    for (auto &[key, transform] : transforms) {
        rows += transform.rows.size();
        plan.transforms.push_back(std::move(transform));
    }
    if (rows / 2 > program.terms.size()) {
        return std::nullopt;
    }
    return plan;
}

}  // namespace ckks_fideslib
