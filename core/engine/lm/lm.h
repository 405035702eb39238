#pragma once

#include "core/engine/attention/attention.h"
#include "core/engine/lm/lm_functions.h"
#include "core/engine/lm/recomputation.h"
#include "core/model/language_model.h"
#include "core/trace/host/range.h"

#include <ATen/ATen.h>

#include <memory>
#include <string>

namespace tilescope::engine {

inline constexpr double kNormEpsilon = 1e-5;

/// \throws Error  the heads do not divide the width into even parts
void requireRotatable(const ExperimentSpec& spec);

/// Standard deviation of the initial weights: Glorot's, for each of the packed maps.
double deviationOf(const LinearMap& map);

/// The operations of the language model, executed by LibTorch. Session thread.
class EagerOps {
public:
    using Tensor = at::Tensor;
    using Range = trace::ScopedRange;

    /// \param options  dtype and device of the parameters
    /// \throws Unsupported, Error
    EagerOps(const ExperimentSpec& spec, at::TensorOptions options, const AttentionCall& attention);

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width) const;
    Tensor normWeight(const std::string& name, std::int64_t width) const;
    Tensor linearWeight(const std::string& name, const LinearMap& map) const;

    Tensor embedding(const Tensor& weight, const Tensor& tokens) const
    {
        return at::embedding(weight, tokens);
    }
    Tensor rmsNorm(const Tensor& x, const Tensor& weight) const;
    Tensor mm(const Tensor& x, const Tensor& weight) const { return at::mm(x, weight); }
    Tensor add(const Tensor& x, const Tensor& y) const { return at::add(x, y); }
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b) const { return at::addmm(x, a, b); }
    bool castsProducts() const;
    TensorTriple<Tensor> splitHeads(const Tensor& qkv) const
    {
        return engine::splitHeads(qkv, rotation_, groupsHeads_);
    }
    Tensor mergeHeads(const Tensor& o) const { return engine::mergeHeads(o, batch_, heads_); }
    Tensor attention(const TensorTriple<Tensor>& qkv) const
    {
        return attention_->apply(qkv[0], qkv[1], qkv[2]);
    }
    Tensor swiGlu(const Tensor& gateUp) const { return engine::swiGlu(gateUp); }
    Tensor recomputedInBackward(const RecomputedPart& part, const TensorTriple<Tensor>& inputs) const
    {
        return engine::recomputedInBackward(part, inputs);
    }

    /// Visits the tensors kept between calls: the rotation and those of the attention backend.
    void visitHeld(const HoldVisitor& visit) const;

private:
    std::int64_t batch_;
    std::int64_t heads_;
    at::TensorOptions options_;
    std::unique_ptr<AttentionBackend> attention_;
    bool groupsHeads_;
    Rotation rotation_;
};

using LanguageModel = tilescope::LanguageModel<EagerOps>;

std::int64_t parameterCount(const LanguageModel& model);

} // namespace tilescope::engine
