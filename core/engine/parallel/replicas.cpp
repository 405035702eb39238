#include "core/engine/parallel/replicas.h"

#include "core/base/error.h"
#include "core/engine/common/set_up.h"
#include "core/engine/parallel/gradient_groups.h"
#include "core/engine/parallel/shard.h"
#include "core/engine/ranks/collectives.h"
#include "core/model/text.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace tilescope::engine {

namespace {

using at::Tensor;

/// Each rank has all weights, initially those of rank 0.
class Replicas : public Parallelism {
public:
    explicit Replicas(Ranks& ranks) : ranks_(ranks) {}

    Tensor placed(const std::string& name, const Tensor& whole, const LinearMap* /*map*/) override
    {
        // The seed makes the weights equal, except that a rank with a different processor may round
        // differently.
        ranks_.broadcast(whole.detach(), 0).wait();
        if (!whole.requires_grad())
            return whole; // frozen
        parameters_.push_back(whole);
        names_.push_back(name);
        return whole;
    }

    void dropGradients() override
    {
        for (const Tensor& parameter : parameters_)
            parameter.mutable_grad().reset();
    }

    std::vector<NamedTensor> updated() override
    {
        std::vector<NamedTensor> all;
        for (std::size_t i = 0; i < parameters_.size(); ++i)
            all.push_back({names_[i], parameters_[i]});
        return all;
    }

    void visitHeld(const HoldVisitor& visit) const override
    {
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            visit(MemoryCategory::Parameters, names_[i], parameters_[i]);
            visit(MemoryCategory::Gradients, names_[i], parameters_[i].grad());
        }
    }

protected:
    Ranks& ranks() const { return ranks_; }
    const std::vector<Tensor>& parameters() const { return parameters_; }
    const std::vector<std::string>& names() const { return names_; }

private:
    Ranks& ranks_;
    std::vector<Tensor> parameters_;
    std::vector<std::string> names_;
};

class NaiveReplicas final : public Replicas {
public:
    using Replicas::Replicas;

    void finishBackward() override
    {
        for (const Tensor& parameter : parameters())
            ranks().allReduce(parameter.grad()).wait();
    }
};

/// Combines all gradients in one message: copies them into it and back.
class FlatReplicas final : public Replicas {
public:
    using Replicas::Replicas;

    std::vector<NamedTensor> updated() override
    {
        std::int64_t numbers = 0;
        for (const Tensor& parameter : parameters())
            numbers += parameter.numel();
        const Making making(MemoryCategory::Gradients, kMessage);
        message_ = at::empty({numbers}, parameters().front().options().requires_grad(false));
        return Replicas::updated();
    }

    void finishBackward() override
    {
        const at::NoGradGuard noGrad;
        eachPart([](const Tensor& part, const Tensor& gradient) { part.copy_(gradient); });
        ranks().allReduce(message_).wait();
        eachPart([](const Tensor& part, const Tensor& gradient) { gradient.copy_(part); });
    }

    void visitHeld(const HoldVisitor& visit) const override
    {
        Replicas::visitHeld(visit);
        visit(MemoryCategory::Gradients, kMessage, message_);
    }

private:
    static constexpr const char* kMessage = "message of the all-reduce";

    template <class Copy> void eachPart(const Copy& copy) const
    {
        std::int64_t at = 0;
        for (const Tensor& parameter : parameters()) {
            const Tensor gradient = flatView(parameter.grad());
            copy(message_.narrow(0, at, gradient.numel()), gradient);
            at += gradient.numel();
        }
    }

    Tensor message_;
};

/// Starts one collective per bucket as soon as backward has made the bucket's gradients.
class BucketedReplicas : public Replicas {
public:
    BucketedReplicas(Bytes bucket, Ranks& ranks) : Replicas(ranks), bucket_(bucket) {}

    std::vector<NamedTensor> updated() override
    {
        groups_.emplace(bucketsOf(parameters(), bucket_.count, &Tensor::nbytes),
                        [this](std::size_t i) { started_.push_back(combine(groups_->group(i))); });
        return Replicas::updated();
    }

    void beginBackward() override { groups_->reset(); }

    void finishBackward() override
    {
        groups_->requireAll();
        for (Started& each : started_)
            each.wait();
        started_.clear();
    }

protected:
    const GradientGroups& groups() const { return *groups_; }

private:
    virtual Started combine(const std::vector<Tensor>& parameters)
    {
        std::vector<Tensor> gradients;
        for (const Tensor& parameter : parameters)
            gradients.push_back(parameter.grad());
        return ranks().allReduce(gradients);
    }

    const Bytes bucket_;
    std::vector<Started> started_;
    std::optional<GradientGroups> groups_; ///< set once all parameters are known
};

/// Each parameter has an owner: the rank that updates and broadcasts it. Parameters are assigned in order of
/// decreasing size, each to the rank with the fewest elements so far.
class OwnedReplicas final : public BucketedReplicas {
public:
    using BucketedReplicas::BucketedReplicas;

    std::vector<NamedTensor> updated() override
    {
        std::vector<NamedTensor> all = BucketedReplicas::updated();
        assign();
        std::vector<NamedTensor> mine;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (owners_[i] == ranks().rank())
                mine.push_back(std::move(all[i]));
        return mine;
    }

