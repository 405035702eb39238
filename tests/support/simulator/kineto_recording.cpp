#include "tests/support/simulator/kineto_recording.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tilescope::simulator {

namespace {

constexpr Duration kFirst{1'000'000'000'000}; ///< time of the start of the program in a recording

std::string nameOf(const ExecutedWork& work)
{
    if (work.work == Work::Memset)
        return "Memset (Device)";
    if (work.work != Work::Copy)
        return work.name;
    switch (work.copy) {
    case CopyKind::HostToDevice:
        return work.isPageable ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)";
    case CopyKind::DeviceToHost:
        return work.isPageable ? "Memcpy DtoH (Device -> Pageable)" : "Memcpy DtoH (Device -> Pinned)";
    case CopyKind::DeviceToDevice:
        break;
    }
    return "Memcpy DtoD (Device -> Device)";
}

std::string syncKindOf(Action action)
{
    switch (action) {
    case Action::StreamWait:
        return "Stream Wait Event";
    case Action::SyncStream:
        return "Stream Sync";
    case Action::SyncEvent:
        return "Event Sync";
    default:
        return "Context Sync";
    }
}

class KinetoWriter {
public:
    KinetoWriter(const SimulatedProgram& program, const Execution& execution, std::size_t rank)
        : program_(program), execution_(execution), rank_(rank)
    {
        for (const SimulatedThread& thread : program.threads)
            if (process_ == 0 && thread.rank == rank && !thread.isInOtherProcess)
                process_ = thread.number;
    }

