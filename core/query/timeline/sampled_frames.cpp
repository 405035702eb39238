#include "core/query/timeline/sampled_frames.h"

#include <algorithm>
#include <utility>

namespace tilescope::query {

namespace {

constexpr Nanoseconds kFarApart{50'000'000};

struct OpenCall {
    std::uint32_t stack = kNoStack; ///< kNoStack: what the thread did
    std::uint32_t state = 0;
    Timestamp start{};

    bool isSame(const OpenCall& other) const { return stack == other.stack && state == other.state; }
};

const char* wordOfState(std::uint32_t state)
{
    if ((state & SampleState::kCollects) != 0)
        return "garbage collection";
    return (state & SampleState::kLock) != 0 ? "waits for the GIL" : "no core";
}

class ThreadCalls {
public:
    ThreadCalls(const HostSamples& samples, ThreadId thread, std::vector<SampledFrame>& frames)
        : samples_(samples), thread_(thread), frames_(frames)
    {
    }

    void add(const HostSample& sample)
    {
        if (!open_.empty() && sample.time - last_ > kFarApart)
            closeFrom(0, last_);
        std::vector<OpenCall> calls;
        for (std::uint32_t stack = sample.stack; stack != kNoStack; stack = samples_.stacks[stack].caller)
            calls.push_back({.stack = stack, .start = sample.time});
        std::ranges::reverse(calls);
        constexpr std::uint32_t kShown = SampleState::kCollects | SampleState::kLock | SampleState::kCoreless;
        if ((sample.state & kShown) != 0)
            calls.push_back({.state = sample.state & kShown, .start = sample.time});
        std::size_t same = 0;
        while (same < calls.size() && same < open_.size() && isSameCall(calls[same], open_[same]))
            ++same;
        closeFrom(same, sample.time);
        open_.insert(open_.end(), calls.begin() + static_cast<std::ptrdiff_t>(same), calls.end());
        last_ = sample.time;
    }
    void end() { closeFrom(0, last_); }

private:
    /// Whatever the line.
    bool isSameCall(const OpenCall& a, const OpenCall& b) const
    {
        if (a.stack == kNoStack || b.stack == kNoStack)
            return a.isSame(b);
        return a.stack == b.stack || samples_.stacks[a.stack].function == samples_.stacks[b.stack].function;
    }

    void closeFrom(std::size_t depth, Timestamp end)
    {
        for (std::size_t i = depth; i < open_.size(); ++i)
            if (end > open_[i].start)
                frames_.push_back({.thread = thread_,
                                   .start = open_[i].start,
                                   .end = end,
                                   .function = open_[i].stack == kNoStack
                                                   ? wordOfState(open_[i].state)
                                                   : samples_.stacks[open_[i].stack].function});
        open_.resize(depth);
    }

    const HostSamples& samples_;
    ThreadId thread_;
    std::vector<SampledFrame>& frames_;
    std::vector<OpenCall> open_; ///< outermost first
    Timestamp last_{};
};

} // namespace

std::vector<SampledFrame> sampledFrames(const HostSamples& samples)
{
    std::vector<SampledFrame> frames;
    for (const SampledHostThread& thread : samples.threads) {
        ThreadCalls calls(samples, thread.thread, frames);
        for (const HostSample& sample : thread.samples)
            if (!sample.isLaunch())
                calls.add(sample);
        calls.end();
    }
    std::ranges::stable_sort(frames, [](const SampledFrame& a, const SampledFrame& b) {
        return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    return frames;
}

} // namespace tilescope::query
