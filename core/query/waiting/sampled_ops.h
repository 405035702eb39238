#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/events.h"
#include "core/model/host_samples.h"

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// Continues the stacks of samples by the recorded ops of PyTorch, which say what C and C++ code does: the innermost op that
/// the thread was in. A thread that waits for the backward pass is in the op of the threads that evaluate it. An op is a
/// HostStack with its name as the function, without a file. One thread.
class SampledOps {
public:
    /// \param samples  stays alive; unchanged until join()
    explicit SampledOps(HostSamples& samples);
    /// Adds an op of the process; in any order. O(log samples + samples in the op).
    void add(const Op& op);
    /// Continues the stacks. Does nothing without ops.
    /// \param textOf  the name of an op
    void join(const std::function<std::string(StringId)>& textOf);

private:
    struct Within {
        StringId name = {};
        Timestamp start{};
        Timestamp end{};
    };
    using Ops = std::vector<Within>; ///< by sample
    static void add(const Op& op, const SampledHostThread& thread, Ops& ops);

    HostSamples& samples_;
    std::vector<Ops> own_;      ///< by sampled thread
    std::vector<Ops> ofOthers_; ///< of threads without samples
    std::unordered_map<ThreadId, std::size_t> places_;
    bool hasOps_ = false;
};

} // namespace tilescope::query
