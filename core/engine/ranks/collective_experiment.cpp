#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/set_up.h"
#include "core/engine/ranks/collectives.h"
#include "core/model/collective_bandwidth.h"
#include "core/model/parallelism.h"
#include "core/model/phases.h"
#include "core/model/text.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

namespace tilescope::engine {

namespace {

using at::Tensor;

at::ScalarType scalarTypeOf(MessageDtype type)
{
    switch (type) {
    case MessageDtype::Fp32:
        return at::kFloat;
    case MessageDtype::Bf16:
        return at::kBFloat16;
    case MessageDtype::Fp16:
        return at::kHalf;
    }
    return at::kFloat;
}

/// One collective per step. The ranks start each step together, so its time is that of the transfer.
class CollectiveExperiment final : public Experiment {
public:
    CollectiveExperiment(const ExperimentSpec& spec, const Device& device, Ranks& ranks)
        : spec_(spec), ranks_(ranks)
    {
        const auto options = at::device(device.torch()).dtype(scalarTypeOf(spec.messageDtype));
        const std::int64_t count = spec.bytes.count / bytesOf(spec.messageDtype);
        {
            const Making making(MemoryCategory::Inputs, "message");
            message_ = at::empty({count}, options);
        }
        const Making making(MemoryCategory::Inputs, "result");
        if (spec.op == CollectiveOp::AllGather)
            result_ = at::empty({count * ranks.size()}, options);
        else if (spec.op == CollectiveOp::ReduceScatter)
            result_ = at::empty({count / ranks.size()}, options);
        else if (spec.op == CollectiveOp::AllToAll)
            result_ = at::empty_like(message_);
    }

    void prepare() override
    {
        refreshInputs();
        ranks_.startTogether();
    }
    // Fills with ones, so that repeated sums stay finite.
    void refreshInputs() override { message_.fill_(1); }
    void dropGradients() override {}

    void run(Phase /*phase*/) override { started().wait(); }
    void finish() override {}

    std::vector<EnvironmentEntry> factsOf(Nanoseconds step) const override
    {
        const auto rates = bandwidthOf(wordOf(spec_.op), spec_.bytes.count, ranks_.size(), step);
        if (!rates)
            return {};
        return {{"result.algorithm_bandwidth", std::to_string(rates->algorithm), "GB/s"},
                {"result.bus_bandwidth", std::to_string(rates->bus), "GB/s"}};
    }

    bool has(Phase phase) const override { return hasPhase(Workload::Collective, spec_.mode, phase); }
    std::optional<double> loss() const override { return {}; }
    void visitHeld(const HoldVisitor& visit) const override
    {
        visit(MemoryCategory::Inputs, "message", message_);
        visit(MemoryCategory::Inputs, "result", result_);
    }
    Tensor graphRoot() const override { return {}; }

private:
    Started started()
    {
        switch (spec_.op) {
        case CollectiveOp::AllReduce:
            return ranks_.allReduce(message_);
        case CollectiveOp::AllGather:
            return ranks_.allGather(result_, message_);
        case CollectiveOp::ReduceScatter:
            return ranks_.reduceScatter(result_, message_);
        case CollectiveOp::Broadcast:
            return ranks_.broadcast(message_, 0);
        case CollectiveOp::AllToAll:
            return ranks_.allToAll(result_, message_);
        }
        return {};
    }

    ExperimentSpec spec_;
    Ranks& ranks_;
    Tensor message_;
    Tensor result_; ///< undefined if the collective replaces the message itself
};

} // namespace

std::unique_ptr<Experiment> makeCollectiveExperiment(const ExperimentSpec& spec, const Device& device,
                                                     Ranks& ranks)
{
    return std::make_unique<CollectiveExperiment>(spec, device, ranks);
}

} // namespace tilescope::engine
