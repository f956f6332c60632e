// FIDESlib's client half, which is OpenFHE on the CPU: parameters, keys, encoding, encryption,
// decryption. It works without a device, too.
#ifndef CKKS_FIDESLIB_CLIENT_HPP
#define CKKS_FIDESLIB_CLIENT_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fideslib_types.hpp"
#include "presets.hpp"

namespace ckks_fideslib {

class Client {
public:
    // Without `devices` FIDESlib computes on the CPU.
    Client(const Preset &preset, std::vector<int> devices);

    std::size_t slots() const { return preset_.ring_degree / 2; }
    std::vector<std::uint64_t> ciphertext_moduli() const;
    std::vector<std::uint64_t> key_switching_moduli() const;
    // Bytes of one rotation key.
    std::uint64_t key_bytes() const;

    // All keys; afterwards a context with devices is on them.
    void make_keys(const std::vector<std::uint32_t> &steps);

    // Real values, one for each slot. `extended`: modulo QP rather than Q, for products with
    // rotations that are not divided by P yet.
    client::Plaintext encode(const double *values, bool extended) const;
    client::Ciphertext encrypt(const double *values) const;
    void decrypt(const client::Ciphertext &ciphertext, double *values) const;

    // From the CPU to the device, and back.
    std::unique_ptr<server::Plaintext> load(const client::Plaintext &plaintext);
    std::unique_ptr<server::Ciphertext> load(const client::Ciphertext &ciphertext);
    client::Ciphertext store(server::Ciphertext &ciphertext) const;

    client::Context &context() const;
    server::Context &device_context() const;
    const client::PrivateKey &secret_key() const;

private:
    std::shared_ptr<lbcrypto::CryptoParametersCKKSRNS> parameters() const;

    Preset preset_;
    std::uint32_t depth_;
    Library library_;
    fideslib::KeyPair<fideslib::DCRTPoly> keys_;
    // What answers are copied into: FIDESlib fills an existing ciphertext.
    client::Ciphertext vessel_;
};

}  // namespace ckks_fideslib

#endif
