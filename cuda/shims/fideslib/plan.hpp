// Whether a program has the shape of FIDESlib's LinearTransform.
#ifndef CKKS_FIDESLIB_PLAN_HPP
#define CKKS_FIDESLIB_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "../common/program.hpp"

namespace ckks_fideslib {

// Rows r = j * baby_steps + i: rotated by i * stride before the product, and by
// j * baby_steps * stride after the sum. LinearTransform goes through the giant steps by Horner's
// rule, so that they share one rotation key.
struct UniformPlan {
    // One input's part of one output.
    struct Transform {
        std::uint32_t input;
        std::uint32_t output;
        // Diagonal of each row; none where it is zero.
        std::vector<std::optional<std::size_t>> rows;
    };

    std::uint32_t stride;
    std::uint32_t baby_steps;
    std::vector<Transform> transforms;
};

// None where baby and giant steps are not such multiples, where more than half of the rows would
// be zero, or where a rotation key is missing.
std::optional<UniformPlan> uniform_plan(const shim::Program &program,
                                        const std::set<std::uint32_t> &key_steps);

}  // namespace ckks_fideslib

#endif
