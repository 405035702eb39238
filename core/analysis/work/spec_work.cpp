#include "core/analysis/work/spec_work.h"

#include "core/model/attention_backend.h"
#include "core/model/attention_spec.h"
#include "core/model/fused_recomputation.h"
#include "core/model/language_model.h"

#include <algorithm>
#include <utility>

namespace tilescope::analysis {

namespace {

/// Adds up one step, phase by phase.
class Builder {
public:
    explicit Builder(const ExperimentSpec& spec)
        : spec_(spec), attention_(attentionOf(spec)), elementBytes_(elementBytesOf(spec.precision))
    {
    }

    std::vector<SpecWork> build()
    {
        if (spec_.mode == Mode::Generate)
            return {}; // steps differ: the prompt, and tokens that see more and more keys
        if (spec_.workload == Workload::Lm)
            languageModel();
        else if (spec_.workload == Workload::Attention)
            attentionAlone();
        return std::move(items_);
    }

private:
    bool hasBackward() const { return spec_.mode != Mode::Forward; }

    std::string pathOf(Phase phase, const std::string& module) const
    {
        return (phase == Phase::Forward ? "step/forward/" : "step/backward/") + module;
    }

    void add(Phase phase, const std::string& module, std::string what, KernelFamily family, Work work,
             Flops model, bool recomputed = false)
    {
        items_.push_back({pathOf(phase, module), std::move(what), phase, family, work, model, recomputed});
    }

    /// `count` products of n x k and k x m.
    Work products(std::int64_t count, std::int64_t n, std::int64_t k, std::int64_t m) const
    {
        return {{2 * count * n * k * m}, {count * (n * k + k * m + n * m) * elementBytes_}};
    }

    /// A linear map of all tokens.
    /// \param prefix  of its module: layers.3/
    void linear(Phase phase, const std::string& prefix, const LinearMap& map, bool recomputed = false)
    {
        const std::int64_t tokens = spec_.batch * spec_.context;
        const std::string module = prefix + map.module;
        if (phase == Phase::Forward || recomputed) {
            const Work work = products(1, tokens, map.in, map.out);
            add(phase, module, map.name, KernelFamily::Matmul, work, recomputed ? Flops{} : work.flops,
                recomputed);
            return;
        }
        Work work = products(1, tokens, map.out, map.in); // of the input
        work += products(1, map.in, tokens, map.out);     // of the weight
        add(phase, module, map.name, KernelFamily::Matmul, work, work.flops);
    }

    void attention(Phase phase, const std::string& module, bool recomputed = false)
    {
        const AttentionSpec& a = attention_;
        const bool forward = phase == Phase::Forward || recomputed;
        const std::int64_t queryHeads = a.batch * a.heads;
        const std::int64_t visible = queryHeads * visiblePairs(a.queries, a.keys, a.causal);
        // Two products in forward (scores and output), four in backward.
        const Flops needed = Flops{2 * visible * 2 * a.headDim} * (forward ? 1 : 2);
        if (traitsOf(spec_.backend).keepsScores) {
            const Work scores = products(queryHeads, a.queries, a.headDim, a.keys);
            const Work output = products(queryHeads, a.queries, a.keys, a.headDim);
            const std::string inner = spec_.annotateAttention ? module + "/" : module;
            const auto place = [&](const char* name) {
                return spec_.annotateAttention ? inner + name : module;
            };
            const auto both = [&](Work work, Work gradient) {
                if (forward)
                    return work;
                work = gradient;
                work += gradient;
                return work;
            };
            // Each of the two gradients of a product of n x k and k x m takes as much work as the product.
            const Flops half{recomputed ? 0 : needed.count / 2};
            add(phase, place("scores"), "scores", KernelFamily::Matmul, both(scores, scores), half,
                recomputed);
            add(phase, place("output"), "output", KernelFamily::Matmul, both(output, output), half,
                recomputed);
            return;
        }
        const std::int64_t q = queryHeads * a.queries * a.headDim * elementBytes_;
        const std::int64_t kv = 2 * a.batch * a.kvHeads * a.keys * a.headDim * elementBytes_;
        const std::int64_t statistics = queryHeads * a.queries * 4;
        const KernelFamily family =
            traitsOf(spec_.backend).isFused ? KernelFamily::Attention : KernelFamily::Matmul;
        const Work work = forward ? Work{{2 * visible * 2 * a.headDim}, {2 * q + kv + statistics}}
                                  : Work{{2 * visible * 5 * a.headDim}, {4 * q + 2 * kv + statistics}};
        add(phase, module, "attention", family, work, recomputed ? Flops{} : needed, recomputed);
    }

