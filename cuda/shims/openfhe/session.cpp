#include "session.hpp"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "../common/failure.hpp"

namespace ckks_openfhe {

namespace {

// OpenFHE allocates and frees polynomials all the time. By default glibc hands memory of that size
// back to the kernel and fetches it again, zeroed, which takes as long as the arithmetic.
void keep_freed_memory() {
    constexpr int kMapped = 1 << 25;  // the most that glibc allows
    constexpr int kKept = 1 << 30;
    mallopt(M_MMAP_THRESHOLD, kMapped);
    mallopt(M_TRIM_THRESHOLD, kKept);
}

CryptoContext make_context(const Preset &preset) {
    lbcrypto::CCParams<lbcrypto::CryptoContextCKKSRNS> parameters;
    parameters.SetSecurityLevel(lbcrypto::HEStd_128_classic);
    parameters.SetSecretKeyDist(lbcrypto::UNIFORM_TERNARY);
    parameters.SetRingDim(preset.ring_degree);
    parameters.SetBatchSize(preset.ring_degree / 2);
    parameters.SetMultiplicativeDepth(1);
    parameters.SetFirstModSize(preset.first_modulus_bits);
    parameters.SetScalingModSize(preset.scale_bits);
    parameters.SetScalingTechnique(lbcrypto::FIXEDMANUAL);
    parameters.SetKeySwitchTechnique(lbcrypto::HYBRID);
    CryptoContext context = lbcrypto::GenCryptoContext(parameters);
    context->Enable(lbcrypto::PKE);
    context->Enable(lbcrypto::KEYSWITCH);
    context->Enable(lbcrypto::LEVELEDSHE);
    return context;
}

std::vector<std::uint64_t> moduli_of(const std::shared_ptr<DCRTPoly::Params> &params) {
    std::vector<std::uint64_t> moduli;
    for (const auto &limb : params->GetParams()) {
        moduli.push_back(limb->GetModulus().ConvertToInt());
    }
    return moduli;
}

}  // namespace

Session::Session(const Preset &preset, Mode mode, unsigned threads)
    : preset_(preset), mode_(mode), threads_(threads) {
    keep_freed_memory();
    // The shim's own threads share the work; inside each, the library stays on one.
    lbcrypto::OpenFHEParallelControls.SetNumThreads(1);
    context_ = make_context(preset_);
    parameters_ = std::dynamic_pointer_cast<lbcrypto::CryptoParametersCKKSRNS>(
        context_->GetCryptoParameters());
}

Session::~Session() {
    evaluator_.reset();
    context_->ClearEvalAutomorphismKeys();
    lbcrypto::CryptoContextFactory<DCRTPoly>::ReleaseAllContexts();
}

std::vector<std::uint64_t> Session::ciphertext_moduli() const {
    return moduli_of(parameters_->GetElementParams());
}

std::vector<std::uint64_t> Session::key_switching_moduli() const {
    return moduli_of(parameters_->GetParamsP());
}

// How it computes, and what OpenFHE was configured with as far as its headers tell.
std::string Session::kernels() const {
    std::string text =
        mode_ == Mode::fused
            ? "hoisted baby steps, multiply-accumulate over residues, giant steps after rescaling"
            : "hoisted baby steps, EvalMult, EvalAdd, EvalRotate";
    text += "; OpenFHE with 64-bit integers";
#ifdef WITH_NATIVEOPT
    text += ", machine-specific code";
#endif
#ifdef WITH_OPENMP
    text += ", OpenMP";
#endif
    return text;
}

nlohmann::json Session::describe() {
    // Every coefficient of an answer is at most its largest slot, and must stay below half the
    // modulus.
    const double scale = std::ldexp(1.0, static_cast<int>(preset_.scale_bits));
    const double largest = static_cast<double>(ciphertext_moduli().front()) / 2 / scale;
    return {
        {"device", "cpu"},
        {"kernels", kernels()},
        {"slots", slots()},
        {"slot_kind", "real"},
        {"parameters",
         {{"name", preset_.name},
          {"ring_degree", preset_.ring_degree},
          {"q", ciphertext_moduli()},
          {"p", key_switching_moduli()},
          {"secret", "uniform ternary"},
          {"error", "discrete Gaussian, standard deviation 3.19"}}},
        {"log_scale", preset_.scale_bits},
        {"largest", largest},
        {"notes",
         nlohmann::json::array(
             {"Inputs are encrypted with the secret key.",
              "Decryption adds Gaussian noise as large as the error that OpenFHE estimates, so "
              "that decrypted values tell less about the key."})},
    };
}

ckks_backend_key_report Session::keys(const std::vector<std::uint32_t> &steps) {
    keys_ = context_->KeyGen();
    RotationKeys rotations;
    if (!steps.empty()) {
        context_->EvalRotateKeyGen(keys_.secretKey, {steps.begin(), steps.end()});
        rotations = context_->GetEvalAutomorphismKeyMap(keys_.secretKey->GetKeyTag());
    }
    evaluator_ = std::make_unique<Evaluator>(context_, std::move(rotations), threads_);
    const std::uint64_t limbs = ciphertext_moduli().size() + key_switching_moduli().size();
    const std::uint64_t key = std::uint64_t{2} * parameters_->GetNumPartQ() * limbs *
                              preset_.ring_degree * sizeof(std::uint64_t);
    return {steps.size(), steps.size() * key};
}

void Session::prepare_begin(shim::Program program) {
    answers_.clear();
    inputs_.clear();
    layer_.reset();
    layer_ = std::make_unique<Layer>(program, preset_.ring_degree, ciphertext_moduli().size(),
                                     mode_ == Mode::textbook);
}

void Session::prepare_diagonal(std::uint64_t diagonal, const double *values) {
    // A product is divided by the last modulus, which is not quite the scale that decoding assumes.
    const double factor = static_cast<double>(ciphertext_moduli().back()) /
                          std::ldexp(1.0, static_cast<int>(preset_.scale_bits));
    layer_->set_diagonal(diagonal, encode(values, factor));
}

ckks_backend_prepare_report Session::prepare_end() {
    return {layer_->bytes(), static_cast<double>(preset_.scale_bits)};
}

Plaintext Session::encode(const double *values, double factor) const {
    std::vector<double> scaled(values, values + slots());
    for (double &value : scaled) {
        value *= factor;
    }
    return context_->MakeCKKSPackedPlaintext(scaled, 1, 0, nullptr,
                                             static_cast<std::uint32_t>(slots()));
}

std::uint64_t Session::bytes(const Ciphertext &ciphertext) const {
    const auto &elements = ciphertext->GetElements();
    return std::uint64_t{elements.size()} * elements[0].GetNumOfElements() * preset_.ring_degree *
           sizeof(std::uint64_t);
}

ckks_backend_transfer Session::encrypt(const double *values, std::size_t ciphertexts) {
    answers_.clear();
    inputs_.clear();
    for (std::size_t i = 0; i < ciphertexts; i++) {
        Plaintext plaintext = encode(values + i * slots(), 1.0);
        // The client has the secret key, and encryption with it adds the least noise.
        inputs_.push_back(context_->Encrypt(keys_.secretKey, plaintext));
    }
    return {ciphertexts, ciphertexts * bytes(inputs_.front())};
}

void Session::evaluate() {
    answers_.clear();
    std::vector<Ciphertext> answers;
    for (std::size_t first = 0; first < inputs_.size(); first += layer_->inputs()) {
        auto group = mode_ == Mode::fused ? evaluator_->fused(*layer_, &inputs_[first])
                                          : evaluator_->textbook(*layer_, &inputs_[first]);
        std::move(group.begin(), group.end(), std::back_inserter(answers));
    }
    answers_ = std::move(answers);
}

void Session::bootstrap() { shim::unsupported("these parameters are too small to bootstrap"); }

ckks_backend_transfer Session::answers() {
    ckks_backend_transfer report = {answers_.size(), 0};
    for (const Ciphertext &answer : answers_) {
        if (answer != nullptr) {
            report.bytes += bytes(answer);
        }
    }
    return report;
}

void Session::decrypt(double *values) {
    for (const Ciphertext &answer : answers_) {
        if (answer == nullptr) {
            std::fill_n(values, slots(), 0.0);
        } else {
            Plaintext plaintext;
            context_->Decrypt(keys_.secretKey, answer, &plaintext);
            plaintext->SetLength(slots());
            const std::vector<double> decoded = plaintext->GetRealPackedValue();
            std::copy_n(decoded.begin(), slots(), values);
        }
        values += slots();
    }
}

}  // namespace ckks_openfhe
