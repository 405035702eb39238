#include "tests/stress/simulated/own_recording.h"

#include "core/model/run.h"
#include "core/model/strings.h"
#include "core/store/run_writer.h"

#include <map>
#include <string>
#include <string_view>

namespace tilescope::simulator {

namespace {

constexpr std::int64_t kFirstNs = 1'000'000'000; ///< of the clock

class OwnWriter {
public:
    OwnWriter(const SimulatedProgram& program, const Execution& execution)
        : program_(program), execution_(execution)
    {
    }

    void write(const std::filesystem::path& file)
    {
        addRanges();
        addCalls();
        addWorks();
        addWaits();
        for (const ExecutedTracing& tracing : execution_.tracings)
            batch_.apiCalls.push_back({.name = strings_.intern("activity buffer request"),
                                       .kind = ApiKind::Overhead,
                                       .thread = threadOf(0),
                                       .start = at(tracing.start),
                                       .end = at(tracing.end)});
        store::RunWriter writer(file, strings_);
        writer.beginRun({"simulated", "trace", "{}", "hash", "test"});
        writer.write(batch_);
        RunResult result;
        result.device = "cuda:0";
        writer.endRun(result);
        writer.seal();
    }

private:
    static Timestamp at(Duration time) { return timestampAt(kFirstNs + time.count()); }
    ThreadId threadOf(std::size_t thread) const
    {
        return ThreadId{static_cast<std::uint32_t>(program_.threads[thread].number)};
    }
    bool isRecorded(std::size_t thread) const { return !program_.threads[thread].isInOtherProcess; }

    /// The step whose range a thread, or a thread beside it, is in.
    std::int32_t stepAt(Duration time) const
    {
        for (const ExecutedRange& range : execution_.ranges)
            if (range.kind == RangeKind::Step && range.start <= time && time < range.end)
                return static_cast<std::int32_t>(range.number);
        return kNoStep;
    }

    void addRanges()
    {
        std::uint32_t ranges = 0;
        for (const ExecutedRange& range : execution_.ranges) {
            if (!isRecorded(range.thread))
                continue;
            if (range.kind == RangeKind::Op) {
                batch_.ops.push_back({.id = OpId{static_cast<std::uint32_t>(range.number)},
                                      .name = strings_.intern(range.name),
                                      .thread = threadOf(range.thread),
                                      .step = stepAt(range.start),
                                      .start = at(range.start),
                                      .end = at(range.end)});
                continue;
            }
            const bool isStep = range.kind == RangeKind::Step;
            const std::string name = isStep ? "step_" + std::to_string(range.number) : range.name;
            const std::int32_t step = isStep ? static_cast<std::int32_t>(range.number) : stepAt(range.start);
            const std::string path = isStep || step == kNoStep ? (isStep ? "step" : name) : "step/" + name;
            batch_.ranges.push_back({.id = RangeId{++ranges},
                                     .path = strings_.intern(path),
                                     .name = strings_.intern(name),
                                     .thread = threadOf(range.thread),
                                     .step = step,
                                     .start = at(range.start),
                                     .end = at(range.end)});
        }
    }

    static ApiKind kindOf(std::string_view name)
    {
        if (name.find("Launch") != std::string_view::npos)
            return ApiKind::Launch;
        if (name.find("Synchronize") != std::string_view::npos || name == "cudaStreamWaitEvent")
            return ApiKind::Synchronize;
        return name.starts_with("cudaMem") || name.starts_with("cudaMalloc") || name == "cudaFree"
                   ? ApiKind::Memory
                   : ApiKind::Other;
    }

    void addCalls()
    {
        for (const ExecutedCall& call : execution_.calls) {
            if (!isRecorded(call.thread))
                continue;
            callOf_[call.correlation] = &call;
            batch_.apiCalls.push_back(
                {.name = strings_.intern(call.name),
                 .correlation = CorrelationId{static_cast<std::uint32_t>(call.correlation)},
                 .kind = kindOf(call.name),
                 .thread = threadOf(call.thread),
                 .step = stepAt(call.start),
                 .start = at(call.start),
                 .end = at(call.end)});
        }
    }

