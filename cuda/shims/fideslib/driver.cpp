// The one function of the CUDA driver that FIDESlib calls itself, for more than one GPU. Linking
// the driver's library instead would keep the shim from loading where there is no driver, and so
// from saying that there is none.
#include <cuda.h>
#include <dlfcn.h>

extern "C" CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction kernel,
                                             void **parameters, void **extra) {
    static const auto launch = [] {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        void *symbol = driver == nullptr ? nullptr : dlsym(driver, "cuLaunchKernelEx");
        return reinterpret_cast<decltype(&cuLaunchKernelEx)>(symbol);
    }();
    return launch == nullptr ? CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
                             : launch(config, kernel, parameters, extra);
}
