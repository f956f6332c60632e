// The JSON object that ckks_backend_open takes.
#ifndef CKKS_SHIM_COMMON_SPEC_HPP
#define CKKS_SHIM_COMMON_SPEC_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "failure.hpp"

namespace shim {

struct Spec {
    std::string params;  // one of the library's presets
    std::string mode;    // one of its modes; empty where it has none
    std::uint32_t device = 0;
    std::uint32_t threads = 1;
    bool bootstrap = false;
};

namespace spec_detail {

// A name out of `known`; the first for null. An empty list knows null only.
inline std::string name_of(const nlohmann::json &value, const char *field,
                           const std::vector<std::string> &known) {
    if (value.is_null()) {
        return known.empty() ? std::string() : known.front();
    }
    if (!value.is_string()) {
        bad_argument(std::string(field) + " must be a string or null");
    }
    const auto &name = value.get_ref<const std::string &>();
    if (std::find(known.begin(), known.end(), name) != known.end()) {
        return name;
    }
    std::string list;
    for (const std::string &candidate : known) {
        list += (list.empty() ? "" : ", ") + candidate;
    }
    bad_argument("unknown " + std::string(field) + " '" + name +
                 "'; known: " + (list.empty() ? "none" : list));
}

inline std::uint32_t integer_of(const nlohmann::json &value, const char *field,
                                std::uint32_t least) {
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least ||
        value.get<std::uint64_t>() > most) {
        bad_argument(std::string(field) + " must be an integer from " + std::to_string(least) +
                     " to " + std::to_string(most));
    }
    return static_cast<std::uint32_t>(value.get<std::uint64_t>());
}

}  // namespace spec_detail

inline Spec parse_spec(const char *text, std::size_t length,
                       const std::vector<std::string> &presets,
                       const std::vector<std::string> &modes) {
    require(text != nullptr, "spec is null");
    const auto json = nlohmann::json::parse(text, text + length, nullptr, false);
    if (!json.is_object()) {
        bad_argument("spec is not a JSON object");
    }
    Spec spec;
    spec.params = spec_detail::name_of(nullptr, "params", presets);
    spec.mode = spec_detail::name_of(nullptr, "mode", modes);
    for (const auto &[field, value] : json.items()) {
        if (field == "params") {
            spec.params = spec_detail::name_of(value, "params", presets);
        } else if (field == "mode") {
            spec.mode = spec_detail::name_of(value, "mode", modes);
        } else if (field == "device") {
            spec.device = spec_detail::integer_of(value, "device", 0);
        } else if (field == "threads") {
            spec.threads = spec_detail::integer_of(value, "threads", 1);
        } else if (field == "bootstrap") {
            if (!value.is_boolean()) {
                bad_argument("bootstrap must be true or false");
            }
            spec.bootstrap = value.get<bool>();
        } else {
            bad_argument("unknown field '" + field + "' in spec");
        }
    }
    return spec;
}

}  // namespace shim

#endif
