#pragma once

#include "core/model/language_model.h"
#include "core/predict/flash_attention.h"
#include "core/predict/parallel_memory.h"

#include <deque>
#include <functional>
#include <map>
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

/// A tensor of the fused model with its gradient: core/engine's FusedValue without values.
struct FusedValue {
    Tensor data = {};
    Tensor grad = {};
    Tensor addend = {};
    std::function<Tensor()> addendLater = {};
    Tensor gradRounded = {};
    std::shared_ptr<FusedValue> packed = {}; ///< what q, k and v are views of
    bool isHeld = false;                     ///< a parameter or an input
    bool isByChunks = false;
    bool isRecomputed = false;
    std::function<void(const Tensor&)> whenRecomputed = {};
    std::function<Tensor()> later = {};
    std::function<Tensor()> again = {};
    std::shared_ptr<FusedValue> base = {};
    Storage remainder = {};
    std::shared_ptr<QuantizedStorage> quantized = {};
    Storage parts = {};                   ///< in bf16, of a weight in fp32x6
    std::int32_t leaf = Origin::kNowhere; ///< of a parameter that ranks divide
};

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
class CountedFusedOps {
public:
    using Tensor = std::shared_ptr<FusedValue>;
    struct Range {
        explicit Range(std::string_view) {}
    };

    CountedFusedOps(const ExperimentSpec& spec, const TargetDevice& device, Ops& ops);

    Tensor embeddingWeight(const std::string& name, std::int64_t rows, std::int64_t width);
    Tensor normWeight(const std::string& name, std::int64_t width);
    Tensor linearWeight(const std::string& name, const LinearMap& map);

    Tensor embedding(const Tensor& weight, const Tensor& tokens);
    Tensor rmsNorm(const Tensor& x, const Tensor& weight);
    Tensor mm(const Tensor& x, const Tensor& weight);
    Tensor add(const Tensor& x, const Tensor& y);
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b) { return add(x, mm(a, b)); }
    bool addsProducts() const { return false; }
    Tensor enterBlock(std::int64_t block, const Tensor& x);
    Tensor leaveBlock(std::int64_t block, const Tensor& x);
    bool dividesLayers() const { return false; }
    Tensor intoParts(const Tensor& x) const { return x; }
    Tensor sumOfParts(const Tensor& y) const { return y; }
    TensorTriple<Tensor> splitHeads(const Tensor& qkv);
    Tensor attention(const TensorTriple<Tensor>& qkv);
    Tensor mergeHeads(const Tensor& o) const { return o; }
    Tensor swiGlu(const Tensor& gateUp);
    Tensor recomputedInBackward(const ModelPart<Tensor>& part, const TensorTriple<Tensor>& inputs);

    void record(bool recording) { recording_ = recording; }
    /// Called for each parameter once its gradient is computed.
    void observeGradients(std::function<void(const Tensor&)> observer) { observer_ = std::move(observer); }

    /// \return  the loss
    predict::Tensor crossEntropy(const Tensor& logits);
    predict::Tensor sum(const Tensor& logits);
    void backward();
    void forget();
    /// Logs the update of a parameter by AdamW.
    void update(const Tensor& parameter);
    /// Of the ranks; null: one process alone.
    ParallelMemory* parallel() { return parallel_.get(); }

private:
    /// One for each engine: tensors hold the memory of their object.
    struct Note {
        std::function<void()> backward;
    };
    struct Attended {
        Tensor output;
        Tensor statistics;
    };

    Tensor placed(const std::string& name, std::int64_t count, const LinearMap* map);
    std::shared_ptr<QuantizedStorage> quantizedStorage(std::int64_t in, std::int64_t out);
    void quantize(const Tensor& weight);
    void quantizeBlock(std::int64_t block);
    void forgetQuantized(std::int64_t block);
    void handOverGradients();
    struct Normed {
        predict::Tensor output;
        predict::Tensor sum = {};
        predict::Tensor rows = {};
    };
    Normed addRmsNorm(const predict::Tensor& x, const predict::Tensor& addend);
    Attended attend();
    bool dropsSums() const { return keepsAttention_ && recording_ && !isRecomputing_; }
    Tensor valueOf(predict::Tensor data) const;
    predict::Tensor made(std::int64_t count, Type type, const char* what);
    predict::Tensor gradientOf(const Tensor& weight, const char* what);
    void note(std::initializer_list<Tensor> saved, std::function<void()> backward);
    void runNotes();
    void tellGradient(const Tensor& parameter);
    void multiply(const predict::Tensor& a, const predict::Tensor& b, std::int64_t count);
    void multiplyWeight(const predict::Tensor& a, const Tensor& weight, std::int64_t count, bool isForward);
    predict::Tensor quantizedProduct(const predict::Tensor& a, const Tensor& weight, std::int64_t count,
                                     const char* what);
    predict::Tensor weightProduct(const predict::Tensor& x, const Tensor& weight, std::int64_t rows);
    predict::Tensor inputGradient(const predict::Tensor& gradient, const Tensor& weight);
    void weightGradient(const Tensor& weight, const predict::Tensor& x, const predict::Tensor& gradient);
    void updateWithGradient(const Tensor& weight, const predict::Tensor& x, const predict::Tensor& gradient);
    void setWeightGradient(const Tensor& weight, const predict::Tensor& x, const predict::Tensor& gradient);
    predict::Tensor crossEntropyByChunks();
    std::int64_t normParts() const;

    Ops& ops_;
    std::int64_t tokens_;
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
    std::shared_ptr<SideWork> side_;
    std::function<void(const Tensor&)> observer_;
    std::unique_ptr<Leaves> leaves_; ///< of the ranks
    std::unique_ptr<ParallelMemory> parallel_;
    struct ToQuantize {
        Tensor weight;
        std::int64_t in = 0;
        std::int64_t out = 0;
    };
    std::map<std::int64_t, std::vector<ToQuantize>> toQuantize_; ///< by block
    std::vector<Tensor> withGradient_;
    bool keepsAttention_;
    std::vector<Attended>* keeping_ = nullptr;
    std::deque<Attended> attended_;
    bool isRecomputing_ = false;
    predict::Tensor gated_; ///< see FusedOps
    Tensor headInput_;
    Tensor headWeight_;
    std::vector<Note> notes_;
    bool recording_ = true;
};

using FusedLanguageModel = tilescope::LanguageModel<CountedFusedOps>;

} // namespace tilescope::predict
