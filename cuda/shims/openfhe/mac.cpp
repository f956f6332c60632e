#include "mac.hpp"

#include <algorithm>
#ifdef __AVX2__
#include <immintrin.h>
#endif

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

#ifdef __AVX2__

// Four coefficients of both polynomials at a time. AVX2 multiplies 32-bit integers only, so
// residues are taken as two halves of 30 bits, and the four products of halves are summed apart.
constexpr int kHalfBits = 30;
constexpr std::size_t kVector = 4;
// Per baby step: lower and upper halves of the first polynomial, then of the second.
constexpr std::size_t kBabyWords = 4 * kLanes;
// Products after which sums are carried over: 16 products of halves, what the last carry left
// (2^30) and what it added (2^34) stay below 2^64.
constexpr std::size_t kCarryTerms = 8;

void stage_baby(const Residues &from, std::size_t i, std::uint64_t *to) {
    constexpr std::uint64_t mask = (std::uint64_t{1} << kHalfBits) - 1;
    for (const std::uint64_t *words : {from.first, from.second}) {
        for (std::size_t lane = 0; lane < kLanes; lane++) {
            to[lane] = words[i + lane] & mask;
            to[kLanes + lane] = words[i + lane] >> kHalfBits;
        }
        to += 2 * kLanes;
    }
}

// low + middle * 2^30 + high * 2^60 + top * 2^90.
struct VectorSum {
    __m256i low = _mm256_setzero_si256();
    __m256i middle = _mm256_setzero_si256();
    __m256i high = _mm256_setzero_si256();
    __m256i top = _mm256_setzero_si256();

    void add(__m256i lower, __m256i upper, const std::uint64_t *baby) {
        const __m256i baby_lower = load(baby);
        const __m256i baby_upper = load(baby + kLanes);
        low = _mm256_add_epi64(low, _mm256_mul_epu32(lower, baby_lower));
        middle = _mm256_add_epi64(middle, _mm256_mul_epu32(lower, baby_upper));
        middle = _mm256_add_epi64(middle, _mm256_mul_epu32(upper, baby_lower));
        high = _mm256_add_epi64(high, _mm256_mul_epu32(upper, baby_upper));
    }

    void carry(__m256i mask) {
        high = _mm256_add_epi64(high, _mm256_srli_epi64(middle, kHalfBits));
        middle =
            _mm256_add_epi64(_mm256_and_si256(middle, mask), _mm256_srli_epi64(low, kHalfBits));
        low = _mm256_and_si256(low, mask);
        top = _mm256_add_epi64(top, _mm256_srli_epi64(high, kHalfBits));
        high = _mm256_and_si256(high, mask);
    }

    // Leaves the sums reduced modulo q, in `low` and in `to`.
    void reduce(const Reducer &reduce, std::uint64_t *to) {
        std::uint64_t words[4][kVector];
        store(words[0], low);
        store(words[1], middle);
        store(words[2], high);
        store(words[3], top);
        for (std::size_t lane = 0; lane < kVector; lane++) {
            to[lane] = reduce(Wide{words[0][lane]} + (Wide{words[1][lane]} << kHalfBits) +
                              (Wide{words[2][lane]} << (2 * kHalfBits)) +
                              (Wide{words[3][lane]} << (3 * kHalfBits)));
        }
        *this = VectorSum();
        low = load(to);
    }

    static __m256i load(const std::uint64_t *words) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(words));
    }
    static void store(std::uint64_t *words, __m256i vector) {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(words), vector);
    }
};

// One giant step, kVector neighbouring coefficients.
void sum_lanes(const std::uint64_t *diagonals, const std::uint64_t *babies,
               const std::uint32_t *baby, std::size_t products, const Reducer &reducer,
               std::uint64_t *first, std::uint64_t *second) {
    const __m256i mask = _mm256_set1_epi64x((std::int64_t{1} << kHalfBits) - 1);
    VectorSum sums[2];
    for (std::size_t t = 0; t < products;) {
        const std::size_t reduced = std::min(t + kSumTerms, products);
        while (t < reduced) {
            const std::size_t carried = std::min(t + kCarryTerms, reduced);
            for (; t < carried; t++) {
                const __m256i diagonal = VectorSum::load(diagonals + t * kLanes);
                const __m256i lower = _mm256_and_si256(diagonal, mask);
                const __m256i upper = _mm256_srli_epi64(diagonal, kHalfBits);
                const std::uint64_t *input = babies + std::size_t{baby[t]} * kBabyWords;
                sums[0].add(lower, upper, input);
                sums[1].add(lower, upper, input + 2 * kLanes);
            }
            sums[0].carry(mask);
            sums[1].carry(mask);
        }
        sums[0].reduce(reducer, first);
        sums[1].reduce(reducer, second);
    }
}

#else

constexpr std::size_t kVector = 2;
// Per baby step: the first polynomial, then the second.
constexpr std::size_t kBabyWords = 2 * kLanes;

void stage_baby(const Residues &from, std::size_t i, std::uint64_t *to) {
    std::copy_n(from.first + i, kLanes, to);
    std::copy_n(from.second + i, kLanes, to + kLanes);
}

// One giant step, two neighbouring coefficients: four sums that do not wait for each other.
void sum_lanes(const std::uint64_t *diagonals, const std::uint64_t *babies,
               const std::uint32_t *baby, std::size_t products, const Reducer &reduce,
               std::uint64_t *first, std::uint64_t *second) {
    Wide sums[4] = {0, 0, 0, 0};
    for (std::size_t start = 0; start < products; start += kSumTerms) {
        const std::size_t end = std::min(start + kSumTerms, products);
        for (std::size_t t = start; t < end; t++) {
            const std::uint64_t *diagonal = diagonals + t * kLanes;
            const std::uint64_t *input = babies + std::size_t{baby[t]} * kBabyWords;
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

#endif

}  // namespace

void multiply_accumulate(const ProductOrder &order, std::uint64_t q, const std::uint64_t *diagonals,
                         const std::vector<Residues> &babies,
                         const std::vector<MutableResidues> &sums, std::size_t begin,
                         std::size_t end, std::vector<std::uint64_t> &scratch) {
    const Reducer reduce(q);
    scratch.resize(order.babies * kBabyWords);
    for (std::size_t i = begin; i < end; i += kLanes) {
        // One cache line of each rotated input, so that all giant steps find them in the cache.
        for (std::size_t b = 0; b < order.babies; b++) {
            stage_baby(babies[b], i, &scratch[b * kBabyWords]);
        }
        const std::uint64_t *row = diagonals + i * order.products();
        for (std::size_t g = 0; g < order.giants(); g++) {
            const std::size_t start = order.giant_start[g];
            const std::size_t products = order.giant_start[g + 1] - start;
            for (std::size_t lane = 0; lane < kLanes; lane += kVector) {
                sum_lanes(row + start * kLanes + lane, &scratch[lane], &order.baby[start], products,
                          reduce, sums[g].first + i + lane, sums[g].second + i + lane);
            }
        }
    }
}

}  // namespace ckks_openfhe
