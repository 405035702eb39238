#pragma once

#include "core/engine/lm/generation_ops.h"

#include <memory>
#include <string>
#include <utility>

namespace tilescope::engine {

/// A tensor, or the sum of a residual stream and a product that the next norm computes.
struct GenerationValue {
    struct LazySum {
        at::Tensor x;
        at::Tensor addend; ///< undefined once the sum is computed
        at::Tensor sum;
    };
    at::Tensor data = {};
    std::shared_ptr<LazySum> lazy = {};

    GenerationValue() = default;
    GenerationValue(at::Tensor tensor) : data(std::move(tensor)) {} // NOLINT: stands for the tensor
    explicit GenerationValue(std::shared_ptr<LazySum> sum) : lazy(std::move(sum)) {}
    /// The tensor; computes the sum if no norm has.
    const at::Tensor& tensor() const;
};

/// Like GenerationOps, by the kernels of kernels/include/lm.h: the sum with the residual stream and the norm of it in one
/// kernel, rotation in place in the packed projection, SwiGLU in one kernel. The residual stream is in fp32. Backend
/// flash only. Session thread.
class FusedGenerationOps : private GenerationOps {
public:
    using Tensor = GenerationValue;
    using GenerationOps::dividesLayers;
    using GenerationOps::Range;
    using GenerationOps::setPositions;
    using GenerationOps::visitHeld;
    using GenerationOps::weightElements;

    /// \throws Unsupported, Error
    FusedGenerationOps(const ExperimentSpec& spec, at::TensorOptions options);

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width)
    {
        return GenerationOps::embeddingWeight(name, rows, width);
    }
    Tensor normWeight(const std::string& name, std::int64_t width);
    Tensor linearWeight(const std::string& name, const LinearMap& map)
    {
        return GenerationOps::linearWeight(name, map);
    }

    Tensor embedding(const Tensor& weight, const Tensor& tokens) const;
    Tensor rmsNorm(const Tensor& x, const Tensor& weight) const;
    Tensor mm(const Tensor& x, const Tensor& weight) const;
    Tensor add(const Tensor& x, const Tensor& y) const;
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b) const { return add(x, mm(a, b)); }
    bool addsProducts() const { return true; }
    TensorTriple<Tensor> splitHeads(const Tensor& qkv) const;
    Tensor mergeHeads(const Tensor& o) const { return GenerationOps::mergeHeads(o.tensor()); }
    Tensor attention(const TensorTriple<Tensor>& qkv)
    {
        return GenerationOps::attention({qkv[0].data, qkv[1].data, qkv[2].data});
    }
    Tensor swiGlu(const Tensor& gateUp) const;
    Tensor enterBlock(std::int64_t block, const Tensor& x)
    {
        GenerationOps::enterBlock(block, {});
        return x;
    }
    Tensor leaveBlock(std::int64_t /*block*/, const Tensor& x) const { return x; }
    Tensor intoParts(const Tensor& x) const { return x; }
    Tensor sumOfParts(const Tensor& y) const { return y; }
    Tensor recomputedInBackward(const ModelPart<Tensor>& part, const TensorTriple<Tensor>& inputs) const
    {
        return part(inputs);
    }
    Tensor rowsOfHead(const Tensor& x) const;

private:
    at::ScalarType elements_; ///< of the factors of products
    at::ScalarType sums_;     ///< of the residual stream and norms
};

using FusedGenerationModel = tilescope::LanguageModel<FusedGenerationOps>;

} // namespace tilescope::engine
