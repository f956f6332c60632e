// CUDA devices, asked for through the CUDA runtime only: FIDESlib ends the process where there is
// none.
#ifndef CKKS_FIDESLIB_DEVICE_HPP
#define CKKS_FIDESLIB_DEVICE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "ckks_backend.h"

namespace ckks_fideslib {

struct Device {
    std::string name;
    std::uint64_t memory_bytes;
};

// At least one; fails with NO_DEVICE otherwise.
std::vector<Device> find_devices();
std::string driver_version();

// Fails where the runtime has an error pending.
void check_device(const char *after);
// Waits for all work first.
void finish_device(const char *after);
// Fails with OUT_OF_MEMORY where `bytes` more would not fit: FIDESlib does not check its
// allocations.
void require_memory(std::uint64_t bytes, const char *what);
ckks_backend_memory device_memory(int device);

}  // namespace ckks_fideslib

#endif
