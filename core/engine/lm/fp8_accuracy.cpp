#include "core/engine/lm/fp8_accuracy.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

namespace tilescope::engine {
namespace {

using at::Tensor;
using Facts = std::vector<EnvironmentEntry>;

// Sums stay on the device until all are computed.
double sumOf(const Tensor& sum)
{
    return sum.defined() ? sum.item<double>() : 0;
}

void addTo(Tensor& sum, const Tensor& value)
{
    sum = sum.defined() ? sum + value : value;
}

Tensor squares(const Tensor& x)
{
    return at::linalg_vector_norm(x, 2, {}, false, at::kFloat).to(at::kDouble).square();
}

std::string text(double value)
{
    constexpr int kDigits = 6;
    std::array<char, 40> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.*g", kDigits, value);
    return buffer.data();
}

/// Sums over the products with one kind of weight in one direction.
struct ProductSums {
    Tensor difference; ///< squared norms
    Tensor exact;
    Tensor flushed;
    Tensor largest;
    std::int64_t count = 0; ///< number of activations or gradients

    void add(const FusedOps::QuantizedCall& call)
    {
        constexpr double kLargest = 448;
        const Tensor& weight = call.weight->data;
        const Tensor exactProduct = at::mm(call.factor, call.isForward ? weight : weight.t());
        addTo(difference, squares(call.result.to(at::kFloat) - exactProduct.to(at::kFloat)));
        addTo(exact, squares(exactProduct));
        const Tensor values = call.rows.values.to(at::kFloat);
        addTo(flushed, at::logical_and(values == 0, call.factor != 0).sum());
        addTo(largest, (values.abs() == kLargest).sum());
        count += values.numel();
    }
};

/// Sums over two gradients.
struct GradientSums {
    Tensor product;
    Tensor ours; ///< squared norms
    Tensor exact;

    void add(const Tensor& gradient, const Tensor& exactGradient)
    {
        const Tensor other = exactGradient.to(at::kFloat);
        addTo(product, (gradient.to(at::kFloat) * other).sum(at::kDouble));
        addTo(ours, squares(gradient));
        addTo(exact, squares(other));
    }
    double cosine() const { return sumOf(product) / std::sqrt(sumOf(ours) * sumOf(exact)); }
    double normRatio() const { return std::sqrt(sumOf(ours) / sumOf(exact)); }
};

/// The layer or module of a parameter: layers.0 for layers.0/ffn/down.
std::string groupOf(const std::string& name)
{
    return name.substr(0, name.find('/'));
}

std::string lastPart(const std::string& name)
{
    return name.substr(name.rfind('/') + 1);
}

Facts factsOfProducts(const std::map<std::string, ProductSums>& products)
{
    Facts facts;
    for (const auto& [key, sums] : products) {
        const auto count = static_cast<double>(sums.count);
        facts.push_back(
            {"result.fp8.error." + key, text(std::sqrt(sumOf(sums.difference) / sumOf(sums.exact)))});
        facts.push_back({"result.fp8.flushed." + key, text(sumOf(sums.flushed) / count)});
        facts.push_back({"result.fp8.largest." + key, text(sumOf(sums.largest) / count)});
    }
    return facts;
}

/// Restores the model when the comparison ends, also if memory runs out.
struct Restored {
    FusedOps& ops;
    explicit Restored(FusedOps& of) : ops(of) {}
    ~Restored()
    {
        ops.quantize(true);
        ops.observeQuantized({});
    }
    Restored(const Restored&) = delete;
    Restored& operator=(const Restored&) = delete;
};

double flushedWeights(const std::vector<FusedOps::Tensor>& parameters)
{
    Tensor flushed;
    std::int64_t count = 0;
    for (const FusedOps::Tensor& parameter : parameters) {
        if (!parameter->quantized)
            continue;
        const Tensor values = parameter->quantized->values.to(at::kFloat);
        addTo(flushed, at::logical_and(values == 0, parameter->data.t() != 0).sum());
        count += values.numel();
    }
    return count == 0 ? 0 : sumOf(flushed) / static_cast<double>(count);
}

} // namespace

std::vector<EnvironmentEntry> fp8Accuracy(tilescope::LanguageModel<FusedOps>& model,
                                          const std::function<void()>& step)
{
    const at::NoGradGuard noGrad;
    const Restored restored{model.ops()};
    const auto& parameters = model.parameters();
    const auto& names = model.parameterNames();
    model.ops().quantize(false);
    step();
    model.ops().quantize(true);
    // Rounding to bf16 changes a cosine by less than 2^-18.
    std::vector<Tensor> exact;
    std::map<const FusedValue*, std::string> weights;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        exact.push_back(std::exchange(parameters[i]->grad, {}).to(at::kBFloat16));
        weights[parameters[i].get()] = lastPart(names[i]);
    }

    std::map<std::string, ProductSums> products;
    model.ops().observeQuantized([&](const FusedOps::QuantizedCall& call) {
        products[(call.isForward ? "forward." : "backward.") + weights.at(call.weight.get())].add(call);
    });
    step();

    Facts facts = factsOfProducts(products);
    facts.push_back({"result.fp8.flushed.weights", text(flushedWeights(parameters))});
    GradientSums all;
    std::map<std::string, GradientSums> groups;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        all.add(parameters[i]->grad, exact[i]);
        groups[groupOf(names[i])].add(parameters[i]->grad, exact[i]);
    }
    facts.push_back({"result.fp8.gradient_cosine", text(all.cosine())});
    facts.push_back({"result.fp8.gradient_norm", text(all.normRatio())});
    for (const auto& [group, sums] : groups) {
        facts.push_back({"result.fp8.gradient_cosine." + group, text(sums.cosine())});
        facts.push_back({"result.fp8.gradient_norm." + group, text(sums.normRatio())});
    }
    return facts;
}

} // namespace tilescope::engine