    void finishUpdate() override
    {
        std::vector<Started> started;
        for (int owner = 0; owner < ranks().size(); ++owner) {
            std::vector<Tensor> owned;
            for (std::size_t i = 0; i < parameters().size(); ++i)
                if (owners_[i] == owner)
                    owned.push_back(parameters()[i].detach());
            if (!owned.empty())
                started.push_back(ranks().broadcast(owned, owner));
        }
        for (Started& each : started)
            each.wait();
    }

    void agreeOnOverflow(const Tensor& found) override { agree(ranks(), found); }

private:
    void assign()
    {
        std::vector<std::size_t> bySize(parameters().size());
        for (std::size_t i = 0; i < bySize.size(); ++i)
            bySize[i] = i;
        std::ranges::stable_sort(bySize, std::greater(),
                                 [this](std::size_t i) { return parameters()[i].numel(); });
        std::vector<std::int64_t> elements(static_cast<std::size_t>(ranks().size()));
        owners_.resize(parameters().size());
        for (const std::size_t i : bySize) {
            const auto least = std::ranges::min_element(elements);
            owners_[i] = static_cast<int>(least - elements.begin());
            *least += parameters()[i].numel();
        }
    }

    std::vector<int> owners_; ///< by parameter
};

/// Each rank owns a part of every parameter: it gets the summed gradient of its part, updates the part, and
/// gathers the other parts.
class ShardedReplicas final : public BucketedReplicas {
public:
    using BucketedReplicas::BucketedReplicas;

    std::vector<NamedTensor> updated() override
    {
        const std::vector<NamedTensor> all = BucketedReplicas::updated();
        std::vector<NamedTensor> mine;
        for (const auto& [name, parameter] : all) {
            const ShardLayout layout = layoutOf(parameter);
            const int rank = ranks().rank();
            const Tensor part =
                flatView(parameter.detach()).narrow(0, layout.begin(rank), layout.count(rank));
            parts_.push_back(part);
            if (part.numel() > 0)
                mine.push_back({name, part});
        }
        return mine;
    }

    void finishUpdate() override
    {
        const at::NoGradGuard noGrad;
        std::vector<Started> started;
        std::vector<std::pair<Tensor, Tensor>> copies; // destinations and sources, for uneven parts
        for (std::size_t i = 0; i < groups().count(); ++i) {
            std::vector<Tensor> wholes;
            std::vector<Tensor> parts;
            for (const Tensor& parameter : groups().group(i)) {
                const ShardLayout layout = layoutOf(parameter);
                const Tensor flat = flatView(parameter.detach());
                wholes.push_back(padded(flat, layout));
                parts.push_back(partOf(wholes.back(), layout, ranks().rank()));
                if (!layout.isEven())
                    copies.emplace_back(flat, wholes.back().narrow(0, 0, layout.elements));
            }
            started.push_back(ranks().allGather(wholes, parts));
        }
        for (Started& each : started)
            each.wait();
        for (const auto& [to, from] : copies)
            to.copy_(from);
    }

    void dropGradients() override
    {
        BucketedReplicas::dropGradients();
        for (const Tensor& part : parts_)
            part.mutable_grad().reset();
    }

    void agreeOnOverflow(const Tensor& found) override { agree(ranks(), found); }

private:
    ShardLayout layoutOf(const Tensor& parameter) const
    {
        return {.elements = parameter.numel(), .ranks = ranks().size()};
    }

    // The sum of this rank's part replaces that part of the gradient.
    Started combine(const std::vector<Tensor>& parameters) override
    {
        const at::NoGradGuard noGrad;
        std::vector<Tensor> wholes;
        std::vector<Tensor> sums;
        for (const Tensor& parameter : parameters) {
            const ShardLayout layout = layoutOf(parameter);
            wholes.push_back(padded(flatView(parameter.grad()), layout));
            sums.push_back(partOf(wholes.back(), layout, ranks().rank()));
            gradientOf(parameter) = sums.back().narrow(0, 0, layout.count(ranks().rank()));
        }
        return ranks().reduceScatter(sums, wholes);
    }

    /// The gradient of this rank's part of a parameter.
    Tensor& gradientOf(const Tensor& parameter)
    {
        const auto found = std::ranges::find_if(this->parameters(),
                                                [&](const Tensor& each) { return each.is_same(parameter); });
        return parts_[static_cast<std::size_t>(found - this->parameters().begin())].mutable_grad();
    }

    std::vector<Tensor> parts_; ///< by parameter
};

} // namespace

std::unique_ptr<Parallelism> makeReplicas(const ExperimentSpec& spec, Ranks& ranks)
{
    switch (spec.parallel) {
    case Parallel::DdpNaive:
        return std::make_unique<NaiveReplicas>(ranks);
    case Parallel::DdpFlat:
        return std::make_unique<FlatReplicas>(ranks);
    case Parallel::Ddp:
        return std::make_unique<BucketedReplicas>(spec.bucket, ranks);
    case Parallel::OptimizerSharding:
        return std::make_unique<OwnedReplicas>(spec.bucket, ranks);
    case Parallel::Zero1:
        return std::make_unique<ShardedReplicas>(spec.bucket, ranks);
    case Parallel::None:
    case Parallel::Fsdp:
    case Parallel::Tp:
    case Parallel::FsdpTp:
        break;
    }
    throw Error{.what = c10::str("ranks of parallel: ", wordOf(spec.parallel), " are no replicas")};
}

} // namespace tilescope::engine
