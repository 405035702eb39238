#include "core/session/engine/rank_join.h"

#include "core/base/error.h"
#include "core/model/flags.h"
#include "core/model/text.h"
#include "core/store/run_reader.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tilescope::session {

namespace {

std::string hostName()
{
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

template <class Event> void moveTo(std::vector<Event>& to, std::vector<Event>& from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

template <class... Events> void sortByStart(std::vector<Events>&... lists)
{
    (std::ranges::stable_sort(lists, {}, &Events::start), ...);
}

/// Reads the run of a rank, with its texts and numbers changed to those of the joined run.
class RankRun {
public:
    RankRun(const JoinLine::Rank& rank, StringTable& strings, std::uint32_t firstRange, std::uint32_t firstOp)
        : reader_(rank.file), run_(rank.run), strings_(strings), process_{rank.rank}, firstRange_(firstRange),
          firstOp_(firstOp)
    {
    }

    RunResult result() const
    {
        const auto record = reader_.run(run_);
        return record
                   ? record->result
                   : RunResult{.status = RunStatus::Error, .reason = "its records are missing", .device = {}};
    }

    TraceBatch records()
    {
        TraceBatch batch;
        for (ThreadName thread : reader_.threads(run_)) {
            thread.name = moved(thread.name);
            thread.process = process_;
            batch.threads.push_back(thread);
        }
        reader_.eachRange({.run = run_}, [&](Range range) {
            range.id = moved(range.id);
            range.parent = moved(range.parent);
            range.path = moved(range.path);
            range.name = moved(range.name);
            batch.ranges.push_back(range);
            return true;
        });
        reader_.eachOp({.run = run_}, [&](Op op) {
            op.id = moved(op.id);
            op.parent = moved(op.parent);
            op.range = moved(op.range);
            op.name = moved(op.name);
            op.shapes = moved(op.shapes);
            op.path = moved(op.path);
            batch.ops.push_back(op);
            return true;
        });
        reader_.eachApiCall({.run = run_}, [&](ApiCall call) {
            call.range = moved(call.range);
            call.op = moved(call.op);
            call.name = moved(call.name);
            batch.apiCalls.push_back(call);
            return true;
        });
        for (Collective collective : reader_.collectives(run_)) {
            collective.process = process_;
            collective.range = moved(collective.range);
            for (StringId Collective::*text : {&Collective::op, &Collective::group, &Collective::ranks,
                                               &Collective::dtype, &Collective::path})
                collective.*text = moved(collective.*text);
            batch.collectives.push_back(collective);
        }
        for (const auto& loss : reader_.losses(run_)) {
            const auto severity = fromWord<LossSeverity>(loss.severity);
            if (!severity)
                throw Error{.what = "loss " + loss.kind + " has the unknown severity '" + loss.severity + "'",
                            .kind = ErrorKind::Failure};
            batch.losses.push_back({.kind = strings_.intern(loss.kind),
                                    .severity = *severity,
                                    .count = loss.count,
                                    .detail = strings_.intern(loss.detail)});
        }
        batch.recordsChecked = reader_.recordsChecked(run_);
        return batch;
    }

private:
    RangeId moved(RangeId id) const { return id ? RangeId{firstRange_ + id.value} : id; }
    OpId moved(OpId id) const { return id ? OpId{firstOp_ + id.value} : id; }
    StringId moved(StringId id)
    {
        if (!id)
            return id;
        const auto [known, isNew] = texts_.try_emplace(id.value);
        if (isNew)
            known->second = strings_.intern(reader_.text(id));
        return known->second;
    }

    store::RunReader reader_;
    RunId run_;
    StringTable& strings_;
    ProcessIndex process_;
    std::uint32_t firstRange_;
    std::uint32_t firstOp_;
    std::unordered_map<std::uint32_t, StringId> texts_; ///< by the file's id
};

} // namespace

RankJoin::RankJoin(const RankSeat& seat, StringTable& strings) : strings_(strings), seat_(seat)
{
    parties_.clocks.push_back({.id = ClockIndex{0}, .name = hostName(), .method = "same clock"});
    addProcess(seat.rank, getpid());
}

void RankJoin::addProcess(int rank, std::int64_t pid)
{
    parties_.processes.push_back({.id = ProcessIndex{rank},
                                  .pid = pid,
                                  .host = hostName(),
                                  .name = "tilescope-engine",
                                  .rank = rank,
                                  .worldSize = seat_.size,
                                  .clock = ClockIndex{0}});
}

void RankJoin::hold(TraceBatch&& batch)
{
    for (ThreadName& thread : batch.threads)
        thread.process = ProcessIndex{seat_.rank};
    for (Collective& collective : batch.collectives)
        collective.process = ProcessIndex{seat_.rank};
    append(std::move(batch));
}

void RankJoin::append(TraceBatch&& batch)
{
    // Also numbers that records refer to, which need not be stored.
    const auto note = [](std::uint32_t& next, auto id) { next = id ? std::max(next, id.value + 1) : next; };
    for (const Range& range : batch.ranges) {
        note(nextRange_, range.id);
        note(nextRange_, range.parent);
    }
    for (const Op& op : batch.ops) {
        note(nextOp_, op.id);
        note(nextOp_, op.parent);
        note(nextRange_, op.range);
    }
    for (const AllocEvent& event : batch.allocEvents)
        note(nextOp_, event.op);
    moveTo(all_.ranges, batch.ranges);
    moveTo(all_.ops, batch.ops);
    moveTo(all_.apiCalls, batch.apiCalls);
    moveTo(all_.deviceEvents, batch.deviceEvents);
    moveTo(all_.allocEvents, batch.allocEvents);
    moveTo(all_.frames, batch.frames);
    moveTo(all_.collectives, batch.collectives);
    moveTo(all_.waits, batch.waits);
    moveTo(all_.threads, batch.threads);
    moveTo(all_.losses, batch.losses);
    all_.recordsChecked += batch.recordsChecked;
}

void RankJoin::add(const JoinLine::Rank& rank, RunResult& result)
{
    RankRun run(rank, strings_, nextRange_, nextOp_);
    addProcess(rank.rank, rank.pid);
    combineOutcome(result, rank.rank, run.result());
    append(run.records());
}

TraceBatch RankJoin::take()
{
    sortByStart(all_.ranges, all_.ops, all_.apiCalls, all_.deviceEvents, all_.frames, all_.collectives,
                all_.waits);
    std::ranges::stable_sort(all_.allocEvents, {}, &AllocEvent::time);
    return std::exchange(all_, {});
}

void combineOutcome(RunResult& result, int rank, const RunResult& other)
{
    result.peakAllocated = std::max(result.peakAllocated, other.peakAllocated);
    result.peakReserved = std::max(result.peakReserved, other.peakReserved);
    const bool isCause = other.status != RunStatus::Ok && !hasFlag(other.flags, FlagKind::RankLost);
    const bool isConsequence = result.status == RunStatus::Ok || hasFlag(result.flags, FlagKind::RankLost);
    if (isCause && isConsequence) {
        result.status = other.status;
        result.reason = fmt::format("rank {}: {}", rank, other.reason);
        result.oom = other.oom;
        std::erase_if(result.flags,
                      [](const std::string& flag) { return findFlag(flag) == &infoOf(FlagKind::RankLost); });
    } else if (other.status != RunStatus::Ok && result.status == RunStatus::Ok) {
        result.status = other.status;
        result.reason = fmt::format("rank {}: {}", rank, other.reason);
    }
    for (const std::string& flag : other.flags)
        if (const FlagInfo* info = findFlag(flag);
            info && info->kind != FlagKind::RankLost && !hasFlag(result.flags, info->kind))
            result.flags.push_back(flag);
}

} // namespace tilescope::session
