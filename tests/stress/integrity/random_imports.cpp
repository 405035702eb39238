#include "random_imports.h"

#include "core/exchange/import/trace_builder.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilescope::stress {

namespace {

using namespace exchange;

/// One random recording of another program.
class RandomImport {
public:
    explicit RandomImport(std::mt19937_64& random) : random_(random) {}

    RunId write(const std::filesystem::path& file)
    {
        for (std::uint64_t sources = 1 + below(2); sources > 0; --sources) {
            builder_.beginSource(name() + std::to_string(sources));
            addProcesses(static_cast<std::int64_t>(sources));
        }
        // An event that is always stored: a run needs one.
        builder_.addOp({.thread = threads_.front(), .name = "aten::mm", .start = at(1), .end = at(2)});
        for (std::uint64_t events = below(chance(20) ? 2'000 : 60); events > 0; --events)
            addEvent();
        return builder_.finish({.name = name(), .format = "random"}, file, {});
    }

private:
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    bool chance(std::uint64_t oneIn) { return below(oneIn) == 0; }
    static Timestamp at(std::int64_t ns) { return timestampAt(ns); }

    std::string name()
    {
        constexpr std::array kNames{"aten::mm",     "triton_poi_fused_0",
                                    "step",         "ProfilerStep#7",
                                    "iteration 3",  "",
                                    "größer",       "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)",
                                    "_ZN2ck4gemmEv"};
        return kNames[below(kNames.size())] + (chance(3) ? std::to_string(below(500)) : std::string());
    }

    void addProcesses(std::int64_t source)
    {
        const ProcessIndex process = builder_.addProcess(
            {.pid = source,
             .name = name(),
             .rank = chance(2) ? std::optional(static_cast<std::int32_t>(source)) : std::nullopt});
        processes_.push_back(process);
        for (std::uint64_t i = 1 + below(3); i > 0; --i)
            threads_.push_back(builder_.thread(process, static_cast<std::int64_t>(i), name()));
        const DeviceIndex device = builder_.device(process, static_cast<std::int32_t>(below(2)));
        for (std::uint64_t i = 1 + below(3); i > 0; --i)
            streams_.emplace_back(device, builder_.stream(process, device, static_cast<std::int64_t>(i)));
    }

    /// Mostly nested or overlapping times, some that are impossible or missing.
    std::pair<Timestamp, Timestamp> times()
    {
        const auto start = static_cast<std::int64_t>(1 + below(5'000));
        switch (below(30)) {
        case 0:
            return {at(0), at(0)};
        case 1:
            return {at(start), at(start - 1)};
        case 2:
            return {at(std::int64_t{1} << 60), at((std::int64_t{1} << 60) + 1)};
        default:
            return {at(start), at(start + static_cast<std::int64_t>(below(800)))};
        }
    }

    void addEvent()
    {
        const ThreadId thread = threads_[below(threads_.size())];
        const auto [start, end] = times();
        const auto id = static_cast<std::uint32_t>(below(100));
        const std::string name = this->name();
        switch (below(9)) {
        case 0:
            builder_.addRange(thread, name, start, end,
                              chance(4)   ? SpanKind::Step
                              : chance(3) ? SpanKind::Module
                                          : SpanKind::Range);
            break;
        case 1:
        case 2:
            builder_.addOp({.thread = thread,
                            .name = name,
                            .shapes = chance(2) ? "f32[4, 8]" : "",
                            .sequence = static_cast<std::int64_t>(below(9)) - 1,
                            .isBackward = chance(3),
                            .externalId = id,
                            .start = start,
                            .end = end});
            break;
        case 3:
            builder_.addApiCall(thread, chance(2) ? "cudaLaunchKernel" : "cudaMemcpyAsync", id, start, end);
            break;
        case 4:
            builder_.addFrame(thread, name, start, end);
            break;
        case 5:
            builder_.addCollective(thread, {.op = "all_reduce", .group = "0", .bytes = 512}, start, end);
            break;
        case 6:
            builder_.addLoss(RecordLoss::SourceUnreadable, 1 + static_cast<std::int64_t>(below(5)), name);
            break;
        default: {
            const auto& [device, stream] = streams_[below(streams_.size())];
            ForeignActivity activity{.kind = chance(4) ? DeviceEventKind::Memcpy : DeviceEventKind::Kernel,
                                     .name = name,
                                     .device = device,
                                     .stream = stream,
                                     .correlation = id,
                                     .externalId = chance(2) ? id : 0,
                                     .start = start,
                                     .end = end};
            builder_.addActivity(activity);
            if (chance(10))
                builder_.addActivity(activity);
        }
        }
    }

    std::mt19937_64& random_;
    TraceBuilder builder_;
    std::vector<ProcessIndex> processes_;
    std::vector<ThreadId> threads_;
    std::vector<std::pair<DeviceIndex, StreamId>> streams_;
};

} // namespace

RunId importRandom(const std::filesystem::path& file, std::mt19937_64& random)
{
    return RandomImport(random).write(file);
}

} // namespace tilescope::stress
