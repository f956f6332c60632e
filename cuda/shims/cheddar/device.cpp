#include "device.hpp"

#include <cuda_runtime_api.h>

namespace shim {
namespace {

std::string message_of(const char *call, cudaError_t error) {
    return std::string(call) + ": " + cudaGetErrorName(error) + " (" + cudaGetErrorString(error) +
           ")";
}

ckks_backend_status status_of(cudaError_t error) {
    switch (error) {
        case cudaErrorNoDevice:
        case cudaErrorInsufficientDriver:
        case cudaErrorInvalidDevice:
            return CKKS_BACKEND_NO_DEVICE;
        case cudaErrorMemoryAllocation:
            return CKKS_BACKEND_OUT_OF_MEMORY;
        default:
            return CKKS_BACKEND_DEVICE_FAULT;
    }
}

void check(const char *call, cudaError_t error) {
    if (error != cudaSuccess) {
        throw Failure(status_of(error), message_of(call, error));
    }
}

}  // namespace

std::string driver_version() {
    int version = 0;
    check("cudaDriverGetVersion", cudaDriverGetVersion(&version));
    return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::vector<Device> find_devices() {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    // Whatever keeps the runtime from counting devices, there is none to use.
    if (error != cudaSuccess) {
        throw Failure(CKKS_BACKEND_NO_DEVICE, message_of("cudaGetDeviceCount", error));
    }
    if (count == 0) {
        throw Failure(CKKS_BACKEND_NO_DEVICE, "cudaGetDeviceCount: 0 devices");
    }
    std::vector<Device> devices;
    for (int index = 0; index < count; ++index) {
        cudaDeviceProp properties{};
        check("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, index));
        devices.push_back({properties.name, properties.totalGlobalMem});
    }
    return devices;
}

void select_device(std::uint32_t index) {
    const auto count = find_devices().size();
    if (index >= count) {
        bad_argument("device " + std::to_string(index) + " of " + std::to_string(count));
    }
    check("cudaSetDevice", cudaSetDevice(static_cast<int>(index)));
}

void check_device(Wait wait) {
    check("CUDA", cudaGetLastError());
    if (wait == Wait::yes) {
        check("cudaDeviceSynchronize", cudaDeviceSynchronize());
    }
}

}  // namespace shim
