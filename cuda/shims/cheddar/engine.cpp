#include "engine.hpp"

#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <UserInterface.h>
#include <core/EvkRequest.h>
#include <extension/BootContext.h>

#include "layer.hpp"
#include "memory.hpp"

namespace shim {
namespace {

template <typename word>
cheddar::Parameter<word> parameter_of(const Chain &chain) {
    const auto words = [](const std::vector<std::uint64_t> &primes) {
        return std::vector<word>(primes.begin(), primes.end());
    };
    cheddar::Parameter<word> parameter(
        chain.log_degree, std::ldexp(1.0, chain.log_base_scale), chain.default_encryption_level,
        chain.levels, words(chain.main_primes), words(chain.auxiliary_primes),
        words(chain.terminal_primes));
    // In this order: each weight is checked against the other.
    parameter.SetDenseHammingWeight(chain.dense_weight);
    parameter.SetSparseHammingWeight(chain.sparse_weight);
    return parameter;
}

// Preparing bootstrapping prints its progress to standard output, which may belong to the caller.
class OutputToLog {
public:
    OutputToLog() : before_(std::cout.rdbuf(std::clog.rdbuf())) {}
    ~OutputToLog() { std::cout.rdbuf(before_); }
    OutputToLog(const OutputToLog &) = delete;
    OutputToLog &operator=(const OutputToLog &) = delete;

private:
    std::streambuf *before_;
};

template <typename word>
class Engine final : public Context {
    using Ciphertext = cheddar::Ciphertext<word>;

public:
    Engine(const Preset &preset, Mode mode, bool bootstrap, const Device &device)
        : preset_(preset),
          mode_(mode),
          device_(device),
          parameter_(parameter_of<word>(*preset.chain)) {
        check_device(Wait::yes);
        const Chain &chain = *preset.chain;
        if (bootstrap) {
            boot_ = cheddar::BootContext<word>::Create(
                parameter_, cheddar::BootParameter(parameter_.max_level_,
                                                   chain.coefficients_to_slots_levels,
                                                   chain.slots_to_coefficients_levels));
            context_ = boot_;
        } else {
            context_ = cheddar::Context<word>::Create(parameter_);
        }
    }

    nlohmann::json describe() override;

    std::size_t slots() const override {
        return static_cast<std::size_t>(parameter_.degree_) / 2;
    }
    std::size_t slot_width() const override { return 2; }

    ckks_backend_key_report keys(const std::vector<std::uint32_t> &steps) override {
        return on_device(Wait::yes, [&] {
            client_ = std::make_unique<cheddar::UserInterface<word>>(context_);
            cheddar::EvkRequest request;
            for (const std::uint32_t step : steps) {
                request.AddRequest(static_cast<int>(step), preset_.level);
            }
            if (boot_ != nullptr) {
                const int slot_count = static_cast<int>(slots());
                const OutputToLog redirected;
                boot_->PrepareEvalMod();
                boot_->PrepareEvalSpecialFFT(slot_count);
                boot_->AddRequiredRotations(request, slot_count, mode_ == Mode::min_ks);
            }
            client_->PrepareRotationKey(request);
            return key_report(request);
        });
    }

    std::set<std::uint32_t> steps_needed(const Program &program) const override {
        std::set<std::uint32_t> steps;
        for (const Transform &transform : transforms_of(program, mode_)) {
            steps.merge(transform.key_steps());
        }
        return steps;
    }

    void prepare_begin(Program program) override {
        auto layer = std::make_unique<Layer<word>>(transforms_of(program, mode_), program.inputs,
                                                   program.outputs, mode_, preset_.level);
        answers_.clear();
        batch_.clear();
        layer_ = std::move(layer);
    }

    void prepare_diagonal(std::uint64_t diagonal, const double *values) override {
        auto message = message_of(values);
        on_device(Wait::no, [&] {
            layer_->add(context_, diagonal, std::move(message), weight_scale());
        });
    }

    ckks_backend_prepare_report prepare_end() override {
        const auto primes = parameter_.LevelToNP(preset_.level, parameter_.alpha_);
        return {layer_->plaintexts() * bytes(primes.GetNumTotal()), std::log2(weight_scale())};
    }

