// Calls through the C ABI as no caller should make them, on the library of plain.cpp.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "ckks_backend.h"

namespace {

constexpr std::size_t n = 8;

std::string shown(ckks_backend_status status) {
    return std::to_string(status) + ", '" + ckks_backend_last_error() + "'";
}

void fine(const char *what, ckks_backend_status status) {
    check::that(status == CKKS_BACKEND_OK, std::string(what) + ": " + shown(status));
}

// The status, and a message that names what is wrong.
void wrong(const std::string &text, ckks_backend_status status,
           ckks_backend_status wanted = CKKS_BACKEND_BAD_ARGUMENT) {
    check::that(status == wanted &&
                    std::string(ckks_backend_last_error()).find(text) != std::string::npos,
                "instead of '" + text + "': " + shown(status));
}

void texts() {
    std::size_t needed = 0;
    fine("size of info", ckks_backend_info(nullptr, 0, &needed));
    std::vector<char> buffer(needed + 1, 'x');
    wrong("the text needs", ckks_backend_info(buffer.data(), needed - 1, &needed));
    check::that(buffer[0] == 'x', "a buffer that is too small was written");
    fine("info", ckks_backend_info(buffer.data(), needed, &needed));
    check::that(std::strlen(buffer.data()) + 1 == needed && buffer[needed] == 'x',
                "info does not end where it says");
    wrong("needed is null", ckks_backend_info(buffer.data(), buffer.size(), nullptr));
    wrong("buffer is null", ckks_backend_info(nullptr, 7, &needed));
    fine("size of probe", ckks_backend_probe(nullptr, 0, &needed));
}

ckks_backend_context *opened() {
    ckks_backend_context *context = nullptr;
    const auto open = [&](const std::string &spec) {
        return ckks_backend_open(spec.data(), spec.size(), &context);
    };
    wrong("spec is null", ckks_backend_open(nullptr, 2, &context));
    wrong("context is null", ckks_backend_open("{}", 2, nullptr));
    for (const char *text : {"", "{", "[]", "null", "{\"device\":0}}", "\xff"}) {
        wrong("not a JSON object", open(text));
    }
    wrong("not a JSON object", open(std::string(100000, '[')));
    wrong("unknown field 'seed'", open("{\"seed\":1}"));
    wrong("unknown params 'tiny'; known: small, large", open("{\"params\":\"tiny\"}"));
    wrong("params must be a string", open("{\"params\":1}"));
    wrong("unknown mode 'fast'; known: none", open("{\"mode\":\"fast\"}"));
    for (const char *device : {"-1", "0.5", "\"0\"", "null", "1e99", "99999999999999999999"}) {
        wrong("device must be", open(std::string("{\"device\":") + device + "}"));
    }
    wrong("threads must be", open("{\"threads\":0}"));
    wrong("bootstrap must be", open("{\"bootstrap\":1}"));
    check::that(context == nullptr, "a context was written although open failed");
    fine("open", open("{\"params\":null,\"mode\":null,\"device\":0,\"threads\":2,"
                      "\"bootstrap\":false}"));
    wrong("one context in its life", open("{}"));
    return context;
}

void keys(ckks_backend_context *context) {
    ckks_backend_key_report report{99, 99};
    const auto make = [&](const std::vector<std::int64_t> &steps) {
        return ckks_backend_keys(context, steps.data(), steps.size(), &report);
    };
    ckks_backend_program program{};
    wrong("keys come before", ckks_backend_prepare_begin(context, &program));
    wrong("steps is null", ckks_backend_keys(context, nullptr, 1, &report));
    wrong("report is null", ckks_backend_keys(context, nullptr, 0, nullptr));
    for (const auto &steps : std::vector<std::vector<std::int64_t>>{
             {0}, {-1}, {8}, {2, 2}, {3, 1}, {std::numeric_limits<std::int64_t>::max()}}) {
        wrong("steps ascend, from 1 to 7", make(steps));
    }
    check::that(report.galois_keys == 99, "a report was written although the call failed");
    fine("keys", make({1, 2, 4}));
    check::that(report.galois_keys == 3, "three steps, but not three keys");
    wrong("keys are made once", make({}));
}

// out[p] = Σ over steps s of diagonal · in[p + s], for s = 0, 1, 4, 5.
struct Layer {
    std::vector<ckks_backend_term> terms = {{0, 0, 0}, {0, 1, 1}, {0, 0, 2}, {0, 1, 3}};
    std::vector<ckks_backend_giant> giants = {{0, 0, 0, 2}, {0, 4, 2, 2}};
    ckks_backend_program program{sizeof(ckks_backend_program), 1, 1, 4, nullptr, 2, nullptr, 4};

