#include "session.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace ckks_fideslib {

Session::Session(const Preset &preset, const Mode &mode, int device, std::string device_name)
    : preset_(preset), mode_(mode), device_(device), device_name_(std::move(device_name)) {
    client_ = std::make_unique<Client>(preset, std::vector<int>{device});
    check_device("making the context");
}

Session::~Session() {
    answers_.clear();
    inputs_.clear();
    layer_.reset();
    client_.reset();
}

nlohmann::json Session::describe() {
    const auto moduli = client_->ciphertext_moduli();
    const double scale = std::ldexp(1.0, static_cast<int>(preset_.scale_bits));
    nlohmann::json notes = nlohmann::json::array(
        {"Inputs are encrypted with the secret key, on the CPU; diagonals are encoded there.",
         "A batch is evaluated one ciphertext after the other: the batched transform is declared "
         "but not defined at this commit.",
         "Decryption adds Gaussian noise as large as the error that OpenFHE estimates."});
    if (layer_ != nullptr && !layer_->plan && mode_.transform) {
        notes.push_back("This layer does not have the shape of LinearTransform: general path.");
    }
    return {
        {"device", device_name_ + ", driver " + driver_version()},
        {"kernels", std::string("FIDESlib, ") + mode_.name},
        {"slots", slots()},
        {"slot_kind", "real"},
        {"parameters",
         {{"name", preset_.name},
          {"ring_degree", preset_.ring_degree},
          {"q", moduli},
          {"p", client_->key_switching_moduli()},
          {"secret", "uniform ternary"},
          {"error", "discrete Gaussian, standard deviation 3.19"}}},
        {"log_scale", preset_.scale_bits},
        {"largest", static_cast<double>(moduli.front()) / 2 / scale},
        {"notes", notes},
    };
}

ckks_backend_key_report Session::keys(const std::vector<std::uint32_t> &steps) {
    const std::uint64_t bytes = steps.size() * client_->key_bytes();
    require_memory(bytes, "the rotation keys");
    client_->make_keys(steps);
    key_steps_ = {steps.begin(), steps.end()};
    finish_device("loading the keys");
    return {steps.size(), bytes};
}

std::uint64_t Session::polynomial_bytes(std::size_t moduli) const {
    return std::uint64_t{moduli} * preset_.ring_degree * sizeof(std::uint64_t);
}

std::uint64_t Session::diagonal_bytes() const {
    const std::size_t moduli = client_->ciphertext_moduli().size();
    return polynomial_bytes(mode_.extended ? moduli + client_->key_switching_moduli().size()
                                           : moduli);
}

void Session::prepare_begin(shim::Program program) {
    auto layer = std::make_unique<Layer>();
    layer->extended = mode_.extended;
    if (mode_.transform) {
        layer->plan = uniform_plan(program, key_steps_);
    }
    layer->diagonals.resize(program.terms.size());
    layer->program = std::move(program);

    answers_.clear();
    inputs_.clear();
    layer_.reset();
    finish_device("dropping the layer before");
    require_memory((layer->diagonals.size() + 1) * diagonal_bytes(), "the diagonals");
    layer->zero =
        client_->load(client_->encode(std::vector<double>(slots(), 0.0).data(), mode_.extended));
    layer_ = std::move(layer);
}

void Session::prepare_diagonal(std::uint64_t diagonal, const double *values) {
    layer_->diagonals[diagonal] = client_->load(client_->encode(values, mode_.extended));
    check_device("loading a diagonal");
}

ckks_backend_prepare_report Session::prepare_end() {
    // The transform waits for the stream of the first diagonal only.
    finish_device("loading the diagonals");
    return {layer_->diagonals.size() * diagonal_bytes(), static_cast<double>(preset_.scale_bits)};
}

ckks_backend_transfer Session::encrypt(const double *values, std::size_t ciphertexts) {
    answers_.clear();
    inputs_.clear();
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < ciphertexts; i++) {
        const client::Ciphertext encrypted = client_->encrypt(values + i * slots());
        bytes += 2 * polynomial_bytes(encrypted->GetElements()[0].GetNumOfElements());
        inputs_.push_back(client_->load(encrypted));
    }
    finish_device("loading the inputs");
    return {ciphertexts, bytes};
}

void Session::evaluate() {
    answers_.clear();
    std::vector<DeviceCiphertext> answers;
    for (std::size_t first = 0; first < inputs_.size(); first += layer_->program.inputs) {
        auto group = ckks_fideslib::evaluate(client_->device_context(), *layer_, &inputs_[first]);
        std::move(group.begin(), group.end(), std::back_inserter(answers));
        check_device("evaluating");
    }
    answers_ = std::move(answers);
}

void Session::rescale() {
    for (const DeviceCiphertext &answer : answers_) {
        if (answer != nullptr && answer->NoiseLevel == 2) {
            answer->rescale();
        }
    }
    check_device("rescaling");
}

void Session::bootstrap() {
    answers_.clear();
    std::vector<DeviceCiphertext> answers;
    for (const DeviceCiphertext &input : inputs_) {
        auto refreshed = std::make_unique<server::Ciphertext>(client_->device_context());
        refreshed->copy(*input);
        FIDESlib::CKKS::Bootstrap(*refreshed, static_cast<int>(slots()), false);
        answers.push_back(std::move(refreshed));
        check_device("bootstrapping");
    }
    answers_ = std::move(answers);
}

void Session::synchronise() { finish_device("waiting for the device"); }

ckks_backend_transfer Session::answers() {
    ckks_backend_transfer report = {answers_.size(), 0};
    for (const DeviceCiphertext &answer : answers_) {
        if (answer != nullptr) {
            report.bytes += 2 * polynomial_bytes(static_cast<std::size_t>(answer->getLevel() + 1));
        }
    }
    return report;
}

void Session::decrypt(double *values) {
    for (const DeviceCiphertext &answer : answers_) {
        if (answer == nullptr) {
            std::fill_n(values, slots(), 0.0);
        } else {
            client_->decrypt(client_->store(*answer), values);
        }
        values += slots();
    }
    finish_device("fetching the answers");
}

ckks_backend_memory Session::bytes_used() { return device_memory(device_); }

}  // namespace ckks_fideslib
