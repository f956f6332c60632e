#include "client.hpp"

#include <any>
#include <utility>

#include "../common/failure.hpp"

namespace ckks_fideslib {

namespace {

// How bootstrapping divides its two transforms into steps.
const std::vector<std::uint32_t> kLevelBudget = {3, 3};

std::uint32_t depth_of(const Preset &preset) {
    if (!preset.bootstraps) {
        return preset.depth;
    }
    return preset.depth +
           lbcrypto::FHECKKSRNS::GetBootstrapDepth(kLevelBudget, lbcrypto::UNIFORM_TERNARY);
}

std::vector<std::uint64_t> moduli_of(const std::shared_ptr<client::DCRTPoly::Params> &params) {
    std::vector<std::uint64_t> moduli;
    for (const auto &limb : params->GetParams()) {
        moduli.push_back(limb->GetModulus().ConvertToInt());
    }
    return moduli;
}

}  // namespace

Client::Client(const Preset &preset, std::vector<int> devices)
    : preset_(preset), depth_(depth_of(preset)) {
    fideslib::CCParams<fideslib::CryptoContextCKKSRNS> parameters;
    parameters.SetSecurityLevel(fideslib::HEStd_128_classic);
    parameters.SetSecretKeyDist(fideslib::UNIFORM_TERNARY);
    parameters.SetRingDim(preset.ring_degree);
    parameters.SetBatchSize(preset.ring_degree / 2);
    parameters.SetMultiplicativeDepth(depth_);
    parameters.SetFirstModSize(preset.first_modulus_bits);
    parameters.SetScalingModSize(preset.scale_bits);
    // With FIXEDMANUAL products below the top level are wrong at this commit.
    parameters.SetScalingTechnique(fideslib::FLEXIBLEAUTO);
    parameters.SetKeySwitchTechnique(fideslib::HYBRID);
    if (preset.digits != 0) {
        parameters.SetNumLargeDigits(preset.digits);
    }
    parameters.SetDevices(std::move(devices));
    parameters.SetPlaintextAutoload(false);
    parameters.SetCiphertextAutoload(false);
    library_ = fideslib::GenCryptoContext(parameters);
    library_->Enable(fideslib::PKE);
    library_->Enable(fideslib::KEYSWITCH);
    library_->Enable(fideslib::LEVELEDSHE);
    if (preset.bootstraps) {
        library_->Enable(fideslib::ADVANCEDSHE);
        library_->Enable(fideslib::FHE);
    }

    const std::size_t moduli = ciphertext_moduli().size() + key_switching_moduli().size();
    if (moduli > kMostModuli) {
        shim::unsupported("these parameters have " + std::to_string(moduli) +
                          " moduli, and FIDESlib has room for " + std::to_string(kMostModuli));
    }
}

client::Context &Client::context() const { return std::any_cast<client::Context &>(library_->cpu); }

server::Context &Client::device_context() const {
    return std::any_cast<server::Context &>(library_->gpu);
}

const client::PrivateKey &Client::secret_key() const {
    return std::any_cast<const client::PrivateKey &>(keys_.secretKey->pimpl);
}

std::shared_ptr<lbcrypto::CryptoParametersCKKSRNS> Client::parameters() const {
    return std::dynamic_pointer_cast<lbcrypto::CryptoParametersCKKSRNS>(
        context()->GetCryptoParameters());
}

std::vector<std::uint64_t> Client::ciphertext_moduli() const {
    return moduli_of(parameters()->GetElementParams());
}

std::vector<std::uint64_t> Client::key_switching_moduli() const {
    return moduli_of(parameters()->GetParamsP());
}

std::uint64_t Client::key_bytes() const {
    const std::uint64_t limbs = ciphertext_moduli().size() + key_switching_moduli().size();
    return std::uint64_t{2} * parameters()->GetNumPartQ() * limbs * preset_.ring_degree *
           sizeof(std::uint64_t);
}

void Client::make_keys(const std::vector<std::uint32_t> &steps) {
    const auto slot_count = static_cast<std::uint32_t>(slots());
    if (preset_.bootstraps) {
        library_->EvalBootstrapSetup(kLevelBudget, {0, 0}, slot_count);
    }
    keys_ = library_->KeyGen();
    if (!steps.empty()) {
        library_->EvalRotateKeyGen(keys_.secretKey, {steps.begin(), steps.end()});
    }
    if (preset_.bootstraps) {
        library_->EvalMultKeyGen(keys_.secretKey);
        library_->EvalBootstrapKeyGen(keys_.secretKey, slot_count);
    }
    // Takes all keys there are; later ones would not be found.
    library_->LoadContext(keys_.publicKey);
    vessel_ = context()->Encrypt(
        secret_key(), context()->MakeCKKSPackedPlaintext(std::vector<double>(slots(), 0.0), 1, 0,
                                                         nullptr, slot_count));
}

client::Plaintext Client::encode(const double *values, bool extended) const {
    return context()->MakeCKKSPackedPlaintext(std::vector<double>(values, values + slots()), 1, 0,
                                              extended ? parameters()->GetParamsQP() : nullptr,
                                              static_cast<std::uint32_t>(slots()));
}

client::Ciphertext Client::encrypt(const double *values) const {
    // Bootstrapping starts from the lowest level that can hold a value.
    const std::uint32_t level = preset_.bootstraps ? depth_ - 1 : 0;
    const client::Plaintext plaintext =
        context()->MakeCKKSPackedPlaintext(std::vector<double>(values, values + slots()), 1, level,
                                           nullptr, static_cast<std::uint32_t>(slots()));
    return context()->Encrypt(secret_key(), plaintext);
}

void Client::decrypt(const client::Ciphertext &ciphertext, double *values) const {
    client::Plaintext plaintext;
    context()->Decrypt(secret_key(), ciphertext, &plaintext);
    plaintext->SetLength(slots());
    const std::vector<double> decoded = plaintext->GetRealPackedValue();
    std::copy_n(decoded.begin(), slots(), values);
}

std::unique_ptr<server::Plaintext> Client::load(const client::Plaintext &plaintext) {
    const auto raw = FIDESlib::CKKS::GetRawPlainText(context(), plaintext);
    return std::make_unique<server::Plaintext>(device_context(), raw);
}

std::unique_ptr<server::Ciphertext> Client::load(const client::Ciphertext &ciphertext) {
    const auto raw = FIDESlib::CKKS::GetRawCipherText(context(), ciphertext);
    return std::make_unique<server::Ciphertext>(device_context(), raw);
}

client::Ciphertext Client::store(server::Ciphertext &ciphertext) const {
    FIDESlib::CKKS::RawCipherText raw;
    ciphertext.store(raw);
    client::Ciphertext result = vessel_->Clone();
    FIDESlib::CKKS::GetOpenFHECipherText(result, raw);
    return result;
}

}  // namespace ckks_fideslib