    ckks_backend_transfer encrypt(const double *values, std::size_t ciphertexts) override {
        Group<word> batch;
        std::vector<cheddar::Message> messages;
        const std::size_t width = slots() * slot_width();
        for (std::size_t i = 0; i < ciphertexts; ++i) {
            messages.push_back(message_of(values + i * width));
        }
        answers_.clear();
        batch_.clear();
        on_device(Wait::yes, [&] {
            for (const auto &message : messages) {
                cheddar::Plaintext<word> plaintext;
                context_->encoder_.Encode(plaintext, preset_.level, input_scale(), message);
                batch.push_back(std::make_unique<Ciphertext>());
                client_->Encrypt(*batch.back(), plaintext);
            }
        });
        batch_ = std::move(batch);
        return transfer(batch_);
    }

    void evaluate() override {
        on_device(Wait::no, [&] {
            Group<word> answers;
            for (std::size_t first = 0; first < batch_.size(); first += layer_->inputs()) {
                auto outputs =
                    layer_->evaluate(context_, &batch_[first], client_->GetEvkMap());
                for (auto &output : outputs) {
                    answers.push_back(std::move(output));
                }
            }
            answers_ = std::move(answers);
        });
    }

    // Every transform ends with a division by P and the weights' scale at once.
    void rescale() override {}

    void bootstrap() override {
        on_device(Wait::no, [&] {
            Group<word> answers;
            for (const auto &input : batch_) {
                answers.push_back(std::make_unique<Ciphertext>());
                boot_->Boot(*answers.back(), *input, client_->GetEvkMap(),
                            mode_ == Mode::min_ks);
            }
            answers_ = std::move(answers);
        });
    }

    void synchronise() override { check_device(Wait::yes); }

    ckks_backend_transfer answers() override { return transfer(answers_); }

    void decrypt(double *values) override {
        on_device(Wait::yes, [&] {
            for (const auto &answer : answers_) {
                std::vector<cheddar::Complex> message(slots());
                if (answer != nullptr) {
                    cheddar::Plaintext<word> plaintext;
                    client_->Decrypt(plaintext, *answer);
                    context_->encoder_.Decode(message, plaintext);
                }
                if (message.size() != slots()) {
                    throw Failure(CKKS_BACKEND_LIBRARY_ERROR,
                                  "decoding gave " + std::to_string(message.size()) +
                                      " slots instead of " + std::to_string(slots()));
                }
                for (const cheddar::Complex &slot : message) {
                    *values++ = slot.real();
                    *values++ = slot.imag();
                }
            }
        });
    }

    ckks_backend_memory bytes_used() override { return pool_memory(); }

private:
    // Bytes of one polynomial of so many residues.
    std::uint64_t bytes(int residues) const {
        return static_cast<std::uint64_t>(residues) *
               static_cast<std::uint64_t>(parameter_.degree_) * sizeof(word);
    }

    // Cheddar's own choice for both, which keeps the answers at the scale of their level.
    double input_scale() const { return parameter_.GetScale(preset_.level); }
    double weight_scale() const { return parameter_.GetScale(preset_.level); }

    std::vector<word> primes(int level) const {
        return parameter_.GetPrimeVector(parameter_.LevelToNP(level));
    }

    // The largest slot that half the modulus of a level has room for at a scale: coefficients are
    // not larger than the largest slot.
    double largest(int level, double scale) const {
        double product = 0.5 / scale;
        for (const word prime : primes(level)) {
            product *= static_cast<double>(prime);
        }
        return product;
    }

    cheddar::Message message_of(const double *values) const {
        const double limit = largest(preset_.level, input_scale());
        cheddar::Message message(slots());
        for (std::size_t i = 0; i < message.size(); ++i) {
            message[i] = {values[2 * i], values[2 * i + 1]};
            // std::hypot rather than a square, which could overflow.
            if (std::hypot(values[2 * i], values[2 * i + 1]) > limit) {
                bad_argument("slot " + std::to_string(i) + " is larger than 2^" +
                             std::to_string(std::log2(limit)) +
                             ", which is half the modulus at the scale of encoding");
            }
        }
        return message;
    }

    ckks_backend_transfer transfer(const Group<word> &ciphertexts) const {
        ckks_backend_transfer sum{ciphertexts.size(), 0};
        for (const auto &ciphertext : ciphertexts) {
            if (ciphertext != nullptr) {
                sum.bytes += 2 * bytes(ciphertext->GetNP().GetNumTotal());
            }
        }
        return sum;
    }

