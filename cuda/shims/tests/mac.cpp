// Sums of products of residues against the definition, one product after the other.
#include "../openfhe/mac.hpp"

#include <random>

#include "check.hpp"

namespace {

__extension__ using Wide = unsigned __int128;

struct Polynomials {
    std::vector<std::vector<std::uint64_t>> first;
    std::vector<std::vector<std::uint64_t>> second;
};

// `largest` fills all with q - 1, where sums are largest.
std::vector<std::uint64_t> residues(std::size_t count, std::uint64_t q, bool largest,
                                    std::mt19937_64 &random) {
    std::vector<std::uint64_t> values(count, q - 1);
    if (!largest) {
        for (auto &value : values) {
            value = random() % q;
        }
    }
    return values;
}

void compare(const std::vector<std::size_t> &giants, std::size_t babies, std::uint64_t q,
             bool largest) {
    using namespace ckks_openfhe;
    constexpr std::size_t degree = 32;
    std::mt19937_64 random(giants.size() * 1000 + babies);

    ProductOrder order;
    order.babies = babies;
    for (const std::size_t products : giants) {
        order.giant_start.push_back(order.baby.size());
        for (std::size_t t = 0; t < products; t++) {
            order.baby.push_back(static_cast<std::uint32_t>(random() % babies));
        }
    }
    order.giant_start.push_back(order.baby.size());

    const auto diagonals = residues(degree * order.products(), q, largest, random);
    Polynomials inputs;
    Polynomials outputs;
    std::vector<Residues> input_words;
    std::vector<MutableResidues> output_words;
    for (std::size_t b = 0; b < babies; b++) {
        inputs.first.push_back(residues(degree, q, largest, random));
        inputs.second.push_back(residues(degree, q, largest, random));
    }
    for (std::size_t b = 0; b < babies; b++) {
        input_words.push_back({inputs.first[b].data(), inputs.second[b].data()});
    }
    outputs.first.assign(giants.size(), std::vector<std::uint64_t>(degree));
    outputs.second = outputs.first;
    for (std::size_t g = 0; g < giants.size(); g++) {
        output_words.push_back({outputs.first[g].data(), outputs.second[g].data()});
    }

    std::vector<std::uint64_t> scratch;
    multiply_accumulate(order, q, diagonals.data(), input_words, output_words, 0, 8, scratch);
    multiply_accumulate(order, q, diagonals.data(), input_words, output_words, 8, degree, scratch);

    bool equal = true;
    for (std::size_t g = 0; g < giants.size(); g++) {
        for (std::size_t i = 0; i < degree; i++) {
            std::uint64_t first = 0;
            std::uint64_t second = 0;
            for (std::size_t t = order.giant_start[g]; t < order.giant_start[g + 1]; t++) {
                const std::size_t at = (i / kLanes * order.products() + t) * kLanes + i % kLanes;
                const auto add = [&](std::uint64_t &sum, std::uint64_t input) {
                    sum = static_cast<std::uint64_t>((Wide{diagonals[at]} * input + sum) % q);
                };
                add(first, inputs.first[order.baby[t]][i]);
                add(second, inputs.second[order.baby[t]][i]);
            }
            equal = equal && outputs.first[g][i] == first && outputs.second[g][i] == second;
        }
    }
    check::that(equal, std::to_string(giants.size()) + " giant steps, " + std::to_string(babies) +
                           " baby steps, q = " + std::to_string(q));
}

}  // namespace

int main() {
    const std::uint64_t moduli[] = {
        1152921504606830593,           // a prime just below 2^60
        (std::uint64_t{1} << 60) - 1,  // the largest that is allowed
        1099511922689,
        3,
    };
    for (const std::uint64_t q : moduli) {
        for (const bool largest : {false, true}) {
            compare({1}, 1, q, largest);
            compare({7, 8, 9}, 5, q, largest);
            compare({127, 128, 129, 1}, 16, q, largest);
            compare({1000, 3}, 64, q, largest);
        }
    }
    return check::finish();
}
