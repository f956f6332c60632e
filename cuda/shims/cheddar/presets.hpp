// Parameter sets that this shim opens.
#ifndef CKKS_SHIM_CHEDDAR_PRESETS_HPP
#define CKKS_SHIM_CHEDDAR_PRESETS_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shim {

// A modulus chain. Rescaling from level l to l - 1 may drop primes of one kind and bring back some
// of the other, so each level states how many of both it has.
struct Chain {
    // Bits of the words that residues are kept in, 32 or 64.
    int word_bits;
    int log_degree;
    int log_base_scale;
    int default_encryption_level;
    std::vector<std::pair<int, int>> levels;  // main primes, terminal primes
    std::vector<std::uint64_t> main_primes;
    std::vector<std::uint64_t> terminal_primes;
    std::vector<std::uint64_t> auxiliary_primes;  // of key switching
    int dense_weight;                             // non-zero coefficients of the secret
    int sparse_weight;                            // of the one that bootstrapping goes through
    int coefficients_to_slots_levels;
    int slots_to_coefficients_levels;
};

struct Preset {
    std::string name;
    const Chain *chain;
    // Level of the inputs; answers come one below.
    int level;
};

// The first is the default.
const std::vector<Preset> &preset_list();
// Null where there is none of that name.
const Preset *find_preset(const std::string &name);

}  // namespace shim

#endif
