#include "memory.hpp"

#include <cstdint>

#include <cuda_runtime_api.h>
#include <rmm/mr/device/binning_memory_resource.hpp>
#include <rmm/mr/device/cuda_async_memory_resource.hpp>
#include <rmm/mr/device/per_device_resource.hpp>

namespace shim {
namespace {

std::uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr which) {
    std::uint64_t bytes = 0;
    return cudaMemPoolGetAttribute(pool, which, &bytes) == cudaSuccess ? bytes : 0;
}

}  // namespace

ckks_backend_memory pool_memory() {
    using Pool = rmm::mr::cuda_async_memory_resource;
    const auto *bins = dynamic_cast<rmm::mr::binning_memory_resource<Pool> *>(
        rmm::mr::get_current_device_resource());
    if (bins == nullptr) {
        return {0, 0};
    }
    const cudaMemPool_t pool = bins->get_upstream()->pool_handle();
    return {attribute(pool, cudaMemPoolAttrUsedMemCurrent),
            attribute(pool, cudaMemPoolAttrUsedMemHigh)};
}

}  // namespace shim
