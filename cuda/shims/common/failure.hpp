// Failures of a shim and the barrier that keeps exceptions inside it.
#ifndef CKKS_SHIM_COMMON_FAILURE_HPP
#define CKKS_SHIM_COMMON_FAILURE_HPP

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "ckks_backend.h"

namespace shim {

// An error with the status that the caller gets.
class Failure : public std::runtime_error {
public:
    Failure(ckks_backend_status status, const std::string &message)
        : std::runtime_error(message), status_(status) {}

    ckks_backend_status status() const noexcept { return status_; }

private:
    ckks_backend_status status_;
};

[[noreturn]] inline void bad_argument(const std::string &message) {
    throw Failure(CKKS_BACKEND_BAD_ARGUMENT, message);
}

[[noreturn]] inline void unsupported(const std::string &message) {
    throw Failure(CKKS_BACKEND_UNSUPPORTED, message);
}

inline void require(bool holds, const char *otherwise) {
    if (!holds) {
        bad_argument(otherwise);
    }
}

// The message of the last call that failed.
inline std::string &last_error() noexcept {
    static std::string message;
    return message;
}

// Keeping the message may itself run out of memory; the status still reaches the caller.
inline ckks_backend_status failed(ckks_backend_status status, const char *message) noexcept {
    try {
        last_error() = message;
    } catch (...) {
        last_error().clear();
    }
    return status;
}

// Runs `body` and turns whatever it throws into a status and a message.
template <typename Body>
ckks_backend_status guard(Body &&body) noexcept {
    try {
        body();
        return CKKS_BACKEND_OK;
    } catch (const Failure &failure) {
        return failed(failure.status(), failure.what());
    } catch (const std::bad_alloc &error) {
        return failed(CKKS_BACKEND_OUT_OF_MEMORY, error.what());
    } catch (const std::exception &error) {
        return failed(CKKS_BACKEND_LIBRARY_ERROR, error.what());
    } catch (...) {
        return failed(CKKS_BACKEND_INTERNAL, "an exception of unknown type");
    }
}

}  // namespace shim

#endif
