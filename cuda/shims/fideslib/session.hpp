// One opened FIDESlib: parameters, keys, a layer, a batch.
#ifndef CKKS_FIDESLIB_SESSION_HPP
#define CKKS_FIDESLIB_SESSION_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../common/library.hpp"
#include "client.hpp"
#include "device.hpp"
#include "evaluate.hpp"
#include "presets.hpp"

namespace ckks_fideslib {

struct Mode {
    const char *name;
    // Diagonals modulo QP, and one division by P for each giant step, as in bootstrapping.
    bool extended;
    // The library's own transform for programs of its shape.
    bool transform;
};

constexpr Mode kModes[] = {
    {"double-hoisted", true, true},
    {"hoisted", false, true},
    {"general", false, false},
};

class Session final : public shim::Context {
public:
    Session(const Preset &preset, const Mode &mode, int device, std::string device_name);
    ~Session() override;
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    nlohmann::json describe() override;
    std::size_t slots() const override { return client_->slots(); }
    std::size_t slot_width() const override { return 1; }

    ckks_backend_key_report keys(const std::vector<std::uint32_t> &steps) override;

    void prepare_begin(shim::Program program) override;
    void prepare_diagonal(std::uint64_t diagonal, const double *values) override;
    ckks_backend_prepare_report prepare_end() override;

    ckks_backend_transfer encrypt(const double *values, std::size_t ciphertexts) override;
    void evaluate() override;
    void rescale() override;
    void bootstrap() override;
    void synchronise() override;
    ckks_backend_transfer answers() override;
    void decrypt(double *values) override;
    ckks_backend_memory bytes_used() override;

private:
    // Bytes of one polynomial modulo `moduli` primes.
    std::uint64_t polynomial_bytes(std::size_t moduli) const;
    std::uint64_t diagonal_bytes() const;

    Preset preset_;
    Mode mode_;
    int device_;
    std::string device_name_;
    // Device memory is returned to the context, so all that holds some goes first.
    std::unique_ptr<Client> client_;
    std::set<std::uint32_t> key_steps_;
    std::unique_ptr<Layer> layer_;
    std::vector<DeviceCiphertext> inputs_;
    // Null where an output has no giant steps and so is zero.
    std::vector<DeviceCiphertext> answers_;
};

}  // namespace ckks_fideslib

#endif