    ckks_backend_key_report key_report(const cheddar::EvkRequest &request) const {
        ckks_backend_key_report report{0, 0};
        const auto add = [&](const cheddar::EvaluationKey<word> &key) {
            report.key_bytes += 2 * static_cast<std::uint64_t>(key.GetBeta()) *
                                bytes(key.GetNP().GetNumTotal());
        };
        for (const auto &[step, level] : request) {
            if (step != 0) {
                report.galois_keys += 1;
                add(client_->GetRotationKey(step));
            }
        }
        if (boot_ != nullptr) {
            report.galois_keys += 1;
            add(client_->GetConjugationKey());
            add(client_->GetMultiplicationKey());
            add(client_->GetDenseToSparseKey());
            add(client_->GetSparseToDenseKey());
        }
        return report;
    }

    // Digits that key switching splits an input into.
    int digits() const {
        const int padded =
            parameter_.LevelToNP(preset_.level).num_main_ + parameter_.GetMaxNumTer();
        return (padded + parameter_.alpha_ - 1) / parameter_.alpha_;
    }

    std::vector<std::string> notes() const;

    // Destroyed in the reverse order: ciphertexts, plaintexts and keys before the context, whose
    // memory pool they are from, and the context before its parameters, which it only refers to.
    Preset preset_;
    Mode mode_;
    Device device_;
    cheddar::Parameter<word> parameter_;
    cheddar::ContextPtr<word> context_;
    std::shared_ptr<cheddar::BootContext<word>> boot_;
    std::unique_ptr<cheddar::UserInterface<word>> client_;
    std::unique_ptr<Layer<word>> layer_;
    Group<word> batch_;
    Group<word> answers_;
};

template <typename word>
nlohmann::json Engine<word>::describe() {
    const bool bootstrap = boot_ != nullptr;
    const int answer_level =
        bootstrap ? boot_->boot_param_.GetEndLevel() : preset_.level - 1;
    return {
        {"device", device_.name + ", driver for " + driver_version()},
        {"kernels", std::to_string(8 * sizeof(word)) + "-bit words, mode " +
                        mode_names()[static_cast<std::size_t>(mode_)]},
        {"slots", slots()},
        {"slot_kind", "complex"},
        {"parameters",
         {{"name", preset_.name},
          {"ring_degree", parameter_.degree_},
          // Keys of multiplication and conjugation are for the whole chain.
          {"q", primes(parameter_.max_level_)},
          {"p", parameter_.aux_primes_},
          {"secret", "ternary, " + std::to_string(parameter_.GetDenseHammingWeight()) +
                         " coefficients not 0"},
          {"error", "rounded normal, deviation 3.2, within 6 deviations"}}},
        {"log_scale", std::log2(input_scale())},
        // Bootstrapping wants slots within 1.
        {"largest",
         bootstrap ? 1.0 : largest(answer_level, parameter_.GetScale(answer_level))},
        {"notes", notes()},
    };
}

template <typename word>
std::vector<std::string> Engine<word>::notes() const {
    std::vector<std::string> notes = {
        "the secret key is on the GPU and comes from mt19937_64: the library offers its client "
        "for tests only",
        "evaluation divides by the weights' scale; rescale has nothing to do",
        "inputs are at level " + std::to_string(preset_.level) + ": " +
            std::to_string(primes(preset_.level).size()) + " primes, " +
            std::to_string(digits()) + (digits() == 1 ? " digit" : " digits") +
            " in key switching",
        "the memory pool reserves half of the device's free memory",
        "multiplication and conjugation keys, and keys to a sparse secret, are made with the "
        "secret key; only bootstrapping uses them",
    };
    if (mode_ == Mode::fused && digits() == 1) {
        notes.push_back("with a single digit the library launches no kernel for fused baby steps: "
                        "answers are expected to be wrong");
    }
    return notes;
}

}  // namespace

template <typename word>
std::unique_ptr<Context> open_engine(const Preset &preset, Mode mode, bool bootstrap,
                                     const Device &device) {
    return on_device(Wait::yes, [&]() -> std::unique_ptr<Context> {
        return std::make_unique<Engine<word>>(preset, mode, bootstrap, device);
    });
}

template std::unique_ptr<Context> open_engine<std::uint32_t>(const Preset &, Mode, bool,
                                                             const Device &);
template std::unique_ptr<Context> open_engine<std::uint64_t>(const Preset &, Mode, bool,
                                                             const Device &);

}  // namespace shim
