#pragma once

#include "core/model/fused_tape.h"
#include "core/predict/flash_attention.h"
#include "core/predict/parallel_memory.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::predict {

/// A weight in E4M3, in both orders, and its scales.
struct QuantizedStorage {
    Storage values;
    Storage transposed;
    Storage scales;
};

/// What a weight of the fused model has in addition: core/engine's FusedWeight without values.
struct FusedWeight {
    bool isHeld = false; ///< a parameter or an input
    Storage remainder = {};
    std::shared_ptr<QuantizedStorage> quantized = {};
    std::int64_t in = 0; ///< of a weight that is quantised
    std::int64_t out = 0;
    Storage parts = {};                   ///< in bf16, of a weight in fp32x6
    std::int32_t leaf = Origin::kNowhere; ///< of a parameter that ranks divide
};
using FusedValue = FusedTensor<Tensor, FusedWeight>;

/// Work on a side stream of a GPU. It keeps its operands until the end of the backward pass, or until a fixed
/// number of further pieces of work follow (core/engine/common/side_stream.h).
class SideWork {
public:
    explicit SideWork(Ops& ops) : ops_(ops) {}

    void run(std::vector<Tensor> operands, const std::function<void()>& work);
    void join() { pending_.clear(); }

private:
    Ops& ops_;
    std::deque<std::vector<Tensor>> pending_;
};

/// The operations of compile: fused for the predictor. They make the same allocations as core/engine's
/// FusedOps in the same order and log the work, but compute nothing.
class CountedFusedOps : public FusedTape<CountedFusedOps, FusedValue, SideWork> {
public:
    struct Range {
        explicit Range(std::string_view) {}
    };

    CountedFusedOps(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops);

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width);
    Tensor normWeight(const std::string& name, std::int64_t width);
    Tensor linearWeight(const std::string& name, const LinearMap& map);

    /// \return  the loss
    Data crossEntropy(const Tensor& logits);
    Data sum(const Tensor& logits);
    /// Logs the update of a parameter by AdamW.
    void update(const Tensor& parameter);
    /// Of the ranks; null: one process alone.
    ParallelMemory* parallel() { return parallel_.get(); }

private:
    friend FusedTape;

    struct NoteRanges {
        void enter(const std::vector<std::string>& /*modules*/) const {}
        static std::vector<std::string> now() { return {}; }
    };

    Tensor placed(const std::string& name, std::int64_t count, const LinearMap* map);
    std::shared_ptr<QuantizedStorage> quantizedStorage(std::int64_t in, std::int64_t out);
    void quantize(const Tensor& weight);

    // Kernels of FusedTape.
    static bool isMade(const Data& data) { return static_cast<bool>(data); }
    void keepForBackward(const Tensor& value);
    void handOver(const Tensor& parameter);
    void storeIn8Bits(const Tensor& weight);
    Data embed(const Tensor& weight, const Tensor& tokens);
    Data embeddingGradient(const Tensor& weight, const Tensor& tokens, const Data& gradient);
    FusedNorm<Data> addRmsNorm(const Data& x, const Data& addend, const Tensor& weight);
    FusedNormGradients<Data> rmsNormBackward(const Data& gradY, const Data& x, const Tensor& weight,
                                             const Data& rows, const Data& residual);
    Data gradientOfNorm(const Tensor& weight);
    void sumParts(const Tensor& weight, const Data& parts);
    Data weightProduct(const Data& x, const Tensor& weight, std::int64_t rows);
    Data inputGradient(const Data& gradient, const Tensor& weight);
    Data gradientLike(const Tensor& weight);
    bool updatesWithGradient(const Tensor& weight, const Data& x, const Data& gradient) const;
    void updateWithGradient(const Tensor& weight, const Data& x, const Data& gradient);
    void computeWeightGradient(const Tensor& weight, bool sets, const Data& x, const Data& gradient);
    void rotate(const Data& packed, bool inverse);
    TensorTriple<Data> heads(const Data& packed) const;
    FusedAttention<Data> attentionForward(const TensorTriple<Data>& qkv, bool keeps);
    Data gradientOfHeads(const Data& packed);
    void attentionBackward(const Tensor& packed, const Data& gradO, const Data& o, const Data& statistics);
    Data swiGluForward(const Data& gateUp);
    void swiGluBackward(const Data& gradient, const Data& gateUp);

    Data made(std::int64_t count, Type type, const char* what);
    Data gradientOf(const Tensor& weight, const char* what);
    void multiply(const Data& a, const Data& b, std::int64_t count);
    void multiplyWeight(const Data& a, const Tensor& weight, std::int64_t count, bool isForward);
    Data quantizedProduct(const Data& a, const Tensor& weight, std::int64_t count, const char* what);
    Data crossEntropyByChunks();
    std::int64_t normParts() const;

    Ops& ops_;
    std::int64_t width_;
    std::int64_t chunkRows_;
    Type elements_;
    bool splitsProducts_;
    bool quantizesProducts_;
    bool trains_;
    bool updatesWithGradients_;
    Storage rotation_;
    Storage scaledWorkspace_;
    std::shared_ptr<FlashAttention> attention_;
    std::unique_ptr<Leaves> leaves_; ///< of the ranks
    std::unique_ptr<ParallelMemory> parallel_;
};

using FusedLanguageModel = tilescope::LanguageModel<CountedFusedOps>;

} // namespace tilescope::predict
