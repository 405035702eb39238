#pragma once

#include "core/model/events.h"
#include "core/model/strings.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tilescope::bench {

/// Makes the trace of an imaginary training run on many threads and streams, batch by batch: 40 % kernels
/// with every column set, 30 % ops and 10 % ranges nested as a transformer's, 20 % allocations; 250 kernel
/// names, 600 paths, 700 launch configurations.
///
/// The same for the same seed. One thread may use it.
class EventGenerator {
public:
    EventGenerator(StringTable& strings, Timestamp origin, std::uint64_t seed = 1);

    static constexpr int kEventsPerBatch = 10'000;
    /// With ranges of one thread, busy and memory that makes 64 lanes.
    static constexpr std::uint32_t kThreads = 24;
    static constexpr std::uint32_t kStreams = 37;

    /// The next kEventsPerBatch events, and a range for each step that ends among them, into `batch`, whose
    /// space is used again.
    void next(TraceBatch& batch);

    Timestamp now() const { return time_; }

private:
    std::uint64_t random(std::uint64_t below);
    void step(TraceBatch& batch);
    void beginStep();
    void endStep(TraceBatch& batch);
    void allocate(TraceBatch& batch, const Range& range);
    void freeOldest(TraceBatch& batch, const Range& range);
    void addAllocation(TraceBatch& batch, AllocEvent event);

    static constexpr std::size_t kBlocks = 3'000; ///< that live at once

    StringTable& strings_;
    std::uint64_t state_;
    Timestamp time_;
    std::vector<Timestamp> gpuFree_; ///< by stream
    std::uint32_t nextOp_ = 0;
    std::uint32_t nextRange_ = 0;
    std::uint32_t nextCorrelation_ = 1;
    std::int32_t step_ = 0;
    std::size_t module_ = 0; ///< that comes next, within the step
    Range stepRange_;        ///< that is open
    StringId stepPath_;
    std::int64_t allocated_ = 0;
    std::uint64_t nextAddress_ = 0x7f00'0000'0000ULL;
    std::deque<AllocEvent> live_; ///< the oldest in front
    std::vector<StringId> kernelNames_;
    std::vector<StringId> opNames_;
    std::vector<StringId> paths_;
    std::vector<StringId> names_;
    std::vector<StringId> categories_;
    std::vector<LaunchConfig> launches_;
};

} // namespace tilescope::bench
