// Programs as FIDESlib's transform takes them, against the formula of the ABI.
#include "../fideslib/plan.hpp"

#include <map>
#include <tuple>

#include "check.hpp"

namespace {

using ckks_fideslib::uniform_plan;
using ckks_fideslib::UniformPlan;

struct Product {
    std::uint32_t output, input, baby, giant;
};

// Ascending, as the ABI wants them.
shim::Program program_of(const std::vector<Product> &products) {
    shim::Program program;
    for (const Product &product : products) {
        program.inputs = std::max(program.inputs, product.input + 1);
        program.outputs = std::max(program.outputs, product.output + 1);
        if (program.giants.empty() || program.giants.back().output != product.output ||
            program.giants.back().giant_step != product.giant) {
            program.giants.push_back({product.output, product.giant, program.terms.size(), 0});
        }
        program.giants.back().term_count += 1;
        program.terms.push_back({product.input, product.baby, program.terms.size()});
    }
    return program;
}

std::vector<Product> dense(std::uint32_t babies, std::uint32_t giants, std::uint32_t stride) {
    std::vector<Product> products;
    for (std::uint32_t g = 0; g < giants; g++) {
        for (std::uint32_t b = 0; b < babies; b++) {
            products.push_back({0, 0, b * stride, g * babies * stride});
        }
    }
    return products;
}

// Every row must rotate as its product does, and every product must have one row.
void covers(const std::vector<Product> &products, const std::string &what) {
    const auto program = program_of(products);
    const auto plan = uniform_plan(program, program.steps());
    check::that(plan.has_value(), what + ": has the shape");
    if (!plan) {
        return;
    }
    std::size_t found = 0;
    bool right = true;
    for (const auto &transform : plan->transforms) {
        for (std::size_t row = 0; row < transform.rows.size(); row++) {
            if (!transform.rows[row]) {
                continue;
            }
            found += 1;
            const Product &product = products[*transform.rows[row]];
            right = right && product.input == transform.input &&
                    product.output == transform.output &&
                    product.baby == row % plan->baby_steps * plan->stride &&
                    product.giant == row / plan->baby_steps * plan->baby_steps * plan->stride;
        }
    }
    check::that(right && found == products.size(), what + ": rows are its products");
}

void refuses(const std::vector<Product> &products, const std::string &what) {
    const auto program = program_of(products);
    check::that(!uniform_plan(program, program.steps()), what);
}

}  // namespace

int main() {
    covers(dense(4, 8, 1), "dense");
    covers(dense(16, 1, 1), "one giant step");
    covers(dense(4, 3, 32), "stride");
    auto products = dense(4, 4, 1);
    products.pop_back();
    products.erase(products.begin() + 5);
    covers(products, "zero diagonals");
    covers({{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 1, 0, 0}, {0, 1, 1, 0}, {1, 0, 1, 0}, {1, 1, 0, 2}},
           "inputs and outputs");

    refuses(dense(1, 8, 1), "no baby steps");
    refuses({{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 3}}, "a giant step between two multiples");
    refuses({{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 64}}, "mostly zero rows");

    const auto program = program_of(dense(4, 4, 1));
    for (const std::uint32_t step : {1u, 2u, 3u, 4u}) {
        auto keys = program.steps();
        keys.erase(step);
        check::that(!uniform_plan(program, keys), "no key for step " + std::to_string(step));
    }
    auto keys = program.steps();
    keys.erase(12);
    check::that(uniform_plan(program, keys).has_value(), "Horner's rule needs no key for step 12");
    return check::finish();
}
