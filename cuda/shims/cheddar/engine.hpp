// Cheddar behind shim::Context.
#ifndef CKKS_SHIM_CHEDDAR_ENGINE_HPP
#define CKKS_SHIM_CHEDDAR_ENGINE_HPP

#include <memory>

#include "../common/library.hpp"
#include "device.hpp"
#include "presets.hpp"
#include "transforms.hpp"

namespace shim {

// Makes a context on the current device. `word` is std::uint32_t or std::uint64_t.
template <typename word>
std::unique_ptr<Context> open_engine(const Preset &preset, Mode mode, bool bootstrap,
                                     const Device &device);

}  // namespace shim

#endif
