#pragma once

#include "core/predict/graph.h"
#include "core/predict/target_device.h"
#include "core/predict/work_log.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

namespace tilescope::predict {

/// Models LibTorch's operations: what each allocates forward and backward, what it saves for backward, and in
/// which order, on a CPU and on a GPU. Derived from recorded allocations of LibTorch 2.11.
///
/// One thread. An object replays one process: what is allocated once per process (workspaces) stays.
class Ops {
public:
    Ops(Memory& memory, const TargetDevice& device);

    bool isCuda() const { return isCuda_; }
    bool recordsGraph() const { return graph_ != nullptr; }
    Memory& memory() { return memory_; }
    /// Logs what each operation computes and moves; nullptr: no log. The log must outlive this.
    void logTo(WorkLog* log) { log_ = log; }
    WorkLog* log() { return log_; }
    double multiprocessors() const { return device_.multiprocessors; }
    /// Logs a kernel that moves this number of bytes.
    void moves(std::int64_t bytes)
    {
        if (log_ != nullptr)
            log_->move(static_cast<double>(bytes));
    }
    /// Logs a kernel that reads or writes a tensor this number of times.
    void passes(const Tensor& x, int times)
    {
        if (log_ != nullptr)
            log_->move(static_cast<double>(times * x.bytes()), x.type);
    }
    /// Like passes(), for a softmax or its gradient: each row of up to 1,024 values is processed by one warp,
    /// a longer one by a thread block.
    void rowPasses(const Tensor& x, int times, std::int64_t rows)
    {
        constexpr std::int64_t kLongestOfWarp = 1024;
        const bool hasBlocks = x.count > rows * kLongestOfWarp;
        if (log_ != nullptr)
            log_->move(static_cast<double>(times * x.bytes()), x.type,
                       hasBlocks ? static_cast<double>(rows) : 0);
    }
    /// Logs views, which take only host time.
    void views(int count)
    {
        if (log_ != nullptr)
            log_->views(count);
    }

    /// Autograd records into `graph` during the lifetime of this; nullptr: it does not record.
    class Recording {
    public:
        Recording(Ops& ops, Graph* graph) : ops_(ops), before_(ops.graph_) { ops.graph_ = graph; }
        ~Recording() { ops_.graph_ = before_; }
        Recording(const Recording&) = delete;
        Recording& operator=(const Recording&) = delete;

    private:
        Ops& ops_;
        Graph* before_;
    };

    /// Autocast to a type during the lifetime of this. Each parameter is cast once; the copy is kept until
    /// the end of the outermost scope.
    class Autocast {
    public:
        Autocast(Ops& ops, std::optional<Type> type);
        ~Autocast();
        Autocast(const Autocast&) = delete;
        Autocast& operator=(const Autocast&) = delete;

    private:
        Ops& ops_;
        std::optional<Type> before_;
        std::map<std::int32_t, Tensor> copiesBefore_;
    };

    /// On a GPU backward runs on its own thread, with its own cuBLAS handles.
    class BackwardThread {
    public:
        explicit BackwardThread(Ops& ops) : ops_(ops), before_(ops.inBackward_) { ops.setBackward(true); }
        ~BackwardThread() { ops_.setBackward(before_); }
        BackwardThread(const BackwardThread&) = delete;
        BackwardThread& operator=(const BackwardThread&) = delete;

    private:
        Ops& ops_;
        bool before_;
    };

    std::optional<Type> autocast() const { return autocast_; }
    /// Allows TF32 in fp32 products.
    void allowTf32(bool isAllowed) { isTf32_ = isAllowed; }
    /// Computes fp32 products of mm() from bf16 parts (core/engine/lm/split_product.h).
    void splitProducts(bool splits) { splitsProducts_ = splits; }
    bool splitsProducts() const { return splitsProducts_; }
    /// Logs `batch` products of a (m, k) and b (k, n) with `count` results in total.
    void multiplies(const Tensor& a, const Tensor& b, std::int64_t count, std::int64_t batch);
    /// A product of fp32 matrices with `count` results from bf16 parts: the temporaries and the work, not the result.
    void splitProductInto(const Tensor& a, const Tensor& b, std::int64_t count);
    /// Likewise of a weight whose parts are kept, in so many products; or of one that is split again.
    void keptProductInto(const Tensor& a, const Tensor& weight, std::int64_t count, int products);

