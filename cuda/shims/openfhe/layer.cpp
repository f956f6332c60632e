#include "layer.hpp"

#include <algorithm>

namespace ckks_openfhe {

Layer::Layer(const shim::Program &program, std::size_t ring_degree, std::size_t limbs,
             bool keep_plaintexts)
    : inputs_(program.inputs), outputs_(program.outputs), ring_degree_(ring_degree) {
    const std::size_t products = program.terms.size();
    for (const auto &term : program.terms) {
        babies_.push_back({term.input, term.baby_step});
    }
    std::sort(babies_.begin(), babies_.end());
    babies_.erase(std::unique(babies_.begin(), babies_.end()), babies_.end());

    order_.babies = babies_.size();
    for (const auto &giant : program.giants) {
        giants_.push_back({giant.output, giant.giant_step});
        order_.giant_start.push_back(giant.first_term);
    }
    order_.giant_start.push_back(products);
    product_of_diagonal_.resize(products);
    for (const auto &term : program.terms) {
        const auto found =
            std::lower_bound(babies_.begin(), babies_.end(), BabyStep{term.input, term.baby_step});
        product_of_diagonal_[term.diagonal] = order_.baby.size();
        order_.baby.push_back(static_cast<std::uint32_t>(found - babies_.begin()));
    }
    if (keep_plaintexts) {
        plaintexts_.resize(products);
    } else {
        residues_.resize(limbs);
        for (auto &limb : residues_) {
            limb.resize(ring_degree * products);
        }
    }
}

void Layer::set_diagonal(std::size_t diagonal, const Plaintext &plaintext) {
    const std::size_t product = product_of_diagonal_[diagonal];
    if (!plaintexts_.empty()) {
        plaintexts_[product] = plaintext;
        return;
    }
    const auto &limbs = plaintext->GetElement<DCRTPoly>().GetAllElements();
    for (std::size_t l = 0; l < residues_.size(); l++) {
        const std::uint64_t *from = words(limbs[l]);
        std::uint64_t *to = residues_[l].data() + product * kLanes;
        for (std::size_t i = 0; i < ring_degree_; i += kLanes, to += order_.products() * kLanes) {
            std::copy_n(from + i, kLanes, to);
        }
    }
}

std::size_t Layer::bytes() const {
    std::size_t bytes = 0;
    for (const auto &limb : residues_) {
        bytes += limb.size() * sizeof(std::uint64_t);
    }
    for (const auto &plaintext : plaintexts_) {
        const auto &limbs = plaintext->GetElement<DCRTPoly>().GetAllElements();
        bytes += limbs.size() * ring_degree_ * sizeof(std::uint64_t);
    }
    return bytes;
}

}  // namespace ckks_openfhe
