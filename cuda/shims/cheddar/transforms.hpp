// A program in the form that Cheddar evaluates, checked against what its modes can do. Nothing here
// needs Cheddar or a device.
#ifndef CKKS_SHIM_CHEDDAR_TRANSFORMS_HPP
#define CKKS_SHIM_CHEDDAR_TRANSFORMS_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../common/program.hpp"

namespace shim {

// How Cheddar's HoistHandler evaluates.
enum class Mode {
    // Rotations in multiples of one stride for each kind of step, each from the one before:
    // two keys, and no hoisting.
    min_ks,
    // Baby steps from one decomposition, giant steps added before one division by P, in fused
    // kernels.
    fused,
    // No second kind of step: all rotations from one decomposition.
    no_bsgs,
};

// By the names that open takes; the first is the default.
const std::vector<std::string> &mode_names();
Mode mode_of(const std::string &name);

// What one output takes from one input. Each pair is one HoistHandler, which rotates for itself: a
// layer of several inputs does more giant steps than its program has.
struct Transform {
    std::uint32_t input = 0;
    std::uint32_t output = 0;
    // Giant step, then baby step. Nothing stands for a zero vector that the program does not have
    // but Cheddar needs.
    std::map<std::uint32_t, std::map<std::uint32_t, std::optional<std::uint64_t>>> diagonals;
    // Whether to pass min_ks: not where nothing is rotated.
    bool minimum_key_switching = false;
    // Whether diagonals of giant steps came with baby step 0 and became baby steps: they stand as
    // the giant step needs them and have to be rotated back.
    bool turned = false;

    std::set<std::uint32_t> baby_steps() const;
    // Non-zero steps whose keys Cheddar looks up.
    std::set<std::uint32_t> key_steps() const;
};

// The transforms of a program, by ascending input, then output. Refuses as unsupported what would
// end the process inside Cheddar.
std::vector<Transform> transforms_of(const Program &program, Mode mode);

}  // namespace shim

#endif