    void addWorks()
    {
        for (const ExecutedWork& work : execution_.works) {
            const ExecutedCall& call = *callOf_.at(work.correlation);
            DeviceEvent event;
            event.kind = work.work == Work::Copy     ? DeviceEventKind::Memcpy
                         : work.work == Work::Memset ? DeviceEventKind::Memset
                                                     : DeviceEventKind::Kernel;
            const bool isFromHost = work.copy == CopyKind::HostToDevice;
            const char* const memory = work.isPageable ? "Pageable" : "Pinned";
            event.name = strings_.intern(
                work.work == Work::Memset               ? "Memset (Device)"
                : work.work != Work::Copy               ? work.name
                : work.copy == CopyKind::DeviceToDevice ? std::string("Memcpy DtoD (Device -> Device)")
                : isFromHost ? std::string("Memcpy HtoD (") + memory + " -> Device)"
                             : std::string("Memcpy DtoH (Device -> ") + memory + ")");
            if (event.kind == DeviceEventKind::Memcpy)
                event.copy = isFromHost                            ? tilescope::CopyKind::HostToDevice
                             : work.copy == CopyKind::DeviceToHost ? tilescope::CopyKind::DeviceToHost
                                                                   : tilescope::CopyKind::DeviceToDevice;
            event.device = DeviceIndex{0};
            event.stream = StreamId{static_cast<std::uint32_t>(work.stream)};
            event.correlation = CorrelationId{static_cast<std::uint32_t>(work.correlation)};
            event.launchThread = threadOf(call.thread);
            event.step = work.step == kNoNumber ? kNoStep : static_cast<std::int32_t>(work.step);
            event.graphNode = work.graphNode;
            event.bytes = work.bytes;
            event.launched = at(call.start);
            event.start = at(work.start);
            event.end = at(work.end);
            if (work.op != 0)
                event.op = OpId{static_cast<std::uint32_t>(work.op)};
            batch_.deviceEvents.push_back(event);
        }
    }

    void addWaits()
    {
        if (!program_.hasSyncRecords)
            return;
        for (const ExecutedWait& wait : execution_.waits) {
            const bool isOfEvent = wait.action == Action::StreamWait || wait.action == Action::SyncEvent;
            batch_.waits.push_back(
                {.kind = wait.action == Action::StreamWait   ? WaitKind::StreamWait
                         : wait.action == Action::SyncEvent  ? WaitKind::Event
                         : wait.action == Action::SyncStream ? WaitKind::Stream
                                                             : WaitKind::Context,
                 .device = DeviceIndex{0},
                 .stream = StreamId{static_cast<std::uint32_t>(
                     wait.action == Action::SyncEvent ? wait.waitedFor : wait.stream)},
                 .waitedFor = wait.action == Action::StreamWait
                                  ? StreamId{static_cast<std::uint32_t>(wait.waitedFor)}
                                  : StreamId{},
                 .correlation = CorrelationId{static_cast<std::uint32_t>(wait.correlation)},
                 .recordCorrelation =
                     isOfEvent ? CorrelationId{static_cast<std::uint32_t>(wait.recorded)} : CorrelationId{},
                 .step = stepAt(wait.start),
                 .start = at(wait.start),
                 .end = at(wait.end)});
        }
    }

    const SimulatedProgram& program_;
    const Execution& execution_;
    StringTable strings_;
    TraceBatch batch_;
    std::map<std::int64_t, const ExecutedCall*> callOf_; ///< by correlation
};

} // namespace

void writeOwnRecording(const SimulatedProgram& program, const Execution& execution,
                       const std::filesystem::path& file)
{
    OwnWriter(program, execution).write(file);
}

} // namespace tilescope::simulator
