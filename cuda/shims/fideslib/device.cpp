#include "device.hpp"

#include <cuda_runtime_api.h>

#include "../common/failure.hpp"

namespace ckks_fideslib {

namespace {

void check(cudaError_t error, const char *after) {
    if (error == cudaSuccess) {
        return;
    }
    const auto status = error == cudaErrorMemoryAllocation ? CKKS_BACKEND_OUT_OF_MEMORY
                        : error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver
                            ? CKKS_BACKEND_NO_DEVICE
                            : CKKS_BACKEND_DEVICE_FAULT;
    throw shim::Failure(status, std::string(after) + ": " + cudaGetErrorName(error) + ": " +
                                    cudaGetErrorString(error));
}

}  // namespace

std::vector<Device> find_devices() {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        const std::string answer =
            error == cudaSuccess ? "it counts 0 devices" : cudaGetErrorString(error);
        cudaGetLastError();  // it is reported, and must not be met again
        throw shim::Failure(CKKS_BACKEND_NO_DEVICE, "the CUDA runtime finds no device: " + answer);
    }
    std::vector<Device> devices;
    for (int i = 0; i < count; i++) {
        cudaDeviceProp properties;
        check(cudaGetDeviceProperties(&properties, i), "asking for a device's properties");
        devices.push_back({properties.name, properties.totalGlobalMem});
    }
    return devices;
}

std::string driver_version() {
    int version = 0;
    check(cudaDriverGetVersion(&version), "asking for the driver's version");
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void check_device(const char *after) { check(cudaGetLastError(), after); }

void finish_device(const char *after) {
    check(cudaDeviceSynchronize(), after);
    check_device(after);
}

void require_memory(std::uint64_t bytes, const char *what) {
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for the free memory");
    // FIDESlib takes memory in pieces of this size.
    constexpr std::uint64_t piece = std::uint64_t{1} << 30;
    if (bytes + piece > free) {
        throw shim::Failure(CKKS_BACKEND_OUT_OF_MEMORY,
                            std::string(what) + " need about " + std::to_string(bytes + piece) +
                                " bytes on the device, and " + std::to_string(free) + " are free");
    }
}

ckks_backend_memory device_memory(int device) {
    cudaMemPool_t pool;
    ckks_backend_memory memory = {0, 0};
    check(cudaDeviceGetDefaultMemPool(&pool, device), "asking for the memory pool");
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &memory.device_bytes),
          "asking for the memory in use");
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &memory.device_peak_bytes),
          "asking for the most memory in use");
    return memory;
}

}  // namespace ckks_fideslib
