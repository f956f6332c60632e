// libckks_backend_fideslib.so: FIDESlib, OpenFHE's CKKS on CUDA devices.
#include <cstdint>

#include "../common/exports.hpp"
#include "device.hpp"
#include "presets.hpp"
#include "session.hpp"

namespace shim {

const std::vector<std::string> &presets() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const auto &preset : ckks_fideslib::kPresets) {
            list.emplace_back(preset.name);
        }
        return list;
    }();
    return names;
}

const std::vector<std::string> &modes() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const auto &mode : ckks_fideslib::kModes) {
            list.emplace_back(mode.name);
        }
        return list;
    }();
    return names;
}

nlohmann::json info() {
    return {
        {"name", "fideslib"},
        // Its README's; the library does not report one.
        {"version", "2.1.3"},
        {"commit", "80f04b473554d3bd1a725d27de357a9647294fb3"},
        {"presets", presets()},
        {"modes", modes()},
    };
}

nlohmann::json probe() {
    nlohmann::json devices = nlohmann::json::array();
    for (const auto &device : ckks_fideslib::find_devices()) {
        devices.push_back({{"name", device.name}, {"memory_bytes", device.memory_bytes}});
    }
    return {{"devices", devices}, {"driver", ckks_fideslib::driver_version()}};
}

std::unique_ptr<Context> open(const Spec &spec) {
    const auto devices = ckks_fideslib::find_devices();
    if (spec.device >= devices.size()) {
        bad_argument("device " + std::to_string(spec.device) + ", and there are " +
                     std::to_string(devices.size()));
    }
    for (const auto &preset : ckks_fideslib::kPresets) {
        for (const auto &mode : ckks_fideslib::kModes) {
            if (spec.params != preset.name || spec.mode != mode.name) {
                continue;
            }
            if (spec.bootstrap != preset.bootstraps) {
                unsupported(spec.params + (preset.bootstraps ? " is for bootstrapping only"
                                                             : " is too small to bootstrap"));
            }
            return std::make_unique<ckks_fideslib::Session>(
                preset, mode, static_cast<int>(spec.device), devices[spec.device].name);
        }
    }
    bad_argument("unknown params or mode");
}

}  // namespace shim
