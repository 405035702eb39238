#include "core/query/waiting/sampled_ops.h"

#include "core/analysis/waiting/host_cause.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace tilescope::query {

SampledOps::SampledOps(HostSamples& samples)
    : samples_(samples), own_(samples.threads.size()), ofOthers_(samples.threads.size())
{
    for (std::size_t i = 0; i < samples.threads.size(); ++i)
        places_.emplace(samples.threads[i].thread, i);
}

void SampledOps::add(const Op& op)
{
    hasOps_ = true;
    const auto own = places_.find(op.thread);
    if (own != places_.end())
        return add(op, samples_.threads[own->second], own_[own->second]);
    for (std::size_t i = 0; i < samples_.threads.size(); ++i)
        add(op, samples_.threads[i], ofOthers_[i]);
}

void SampledOps::add(const Op& op, const SampledHostThread& thread, Ops& ops)
{
    auto sample = std::ranges::lower_bound(thread.samples, op.start, {}, &HostSample::time);
    for (; sample != thread.samples.end() && sample->time < op.end; ++sample) {
        ops.resize(thread.samples.size());
        Within& within = ops[static_cast<std::size_t>(sample - thread.samples.begin())];
        // The innermost of the ops of a thread begins last, and ends first.
        if (!within.name || op.start > within.start || (op.start == within.start && op.end <= within.end))
            within = {.name = op.name, .start = op.start, .end = op.end};
    }
}

void SampledOps::join(const std::function<std::string(StringId)>& textOf)
{
    if (!hasOps_)
        return;
    const analysis::HostCauses causes(samples_.stacks);
    std::map<std::pair<std::uint32_t, StringId>, std::uint32_t> joined;
    const auto withOp = [&](std::uint32_t stack, StringId op) {
        const auto [known, isNew] =
            joined.try_emplace({stack, op}, static_cast<std::uint32_t>(samples_.stacks.size()));
        if (isNew)
            samples_.stacks.push_back({.caller = stack, .function = textOf(op), .line = 0});
        return known->second;
    };
    for (std::size_t i = 0; i < samples_.threads.size(); ++i) {
        std::vector<HostSample>& samples = samples_.threads[i].samples;
        for (std::size_t j = 0; j < samples.size(); ++j) {
            HostSample& sample = samples[j];
            if (sample.isLaunch() || sample.stack == kNoStack)
                continue;
            const auto opOf = [j](const Ops& ops) { return j < ops.size() ? ops[j].name : StringId(); };
            // An op may call Python in turn, which the stack shows.
            const bool isNative = (sample.state & SampleState::kInNative) == SampleState::kInNative;
            StringId op = isNative ? opOf(own_[i]) : StringId();
            if (!op && causes.of(sample) == analysis::HostCause::Backward)
                op = opOf(ofOthers_[i]);
            if (op)
                sample.stack = withOp(sample.stack, op);
        }
    }
}

} // namespace tilescope::query
