// libckks_backend_openfhe.so: OpenFHE on the CPU.
#include <sys/sysinfo.h>

#include <cstdint>

#include "../common/exports.hpp"
#include "presets.hpp"
#include "session.hpp"

namespace shim {

namespace {

// OpenFHE's headers take their version from the compiler's command line.
std::string version() {
    const std::string given = GetOPENFHEVersion();
    return given == "BASE_OPENFHE_VERSION" ? "unknown" : given;
}

}  // namespace

const std::vector<std::string> &presets() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const auto &preset : ckks_openfhe::kPresets) {
            list.emplace_back(preset.name);
        }
        return list;
    }();
    return names;
}

const std::vector<std::string> &modes() {
    static const std::vector<std::string> names = {"fused", "textbook"};
    return names;
}

nlohmann::json info() {
    return {
        {"name", "openfhe"},
        {"version", version()},
        {"commit", "1306d14f8c26bb6150d3e6ad54f28dfe1007689e"},
        {"presets", presets()},
        {"modes", modes()},
    };
}

nlohmann::json probe() {
    struct sysinfo memory = {};
    sysinfo(&memory);
    const nlohmann::json cpu = {{"name", "cpu"},
                                {"memory_bytes", std::uint64_t{memory.totalram} * memory.mem_unit}};
    return {{"devices", nlohmann::json::array({cpu})}, {"driver", ""}};
}

std::unique_ptr<Context> open(const Spec &spec) {
    require(spec.device == 0, "the only device is 0, the CPU");
    if (spec.bootstrap) {
        unsupported("these parameters are too small to bootstrap");
    }
    const auto mode =
        spec.mode == modes().front() ? ckks_openfhe::Mode::fused : ckks_openfhe::Mode::textbook;
    for (const auto &preset : ckks_openfhe::kPresets) {
        if (spec.params == preset.name) {
            return std::make_unique<ckks_openfhe::Session>(preset, mode, spec.threads);
        }
    }
    bad_argument("unknown params '" + spec.params + "'");
}

}  // namespace shim
