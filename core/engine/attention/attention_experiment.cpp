#include "core/base/error.h"
#include "core/engine/attention/attention.h"
#include "core/engine/common/autocast.h"
#include "core/engine/common/device.h"
#include "core/engine/common/experiment.h"
#include "core/engine/common/set_up.h"
#include "core/model/attention_backend.h"
#include "core/model/phases.h"
#include "core/trace/host/range.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace tilescope::engine {
namespace {

using at::Tensor;

// Attention alone on random q, k and v. The gradient of o.sum() is all ones; it is passed to backward
// directly, so that the timing does not include a reduction.
class AttentionExperiment final : public Experiment {
public:
    AttentionExperiment(const ExperimentSpec& spec, const Device& device)
        : spec_(spec), needsGrad_(attentionOf(spec).needsGrad),
          options_(at::device(device.torch()).dtype(inputDtype(spec.precision))),
          backend_(makeAttention(spec.backend, attentionOf(spec), options_))
    {
        const bool grouped = traitsOf(spec.backend).groupsHeads;
        const auto draw = [&](const char* name, std::int64_t heads, std::int64_t length) {
            const Making making(MemoryCategory::Inputs, name);
            const Tensor t = at::randn({spec.batch, heads, length, spec.headDim}, options_);
            return (grouped ? t.view({spec.batch * spec.kvHeads, -1, spec.headDim}) : t)
                .set_requires_grad(needsGrad_);
        };
        q_ = draw("q", spec.heads, spec.seqLen);
        k_ = draw("k", spec.kvHeads, spec.kvLen);
        v_ = draw("v", spec.kvHeads, spec.kvLen);
        const Making making(MemoryCategory::Inputs, "grad_o");
        if (spec.mode != Mode::Forward)
            gradO_ = at::ones_like(q_);
        if (traitsOf(spec.backend).products == Precision::Fp8)
            facts_ = {{"result.fp8.error.attention", std::to_string(errorOfFp8(device))}};
    }

    void refreshInputs() override {}

    std::vector<EnvironmentEntry> facts() const override { return facts_; }

    void dropGradients() override
    {
        for (const Tensor* input : {&q_, &k_, &v_})
            input->mutable_grad().reset();
    }

    void run(Phase phase) override
    {
        if (phase == Phase::Backward)
            return torch::autograd::backward({o_}, {gradO_});
        const at::AutoGradMode grad(needsGrad_);
        const trace::ScopedRange range("attention");
        o_ = backend_->apply(q_, k_, v_);
    }

    void finish() override { o_.reset(); }

    bool has(Phase phase) const override { return hasPhase(Workload::Attention, spec_.mode, phase); }

    void visitHeld(const HoldVisitor& visit) const override
    {
        const std::pair<const char*, const Tensor*> inputs[] = {{"q", &q_}, {"k", &k_}, {"v", &v_}};
        for (const auto& [name, tensor] : inputs) {
            visit(MemoryCategory::Inputs, name, *tensor);
            visit(MemoryCategory::Gradients, name, tensor->grad());
        }
        visit(MemoryCategory::Inputs, "grad_o", gradO_);
        backend_->visitHeld(visit);
    }

    Tensor graphRoot() const override { return o_; }

    // Sum of the output: equal for backends that compute the same.
    std::optional<double> loss() const override
    {
        if (!o_.defined())
            return {};
        return o_.detach().sum(at::kDouble).item<double>();
    }

private:
    // |o8 - o16| / |o16| in Euclidean norms, where o8 is the fp8 output and o16 that of backend flash for the
    // same inputs.
    double errorOfFp8(const Device& device)
    {
        double error = 0;
        {
            const auto exact = makeAttention(Backend::Flash, attentionOf(spec_), options_);
            const at::NoGradGuard noGrad;
            const Tensor expected = exact->apply(q_, k_, v_);
            const Tensor difference = backend_->apply(q_, k_, v_).sub_(expected);
            const auto norm = [](const Tensor& t) {
                return at::linalg_vector_norm(t, 2, {}, false, at::kFloat);
            };
            error = (norm(difference) / norm(expected)).item<double>();
        }
        device.clean();
        return error;
    }

    ExperimentSpec spec_;
    bool needsGrad_;
    at::TensorOptions options_; // device and dtype of q, k and v
    std::unique_ptr<AttentionBackend> backend_;
    Tensor q_;
    Tensor k_;
    Tensor v_;
    Tensor gradO_;
    Tensor o_;
    std::vector<EnvironmentEntry> facts_;
};

} // namespace

std::unique_ptr<Experiment> makeAttentionExperiment(const ExperimentSpec& spec, const Device& device)
{
    return std::make_unique<AttentionExperiment>(spec, device);
}

} // namespace tilescope::engine
