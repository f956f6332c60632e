// A prepared layer: one HoistHandler for each transform, encoded as its diagonals come.
#ifndef CKKS_SHIM_CHEDDAR_LAYER_HPP
#define CKKS_SHIM_CHEDDAR_LAYER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <core/Context.h>
#include <core/EvkMap.h>
#include <extension/Hoist.h>

#include "device.hpp"
#include "transforms.hpp"

namespace shim {

// Inputs and outputs of a group of vectors. An output without giants stays empty.
template <typename word>
using Group = std::vector<std::unique_ptr<cheddar::Ciphertext<word>>>;

template <typename word>
class Layer {
public:
    Layer(std::vector<Transform> transforms, std::uint32_t inputs, std::uint32_t outputs,
          Mode mode, int level)
        : inputs_(inputs), outputs_(outputs), mode_(mode), level_(level) {
        for (const Transform &transform : transforms) {
            for (const auto &[giant, terms] : transform.diagonals) {
                plaintexts_ += terms.size();
            }
        }
        places_.resize(plaintexts_);
        for (Transform &transform : transforms) {
            Part part;
            for (const auto &[giant, terms] : transform.diagonals) {
                for (const auto &[baby, diagonal] : terms) {
                    if (diagonal) {
                        part.missing += 1;
                        places_.at(*diagonal) = {parts_.size(), giant, baby};
                    }
                }
            }
            part.transform = std::move(transform);
            parts_.push_back(std::move(part));
        }
    }

    std::uint32_t inputs() const { return inputs_; }
    std::uint32_t outputs() const { return outputs_; }
    // Encoded diagonals, with the zero vectors that Cheddar needs.
    std::uint64_t plaintexts() const { return plaintexts_; }

    // Keeps a diagonal until its transform has all of them, and then encodes them.
    void add(const cheddar::ConstContextPtr<word> &context, std::uint64_t diagonal,
             cheddar::Message message, double scale) {
        const Place place = places_.at(diagonal);
        Part &part = parts_[place.part];
        if (part.transform.turned) {
            turn_back(message, place.baby);
        }
        part.messages[static_cast<int>(place.giant)].insert_or_assign(
            static_cast<int>(place.baby), std::move(message));
        part.missing -= 1;
        if (part.missing == 0) {
            encode(part, context, scale);
        }
    }

    // Every output of one group of inputs.
    Group<word> evaluate(const cheddar::ConstContextPtr<word> &context,
                         const std::unique_ptr<cheddar::Ciphertext<word>> *inputs,
                         const cheddar::EvkMap<word> &keys) const {
        Group<word> outputs(outputs_);
        // Transforms come by ascending input; those of one input share its baby steps where they
        // take the same ones.
        std::map<std::pair<bool, std::set<std::uint32_t>>, Rotated> rotated;
        std::uint32_t rotated_input = 0;
        for (const Part &part : parts_) {
            const std::uint32_t input = part.transform.input;
            if (input != rotated_input) {
                rotated.clear();
                rotated_input = input;
            }
            const bool min_ks = part.transform.minimum_key_switching;
            const auto found = rotated.try_emplace({min_ks, part.baby_steps});
            Rotated &babies = found.first->second;
            if (found.second) {
                part.handler->EvaluateBabyStep(context, babies, *inputs[input], keys, min_ks);
            }
            auto result = std::make_unique<cheddar::Ciphertext<word>>();
            part.handler->EvaluateGiantStep(context, *result, babies, keys, min_ks);
            auto &output = outputs[part.transform.output];
            if (output == nullptr) {
                output = std::move(result);
            } else {
                context->Add(*output, *output, *result);
            }
        }
        return outputs;
    }

private:
    using Rotated = std::map<int, cheddar::Ciphertext<word>>;

    struct Part {
        Transform transform;
        std::size_t missing = 0;
        cheddar::PlainHoistMap messages;
        std::unique_ptr<cheddar::HoistHandler<word>> handler;
        // As the handler has them.
        std::set<std::uint32_t> baby_steps;
    };

    struct Place {
        std::size_t part;
        std::uint32_t giant;
        std::uint32_t baby;
    };

    // rot_g(P) from P, as a diagonal of baby step g instead of giant step g:
    // rot_g(P x) = rot_g(P) rot_g(x).
    static void turn_back(cheddar::Message &message, std::uint32_t step) {
        std::rotate(message.begin(), message.begin() + step, message.end());
    }

    void encode(Part &part, const cheddar::ConstContextPtr<word> &context, double scale) {
        const std::size_t slots = part.messages.begin()->second.begin()->second.size();
        for (const auto &[giant, terms] : part.transform.diagonals) {
            for (const auto &[baby, diagonal] : terms) {
                if (!diagonal) {
                    part.messages[static_cast<int>(giant)].emplace(static_cast<int>(baby),
                                                                   cheddar::Message(slots));
                }
            }
        }
        // Cheddar turns baby steps without giant steps into giant steps, except where told not to.
        const bool keep = mode_ == Mode::min_ks;
        const bool turns = !keep && part.messages.size() == 1 && part.messages.count(0) == 1;
        part.baby_steps = turns ? std::set<std::uint32_t>{0} : part.transform.baby_steps();
        part.handler = std::make_unique<cheddar::HoistHandler<word>>(context, part.messages,
                                                                     level_, scale, keep);
        part.messages.clear();
        check_device(Wait::yes);
    }

    std::uint32_t inputs_;
    std::uint32_t outputs_;
    Mode mode_;
    int level_;
    std::uint64_t plaintexts_ = 0;
    std::vector<Part> parts_;
    std::vector<Place> places_;  // by diagonal
};

}  // namespace shim

#endif
