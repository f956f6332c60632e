// A library without encryption behind the C ABI: 8 real slots, everything in the clear. It shows
// what the functions that all C++ shims share do, and gives the right answers.
#include <stdexcept>
#include <utility>
#include <vector>

#include "../common/exports.hpp"

namespace {

using shim::Program;
using Slots = std::vector<double>;

constexpr std::size_t n = 8;

class Plain final : public shim::Context {
public:
    nlohmann::json describe() override { return {{"slots", n}, {"slot_kind", "real"}}; }
    std::size_t slots() const override { return n; }
    std::size_t slot_width() const override { return 1; }

    ckks_backend_key_report keys(const std::vector<std::uint32_t> &steps) override {
        return {steps.size(), 0};
    }

    void prepare_begin(Program program) override {
        program_ = std::move(program);
        diagonals_.clear();
    }

    void prepare_diagonal(std::uint64_t, const double *values) override {
        diagonals_.emplace_back(values, values + n);
    }

    ckks_backend_prepare_report prepare_end() override {
        return {diagonals_.size() * n * sizeof(double), 0.0};
    }

    ckks_backend_transfer encrypt(const double *values, std::size_t ciphertexts) override {
        batch_.clear();
        for (std::size_t i = 0; i < ciphertexts; ++i) {
            batch_.emplace_back(values + i * n, values + (i + 1) * n);
        }
        return {ciphertexts, 0};
    }

    // An input that starts with 13 makes the library throw.
    void evaluate() override {
        answers_.clear();
        for (std::size_t first = 0; first < batch_.size(); first += program_.inputs) {
            if (batch_[first][0] == 13) {
                throw std::runtime_error("the library has had enough");
            }
            std::vector<Slots> outputs(program_.outputs, Slots(n, 0.0));
            for (const auto &giant : program_.giants) {
                Slots sum(n, 0.0);
                for (std::uint64_t i = 0; i < giant.term_count; ++i) {
                    const auto &term = program_.terms[giant.first_term + i];
                    const Slots &input = batch_[first + term.input];
                    for (std::size_t p = 0; p < n; ++p) {
                        sum[p] += diagonals_[term.diagonal][p] * input[(p + term.baby_step) % n];
                    }
                }
                for (std::size_t p = 0; p < n; ++p) {
                    outputs[giant.output][p] += sum[(p + giant.giant_step) % n];
                }
            }
            answers_.insert(answers_.end(), outputs.begin(), outputs.end());
        }
    }

    void rescale() override {}
    void bootstrap() override { answers_ = batch_; }
    void synchronise() override {}
    ckks_backend_transfer answers() override { return {answers_.size(), 0}; }

    void decrypt(double *values) override {
        for (const Slots &answer : answers_) {
            values = std::copy(answer.begin(), answer.end(), values);
        }
    }

    ckks_backend_memory bytes_used() override { return {0, 0}; }

private:
    Program program_;
    std::vector<Slots> diagonals_;
    std::vector<Slots> batch_;
    std::vector<Slots> answers_;
};

}  // namespace

namespace shim {

nlohmann::json info() { return {{"name", "plain"}, {"presets", presets()}, {"modes", modes()}}; }

nlohmann::json probe() {
    return {{"devices", {{{"name", "cpu"}, {"memory_bytes", 0}}}}, {"driver", ""}};
}

std::unique_ptr<Context> open(const Spec &) { return std::make_unique<Plain>(); }

const std::vector<std::string> &presets() {
    static const std::vector<std::string> names = {"small", "large"};
    return names;
}

const std::vector<std::string> &modes() {
    static const std::vector<std::string> names;
    return names;
}

}  // namespace shim