    ckks_backend_status begin(ckks_backend_context *context) {
        program.giants = giants.data();
        program.terms = terms.data();
        return ckks_backend_prepare_begin(context, &program);
    }
};

void programs(ckks_backend_context *context) {
    const auto refused = [&](const char *text, auto &&change) {
        Layer layer;
        change(layer);
        wrong(text, layer.begin(context));
    };
    wrong("program is null", ckks_backend_prepare_begin(context, nullptr));
    refused("another size", [](Layer &l) { l.program.size -= 8; });
    refused("no inputs", [](Layer &l) { l.program.inputs = 0; });
    refused("no outputs", [](Layer &l) { l.program.outputs = 0; });
    refused("no giants", [](Layer &l) { l.program.giant_count = 0; });
    refused("no terms", [](Layer &l) { l.program.term_count = 0; });
    refused("more giants than terms", [](Layer &l) { l.program.giant_count = 5; });
    refused("diagonals as terms", [](Layer &l) { l.program.diagonals = 5; });
    refused("diagonals as terms", [](Layer &l) { l.program.diagonals = ~std::uint64_t{0}; });
    refused("giant 1 names an output", [](Layer &l) { l.giants[1].output = 1; });
    refused("giant 1 has a step", [](Layer &l) { l.giants[1].giant_step = 8; });
    refused("giant 1 is not in asc", [](Layer &l) { l.giants[1].giant_step = 0; });
    refused("giant 1 does not start", [](Layer &l) { l.giants[1].first_term = 1; });
    refused("giant 1 has no terms, or", [](Layer &l) { l.giants[1].term_count = 0; });
    refused("giant 1 has no terms, or",
            [](Layer &l) { l.giants[1].term_count = ~std::uint64_t{0}; });
    refused("terms that no giant uses", [](Layer &l) { l.giants[1].term_count = 1; });
    refused("term 3 names an input", [](Layer &l) { l.terms[3].input = 1; });
    refused("term 3 has a baby step", [](Layer &l) { l.terms[3].baby_step = 8; });
    refused("term 3 names a diagonal", [](Layer &l) { l.terms[3].diagonal = 4; });
    refused("term 3 uses a diagonal", [](Layer &l) { l.terms[3].diagonal = 0; });
    refused("term 3 is not in asc", [](Layer &l) { l.terms[3].baby_step = 0; });
    refused("no key for step 3", [](Layer &l) { l.terms[3].baby_step = 3; });
}

void prepare(ckks_backend_context *context) {
    ckks_backend_prepare_report report{};
    ckks_backend_transfer transfer{};
    Layer layer;
    std::vector<double> values(n, 1.0);
    const auto diagonal = [&](std::uint64_t index, std::size_t count) {
        return ckks_backend_prepare_diagonal(context, index, values.data(), count);
    };
    wrong("no layer has been started", diagonal(0, n));
    wrong("no layer has been started", ckks_backend_prepare_end(context, &report));
    wrong("a layer comes before", ckks_backend_encrypt(context, values.data(), n, 1, &transfer));
    fine("prepare_begin", layer.begin(context));
    wrong("diagonal 1 instead of 0", diagonal(1, n));
    wrong("7 values given, 8 wanted", diagonal(0, n - 1));
    wrong("values is null", ckks_backend_prepare_diagonal(context, 0, nullptr, n));
    values[5] = std::nan("");
    wrong("value 5 is NaN", diagonal(0, n));
    values[5] = -std::numeric_limits<double>::infinity();
    wrong("value 5 is infinite", diagonal(0, n));
    wrong("diagonal 0 of 4 has not come", ckks_backend_prepare_end(context, &report));
    for (std::uint64_t d = 0; d < 4; ++d) {
        values.assign(n, static_cast<double>(d + 1));
        fine("prepare_diagonal", diagonal(d, n));
    }
    wrong("all diagonals have come", diagonal(4, n));
    wrong("a layer comes before", ckks_backend_encrypt(context, values.data(), n, 1, &transfer));
    fine("prepare_end", ckks_backend_prepare_end(context, &report));
    wrong("no layer has been started", ckks_backend_prepare_end(context, &report));
}

void evaluate(ckks_backend_context *context) {
    ckks_backend_transfer transfer{};
    std::vector<double> values(2 * n, 0.0);
    std::vector<double> answers(2 * n, 0.0);
    const auto encrypt = [&](std::size_t count, std::size_t ciphertexts) {
        return ckks_backend_encrypt(context, values.data(), count, ciphertexts, &transfer);
    };
    wrong("a batch comes before", ckks_backend_evaluate(context));
    wrong("not opened for bootstrapping", ckks_backend_bootstrap(context));
    wrong("positive multiple", encrypt(0, 0));
    wrong("count is not", encrypt(n - 1, 1));
    wrong("count is not", encrypt(2 * n, 1));
    wrong("more ciphertexts", encrypt(n, ~std::size_t{0}));
    wrong("values is null", ckks_backend_encrypt(context, nullptr, n, 1, &transfer));
    values[9] = std::nan("");
    wrong("value 9 is NaN", encrypt(2 * n, 2));
    values.assign(2 * n, 0.0);
    values[0] = 1.0;
    values[n + 6] = 2.0;
    fine("encrypt", encrypt(2 * n, 2));
    wrong("nothing evaluated", ckks_backend_rescale(context));
    fine("evaluate", ckks_backend_evaluate(context));
    fine("evaluate again", ckks_backend_evaluate(context));
    wrong("no answers yet", ckks_backend_answers(context, &transfer));
    wrong("no answers yet", ckks_backend_decrypt(context, answers.data(), 2 * n));
    fine("rescale", ckks_backend_rescale(context));
    fine("synchronise", ckks_backend_synchronise(context));
    fine("answers", ckks_backend_answers(context, &transfer));
    check::that(transfer.ciphertexts == 2, "two groups, but not two answers");
    wrong("15 values given, 16 wanted", ckks_backend_decrypt(context, answers.data(), 2 * n - 1));
    fine("decrypt", ckks_backend_decrypt(context, answers.data(), 2 * n));
    // Steps 0, 1, 4 and 5 bring what is at p to p, p - 1, p - 4 and p - 5.
    const std::vector<double> wanted = {1, 0, 0, 4, 3, 0, 0, 2, 0, 8, 6, 0, 0, 4, 2, 0};
    check::that(answers == wanted, "other answers than the formula's");
}

// After an exception of the library the context says so and does nothing more.
void broken(ckks_backend_context *context) {
    ckks_backend_transfer transfer{};
    ckks_backend_memory memory{};
    const std::vector<double> values(n, 13.0);
    fine("encrypt", ckks_backend_encrypt(context, values.data(), n, 1, &transfer));
    wrong("the library has had enough", ckks_backend_evaluate(context),
          CKKS_BACKEND_LIBRARY_ERROR);
    wrong("must not be used after: the library has", ckks_backend_bytes_used(context, &memory));
}

}  // namespace

int main() {
    check::that(ckks_backend_abi_version() == CKKS_BACKEND_ABI_VERSION, "another version");
    check::that(*ckks_backend_last_error() == '\0', "an error before any call");
    texts();
    ckks_backend_context *context = opened();
    wrong("context is null", ckks_backend_evaluate(nullptr));
    keys(context);
    programs(context);
    prepare(context);
    evaluate(context);
    broken(context);
    ckks_backend_free(context);
    ckks_backend_free(nullptr);
    return check::finish();
}
