// JSON texts handed to the caller.
#ifndef CKKS_SHIM_COMMON_TEXT_HPP
#define CKKS_SHIM_COMMON_TEXT_HPP

#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "failure.hpp"

namespace shim {

// What ckks_backend_info, _probe and _describe do with their buffer. Names that a driver gives may
// be no UTF-8: such bytes are replaced.
inline void write_text(const nlohmann::json &value, char *buffer, std::size_t capacity,
                       std::size_t *needed) {
    require(needed != nullptr, "needed is null");
    require(buffer != nullptr || capacity == 0, "buffer is null although capacity is not 0");
    const std::string text =
        value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::size_t size = text.size() + 1;
    *needed = size;
    if (buffer == nullptr) {
        return;
    }
    if (capacity < size) {
        bad_argument("the text needs " + std::to_string(size) + " bytes, the buffer has " +
                     std::to_string(capacity));
    }
    std::memcpy(buffer, text.c_str(), size);
}

}  // namespace shim

#endif
