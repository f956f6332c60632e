// Evaluation of a layer on the device.
#ifndef CKKS_FIDESLIB_EVALUATE_HPP
#define CKKS_FIDESLIB_EVALUATE_HPP

#include <memory>
#include <optional>
#include <vector>

#include "../common/program.hpp"
#include "fideslib_types.hpp"
#include "plan.hpp"

namespace ckks_fideslib {

using DevicePlaintext = std::unique_ptr<server::Plaintext>;
using DeviceCiphertext = std::unique_ptr<server::Ciphertext>;

// A layer on the device: all diagonals, by number, and a zero for rows that have none.
struct Layer {
    shim::Program program;
    // Where the program has the shape of the library's own transform.
    std::optional<UniformPlan> plan;
    // Whether diagonals are modulo QP.
    bool extended;
    std::vector<DevicePlaintext> diagonals;
    DevicePlaintext zero;
};

// One output each; null where an output has no giant steps. Not rescaled. `inputs` are those of one
// group, at the level of the diagonals.
std::vector<DeviceCiphertext> evaluate(server::Context &context, const Layer &layer,
                                       const DeviceCiphertext *inputs);

}  // namespace ckks_fideslib

#endif
