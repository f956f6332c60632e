// What a shim implements: one library behind the C ABI. exports.hpp does the rest: null pointers,
// lengths, the order of calls, programs, values that are not finite, exceptions.
#ifndef CKKS_SHIM_COMMON_LIBRARY_HPP
#define CKKS_SHIM_COMMON_LIBRARY_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "ckks_backend.h"
#include "program.hpp"
#include "spec.hpp"

namespace shim {

// One opened library. Functions throw Failure, or whatever the library throws, which counts as a
// library error. They are called in the order that ckks_backend.h gives, with checked arguments.
class Context {
public:
    virtual ~Context() = default;

    virtual nlohmann::json describe() = 0;
    // n.
    virtual std::size_t slots() const = 0;
    // Doubles of one slot: 1 for real slots, 2 for complex ones.
    virtual std::size_t slot_width() const = 0;

    // Steps ascend. A context for bootstrapping makes its own keys besides.
    virtual ckks_backend_key_report keys(const std::vector<std::uint32_t> &steps) = 0;

    // Steps that need a key to evaluate this program.
    virtual std::set<std::uint32_t> steps_needed(const Program &program) const {
        return program.steps();
    }
    // Drops the layer and the batch before. A program that the library cannot evaluate is refused
    // before anything is dropped.
    virtual void prepare_begin(Program program) = 0;
    // Finite values of one diagonal, slots() * slot_width() of them.
    virtual void prepare_diagonal(std::uint64_t diagonal, const double *values) = 0;
    virtual ckks_backend_prepare_report prepare_end() = 0;

    // Finite values of `ciphertexts` slot vectors. Drops the batch and the answers before.
    virtual ckks_backend_transfer encrypt(const double *values, std::size_t ciphertexts) = 0;
    virtual void evaluate() = 0;
    virtual void rescale() = 0;
    virtual void bootstrap() = 0;
    virtual void synchronise() = 0;
    virtual ckks_backend_transfer answers() = 0;
    // Writes all slots of all answers.
    virtual void decrypt(double *values) = 0;
    virtual ckks_backend_memory bytes_used() = 0;
};

// Defined by each shim.
nlohmann::json info();
nlohmann::json probe();
std::unique_ptr<Context> open(const Spec &spec);
// What parse_spec knows, in the order of `info`.
const std::vector<std::string> &presets();
const std::vector<std::string> &modes();

}  // namespace shim

#endif
