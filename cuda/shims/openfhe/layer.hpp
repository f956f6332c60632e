// A layer prepared for evaluation: the program of the ABI, and its diagonals as OpenFHE plaintexts
// taken apart into residues.
#ifndef CKKS_OPENFHE_LAYER_HPP
#define CKKS_OPENFHE_LAYER_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../common/program.hpp"
#include "mac.hpp"
#include "openfhe_types.hpp"

namespace ckks_openfhe {

// One rotation of one input, shared by all products that need it.
struct BabyStep {
    std::uint32_t input;
    std::uint32_t step;

    bool operator==(const BabyStep &other) const {
        return input == other.input && step == other.step;
    }
    bool operator<(const BabyStep &other) const {
        return input != other.input ? input < other.input : step < other.step;
    }
};

struct GiantStep {
    std::uint32_t output;
    std::uint32_t step;
};

class Layer {
public:
    // `keep_plaintexts` is for the textbook mode.
    Layer(const shim::Program &program, std::size_t ring_degree, std::size_t limbs,
          bool keep_plaintexts);

    // Takes the plaintext of one diagonal, in evaluation order.
    void set_diagonal(std::size_t diagonal, const Plaintext &plaintext);

    std::size_t inputs() const { return inputs_; }
    std::size_t outputs() const { return outputs_; }
    std::size_t diagonals() const { return product_of_diagonal_.size(); }
    const std::vector<BabyStep> &babies() const { return babies_; }
    const std::vector<GiantStep> &giants() const { return giants_; }
    const ProductOrder &order() const { return order_; }

    // [ring degree / kLanes][products][kLanes] residues modulo the modulus `limb`.
    const std::uint64_t *residues(std::size_t limb) const { return residues_[limb].data(); }
    // By product; empty unless kept.
    const std::vector<Plaintext> &plaintexts() const { return plaintexts_; }

    std::size_t bytes() const;

private:
    std::size_t inputs_;
    std::size_t outputs_;
    std::size_t ring_degree_;
    std::vector<BabyStep> babies_;
    std::vector<GiantStep> giants_;
    ProductOrder order_;
    std::vector<std::size_t> product_of_diagonal_;
    std::vector<std::vector<std::uint64_t>> residues_;
    std::vector<Plaintext> plaintexts_;
};

}  // namespace ckks_openfhe

#endif
