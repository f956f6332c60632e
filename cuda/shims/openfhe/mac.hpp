// Sums of products of residues, all giant steps at once.
//
// EvalMult and EvalAdd write a new polynomial for every product. Here a giant step's products are
// added up in registers, 128 bits wide, and reduced once: one pass over the diagonals, which are
// laid out in the order in which they are read.
#ifndef CKKS_OPENFHE_MAC_HPP
#define CKKS_OPENFHE_MAC_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ckks_openfhe {

// Coefficients that lie next to each other in every layout here: one cache line.
constexpr std::size_t kLanes = 8;

// Moduli may have at most this many bits, so that kSumTerms products fit into 128 bits with room
// for a carried-over residue.
constexpr unsigned kMaxModulusBits = 60;
constexpr std::size_t kSumTerms = 128;

// Which baby step each product takes, and where the products of each giant step begin.
struct ProductOrder {
    // Per product: index of the rotated input.
    std::vector<std::uint32_t> baby;
    // First product of each giant step, and at the end the number of products.
    std::vector<std::size_t> giant_start;
    std::size_t babies = 0;

    std::size_t giants() const { return giant_start.size() - 1; }
    std::size_t products() const { return baby.size(); }
};

// Both polynomials of one ciphertext, one modulus: N residues each, in evaluation order.
struct Residues {
    const std::uint64_t *first;
    const std::uint64_t *second;
};
struct MutableResidues {
    std::uint64_t *first;
    std::uint64_t *second;
};

// sums[g] = sum over products t of giant step g: diagonals[t] * babies[order.baby[t]] mod q, for
// the coefficients begin <= i < end (multiples of kLanes).
//
// `diagonals` is [N / kLanes][products][kLanes], every residue below q < 2^kMaxModulusBits, as are
// those of `babies`; `scratch` is resized as needed.
void multiply_accumulate(const ProductOrder &order, std::uint64_t q, const std::uint64_t *diagonals,
                         const std::vector<Residues> &babies,
                         const std::vector<MutableResidues> &sums, std::size_t begin,
                         std::size_t end, std::vector<std::uint64_t> &scratch);

}  // namespace ckks_openfhe

#endif
