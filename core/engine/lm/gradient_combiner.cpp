#include "core/engine/lm/gradient_combiner.h"

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/engine/common/set_up.h"
#include "core/engine/ranks/collectives.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <pthread.h>

#include <exception>
#include <thread>
#include <utility>

namespace tilescope::engine {

namespace {

using at::Tensor;

/// What the sum of the ranks' gradients is divided by. Cross entropy is a mean over the tokens of a rank.
int divisorOf(const ExperimentSpec& spec, const Ranks& ranks)
{
    return spec.loss == LossKind::CrossEntropy ? ranks.size() : 1;
}

/// The memory of a gradient as a vector. Gradients have their parameter's strides, which may be transposed.
Tensor flatView(const Tensor& parameter)
{
    const Tensor& gradient = parameter.grad();
    TORCH_CHECK(gradient.defined() && gradient.is_non_overlapping_and_dense(),
                "a parameter has no dense gradient to combine");
    return gradient.as_strided({gradient.numel()}, {1});
}

/// Gradients that one all-reduce combines, and its message.
class Bucket {
public:
    Bucket(std::vector<Tensor> parameters, Tensor message)
        : parameters_(std::move(parameters)), message_(std::move(message))
    {
    }

    void combine(Ranks& ranks, int divisor) const
    {
        copy([](const Tensor& part, const Tensor& gradient) { part.copy_(gradient); });
        ranks.allReduce(message_);
        if (divisor != 1)
            message_.div_(divisor);
        copy([](const Tensor& part, const Tensor& gradient) { gradient.copy_(part); });
    }

    const std::vector<Tensor>& parameters() const { return parameters_; }
    const Tensor& message() const { return message_; }

private:
    template <class Copy> void copy(const Copy& one) const
    {
        std::int64_t at = 0;
        for (const Tensor& parameter : parameters_) {
            const Tensor gradient = flatView(parameter);
            one(message_.narrow(0, at, gradient.numel()), gradient);
            at += gradient.numel();
        }
    }

    std::vector<Tensor> parameters_;
    Tensor message_;
};

Bucket makeBucket(std::vector<Tensor> parameters)
{
    std::int64_t numbers = 0;
    for (const Tensor& parameter : parameters)
        numbers += parameter.numel();
    const Making making(MemoryCategory::Gradients, "message of an all-reduce");
    Tensor message = at::empty({numbers}, parameters.front().options().requires_grad(false));
    return {std::move(parameters), std::move(message)};
}

class NaiveCombiner final : public GradientCombiner {
public:
    NaiveCombiner(const std::vector<Tensor>& parameters, Ranks& ranks, int divisor)
        : parameters_(parameters), ranks_(ranks), divisor_(divisor)
    {
    }

    void finish() override
    {
        const at::NoGradGuard noGrad;
        for (const Tensor& parameter : parameters_) {
            const Tensor gradient = flatView(parameter);
            ranks_.allReduce(gradient);
            if (divisor_ != 1)
                gradient.div_(divisor_);
        }
    }

private:
    std::vector<Tensor> parameters_;
    Ranks& ranks_;
    int divisor_;
};

class FlatCombiner final : public GradientCombiner {
public:
    FlatCombiner(const std::vector<Tensor>& parameters, Ranks& ranks, int divisor)
        : bucket_(makeBucket(parameters)), ranks_(ranks), divisor_(divisor)
    {
    }

    void finish() override
    {
        const at::NoGradGuard noGrad;
        bucket_.combine(ranks_, divisor_);
    }

    void visitHeld(const HoldVisitor& visit) const override
    {
        visit(MemoryCategory::Gradients, "message of an all-reduce", bucket_.message());
    }

private:
    Bucket bucket_;
    Ranks& ranks_;
    int divisor_;
};

/// Combines buckets on a thread of its own while backward goes on. Backward makes the gradients of late
/// parameters first, so the buckets are filled from the last parameter on. Every rank combines them in this
/// order, whatever the order in which they are complete.
class OverlappedCombiner final : public GradientCombiner {
public:
    OverlappedCombiner(const std::vector<Tensor>& parameters, Bytes bucket, Ranks& ranks, int divisor)
        : ranks_(ranks), divisor_(divisor)
    {
        fillBuckets(parameters, bucket);
        missing_ = sizes();
        for (std::size_t i = 0; i < buckets_.size(); ++i)
            for (const Tensor& parameter : buckets_[i].parameters())
                torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Hook>(*this, i));
        thread_ = std::thread([this] { work(); });
    }

