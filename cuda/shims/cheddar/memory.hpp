// What Cheddar's memory pool holds.
#ifndef CKKS_SHIM_CHEDDAR_MEMORY_HPP
#define CKKS_SHIM_CHEDDAR_MEMORY_HPP

#include "ckks_backend.h"

namespace shim {

// Memory handed out of the pool, now and at most. Zeros where the pool is not the one that Cheddar
// makes at its pinned commit.
ckks_backend_memory pool_memory();

}  // namespace shim

#endif
