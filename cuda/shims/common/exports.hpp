// The functions of ckks_backend.h on top of library.hpp. Include it in one source file of a shim.
#ifndef CKKS_SHIM_COMMON_EXPORTS_HPP
#define CKKS_SHIM_COMMON_EXPORTS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ckks_backend.h"
#include "failure.hpp"
#include "library.hpp"
#include "text.hpp"

// A context and how far its calls have come.
struct ckks_backend_context {
    std::unique_ptr<shim::Context> library;
    bool bootstrap = false;
    // Why the context must not be used any more; empty while it may.
    std::string broken;

    bool has_keys = false;
    std::set<std::uint32_t> key_steps;

    enum class Layer { none, diagonals, ready } layer = Layer::none;
    std::uint32_t inputs = 1;
    std::uint32_t outputs = 1;
    std::uint64_t diagonals = 0;
    std::uint64_t next_diagonal = 0;

    std::size_t batch = 0;  // ciphertexts of the inputs; 0 for none
    enum class Answers { none, evaluated, ready } answers = Answers::none;
};

namespace shim {
namespace exports {

// A process opens one context in its life.
inline bool &opened() noexcept {
    static bool value = false;
    return value;
}

// Guards a call on a context, and remembers a failure after which it must not be used.
template <typename Body>
ckks_backend_status on(ckks_backend_context *context, Body &&body) noexcept {
    const ckks_backend_status status = guard([&] {
        require(context != nullptr, "context is null");
        if (!context->broken.empty()) {
            bad_argument("the context must not be used after: " + context->broken);
        }
        body(*context);
    });
    if (status != CKKS_BACKEND_OK && status != CKKS_BACKEND_BAD_ARGUMENT &&
        status != CKKS_BACKEND_UNSUPPORTED) {
        guard([&] { context->broken = last_error().empty() ? "a failure" : last_error(); });
    }
    return status;
}

inline void require_count(const char *what, std::size_t given, std::size_t wanted) {
    if (given != wanted) {
        bad_argument(std::string(what) + ": " + std::to_string(given) + " values given, " +
                     std::to_string(wanted) + " wanted");
    }
}

inline void require_finite(const double *values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (!std::isfinite(values[i])) {
            bad_argument("value " + std::to_string(i) + " is " +
                         (std::isnan(values[i]) ? "NaN" : "infinite"));
        }
    }
}

inline std::vector<std::uint32_t> check_steps(const std::int64_t *steps, std::size_t count,
                                              std::size_t slots) {
    require(steps != nullptr || count == 0, "steps is null");
    std::vector<std::uint32_t> checked;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (steps[i] <= before || static_cast<std::uint64_t>(steps[i]) >= slots) {
            bad_argument("step " + std::to_string(i) + " is " + std::to_string(steps[i]) +
                         "; steps ascend, from 1 to " + std::to_string(slots - 1));
        }
        before = steps[i];
        checked.push_back(static_cast<std::uint32_t>(steps[i]));
    }
    return checked;
}

inline void require_keys(const ckks_backend_context &context, const Program &program) {
    for (const std::uint32_t step : context.library->steps_needed(program)) {
        if (context.key_steps.count(step) == 0) {
            bad_argument("no key for step " + std::to_string(step) +
                         ", which the program rotates by");
        }
    }
}

inline std::size_t slot_doubles(const ckks_backend_context &context) {
    return context.library->slots() * context.library->slot_width();
}

inline std::size_t answer_count(const ckks_backend_context &context) {
    return context.batch / context.inputs * context.outputs;
}

}  // namespace exports
}  // namespace shim

