// One opened OpenFHE: parameters, keys, a layer, a batch.
#ifndef CKKS_OPENFHE_SESSION_HPP
#define CKKS_OPENFHE_SESSION_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../common/library.hpp"
#include "evaluate.hpp"
#include "layer.hpp"
#include "openfhe_types.hpp"
#include "presets.hpp"

namespace ckks_openfhe {

// How to evaluate: with our sums of products, or with the library's own operations only.
enum class Mode { fused, textbook };

class Session final : public shim::Context {
public:
    Session(const Preset &preset, Mode mode, unsigned threads);
    ~Session() override;
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    nlohmann::json describe() override;
    std::size_t slots() const override { return preset_.ring_degree / 2; }
    std::size_t slot_width() const override { return 1; }

    ckks_backend_key_report keys(const std::vector<std::uint32_t> &steps) override;

    void prepare_begin(shim::Program program) override;
    void prepare_diagonal(std::uint64_t diagonal, const double *values) override;
    ckks_backend_prepare_report prepare_end() override;

    ckks_backend_transfer encrypt(const double *values, std::size_t ciphertexts) override;
    void evaluate() override;
    // Evaluation has done so.
    void rescale() override {}
    void bootstrap() override;
    void synchronise() override {}
    ckks_backend_transfer answers() override;
    void decrypt(double *values) override;
    // The CPU's memory is not told apart from the process's.
    ckks_backend_memory bytes_used() override { return {0, 0}; }

private:
    std::vector<std::uint64_t> ciphertext_moduli() const;
    std::vector<std::uint64_t> key_switching_moduli() const;
    std::string kernels() const;
    Plaintext encode(const double *values, double factor) const;
    std::uint64_t bytes(const Ciphertext &ciphertext) const;

    Preset preset_;
    Mode mode_;
    unsigned threads_;
    CryptoContext context_;
    std::shared_ptr<lbcrypto::CryptoParametersCKKSRNS> parameters_;
    lbcrypto::KeyPair<DCRTPoly> keys_;
    std::unique_ptr<Evaluator> evaluator_;
    std::unique_ptr<Layer> layer_;
    std::vector<Ciphertext> inputs_;
    // Null where an output has no giant steps and so is zero.
    std::vector<Ciphertext> answers_;
};

}  // namespace ckks_openfhe

#endif