    nlohmann::json write()
    {
        nlohmann::json ranks = nlohmann::json::array();
        for (std::size_t i = 0; i < program_.clocks.size(); ++i)
            ranks.push_back(i);
        nlohmann::json recording{{"schemaVersion", 1},
                                 {"displayTimeUnit", "ms"},
                                 {"baseTimeNanoseconds", 1'790'000'000'000'000'000},
                                 {"deviceProperties",
                                  {{{"id", rank_},
                                    {"name", "NVIDIA H200"},
                                    {"totalGlobalMem", 150'109'880'320},
                                    {"computeMajor", 9},
                                    {"computeMinor", 0},
                                    {"numSms", 132}}}}};
        if (program_.clocks.size() > 1) {
            recording["distributedInfo"] = {{"backend", "nccl"},
                                            {"rank", rank_},
                                            {"world_size", program_.clocks.size()},
                                            {"pg_count", 1},
                                            {"pg_config",
                                             {{{"pg_name", "0"},
                                               {"pg_desc", "default_pg"},
                                               {"backend_config", "cuda:nccl"},
                                               {"pg_size", program_.clocks.size()},
                                               {"ranks", ranks}}}}};
            group_ = groupText();
        }
        addRanges();
        addCalls();
        addWorks();
        addWaits();
        for (const ExecutedTracing& tracing : execution_.tracings)
            if (tracing.rank == rank_)
                add("overhead", "Activity Buffer Request", -1, 0, tracing.start, tracing.end);
        events_.push_back({{"ph", "M"},
                           {"name", "process_name"},
                           {"pid", process_},
                           {"tid", 0},
                           {"ts", time(Duration(0))},
                           {"args", {{"name", "python"}}}});
        events_.push_back({{"ph", "M"},
                           {"name", "process_labels"},
                           {"pid", process_},
                           {"tid", 0},
                           {"ts", time(Duration(0))},
                           {"args", {{"labels", "CPU"}}}});
        events_.push_back({{"ph", "M"},
                           {"name", "process_labels"},
                           {"pid", rank_},
                           {"tid", 0},
                           {"ts", time(Duration(0))},
                           {"args", {{"labels", "GPU " + std::to_string(rank_)}}}});
        recording["traceEvents"] = std::move(events_);
        return recording;
    }

private:
    /// The ranks as PyTorch lists them with each collective: of more than 30 the first 29 and the last.
    std::string groupText() const
    {
        constexpr std::size_t kMostListed = 30;
        const std::size_t count = program_.clocks.size();
        std::string text = "[";
        for (std::size_t i = 0; i < count; ++i) {
            if (count > kMostListed && i + 1 == kMostListed) {
                text += ", ..., " + std::to_string(count - 1);
                break;
            }
            text += (i == 0 ? "" : ", ") + std::to_string(i);
        }
        return text + "]";
    }

    /// In microseconds.
    double time(Duration time) const
    {
        return static_cast<double>((kFirst + time + program_.clocks[rank_]).count()) / 1000;
    }

    nlohmann::json& add(const char* category, std::string name, std::int64_t process, std::int64_t thread,
                        Duration start, Duration end)
    {
        events_.push_back({{"ph", "X"},
                           {"cat", category},
                           {"name", std::move(name)},
                           {"pid", process},
                           {"tid", thread},
                           {"ts", time(start)},
                           {"dur", static_cast<double>((end - start).count()) / 1000},
                           {"args", nlohmann::json::object()}});
        return events_.back()["args"];
    }

    bool isRecorded(std::size_t thread) const
    {
        return program_.threads[thread].rank == rank_ && !program_.threads[thread].isInOtherProcess;
    }

    void addRanges()
    {
        for (const ExecutedRange& range : execution_.ranges) {
            if (!isRecorded(range.thread))
                continue;
            const bool isOp = range.kind == RangeKind::Op;
            nlohmann::json& args = add(isOp ? "cpu_op" : "user_annotation", range.name, process_,
                                       program_.threads[range.thread].number, range.start, range.end);
            if (isOp)
                args["External id"] = range.number;
        }
    }

    void addCalls()
    {
        for (const ExecutedCall& call : execution_.calls) {
            if (!isRecorded(call.thread))
                continue;
            const std::int64_t thread = program_.threads[call.thread].number;
            add("cuda_runtime", call.name, process_, thread, call.start, call.end)["correlation"] =
                call.correlation;
            threadOf_[call.correlation] = {thread, call.start};
        }
    }

    void addWorks()
    {
        for (const ExecutedWork& work : execution_.works) {
            if (work.rank != rank_)
                continue;
            const char* const category = work.work == Work::Copy     ? "gpu_memcpy"
                                         : work.work == Work::Memset ? "gpu_memset"
                                                                     : "kernel";
            nlohmann::json& args = add(category, nameOf(work), static_cast<std::int64_t>(rank_), work.stream,
                                       work.start, work.end);
            args["device"] = rank_;
            args["context"] = 1;
            args["stream"] = work.stream;
            args["correlation"] = work.correlation;
            if (work.op != 0)
                args["External id"] = work.op;
            if (work.graphNode != 0)
                args["graph node id"] = work.graphNode;
            if (work.work == Work::Copy || work.work == Work::Memset) {
                args["bytes"] = work.bytes;
            } else {
                args["grid"] = {132, 1, 1};
                args["block"] = {256, 1, 1};
                args["registers per thread"] = 64;
                args["shared memory"] = 0;
            }
            if (work.collective != kNoNumber && !group_.empty()) {
                args["Collective name"] = "allreduce";
                args["In msg nelems"] = work.bytes / 4;
                args["Out msg nelems"] = work.bytes / 4;
                args["Group size"] = program_.clocks.size();
                args["dtype"] = "Float";
                args["Process Group Name"] = "0";
                args["Process Group Description"] = "default_pg";
                args["Process Group Ranks"] = group_;
            }
            addFlow(work);
        }
    }

    /// The arrow from the call to the work.
    void addFlow(const ExecutedWork& work)
    {
        const auto& [thread, start] = threadOf_.at(work.correlation);
        events_.push_back({{"ph", "s"},
                           {"id", work.correlation},
                           {"pid", process_},
                           {"tid", thread},
                           {"ts", time(start)},
                           {"cat", "ac2g"},
                           {"name", "ac2g"}});
        events_.push_back({{"ph", "f"},
                           {"id", work.correlation},
                           {"pid", rank_},
                           {"tid", work.stream},
                           {"ts", time(work.start)},
                           {"cat", "ac2g"},
                           {"name", "ac2g"},
                           {"bp", "e"}});
    }

    void addWaits()
    {
        if (!program_.hasSyncRecords)
            return;
        for (const ExecutedWait& wait : execution_.waits) {
            if (wait.rank != rank_)
                continue;
            const bool isOfEvent = wait.action == Action::StreamWait || wait.action == Action::SyncEvent;
            nlohmann::json& args = add("cuda_sync", syncKindOf(wait.action), static_cast<std::int64_t>(rank_),
                                       wait.stream, wait.start, wait.end);
            args["cuda_sync_kind"] = syncKindOf(wait.action);
            args["stream"] = wait.stream;
            args["device"] = rank_;
            args["context"] = 1;
            args["correlation"] = wait.correlation;
            if (isOfEvent) {
                args["wait_on_stream"] = wait.waitedFor;
                args["wait_on_cuda_event_record_corr_id"] = wait.recorded;
                args["wait_on_cuda_event_id"] = wait.recorded;
            }
        }
    }

    const SimulatedProgram& program_;
    const Execution& execution_;
    const std::size_t rank_;
    std::int64_t process_ = 0;
    std::string group_; ///< ranks of the group; empty: one rank
    std::map<std::int64_t, std::pair<std::int64_t, Duration>> threadOf_; ///< by correlation
    nlohmann::json events_ = nlohmann::json::array();
};

} // namespace

nlohmann::json kinetoRecording(const SimulatedProgram& program, const Execution& execution, std::size_t rank)
{
    return KinetoWriter(program, execution, rank).write();
}

} // namespace tilescope::simulator