extern "C" {

uint32_t ckks_backend_abi_version(void) { return CKKS_BACKEND_ABI_VERSION; }

ckks_backend_status ckks_backend_info(char *buffer, size_t capacity, size_t *needed) {
    return shim::guard([&] { shim::write_text(shim::info(), buffer, capacity, needed); });
}

ckks_backend_status ckks_backend_probe(char *buffer, size_t capacity, size_t *needed) {
    return shim::guard([&] { shim::write_text(shim::probe(), buffer, capacity, needed); });
}

ckks_backend_status ckks_backend_open(const char *spec, size_t spec_length,
                                      ckks_backend_context **context) {
    return shim::guard([&] {
        shim::require(context != nullptr, "context is null");
        shim::require(!shim::exports::opened(), "a process opens one context in its life");
        const auto parsed =
            shim::parse_spec(spec, spec_length, shim::presets(), shim::modes());
        auto opened = std::make_unique<ckks_backend_context>();
        opened->library = shim::open(parsed);
        opened->bootstrap = parsed.bootstrap;
        shim::exports::opened() = true;
        *context = opened.release();
    });
}

ckks_backend_status ckks_backend_describe(ckks_backend_context *context, char *buffer,
                                          size_t capacity, size_t *needed) {
    return shim::exports::on(context, [&](ckks_backend_context &c) {
        shim::write_text(c.library->describe(), buffer, capacity, needed);
    });
}

ckks_backend_status ckks_backend_keys(ckks_backend_context *context, const int64_t *steps,
                                      size_t count, ckks_backend_key_report *report) {
    return shim::exports::on(context, [&](ckks_backend_context &c) {
        shim::require(report != nullptr, "report is null");
        shim::require(!c.has_keys, "keys are made once");
        const auto checked = shim::exports::check_steps(steps, count, c.library->slots());
        std::set<std::uint32_t> key_steps(checked.begin(), checked.end());
        const auto made = c.library->keys(checked);
        c.key_steps = std::move(key_steps);
        c.has_keys = true;
        *report = made;
    });
}

ckks_backend_status ckks_backend_prepare_begin(ckks_backend_context *context,
                                               const ckks_backend_program *program) {
    using Context = ckks_backend_context;
    return shim::exports::on(context, [&](Context &c) {
        shim::require(c.has_keys, "keys come before a layer");
        shim::require(!c.bootstrap, "a context for bootstrapping takes no layer");
        auto checked = shim::check_program(program, c.library->slots());
        shim::exports::require_keys(c, checked);
        const auto inputs = checked.inputs;
        const auto outputs = checked.outputs;
        const auto diagonals = checked.terms.size();
        c.library->prepare_begin(std::move(checked));
        c.inputs = inputs;
        c.outputs = outputs;
        c.diagonals = diagonals;
        c.next_diagonal = 0;
        c.layer = Context::Layer::diagonals;
        c.batch = 0;
        c.answers = Context::Answers::none;
    });
}

ckks_backend_status ckks_backend_prepare_diagonal(ckks_backend_context *context,
                                                  uint64_t diagonal, const double *values,
                                                  size_t count) {
    using Context = ckks_backend_context;
    return shim::exports::on(context, [&](Context &c) {
        shim::require(c.layer == Context::Layer::diagonals, "no layer has been started");
        shim::require(c.next_diagonal < c.diagonals, "all diagonals have come");
        if (diagonal != c.next_diagonal) {
            shim::bad_argument("diagonal " + std::to_string(diagonal) + " instead of " +
                               std::to_string(c.next_diagonal));
        }
        shim::require(values != nullptr, "values is null");
        shim::exports::require_count("diagonal", count, shim::exports::slot_doubles(c));
        shim::exports::require_finite(values, count);
        c.library->prepare_diagonal(diagonal, values);
        c.next_diagonal += 1;
    });
}

ckks_backend_status ckks_backend_prepare_end(ckks_backend_context *context,
                                             ckks_backend_prepare_report *report) {
    using Context = ckks_backend_context;
    return shim::exports::on(context, [&](Context &c) {
        shim::require(report != nullptr, "report is null");
        shim::require(c.layer == Context::Layer::diagonals, "no layer has been started");
        if (c.next_diagonal != c.diagonals) {
            shim::bad_argument("diagonal " + std::to_string(c.next_diagonal) + " of " +
                               std::to_string(c.diagonals) + " has not come");
        }
        const auto made = c.library->prepare_end();
        c.layer = Context::Layer::ready;
        *report = made;
    });
}

ckks_backend_status ckks_backend_encrypt(ckks_backend_context *context, const double *values,
                                         size_t count, size_t ciphertexts,
                                         ckks_backend_transfer *report) {
    using Context = ckks_backend_context;
    return shim::exports::on(context, [&](Context &c) {
        shim::require(report != nullptr, "report is null");
        shim::require(values != nullptr, "values is null");
        shim::require(c.bootstrap ? c.has_keys : c.layer == Context::Layer::ready,
                      c.bootstrap ? "keys come before a batch" : "a layer comes before a batch");
        shim::require(ciphertexts > 0 && ciphertexts % c.inputs == 0,
                      "ciphertexts must be a positive multiple of the layer's inputs");
        const std::size_t width = shim::exports::slot_doubles(c);
        shim::require(ciphertexts <= count, "more ciphertexts than values");
        // count / width rather than a product, which could overflow.
        shim::require(count % width == 0 && count / width == ciphertexts,
                      "count is not the doubles of all ciphertexts");
        shim::exports::require_finite(values, count);
        const auto sent = c.library->encrypt(values, ciphertexts);
        c.batch = ciphertexts;
        c.answers = Context::Answers::none;
        *report = sent;
    });
}

ckks_backend_status ckks_backend_evaluate(ckks_backend_context *context) {
    using Context = ckks_backend_context;
    return shim::exports::on(context, [&](Context &c) {
        shim::require(!c.bootstrap, "a context for bootstrapping has no layer to evaluate");
        shim::require(c.batch > 0, "a batch comes before evaluation");
        c.library->evaluate();
        c.answers = Context::Answers::evaluated;
    });
}

ckks_backend_status ckks_backend_rescale(ckks_backend_context *context) {
    using Context = ckks_backend_context;
    return shim::exports::on(context, [&](Context &c) {
        shim::require(c.answers == Context::Answers::evaluated, "nothing evaluated to rescale");
        c.library->rescale();
        c.answers = Context::Answers::ready;
    });
}

ckks_backend_status ckks_backend_bootstrap(ckks_backend_context *context) {
    using Context = ckks_backend_context;
    return shim::exports::on(context, [&](Context &c) {
        shim::require(c.bootstrap, "the context was not opened for bootstrapping");
        shim::require(c.batch > 0, "a batch comes before bootstrapping");
        c.library->bootstrap();
        c.answers = Context::Answers::ready;
    });
}

ckks_backend_status ckks_backend_synchronise(ckks_backend_context *context) {
    return shim::exports::on(context,
                             [&](ckks_backend_context &c) { c.library->synchronise(); });
}

ckks_backend_status ckks_backend_answers(ckks_backend_context *context,
                                         ckks_backend_transfer *report) {
    using Context = ckks_backend_context;
    return shim::exports::on(context, [&](Context &c) {
        shim::require(report != nullptr, "report is null");
        shim::require(c.answers == Context::Answers::ready, "there are no answers yet");
        *report = c.library->answers();
    });
}

ckks_backend_status ckks_backend_decrypt(ckks_backend_context *context, double *values,
                                         size_t count) {
    using Context = ckks_backend_context;
    return shim::exports::on(context, [&](Context &c) {
        shim::require(values != nullptr, "values is null");
        shim::require(c.answers == Context::Answers::ready, "there are no answers yet");
        shim::exports::require_count(
            "answers", count, shim::exports::answer_count(c) * shim::exports::slot_doubles(c));
        c.library->decrypt(values);
    });
}

ckks_backend_status ckks_backend_bytes_used(ckks_backend_context *context,
                                            ckks_backend_memory *report) {
    return shim::exports::on(context, [&](ckks_backend_context &c) {
        shim::require(report != nullptr, "report is null");
        *report = c.library->bytes_used();
    });
}

const char *ckks_backend_last_error(void) { return shim::last_error().c_str(); }

void ckks_backend_free(ckks_backend_context *context) {
    shim::guard([&] { delete context; });
}

}  // extern "C"

#endif
