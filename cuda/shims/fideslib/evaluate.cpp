#include "evaluate.hpp"

#include <map>
#include <utility>

#include "../common/failure.hpp"

namespace ckks_fideslib {

namespace {

DeviceCiphertext copy_of(server::Context &context, const server::Ciphertext &original) {
    auto copy = std::make_unique<server::Ciphertext>(context);
    copy->copy(original);
    return copy;
}

void add(DeviceCiphertext &sum, DeviceCiphertext term) {
    if (sum == nullptr) {
        sum = std::move(term);
    } else {
        sum->add(*term);
    }
}

// The library's transform works in place and leaves the result unscaled.
std::vector<DeviceCiphertext> transform(server::Context &context, const Layer &layer,
                                        const DeviceCiphertext *inputs) {
    std::vector<DeviceCiphertext> outputs(layer.program.outputs);
    for (const auto &part : layer.plan->transforms) {
        std::vector<server::Plaintext *> rows;
        for (const auto &row : part.rows) {
            rows.push_back(row ? layer.diagonals[*row].get() : layer.zero.get());
        }
        DeviceCiphertext work = copy_of(context, *inputs[part.input]);
        FIDESlib::CKKS::LinearTransform(*work, static_cast<int>(rows.size()),
                                        static_cast<int>(layer.plan->baby_steps), rows,
                                        static_cast<int>(layer.plan->stride), 0);
        add(outputs[part.output], std::move(work));
    }
    return outputs;
}

using Babies = std::map<std::pair<std::uint32_t, std::uint32_t>, DeviceCiphertext>;

// All rotations of all inputs, hoisted: one decomposition for each input.
Babies babies(server::Context &context, const Layer &layer, const DeviceCiphertext *inputs) {
    Babies all;
    for (const auto &term : layer.program.terms) {
        all[{term.input, term.baby_step}] = nullptr;
    }
    std::vector<std::vector<int>> steps(layer.program.inputs);
    std::vector<std::vector<server::Ciphertext *>> results(layer.program.inputs);
    for (auto &[key, rotated] : all) {
        const auto [input, step] = key;
        if (step == 0) {
            rotated = copy_of(context, *inputs[input]);
            if (layer.extended) {
                rotated->extend();
            }
            continue;
        }
        rotated = std::make_unique<server::Ciphertext>(context);
        steps[input].push_back(static_cast<int>(step));
        results[input].push_back(rotated.get());
    }
    for (std::size_t input = 0; input < steps.size(); input++) {
        // An empty list would launch empty kernels, which counts as a CUDA error.
        if (!steps[input].empty()) {
            inputs[input]->rotate_hoisted(steps[input], results[input], layer.extended);
        }
    }
    return all;
}

// For any program: hoisted rotations, one sum of products for each giant step.
std::vector<DeviceCiphertext> general(server::Context &context, const Layer &layer,
                                      const DeviceCiphertext *inputs) {
    const Babies rotated = babies(context, layer, inputs);
    const int level = inputs[0]->getLevel();
    std::vector<DeviceCiphertext> outputs(layer.program.outputs);
    for (const auto &giant : layer.program.giants) {
        std::vector<server::Ciphertext *> factors;
        std::vector<server::Plaintext *> diagonals;
        for (std::uint64_t t = giant.first_term; t < giant.first_term + giant.term_count; t++) {
            const auto &term = layer.program.terms[t];
            factors.push_back(rotated.at({term.input, term.baby_step}).get());
            diagonals.push_back(layer.diagonals[term.diagonal].get());
        }
        auto sum = std::make_unique<server::Ciphertext>(context);
        sum->growToLevel(level);
        sum->dropToLevel(level, true);
        if (layer.extended) {
            sum->extend(false);
        }
        sum->dotProductPt(factors.data(), diagonals.data(), static_cast<int>(factors.size()),
                          layer.extended);
        if (sum->c1.isModUp()) {
            sum->modDown(false);
        }
        if (giant.giant_step != 0) {
            sum->rotate(static_cast<int>(giant.giant_step), true);
        }
        add(outputs[giant.output], std::move(sum));
    }
    return outputs;
}

}  // namespace

std::vector<DeviceCiphertext> evaluate(server::Context &context, const Layer &layer,
                                       const DeviceCiphertext *inputs) {
    for (std::size_t i = 0; i < layer.program.inputs; i++) {
        // The library asserts this, in debug builds only.
        if (inputs[i]->getLevel() != layer.diagonals.front()->c0.getLevel()) {
            throw shim::Failure(CKKS_BACKEND_INTERNAL,
                                "an input and the diagonals differ in level");
        }
    }
    return layer.plan ? transform(context, layer, inputs) : general(context, layer, inputs);
}

}  // namespace ckks_fideslib
