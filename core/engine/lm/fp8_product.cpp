#include "core/engine/lm/fp8_product.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <tuple>

namespace tilescope::engine {
namespace {

using at::Tensor;

/// a b^T.
/// \param b  (n, k), with one scale
Tensor product(const QuantizedRows& a, const Tensor& b, const Tensor& scales, bool fastSums)
{
    const std::int64_t columns = b.size(0);
    if (a.values.is_cuda())
        return at::_scaled_mm(a.values, b.t(), a.scales, scales.narrow(0, 0, columns).view({1, columns}), {},
                              {}, at::kBFloat16, fastSums);
    const Tensor sums = at::mm(a.values.to(at::kFloat), b.to(at::kFloat).t());
    return sums.mul_(a.scales).mul_(scales[0]).to(at::kBFloat16);
}

} // namespace

QuantizedRows quantizedRows(const Tensor& x)
{
    static const auto call = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("tilescope::quantize_rows", "")
                                 .typed<std::tuple<Tensor, Tensor>(const Tensor&)>();
    auto [values, scales] = call.call(x.contiguous());
    return {std::move(values), std::move(scales)};
}

QuantizedWeight::QuantizedWeight(const Tensor& weight)
    : values(at::empty({weight.size(1), weight.size(0)}, weight.options().dtype(at::kFloat8_e4m3fn))),
      transposed(at::empty({weight.size(0), weight.size(1)}, values.options())),
      scales(at::empty({std::max(weight.size(0), weight.size(1))}, weight.options().dtype(at::kFloat)))
{
    set(weight);
}

void QuantizedWeight::set(const Tensor& weight) const
{
    static const auto call = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("tilescope::quantize_matrix_", "")
                                 .typed<void(const Tensor&, const Tensor&, const Tensor&, const Tensor&)>();
    call.call(values, transposed, scales, weight.t());
}

Tensor fp8Product(const QuantizedRows& x, const QuantizedWeight& weight)
{
    return product(x, weight.values, weight.scales, true);
}

Tensor fp8InputGradient(const QuantizedRows& gradient, const QuantizedWeight& weight)
{
    return product(gradient, weight.transposed, weight.scales, false);
}

} // namespace tilescope::engine
