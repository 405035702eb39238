#pragma once

#include "core/model/events.h"
#include "core/model/strings.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::bench {

/// Makes the trace of a training run of a transformer as torch.profiler records it, step by step: nested ops with
/// shapes, backward on a thread of its own, a launch for each kernel, modules, allocations. Steps repeat, with one of
/// eight sequence lengths each; durations vary.
///
/// The same for the same seed. One thread may use it.
class TrainingGenerator {
public:
    TrainingGenerator(StringTable& strings, Timestamp origin, std::uint64_t seed = 1);

    /// The events of the next step, into `batch`, whose space is used again.
    /// \return  their number
    std::int64_t next(TraceBatch& batch);

private:
    using Inner = std::function<void()>;
    static constexpr int kLayers = 24;
    static constexpr std::size_t kBlocks = 2'000; ///< that live at once

    std::uint64_t random(std::uint64_t below);
    void range(const std::string& name, const Inner& inner);
    void op(std::string_view name, const std::string& shapes, const Inner& inner = {});
    void kernel(std::string_view name, std::int64_t nanoseconds);
    void allocate(std::int64_t bytes);
    void product(std::string_view name, const std::string& left, const std::string& right);
    void linear(const std::string& left, const std::string& right);
    void elementwise(std::string_view name, const std::string& shapes);
    void backwardOf(const std::string& name, const Inner& inner);
    void forwardLayer();
    void backwardLayer();
    void optimizer();

    StringTable& strings_;
    TraceBatch* batch_ = nullptr;
    std::uint64_t state_;
    Timestamp time_;
    Timestamp gpuFree_;
    ThreadId thread_{};
    std::int32_t step_ = -1;
    std::int64_t length_ = 0; ///< of the sequences of this step
    std::uint32_t nextOp_ = 0;
    std::uint32_t nextRange_ = 0;
    std::uint32_t nextCorrelation_ = 1;
    std::vector<std::string> path_;
    std::vector<RangeId> ranges_; ///< that are open
    std::vector<OpId> ops_;       ///< that are open
    std::int64_t allocated_ = 0;
    std::uint64_t nextAddress_ = 0x7f00'0000'0000ULL;
    std::deque<AllocEvent> live_; ///< the oldest in front
};

} // namespace tilescope::bench
