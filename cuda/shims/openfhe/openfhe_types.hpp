// The types of OpenFHE that this shim uses, and its residues as machine words.
#ifndef CKKS_OPENFHE_TYPES_HPP
#define CKKS_OPENFHE_TYPES_HPP

#include <openfhe.h>

#include <cstdint>
#include <map>
#include <type_traits>

namespace ckks_openfhe {

using lbcrypto::DCRTPoly;
using lbcrypto::NativePoly;
using lbcrypto::Plaintext;
using Ciphertext = lbcrypto::Ciphertext<DCRTPoly>;
using CryptoContext = lbcrypto::CryptoContext<DCRTPoly>;
// By automorphism index.
using RotationKeys = std::map<std::uint32_t, lbcrypto::EvalKey<DCRTPoly>>;

static_assert(NATIVEINT == 64, "this shim needs an OpenFHE built with NATIVE_SIZE=64");
static_assert(sizeof(lbcrypto::NativeInteger) == sizeof(std::uint64_t) &&
                  std::is_standard_layout_v<lbcrypto::NativeInteger>,
              "a residue of OpenFHE is one machine word");

// The residues of one polynomial modulo one prime. A standard-layout class starts with its first
// member, here the word itself, and a vector of it is contiguous.
inline const std::uint64_t *words(const NativePoly &poly) {
    return reinterpret_cast<const std::uint64_t *>(&poly.GetValues()[0]);
}
inline std::uint64_t *words(NativePoly &poly) {
    return const_cast<std::uint64_t *>(words(static_cast<const NativePoly &>(poly)));
}

}  // namespace ckks_openfhe

#endif