    Tensor make(std::int64_t count, Type type, const char* what);
    /// Temporary memory of an operation, freed with the handle.
    Storage temporary(std::int64_t bytes, const char* what);
    /// The memory of oneDNN during one of `batch` products of a (rows, inner) and b (inner, columns) on a CPU.
    std::int64_t scratchOf(Type type, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                           std::int64_t inner, bool isFirstTransposed = false) const;
    void usesScratch(Type type, const Tensor& a, const Tensor& b, std::int64_t count);
    void usesScratch(std::int64_t bytes) { temporary(bytes, "scratch memory of oneDNN"); }
    /// A single-element tensor that an operation on a CPU makes from a scalar; nothing on a GPU.
    Storage number(std::int64_t bytes);
    /// A tensor times a number, out of place.
    Tensor timesNumber(const Tensor& x, const char* what);
    /// A boolean mask converted to numbers that are added to the scores.
    Storage maskOfNumbers(std::int64_t count, Type type);
    /// Records the node that computes `output`. Does nothing if autograd does not record.
    void record(Tensor& output, std::initializer_list<const Tensor*> inputs,
                std::initializer_list<const Tensor*> saved, Graph::Backward backward);

    Tensor to(const Tensor& x, Type type, const char* what);
    Tensor embedding(const Tensor& weight, std::int64_t tokens, std::int64_t width);
    Tensor rmsNorm(const Tensor& x, const Tensor& weight, std::int64_t rows);
    /// a (rows, inner) by b (inner, columns), each cast as autocast requires.
    Tensor mm(const Tensor& a, const Tensor& b, std::int64_t count);
    /// x + a b as one operation.
    Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b);
    Tensor add(const Tensor& x, const Tensor& y);
    /// A product per head. The layout of the factors determines which gradients are transposed.
    struct Factors {
        std::int64_t batch = 1;
        bool isScaled = false;           ///< baddbmm with a factor
        bool isSecondTransposed = false; ///< q k^T
    };
    Tensor bmm(const Tensor& a, const Tensor& b, std::int64_t count, Factors factors);
    /// \param rows  number of rows that are normalised
    Tensor softmax(const Tensor& x, std::int64_t rows);
    /// Out of place; for rows that are set to 0.
    Tensor maskedFill(const Tensor& x);
    Tensor swiGlu(const Tensor& packed);
    Tensor logSoftmax(const Tensor& logits);
    Tensor negativeLogLikelihood(const Tensor& x);
    Tensor sum(const Tensor& x);

    /// The cuBLAS workspace, allocated at the first product of each thread and never freed.
    void useWorkspace();

private:
    void setBackward(bool isBackward);
    Tensor lowered(const Tensor& x, const char* what);
    Tensor splitMm(const Tensor& a, const Tensor& b, std::int64_t count);
    Tensor splitProduct(const Tensor& a, const Tensor& b, std::int64_t count, const char* what);
    Storage bf16Parts(const Tensor& x, std::int64_t copies);
    void multipliesParts(const Tensor& a, const Tensor& b, std::int64_t count);
    Tensor reciprocalRoots(const Tensor& x, std::int64_t rows);
    Storage withNumber(std::int64_t bytes, const char* what);
    Tensor rmsNormOfParts(const Tensor& x, const Tensor& weight, std::int64_t rows);

    Memory& memory_;
    bool isCuda_;
    std::int64_t workspaceBytes_;
    const TargetDevice device_;
    Storage workspaces_[2]; ///< of the forward and of the backward thread
    bool inBackward_ = false;
    bool isTf32_ = false;
    bool splitsProducts_ = false;
    WorkLog* log_ = nullptr;
    Graph* graph_ = nullptr;
    std::optional<Type> autocast_;
    std::map<std::int32_t, Tensor> copies_; ///< of parameters, by leaf
};

} // namespace tilescope::predict
