// RMM 22.12, which Cheddar wants, uses thrust::optional. CCCL 3, of CUDA 13, no longer has it: the
// standard library's takes its place. Found only after all other include folders (-idirafter), so
// an older CUDA's own header goes first.
#ifndef CKKS_SHIM_CHEDDAR_COMPAT_THRUST_OPTIONAL_H
#define CKKS_SHIM_CHEDDAR_COMPAT_THRUST_OPTIONAL_H

#include <optional>

namespace thrust {

using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;

}  // namespace thrust

#endif
