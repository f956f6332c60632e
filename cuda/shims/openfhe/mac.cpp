#include "mac.hpp"

#include <algorithm>

namespace ckks_openfhe {

namespace {

__extension__ using Wide = unsigned __int128;

// Reduces 128-bit sums modulo q without a division.
class Reducer {
public:
    explicit Reducer(std::uint64_t q)
        : q_(q),
          word_(static_cast<std::uint64_t>((Wide{1} << 64) % q)),
          word_quotient_(quotient(word_)),
          one_quotient_(quotient(1)) {}

    // value mod q.
    std::uint64_t operator()(Wide value) const {
        const std::uint64_t high =
            times(static_cast<std::uint64_t>(value >> 64), word_, word_quotient_);
        const std::uint64_t low = times(static_cast<std::uint64_t>(value), 1, one_quotient_);
        return below(high + low, 2 * q_, q_);
    }

private:
    // floor(constant * 2^64 / q).
    std::uint64_t quotient(std::uint64_t constant) const {
        return static_cast<std::uint64_t>((Wide{constant} << 64) / q_);
    }

    // value * constant mod q, below 2q, for any 64-bit value (Shoup's method).
    std::uint64_t times(std::uint64_t value, std::uint64_t constant,
                        std::uint64_t constant_quotient) const {
        const auto multiple = static_cast<std::uint64_t>((Wide{value} * constant_quotient) >> 64);
        return value * constant - multiple * q_;
    }

    // From [0, 4q) to [0, q).
    static std::uint64_t below(std::uint64_t value, std::uint64_t twice, std::uint64_t q) {
        value = std::min(value, value - twice);
        return std::min(value, value - q);
    }

    std::uint64_t q_;
    std::uint64_t word_;
    std::uint64_t word_quotient_;
    std::uint64_t one_quotient_;
};

// One giant step, two neighbouring coefficients: four sums that do not wait for each other.
void sum_pair(const std::uint64_t *diagonals, const std::uint64_t *babies,
              const std::uint32_t *baby, std::size_t products, const Reducer &reduce,
              std::uint64_t *first, std::uint64_t *second) {
    Wide sums[4] = {0, 0, 0, 0};
    for (std::size_t start = 0; start < products; start += kSumTerms) {
        const std::size_t end = std::min(start + kSumTerms, products);
        for (std::size_t t = start; t < end; t++) {
            const std::uint64_t *diagonal = diagonals + t * kLanes;
            const std::uint64_t *input = babies + std::size_t{baby[t]} * 2 * kLanes;
            sums[0] += Wide{diagonal[0]} * input[0];
            sums[1] += Wide{diagonal[1]} * input[1];
            sums[2] += Wide{diagonal[0]} * input[kLanes];
            sums[3] += Wide{diagonal[1]} * input[kLanes + 1];
        }
        for (Wide &sum : sums) {
            sum = reduce(sum);
        }
    }
    first[0] = static_cast<std::uint64_t>(sums[0]);
    first[1] = static_cast<std::uint64_t>(sums[1]);
    second[0] = static_cast<std::uint64_t>(sums[2]);
    second[1] = static_cast<std::uint64_t>(sums[3]);
}

}  // namespace

void multiply_accumulate(const ProductOrder &order, std::uint64_t q, const std::uint64_t *diagonals,
                         const std::vector<Residues> &babies,
                         const std::vector<MutableResidues> &sums, std::size_t begin,
                         std::size_t end, std::vector<std::uint64_t> &scratch) {
    const Reducer reduce(q);
    scratch.resize(order.babies * 2 * kLanes);
    for (std::size_t i = begin; i < end; i += kLanes) {
        // One cache line of each rotated input, so that all giant steps find them in the cache.
        for (std::size_t b = 0; b < order.babies; b++) {
            std::copy_n(babies[b].first + i, kLanes, &scratch[b * 2 * kLanes]);
            std::copy_n(babies[b].second + i, kLanes, &scratch[(b * 2 + 1) * kLanes]);
        }
        const std::uint64_t *row = diagonals + i * order.products();
        for (std::size_t g = 0; g < order.giants(); g++) {
            const std::size_t start = order.giant_start[g];
            const std::size_t products = order.giant_start[g + 1] - start;
            for (std::size_t lane = 0; lane < kLanes; lane += 2) {
                sum_pair(row + start * kLanes + lane, &scratch[lane], &order.baby[start], products,
                         reduce, sums[g].first + i + lane, sums[g].second + i + lane);
            }
        }
    }
}

}  // namespace ckks_openfhe
