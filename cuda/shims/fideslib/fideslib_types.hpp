// The types of FIDESlib and of its OpenFHE that this shim uses.
#ifndef CKKS_FIDESLIB_TYPES_HPP
#define CKKS_FIDESLIB_TYPES_HPP

#include <CKKS/Bootstrap.cuh>
#include <CKKS/Ciphertext.cuh>
#include <CKKS/Context.cuh>
#include <CKKS/LinearTransform.cuh>
#include <CKKS/Plaintext.cuh>
#include <CKKS/openfhe-interface/RawCiphertext.cuh>
#include <fideslib.hpp>

namespace ckks_fideslib {

// The client's side, on the CPU.
namespace client {
using lbcrypto::DCRTPoly;
using lbcrypto::Plaintext;
using Ciphertext = lbcrypto::Ciphertext<DCRTPoly>;
using Context = lbcrypto::CryptoContext<DCRTPoly>;
using PrivateKey = lbcrypto::PrivateKey<DCRTPoly>;
}  // namespace client

// The server's side, on the device.
namespace server {
using FIDESlib::CKKS::Ciphertext;
using FIDESlib::CKKS::Context;
using FIDESlib::CKKS::Plaintext;
}  // namespace server

// Both sides in one object, which owns them.
using Library = fideslib::CryptoContext<fideslib::DCRTPoly>;

}  // namespace ckks_fideslib

#endif
