// The parameter sets that open knows.
#ifndef CKKS_FIDESLIB_PRESETS_HPP
#define CKKS_FIDESLIB_PRESETS_HPP

#include <cstdint>

namespace ckks_fideslib {

struct Preset {
    const char *name;
    std::uint32_t ring_degree;
    // Of evaluation, after a bootstrap where there is one.
    std::uint32_t depth;
    std::uint32_t first_modulus_bits;
    std::uint32_t scale_bits;
    // Parts that a key switch decomposes into; 0 leaves it to OpenFHE.
    std::uint32_t digits;
    bool bootstraps;
};

// The device's tables have room for this many moduli, those of key switching among them, and
// nothing checks it.
constexpr std::size_t kMostModuli = 64;

// The first is that of the published experiment: log2(QP) = 260 of at most 430 by the 2024
// guidelines. The second is for bootstrapping only, at the largest scale that OpenFHE has, since
// smaller ones were not precise enough: log2(QP) = 1658 of at most 1747.
constexpr Preset kPresets[] = {
    {"fideslib-16384-depth2", 16384, 2, 60, 40, 0, false},
    {"fideslib-65536-bootstrap", 65536, 2, 60, 59, 5, true},
};

}  // namespace ckks_fideslib

#endif
