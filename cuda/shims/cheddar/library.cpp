// libckks_backend_cheddar.so: Cheddar, a CKKS library for CUDA devices.
#include <cstdint>

#include "../common/exports.hpp"
#include "device.hpp"
#include "engine.hpp"
#include "presets.hpp"
#include "transforms.hpp"

namespace shim {

nlohmann::json info() {
    return {
        {"name", "cheddar"},
        // Its README's; the library does not report one.
        {"version", "1.0"},
        {"commit", "8df8b26ce5411a68b68f0e7c2fb7e9a2f05f3e94"},
        {"presets", presets()},
        {"modes", modes()},
    };
}

nlohmann::json probe() {
    nlohmann::json devices = nlohmann::json::array();
    for (const Device &device : find_devices()) {
        devices.push_back({{"name", device.name}, {"memory_bytes", device.memory_bytes}});
    }
    return {{"devices", devices}, {"driver", driver_version()}};
}

const std::vector<std::string> &presets() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const Preset &preset : preset_list()) {
            list.push_back(preset.name);
        }
        return list;
    }();
    return names;
}

const std::vector<std::string> &modes() { return mode_names(); }

std::unique_ptr<Context> open(const Spec &spec) {
    const Mode mode = mode_of(spec.mode);
    if (spec.bootstrap && mode == Mode::no_bsgs) {
        unsupported("mode no-bsgs has no bootstrapping; take min-ks or fused");
    }
    const Preset &preset = *find_preset(spec.params);
    select_device(spec.device);
    const Device device = find_devices()[spec.device];
    return preset.chain->word_bits == 32
               ? open_engine<std::uint32_t>(preset, mode, spec.bootstrap, device)
               : open_engine<std::uint64_t>(preset, mode, spec.bootstrap, device);
}

}  // namespace shim
