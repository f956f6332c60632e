// Checks that count, for the tests of the shims.
#ifndef CKKS_SHIM_TESTS_CHECK_HPP
#define CKKS_SHIM_TESTS_CHECK_HPP

#include <cstdio>
#include <string>

#include "../common/failure.hpp"

namespace check {

struct Counts {
    int passed = 0;
    int failed = 0;
};

inline Counts &counts() {
    static Counts counts;
    return counts;
}

inline void that(bool holds, const std::string &what) {
    if (holds) {
        counts().passed += 1;
    } else {
        counts().failed += 1;
        std::printf("FAILED: %s\n", what.c_str());
    }
}

// A call that must throw with this status, and with this text in its message.
template <typename Body>
void refuses(ckks_backend_status status, const std::string &text, Body &&body) {
    try {
        body();
        that(false, "nothing refused: " + text);
    } catch (const shim::Failure &failure) {
        that(failure.status() == status &&
                 std::string(failure.what()).find(text) != std::string::npos,
             "status " + std::to_string(failure.status()) + ", '" + failure.what() +
                 "' instead of '" + text + "'");
    }
}

// The exit status of a test program.
inline int finish() {
    std::printf("%d passed, %d failed\n", counts().passed, counts().failed);
    return counts().failed == 0 && counts().passed > 0 ? 0 : 1;
}

}  // namespace check

#endif
