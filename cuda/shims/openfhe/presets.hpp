// The parameter sets that open knows.
#ifndef CKKS_OPENFHE_PRESETS_HPP
#define CKKS_OPENFHE_PRESETS_HPP

#include <cstdint>

namespace ckks_openfhe {

struct Preset {
    const char *name;
    std::uint32_t ring_degree;
    std::uint32_t first_modulus_bits;
    std::uint32_t scale_bits;
};

// One multiplication deep: products are divided by the last modulus, of the size of the scale.
// The 2024 guidelines allow log2(QP) up to 214 at N = 8192 for a uniform ternary secret and 128
// bits against classical attacks. Key switching takes one more modulus of 60 bits: 160 in all.
constexpr Preset kPresets[] = {
    {"openfhe-8192-depth1", 8192, 60, 40},
};

}  // namespace ckks_openfhe

#endif