    ~OverlappedCombiner() override
    {
        for (const Bucket& bucket : buckets_)
            for (const Tensor& parameter : bucket.parameters())
                torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
        {
            const MutexLock lock(mutex_);
            closing_ = true;
            changed_.notifyAll();
        }
        thread_.join();
    }

    void finish() override
    {
        MutexLock lock(mutex_);
        TORCH_CHECK(complete_ == buckets_.size(), "backward made no gradient for some parameters");
        changed_.wait(lock, [this]() REQUIRES(mutex_) { return combined_ == buckets_.size() || failure_; });
        if (failure_)
            std::rethrow_exception(failure_);
        combined_ = 0;
        complete_ = 0;
        missing_ = sizes();
    }

    void visitHeld(const HoldVisitor& visit) const override
    {
        for (std::size_t i = 0; i < buckets_.size(); ++i)
            visit(MemoryCategory::Gradients, "message of bucket " + std::to_string(i), buckets_[i].message());
    }

private:
    class Hook final : public torch::autograd::PostAccumulateGradHook {
    public:
        Hook(OverlappedCombiner& combiner, std::size_t bucket) : combiner_(combiner), bucket_(bucket) {}
        void operator()(const torch::autograd::Variable& /*parameter*/) override
        {
            combiner_.gradientReady(bucket_);
        }

    private:
        OverlappedCombiner& combiner_;
        std::size_t bucket_;
    };

    void fillBuckets(const std::vector<Tensor>& parameters, Bytes most)
    {
        std::vector<Tensor> open;
        std::int64_t bytes = 0;
        const auto close = [&] {
            if (!open.empty())
                buckets_.push_back(makeBucket(std::exchange(open, {})));
            bytes = 0;
        };
        for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
            const auto size = static_cast<std::int64_t>(parameter->nbytes());
            if (bytes + size > most.count)
                close();
            open.push_back(*parameter);
            bytes += size;
        }
        close();
    }

    std::vector<std::size_t> sizes() const
    {
        std::vector<std::size_t> sizes;
        for (const Bucket& bucket : buckets_)
            sizes.push_back(bucket.parameters().size());
        return sizes;
    }

    /// Runs on autograd's threads.
    void gradientReady(std::size_t bucket)
    {
        const MutexLock lock(mutex_);
        TORCH_CHECK(missing_[bucket] > 0, "a parameter got a second gradient in one backward");
        --missing_[bucket];
        while (complete_ < buckets_.size() && missing_[complete_] == 0)
            ++complete_;
        changed_.notifyAll();
    }

    void work()
    {
        pthread_setname_np(pthread_self(), "collectives");
        const at::NoGradGuard noGrad;
        MutexLock lock(mutex_);
        for (;;) {
            changed_.wait(
                lock, [this]() REQUIRES(mutex_) { return closing_ || (combined_ < complete_ && !failure_); });
            if (closing_)
                return;
            const Bucket& next = buckets_[combined_];
            lock.unlock();
            std::exception_ptr failure;
            try {
                next.combine(ranks_, divisor_);
            } catch (...) {
                failure = std::current_exception(); // for finish(), on the session thread
            }
            lock.lock();
            failure_ = failure;
            combined_ += failure ? 0 : 1;
            changed_.notifyAll();
        }
    }

    Ranks& ranks_;
    const int divisor_;
    std::vector<Bucket> buckets_;

    Mutex mutex_;
    Condition changed_;
    std::vector<std::size_t> missing_ GUARDED_BY(mutex_); ///< gradients per bucket that backward has not made
    std::size_t complete_ GUARDED_BY(mutex_) = 0;         ///< buckets up to here may be combined
    std::size_t combined_ GUARDED_BY(mutex_) = 0;
    bool closing_ GUARDED_BY(mutex_) = false;
    std::exception_ptr failure_ GUARDED_BY(mutex_);

    std::thread thread_; ///< started last, joined by the destructor
};

} // namespace

std::unique_ptr<GradientCombiner>
makeGradientCombiner(const ExperimentSpec& spec, const std::vector<at::Tensor>& parameters, Ranks& ranks)
{
    const int divisor = divisorOf(spec, ranks);
    switch (spec.parallel) {
    case Parallel::None:
        break;
    case Parallel::DdpNaive:
        return std::make_unique<NaiveCombiner>(parameters, ranks, divisor);
    case Parallel::DdpFlat:
        return std::make_unique<FlatCombiner>(parameters, ranks, divisor);
    case Parallel::Ddp:
        return std::make_unique<OverlappedCombiner>(parameters, spec.bucket, ranks, divisor);
    }
    throw Error{
        .what = "the ranks of this point share nothing", .where = "parallel", .mend = "write parallel: ddp"};
}

} // namespace tilescope::engine