    void block(Phase phase, const std::string& layer, bool recomputed)
    {
        const auto [qkv, projection, gateUp, down] = blockMaps(spec_);
        linear(phase, layer + "/", qkv, recomputed);
        attention(phase, layer + "/attention", recomputed);
        for (const LinearMap& map : {projection, gateUp, down})
            linear(phase, layer + "/", map, recomputed);
        if (phase == Phase::Backward && !recomputed &&
            spec_.checkpointing.kind == Checkpointing::Kind::Attention)
            attention(phase, layer + "/attention", true);
    }

    /// With compile: fused, recomputes the products of a block, except its attention and, at the end of a
    /// segment, its last product.
    void productsAgain(const std::string& layer, bool endsSegment)
    {
        for (const LinearMap& map : blockMaps(spec_))
            if (map.name != std::string_view("down") || !endsSegment)
                linear(Phase::Backward, layer + "/", map, true);
    }

    void languageModel()
    {
        const auto layer = [](std::int64_t i) { return "layers." + std::to_string(i); };
        for (std::int64_t i = 0; i < spec_.layers; ++i)
            block(Phase::Forward, layer(i), false);
        linear(Phase::Forward, "", headMap(spec_));
        if (!hasBackward())
            return;
        linear(Phase::Backward, "", headMap(spec_));
        const std::vector<RecomputedSegment> plan = recomputedSegments(spec_);
        const std::vector<int> again = recomputations(plan, spec_.layers);
        for (std::int64_t i = spec_.layers; i-- > 0;) {
            for (int k = 0; k < again[static_cast<std::size_t>(i)]; ++k)
                if (keepsAttention(spec_))
                    productsAgain(layer(i), endsSegment(plan, i));
                else
                    block(Phase::Backward, layer(i), true);
            if (keepsAttention(spec_) && again[static_cast<std::size_t>(i)] == 0)
                linear(Phase::Backward, layer(i) + "/", blockMaps(spec_)[1], true); // projection
            block(Phase::Backward, layer(i), false);
        }
    }

    void attentionAlone()
    {
        attention(Phase::Forward, "attention");
        if (hasBackward())
            attention(Phase::Backward, "attention");
    }

    const ExperimentSpec& spec_;
    AttentionSpec attention_;
    std::int64_t elementBytes_;
    std::vector<SpecWork> items_;
};

} // namespace

int elementBytesOf(Precision precision)
{
    const bool is16Bit =
        precision == Precision::Bf16 || precision == Precision::Fp16 || precision == Precision::Fp8;
    return is16Bit ? 2 : 4;
}

std::vector<SpecWork> specWork(const ExperimentSpec& spec)
{
    return Builder(spec).build();
}

std::optional<StepFlops> stepFlops(const ExperimentSpec& spec)
{
    const std::vector<SpecWork> items = specWork(spec);
    if (items.empty())
        return {};
    StepFlops sum;
    for (const SpecWork& item : items) {
        if (spec.mode == Mode::Backward && item.phase == Phase::Forward)
            continue;
        sum.model += item.model;
        sum.hardware += item.work.flops;
    }
    return sum;
}

std::string stepFlopsFormula(const ExperimentSpec& spec)
{
    if (specWork(spec).empty())
        return {};
    const std::string forward =
        spec.workload == Workload::Lm
            ? "F = 2 tokens (layers (4 d_model^2 + 3 d_model d_ff) + d_model vocab) + "
              "4 layers batch heads d_head pairs"
            : "F = 4 batch heads d_head pairs";
    const std::string pairs = spec.workload == Workload::Attention && !spec.causal
                                  ? "; pairs = seq_len kv_len"
                                  : "; pairs = (query, key) pairs that the causal mask leaves";
    const char* step = spec.mode == Mode::Forward ? "F" : spec.mode == Mode::Backward ? "2 F" : "3 F";
    return "model FLOPs = " + std::string(step) + ", " + forward + pairs +
           "; MFU = model FLOPs / (step time x peak)";
}

} // namespace tilescope::analysis
