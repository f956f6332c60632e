#include "evaluate.hpp"

#include <utility>

#include "parallel.hpp"

namespace ckks_openfhe {

using lbcrypto::NativeInteger;
using Digits = std::shared_ptr<std::vector<DCRTPoly>>;

Evaluator::Evaluator(CryptoContext context, RotationKeys keys, unsigned threads)
    : context_(std::move(context)), keys_(std::move(keys)), threads_(threads) {}

void Evaluator::plan(const Layer &layer) {
    const std::uint32_t degree = context_->GetRingDimension();
    const auto add = [&](std::uint32_t step) {
        if (step == 0 || rotations_.count(step) != 0) {
            return;
        }
        Rotation rotation;
        rotation.index =
            lbcrypto::FindAutomorphismIndex2nComplex(static_cast<std::int32_t>(step), 2 * degree);
        rotation.map.resize(degree);
        lbcrypto::PrecomputeAutoMap(degree, rotation.index, &rotation.map);
        rotations_.emplace(step, std::move(rotation));
    };
    for (const BabyStep &baby : layer.babies()) {
        add(baby.step);
    }
    for (const GiantStep &giant : layer.giants()) {
        add(giant.step);
    }
}

const lbcrypto::EvalKey<DCRTPoly> &Evaluator::key(const Rotation &rotation) const {
    return keys_.at(rotation.index);
}

Ciphertext Evaluator::rotate(const Ciphertext &input, const Rotation &rotation,
                             const Digits &digits) const {
    const auto &elements = input->GetElements();
    auto switched = *context_->GetScheme()->EvalFastKeySwitchCore(digits, key(rotation),
                                                                  elements[0].GetParams());
    switched[0] += elements[0];
    std::vector<DCRTPoly> rotated;
    rotated.reserve(2);
    for (const DCRTPoly &element : switched) {
        rotated.push_back(element.AutomorphismTransform(rotation.index, rotation.map));
    }
    Ciphertext result = input->CloneEmpty();
    result->SetElements(std::move(rotated));
    return result;
}

std::vector<Ciphertext> Evaluator::babies(const Layer &layer, const Ciphertext *inputs) {
    const auto &steps = layer.babies();
    std::vector<Digits> digits(layer.inputs());
    for (const BabyStep &baby : steps) {
        if (baby.step != 0 && digits[baby.input] == nullptr) {
            digits[baby.input] = context_->EvalFastRotationPrecompute(inputs[baby.input]);
        }
    }
    std::vector<Ciphertext> rotated(steps.size());
    parallel_for(threads_, steps.size(), [&](std::size_t i) {
        const auto [input, step] = steps[i];
        rotated[i] =
            step == 0 ? inputs[input] : rotate(inputs[input], rotations_.at(step), digits[input]);
    });
    return rotated;
}

std::vector<Ciphertext> Evaluator::sums(const Layer &layer, const std::vector<Ciphertext> &babies) {
    const auto params = babies[0]->GetElements()[0].GetParams();
    const auto &moduli = params->GetParams();
    const std::size_t degree = params->GetRingDimension();
    const std::size_t giants = layer.giants().size();

    std::vector<std::vector<DCRTPoly>> elements(giants);
    parallel_for(threads_, giants, [&](std::size_t g) {
        for (int half = 0; half < 2; half++) {
            elements[g].emplace_back(params, Format::EVALUATION, true);
        }
    });
    for (std::size_t l = 0; l < moduli.size(); l++) {
        const std::uint64_t q = moduli[l]->GetModulus().ConvertToInt();
        std::vector<Residues> inputs;
        for (const Ciphertext &baby : babies) {
            const auto &pair = baby->GetElements();
            inputs.push_back(
                {words(pair[0].GetAllElements()[l]), words(pair[1].GetAllElements()[l])});
        }
        std::vector<MutableResidues> outputs;
        for (auto &pair : elements) {
            outputs.push_back(
                {words(pair[0].GetAllElements()[l]), words(pair[1].GetAllElements()[l])});
        }
        constexpr std::size_t kBlock = 256;
        parallel_for(threads_, degree / kBlock, [&](std::size_t block) {
            thread_local std::vector<std::uint64_t> scratch;
            multiply_accumulate(layer.order(), q, layer.residues(l), inputs, outputs,
                                block * kBlock, (block + 1) * kBlock, scratch);
        });
    }

    std::vector<Ciphertext> sums(giants);
    for (std::size_t g = 0; g < giants; g++) {
        sums[g] = babies[0]->CloneEmpty();
        sums[g]->SetElements(std::move(elements[g]));
        sums[g]->SetNoiseScaleDeg(2);
        sums[g]->SetScalingFactor(babies[0]->GetScalingFactor() * babies[0]->GetScalingFactor());
    }
    return sums;
}

Ciphertext Evaluator::rescaled(const Ciphertext &of, DCRTPoly element) const {
    Ciphertext single = of->CloneEmpty();
    single->SetElements({std::move(element)});
    context_->RescaleInPlace(single);
    return single;
}

Evaluator::Switched Evaluator::switched(const Ciphertext &sum, std::uint32_t step) const {
    const auto &elements = sum->GetElements();
    const Ciphertext second = rescaled(sum, elements[1]);
    if (step == 0) {
        return {elements[0], {}, second};
    }
    const auto scheme = context_->GetScheme();
    const Rotation &rotation = rotations_.at(step);
    const DCRTPoly &element = second->GetElements()[0];
    const auto digits = scheme->EvalKeySwitchPrecomputeCore(element, sum->GetCryptoParameters());
    const auto pair = scheme->EvalFastKeySwitchCoreExt(digits, key(rotation), element.GetParams());
    Switched result;
    result.first = elements[0].AutomorphismTransform(rotation.index, rotation.map);
    for (const DCRTPoly &half : *pair) {
        result.extended.push_back(half.AutomorphismTransform(rotation.index, rotation.map));
    }
    return result;
}

Ciphertext Evaluator::giants(const GiantStep *steps, const Ciphertext *sums,
                             std::size_t count) const {
    std::vector<Switched> all(count);
    parallel_for(threads_, count,
                 [&](std::size_t g) { all[g] = switched(sums[g], steps[g].step); });

    // Steps ascend, so only the first may be no rotation.
    Switched total = std::move(all[0]);
    for (std::size_t g = 1; g < count; g++) {
        total.first += all[g].first;
        if (total.extended.empty()) {
            total.extended = std::move(all[g].extended);
        } else {
            total.extended[0] += all[g].extended[0];
            total.extended[1] += all[g].extended[1];
        }
    }

    Ciphertext result = rescaled(sums[0], std::move(total.first));
    DCRTPoly first = result->GetElements()[0];
    if (total.extended.empty()) {
        result->SetElements({std::move(first), total.second->GetElements()[0]});
        return result;
    }
    Ciphertext extended = result->CloneEmpty();
    extended->SetElements(std::move(total.extended));
    result = context_->KeySwitchDown(extended);
    result->GetElements()[0] += first;
    if (total.second != nullptr) {
        result->GetElements()[1] += total.second->GetElements()[0];
    }
    return result;
}

std::vector<Ciphertext> Evaluator::fused(const Layer &layer, const Ciphertext *inputs) {
    plan(layer);
    std::vector<Ciphertext> all = sums(layer, babies(layer, inputs));
    std::vector<Ciphertext> outputs(layer.outputs());
    const auto &steps = layer.giants();
    for (std::size_t begin = 0; begin < steps.size();) {
        const std::uint32_t output = steps[begin].output;
        std::size_t end = begin;
        while (end < steps.size() && steps[end].output == output) {
            end++;
        }
        outputs[output] = giants(&steps[begin], &all[begin], end - begin);
        begin = end;
    }
    return outputs;
}

std::vector<Ciphertext> Evaluator::textbook(const Layer &layer, const Ciphertext *inputs) {
    plan(layer);
    const std::vector<Ciphertext> rotated = babies(layer, inputs);
    const ProductOrder &order = layer.order();
    std::vector<Ciphertext> outputs(layer.outputs());
    for (std::size_t g = 0; g < layer.giants().size(); g++) {
        Ciphertext sum;
        for (std::size_t t = order.giant_start[g]; t < order.giant_start[g + 1]; t++) {
            const auto product = context_->EvalMult(rotated[order.baby[t]], layer.plaintexts()[t]);
            if (sum == nullptr) {
                sum = product;
            } else {
                context_->EvalAddInPlace(sum, product);
            }
        }
        const GiantStep &giant = layer.giants()[g];
        if (giant.step != 0) {
            sum = context_->EvalRotate(sum, static_cast<std::int32_t>(giant.step));
        }
        Ciphertext &output = outputs[giant.output];
        if (output == nullptr) {
            output = sum;
        } else {
            context_->EvalAddInPlace(output, sum);
        }
    }
    for (Ciphertext &output : outputs) {
        if (output != nullptr) {
            context_->RescaleInPlace(output);
        }
    }
    return outputs;
}

}  // namespace ckks_openfhe
