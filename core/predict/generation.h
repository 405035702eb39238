#pragma once

#include "core/model/language_model.h"
#include "core/predict/attention.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::predict {

/// The operations of the language model in mode generate, counted: the allocations and the work of core/engine's
/// GenerationOps.
class CountedGenerationOps {
public:
    using Tensor = predict::Tensor;
    struct Range {
        explicit Range(std::string_view) {}
    };

    /// \param ops  must outlive this
    CountedGenerationOps(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops);

    /// The positions of the next pass, as GenerationOps has them.
    void setPositions(std::int64_t first, std::int64_t tokens)
    {
        first_ = first;
        tokens_ = tokens;
    }

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width);
    Tensor normWeight(const std::string& name, std::int64_t width);
    Tensor linearWeight(const std::string& name, const LinearMap& map);

    Tensor embedding(const Tensor& weight, const Tensor& tokens);
    Tensor rmsNorm(const Tensor& x, const Tensor& weight);
    Tensor mm(const Tensor& x, const Tensor& weight);
    Tensor add(const Tensor& x, const Tensor& y);
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b);
    bool addsProducts() const { return isFused_; }
    Tensors splitHeads(const Tensor& qkv);
    Tensor mergeHeads(const Tensor& o);
    Tensor attention(const Tensors& qkv);
    Tensor swiGlu(const Tensor& gateUp);
    Tensor enterBlock(std::int64_t /*block*/, const Tensor& x) { return x; }
    Tensor leaveBlock(std::int64_t /*block*/, const Tensor& x) { return x; }
    bool dividesLayers() const { return false; }
    Tensor intoParts(const Tensor& x) { return x; }
    Tensor sumOfParts(const Tensor& y) { return y; }
    Tensor recomputedInBackward(const ModelPart<Tensor>& part, const Tensors& inputs) { return part(inputs); }
    Tensor rowsOfHead(const Tensor& x);

private:
    Tensor weight(std::int64_t count, Type type, const char* what);
    void hold(std::int64_t bytes, const char* what);
    void holdCache();
    Tensor fusedNorm(const Tensor& x);
    void makeSum(std::int64_t count);
    Tensor rotated(const Tensor& packed, std::int64_t heads);
    void writeCache(const Tensor& k, const Tensor& v);
    Tensors readCache(std::int64_t length);
    Tensor decoded(const Tensor& q, std::int64_t length);

    const ExperimentSpec spec_;
    TargetDevice device_;
    Ops& ops_;
    Type type_; ///< of activations, keys and values
    std::int64_t headDim_;
    bool groupsHeads_;
    bool isFused_;
    std::array<Tensor, 2> addends_{}; ///< of a sum that the next norm computes
    Tensor residual_;                 ///< the last sum that a norm has computed
    std::unique_ptr<AttentionMemory> prefill_;
    std::unique_ptr<AttentionMemory> decode_; ///< for the longest sequence
    std::vector<Storage> held_;
    Storage workspaceOfRow_;
    std::int64_t first_ = 0;
    std::int64_t tokens_ = 0;
    std::int64_t rowsOfHead_ = 0; ///< rows of the next product if it is the head's
};

using GenerationModel = tilescope::LanguageModel<CountedGenerationOps>;

} // namespace tilescope::predict
