// Evaluation of a layer on one group of ciphertexts.
#ifndef CKKS_OPENFHE_EVALUATE_HPP
#define CKKS_OPENFHE_EVALUATE_HPP

#include <cstdint>
#include <map>
#include <vector>

#include "layer.hpp"
#include "openfhe_types.hpp"

namespace ckks_openfhe {

class Evaluator {
public:
    Evaluator(CryptoContext context, RotationKeys keys, unsigned threads);

    // One output each, rescaled; null where the layer's output has no giant steps.
    //
    // Baby steps share one decomposition of their input. The half of a sum of products that a giant
    // step switches is rescaled first, and so has one modulus less; the other half is rescaled once
    // for all giant steps of an output, as is the division by the moduli of key switching.
    std::vector<Ciphertext> fused(const Layer &layer, const Ciphertext *inputs);

    // The same by the library's own operations only: EvalFastRotation, EvalMult, EvalAdd,
    // EvalRotate, Rescale.
    std::vector<Ciphertext> textbook(const Layer &layer, const Ciphertext *inputs);

private:
    // Where an automorphism takes the coefficients, for one rotation step.
    struct Rotation {
        std::uint32_t index;
        std::vector<std::uint32_t> map;
    };

    std::vector<Ciphertext> babies(const Layer &layer, const Ciphertext *inputs);
    std::vector<Ciphertext> sums(const Layer &layer, const std::vector<Ciphertext> &babies);
    Ciphertext giants(const GiantStep *steps, const Ciphertext *sums, std::size_t count) const;

    // One giant step: the first half, rotated but not rescaled; the second half rotated and
    // switched, modulo QP; or, without a rotation, the second half rescaled.
    struct Switched {
        DCRTPoly first;
        std::vector<DCRTPoly> extended;
        Ciphertext second;
    };
    Switched switched(const Ciphertext &sum, std::uint32_t step) const;
    // One polynomial divided by the last modulus.
    Ciphertext rescaled(const Ciphertext &of, DCRTPoly element) const;

    void plan(const Layer &layer);
    const lbcrypto::EvalKey<DCRTPoly> &key(const Rotation &rotation) const;
    Ciphertext rotate(const Ciphertext &input, const Rotation &rotation,
                      const std::shared_ptr<std::vector<DCRTPoly>> &digits) const;

    CryptoContext context_;
    RotationKeys keys_;
    unsigned threads_;
    std::map<std::uint32_t, Rotation> rotations_;
};

}  // namespace ckks_openfhe

#endif
