// The CUDA device, asked before anything of Cheddar is touched, and its error state.
#ifndef CKKS_SHIM_CHEDDAR_DEVICE_HPP
#define CKKS_SHIM_CHEDDAR_DEVICE_HPP

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <rmm/detail/error.hpp>

#include "../common/failure.hpp"

namespace shim {

struct Device {
    std::string name;
    std::uint64_t memory_bytes;
};

// "CUDA 13.0": the newest version that the installed driver knows.
std::string driver_version();
// Fails with CKKS_BACKEND_NO_DEVICE where there is none.
std::vector<Device> find_devices();
// Makes a device that find_devices has listed the current one.
void select_device(std::uint32_t index);

enum class Wait { no, yes };

// Throws what the device has reported since the last call, after waiting for it where asked to.
// Cheddar never asks itself.
void check_device(Wait wait);

// Runs a call into Cheddar and asks the device afterwards.
template <typename Body>
auto on_device(Wait wait, Body &&body) {
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            check_device(wait);
        } else {
            auto result = body();
            check_device(wait);
            return result;
        }
    } catch (const rmm::cuda_error &error) {
        throw Failure(CKKS_BACKEND_DEVICE_FAULT, error.what());
    }
}

}  // namespace shim

#endif
