#include "core/query/ranks/rank_tables.h"

#include "core/analysis/ranks/host_lateness.h"
#include "core/analysis/time/path_glob.h"
#include "core/analysis/time/process_steps.h"
#include "core/base/number_text.h"
#include "core/query/runs/correlation_set.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/step_paths.h"
#include "core/query/steps/typical_steps.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tilescope::query {

namespace {

using analysis::DeviceWork;
using analysis::Interval;

constexpr std::string_view kGather = "all_gather";
/// Ops that carry out a collective on the host.
constexpr std::array<std::string_view, 3> kCollectiveOps{"c10d::", "gloo:", "nccl:"};

/// A time of each step, such as that of its first launch.
template <class Time> class FirstOfSteps {
public:
    /// Keeps the earliest. The steps are those of events, nearly in order.
    void note(std::int32_t step, const Time& time)
    {
        if (step == kNoStep)
            return;
        if (!last_ || last_->first != step)
            last_ = &*first_.try_emplace(step, time).first;
        last_->second = std::min(last_->second, time);
    }
    const Time* find(std::int32_t step) const
    {
        const auto found = first_.find(step);
        return found == first_.end() ? nullptr : &found->second;
    }

private:
    std::map<std::int32_t, Time> first_;
    std::pair<const std::int32_t, Time>* last_ = nullptr;
};

/// The data of one process before its steps are divided into parts.
struct OfProcess {
    std::vector<Range> steps; ///< by start
    FirstOfSteps<std::pair<Timestamp, Timestamp>>
        waits; ///< in which the host waits for a GPU, until their ends
    FirstOfSteps<Timestamp> launches;

    /// When its host begins to work for a step: a host that waits for the GPU before its first launch has caught up with it.
    Timestamp beginOf(std::int32_t step, Timestamp start) const
    {
        const std::pair<Timestamp, Timestamp>* const wait = waits.find(step);
        const Timestamp* const launch = launches.find(step);
        return wait && (!launch || wait->first < *launch) ? std::max(start, wait->second) : start;
    }

    analysis::ProcessSteps parts;
    std::vector<Interval> compute;             ///< stretches: of kernels, on a CPU of ops
    std::vector<Interval> hostCollectives;     ///< on a CPU
    std::vector<analysis::DependentWork> work; ///< if there are all-gathers
};

void addStretch(std::vector<Interval>& stretches, Interval time)
{
    if (!stretches.empty() && time.start >= stretches.back().start && time.start <= stretches.back().end)
        stretches.back().end = std::max(stretches.back().end, time.end);
    else
        stretches.push_back(time);
}

Interval intervalOf(const auto& event)
{
    return {event.start, event.end};
}

/// The intervals that overlap `time`.
/// \param all  a result of unionOf()
std::span<const Interval> within(const std::vector<Interval>& all, const Interval& time)
{
    const auto from = std::ranges::upper_bound(all, time.start, {}, &Interval::end);
    const auto to = std::lower_bound(from, all.end(), time.end,
                                     [](const Interval& each, Timestamp end) { return each.start < end; });
    return {from, to};
}

std::size_t countRanks(const std::vector<TracedProcess>& processes)
{
    const auto ranks =
        std::ranges::count_if(processes, [](const TracedProcess& each) { return each.rank.has_value(); });
    return std::max<std::size_t>(1, ranks > 0 ? static_cast<std::size_t>(ranks) : processes.size());
}

/// Reads a run and fills its table.
class RanksReading {
public:
    RanksReading(const store::RunReader& reader, const RankQuery& query,
                 const std::function<bool()>& cancelled)
        : reader_(reader), query_(query), cancelled_(cancelled), textOf_(textsOf(reader)),
          run_(chooseRun(reader, query.run)), filter_(reader, run_.run, query.topology),
          topology_(filter_.topology()), records_(reader.collectives(run_.run)), kernels_(reader, run_.run)
    {
        onGpu_ = reader.counts(run_.run).deviceEvents > 0;
        const store::EventWindow window = windowOf(reader, run_.run, query.span);
        span_ = {window.from, window.to};
        for (const Collective& record : records_) {
            hasGathers_ = hasGathers_ || textOf_(record.op) == kGather;
            if (record.correlation)
                ofCollectives_.emplace(record.correlation.value, Timestamp{});
            collectives_.insert(record.correlation);
        }
    }

    RanksTable read()
    {
        table_.run = run_;
        table_.span = query_.span;
        table_.rankCount = countRanks(topology_.topology().processes);
        readSteps();
        if (onGpu_)
            readDevices();
        else
            readHost();
        if (cancelled_())
            return {.run = run_};
        for (auto& [process, each] : processes_) {
            each.compute = unionOf(std::move(each.compute));
            each.hostCollectives = unionOf(std::move(each.hostCollectives));
        }
        divideSteps();
        noteClocks();
        addCollectives();
        if (onGpu_ && !table_.collectives.empty())
            table_.link = linkRateOf(reader_, run_);
        selectRows();
        noteTypical();
        return std::move(table_);
    }

private:
    ProcessIndex processOf(const Collective& record) const
    {
        return topology_.hasSeveral() ? record.process : ProcessIndex{};
    }

    void noteTypical()
    {
        const StepChoice choice = stepChoice(reader_, run_.run, query_.topology);
        for (RankRow& row : table_.rows)
            row.leftOut = choice.whyNot(row.numbers.process, row.step);
        for (CollectiveRow& row : table_.collectives)
            if (!row.ranks.empty())
                row.leftOut = choice.whyNot(row.ranks.front().numbers.process, row.step);
    }

    void readSteps()
    {
        StepPaths stepPaths(reader_);
        reader_.eachRange({.run = run_.run}, [&](const Range& range) {
            if (stepPaths.isStep(range))
                processes_[topology_.of(range.thread)].steps.push_back(range);
            return !cancelled_();
        });
        if (run_.coversRecording() &&
            std::ranges::all_of(processes_, [](const auto& each) { return each.second.steps.empty(); }))
            takeAllAsOneStep();
        for (auto& [process, each] : processes_) {
            std::ranges::sort(each.steps, {}, &Range::start);
            for (const Range& step : each.steps)
                each.parts.addStep(step.step, intervalOf(step));
        }
    }

    /// A recording without steps counts as one, from the first to the last event of each process.
    void takeAllAsOneStep()
    {
        std::map<ProcessIndex, Interval> extents;
        const auto cover = [&](ProcessIndex process, const auto& event) {
            Interval& extent = extents.try_emplace(process, Interval{event.start, event.end}).first->second;
            extent.start = std::min(extent.start, event.start);
            extent.end = std::max(extent.end, event.end);
            return !cancelled_();
        };
        const auto coverOfHost = [&](const auto& event) { return cover(topology_.of(event.thread), event); };
        reader_.eachRange({.run = run_.run}, coverOfHost);
        reader_.eachOp({.run = run_.run}, coverOfHost);
        reader_.eachApiCall({.run = run_.run}, coverOfHost);
        reader_.eachDeviceEvent({.run = run_.run}, [&](const DeviceEvent& event) {
            return cover(topology_.of(event.device, event.stream), event);
        });
        for (const auto& [process, extent] : extents) {
            Range whole;
            whole.start = extent.start;
            whole.end = extent.end;
            processes_[process].steps.push_back(whole); // of step kNoStep
        }
    }

    DeviceWork workOf(const DeviceEvent& event)
    {
        if (event.kind != DeviceEventKind::Kernel)
            return analysis::workOfCopy(event.copy);
        if (collectives_.has(event.correlation))
            return DeviceWork::Communication;
        return kernels_.familyOf(event) == analysis::KernelFamily::Collective ? DeviceWork::Communication
                                                                              : DeviceWork::Compute;
    }

    void readDevices()
    {
        reader_.eachApiCall({.run = run_.run}, [&](const ApiCall& call) {
            OfProcess& process = processes_[topology_.of(call.thread)];
            process.parts.addCall(call.kind, intervalOf(call));
            if (call.kind == ApiKind::Synchronize)
                process.waits.note(call.step, {call.start, call.end});
            return !cancelled_();
        });
        reader_.eachDeviceEvent({.run = run_.run}, [&](const DeviceEvent& event) {
            OfProcess& process = processes_[topology_.of(event.device, event.stream)];
            const DeviceWork work = workOf(event);
            process.parts.addDeviceEvent(event, work);
            if (event.launched != Timestamp{})
                process.launches.note(event.step, event.launched);
            if (collectives_.has(event.correlation))
                ofCollectives_[event.correlation.value] = event.launched;
            if (work == DeviceWork::Compute)
                addStretch(process.compute, intervalOf(event));
            if (hasGathers_ && work != DeviceWork::Communication)
                process.work.push_back({.device = event.device,
                                        .stream = event.stream,
                                        .correlation = event.correlation,
                                        .path = event.path,
                                        .name = event.name,
                                        .step = event.step,
                                        .launched = event.launched,
                                        .start = event.start,
                                        .end = event.end});
            return !cancelled_();
        });
    }

    void readHost()
    {
        const auto isCollective = [&](const Op& op) {
            return std::ranges::any_of(
                kCollectiveOps, [name = textOf_(op.name)](auto prefix) { return name.starts_with(prefix); });
        };
        reader_.eachOp({.run = run_.run}, [&](const Op& op) {
            OfProcess& process = processes_[topology_.of(op.thread)];
            if (!isCollective(op))
                addStretch(process.compute, intervalOf(op));
            return !cancelled_();
        });
        for (const Collective& record : records_)
            processes_[processOf(record)].hostCollectives.push_back(intervalOf(record));
        table_.isComputeKnown =
            std::ranges::any_of(processes_, [](const auto& each) { return !each.second.compute.empty(); });
    }

    /// Peak memory by rank, as the engine noted it for points with ranks.
    std::map<std::int32_t, Bytes> recordedPeaks() const
    {
        constexpr std::string_view kBegin = "rank.";
        constexpr std::string_view kEnd = ".peak_allocated";
        std::map<std::int32_t, Bytes> peaks;
        for (const EnvironmentEntry& entry : reader_.environment(run_.run)) {
            std::string_view key = entry.key;
            if (!key.starts_with(kBegin) || !key.ends_with(kEnd))
                continue;
            key.remove_prefix(kBegin.size());
            key.remove_suffix(std::min(kEnd.size(), key.size()));
            const auto rank = parseNumber<std::int32_t>(key);
            const auto bytes = parseNumber<std::int64_t>(entry.value);
            if (rank && bytes)
                peaks[*rank] = Bytes{*bytes};
        }
        return peaks;
    }

    /// The same of imports and recordings: the largest count of the allocators among the events of each process.
    std::map<ProcessIndex, Bytes> peaksOfEvents() const
    {
        std::map<DeviceIndex, std::int64_t> ofDevices;
        if (reader_.counts(run_.run).allocEvents > 0)
            reader_.eachAllocEvent({.run = run_.run}, [&](const AllocEvent& event) {
                if (event.device && event.action != AllocAction::Oom) {
                    std::int64_t& most = ofDevices[event.device];
                    most = std::max(most, event.allocated);
                }
                return !cancelled_();
            });
        std::map<ProcessIndex, Bytes> peaks;
        for (const auto& [device, most] : ofDevices) {
            Bytes& peak = peaks[topology_.of(device)];
            peak = std::max(peak, Bytes{most});
        }
        return peaks;
    }

    void divideSteps()
    {
        const std::map<std::int32_t, Bytes> peaks = recordedPeaks();
        const std::map<ProcessIndex, Bytes> ofEvents =
            run_.traits().isImported ? peaksOfEvents() : std::map<ProcessIndex, Bytes>{};
        for (auto& [process, each] : processes_) {
            const TracedProcess* const known = topology_.find(process);
            const std::string host = known ? known->host : std::string();
            const std::vector<Interval> walls = each.parts.walls();
            const std::vector<analysis::StepPartition> partitions = each.parts.partitions(span_);
            const std::vector<analysis::BusyParts> busy = each.parts.busyParts(span_);
            for (std::size_t i = 0; i < each.steps.size(); ++i) {
                const Interval wall = partitions[i].wall;
                const std::int32_t step = each.steps[i].step;
                starts_.emplace(std::pair(process, step), each.beginOf(step, walls[i].start));
                RankRow row{.step = each.steps[i].step,
                            .process = process,
                            .title = topology_.titleOf(process),
                            .rank = rankOf(topology_, process),
                            .numbers = numbersOf(topology_, process),
                            .host = host};
                if (const auto peak = row.rank ? peaks.find(*row.rank) : peaks.end(); peak != peaks.end())
                    row.peakAllocated = peak->second;
                else if (const auto found = ofEvents.find(process); found != ofEvents.end())
                    row.peakAllocated = found->second;
                row.parts = onGpu_ ? analysis::rankStepOf(partitions[i], busy[i])
                                   : analysis::rankStepOnCpu(wall, within(each.compute, wall),
                                                             within(each.hostCollectives, wall));
                table_.rows.push_back(std::move(row));
            }
        }
        std::ranges::stable_sort(table_.rows, {}, [](const RankRow& row) {
            return std::tuple(row.step, row.rank.value_or(std::numeric_limits<std::int32_t>::max()),
                              row.process);
        });
    }

    std::vector<analysis::CollectiveTiming> timesOf(std::span<const analysis::MatchedCollective> matched,
                                                    const analysis::StepStarts& starts) const
    {
        std::vector<analysis::CollectiveTiming> timings = analysis::timeCollectives(matched, starts);
        // What the clocks do not tell apart makes nobody late.
        for (analysis::CollectiveTiming& timing : timings)
            if (table_.clockUncertainty && timing.behind <= *table_.clockUncertainty) {
                timing.last = {};
                timing.late = Nanoseconds(0);
            }
        return timings;
    }

    void judgeHosts(std::span<const analysis::MatchedCollective> matched)
    {
        std::map<std::string, ProcessIndex> hosts;
        analysis::FirstOfHost firstOfHost;
        const std::vector<TracedProcess>& processes = topology_.topology().processes;
        const bool haveRanks =
            std::ranges::any_of(processes, [](const TracedProcess& each) { return each.rank.has_value(); });
        for (const TracedProcess& process : processes) {
            if (haveRanks && !process.rank)
                continue; // a launcher, or a worker that loads data
            if (process.host.empty() && process.rank)
                return;
            firstOfHost[process.id] = hosts.try_emplace(process.host, process.id).first->second;
        }
        table_.hostCount = hosts.size();
        if (hosts.size() < 2 || hosts.size() == firstOfHost.size())
            return;
        const std::vector<analysis::MatchedCollective> ofHosts =
            analysis::collectivesOfHosts(matched, firstOfHost);
        table_.lateHost = analysis::stragglerOf(analysis::latenessOfSteps(
            ofHosts, timesOf(ofHosts, analysis::startsOfHosts(starts_, firstOfHost))));
        if (const TracedProcess* const last = topology_.find(table_.lateHost.process))
            table_.lateHostName = last->host;
    }

    void judgeGroups(std::span<const analysis::MatchedCollective> matched,
                     std::span<const analysis::CollectiveTiming> timings)
    {
        std::map<std::pair<StringId, StringId>, std::vector<std::size_t>> groups;
        for (std::size_t i = 0; i < matched.size(); ++i)
            groups[{matched[i].group, matched[i].ranks}].push_back(i);
        if (groups.size() < 2)
            return;
        for (const auto& [group, collectives] : groups) {
            std::vector<analysis::MatchedCollective> own;
            std::vector<analysis::CollectiveTiming> times;
            for (const std::size_t i : collectives) {
                own.push_back(matched[i]);
                times.push_back(timings[i]);
            }
            GroupVerdict verdict{.group = group.first ? std::string(textOf_(group.first)) : std::string(),
                                 .verdict = analysis::stragglerOf(analysis::latenessOfSteps(own, times))};
            // Any of the groups could have had such a rank.
            verdict.verdict.chance =
                std::min(1.0, verdict.verdict.chance * static_cast<double>(groups.size()));
            if (verdict.verdict.kind == analysis::StragglerVerdict::Kind::Straggler &&
                verdict.verdict.chance >= analysis::kStragglerLevel)
                verdict.verdict.kind = analysis::StragglerVerdict::Kind::NoStraggler;
            if (verdict.verdict.process)
                verdict.name = topology_.titleOf(verdict.verdict.process);
            table_.groups.push_back(std::move(verdict));
        }
        std::ranges::stable_sort(table_.groups, {}, &GroupVerdict::group);
    }

    void addCollectives()
    {
        std::vector<Timestamp> launches(records_.size());
        for (std::size_t i = 0; i < records_.size(); ++i)
            if (const auto launch = ofCollectives_.find(records_[i].correlation.value);
                launch != ofCollectives_.end())
                launches[i] = launch->second;
        const std::vector<analysis::MatchedCollective> matched =
            analysis::matchCollectives(records_, launches, topology_, textOf_);
        const std::vector<analysis::CollectiveTiming> timings = timesOf(matched, starts_);
        const auto slacks = slackOfRecords();
        for (const Collective& record : records_)
            table_.pointToPoint += record.peer >= 0 ? 1 : 0;
        for (std::size_t i = 0; i < matched.size(); ++i) {
            table_.incomplete += matched[i].isComplete() ? 0 : 1;
            table_.disjoint += matched[i].parts.size() > 1 && !matched[i].overlaps() ? 1 : 0;
            table_.collectives.push_back(rowOf(matched[i], timings[i], slacks));
        }
        table_.collectivesOfRun = static_cast<std::int64_t>(matched.size());
        const std::vector<analysis::StepLateness> lateness = analysis::latenessOfSteps(matched, timings);
        table_.straggler = analysis::stragglerOf(lateness);
        if (table_.straggler.process)
            table_.stragglerName = topology_.titleOf(table_.straggler.process);
        judgeHosts(matched);
        judgeGroups(matched, timings);
        // By step, both of them.
        auto row = table_.rows.begin();
        for (const analysis::StepLateness& step : lateness) {
            const ProcessIndex last = step.last();
            for (; row != table_.rows.end() && row->step <= step.step; ++row)
                if (const auto late = step.late.find(row->process);
                    row->step == step.step && late != step.late.end()) {
                    row->late = late->second;
                    row->isLast = last && last == row->process;
                }
        }
    }

    using Slacks = std::unordered_map<std::size_t, std::pair<analysis::GatherSlack, StringId>>;

    /// By record: its slack and the name of the kernel that needs it.
    Slacks slackOfRecords()
    {
        Slacks slacks;
        if (!hasGathers_ || !onGpu_)
            return slacks;
        std::map<ProcessIndex, std::vector<std::size_t>> gathers;
        for (std::size_t i = 0; i < records_.size(); ++i)
            if (textOf_(records_[i].op) == kGather && records_[i].device && records_[i].correlation)
                gathers[processOf(records_[i])].push_back(i);
        std::map<ProcessIndex, std::vector<Wait>> waits;
        for (Wait& wait : reader_.waits(run_.run))
            waits[topology_.hasSeveral() ? wait.process : ProcessIndex{}].push_back(wait);
        for (const auto& [process, indices] : gathers) {
            std::vector<analysis::Gather> list;
            for (const std::size_t i : indices)
                list.push_back({records_[i].device, records_[i].stream, records_[i].correlation,
                                records_[i].path, records_[i].step, records_[i].start, records_[i].end});
            const std::vector<analysis::DependentWork>& work = processes_[process].work;
            const auto found = analysis::slackOfGathers(list, work, waits[process], textOf_);
            for (std::size_t i = 0; i < indices.size(); ++i)
                if (found[i])
                    slacks.emplace(indices[i], std::pair(*found[i], work[found[i]->work].name));
        }
        return slacks;
    }

    CollectiveRow rowOf(const analysis::MatchedCollective& matched, const analysis::CollectiveTiming& timing,
                        const Slacks& slacks)
    {
        const auto textOrNone = [&](StringId id) { return id ? std::string(textOf_(id)) : std::string(); };
        CollectiveRow row{.step = matched.step,
                          .sequence = matched.sequence,
                          .group = textOrNone(matched.group),
                          .op = textOrNone(matched.op),
                          .groupSize = matched.groupSize,
                          .missing = matched.missing,
                          .missingCount = matched.missingCount,
                          .transfer = timing.transfer,
                          .late = timing.late};
        if (timing.last) {
            row.last = topology_.titleOf(matched.parts[*timing.last].process);
            row.lastRank = matched.parts[*timing.last].rank;
        }
        if (matched.bytes >= 0)
            row.bytes = Bytes{matched.bytes};
        if (const StringId path = records_[matched.parts.front().record].path)
            row.range = analysis::fromStepDown(textOf_(path));
        for (std::size_t i = 0; i < matched.parts.size(); ++i) {
            const analysis::CollectivePart& part = matched.parts[i];
            const std::vector<Interval> time = analysis::unionOf({part.time});
            const Collective& record = records_[part.record];
            CollectiveRank rank{.process = part.process,
                                .title = topology_.titleOf(part.process),
                                .rank = part.rank,
                                .numbers = numbersOf(topology_, part.process),
                                .device = record.device,
                                .stream = record.stream,
                                .correlation = record.correlation,
                                .start = part.time.start,
                                .duration = part.time.length(),
                                .wait = timing.waits[i]};
            const std::span<const Interval> compute = within(processes_[part.process].compute, part.time);
            rank.exposed = lengthOf(analysis::difference(time, compute));
            if (rank.wait.count() > 0) {
                const std::vector<Interval> waiting{{rank.start, rank.start + rank.wait}};
                rank.waitExposed = lengthOf(analysis::difference(waiting, compute));
            }
            if (const auto slack = slacks.find(part.record); slack != slacks.end()) {
                rank.slack = slack->second.first;
                rank.neededBy = textOrNone(slack->second.second);
            }
            row.ranks.push_back(std::move(rank));
        }
        if (row.transfer)
            row.bandwidth = bandwidthOf(row.op, matched.bytes, matched.groupSize, *row.transfer);
        return row;
    }

    void noteClocks()
    {
        const std::vector<ClockDomain>& clocks = topology_.topology().clocks;
        if (clocks.size() > 1)
            for (const ClockDomain& clock : clocks)
                if (clock.uncertainty)
                    table_.clockUncertainty =
                        std::max(table_.clockUncertainty.value_or(Nanoseconds(0)), *clock.uncertainty);
    }

    void selectRows()
    {
        const ProcessQuery& asked = query_.topology;
        const auto isAsked = [&](ProcessIndex process) {
            const TracedProcess* const found = topology_.find(process);
            return !found ||
                   ((!asked.rank || found->rank == asked.rank) && (!asked.pid || found->pid == *asked.pid));
        };
        const auto isOtherStep = [&](const auto& row) { return query_.step && row.step != *query_.step; };
        table_.rowsOfRun = static_cast<std::int64_t>(table_.rows.size());
        std::erase_if(table_.rows, [&](const RankRow& row) {
            return isOtherStep(row) || !isAsked(row.process) ||
                   (query_.span && row.parts.wall.length() <= Nanoseconds(0));
        });
        for (CollectiveRow& row : table_.collectives)
            std::erase_if(row.ranks, [&](const CollectiveRank& rank) { return !isAsked(rank.process); });
        const auto isOutside = [&](const CollectiveRow& row) {
            return std::ranges::none_of(row.ranks, [&](const CollectiveRank& rank) {
                return rank.start < span_.end && rank.start + rank.duration > span_.start;
            });
        };
        std::erase_if(table_.collectives, [&](const CollectiveRow& row) {
            return isOtherStep(row) || row.ranks.empty() || (query_.span && isOutside(row));
        });
    }

    const store::RunReader& reader_;
    const RankQuery& query_;
    const std::function<bool()>& cancelled_;
    analysis::TextOf textOf_;
    store::RunRecord run_;
    ProcessFilter filter_;
    const TopologyIndex& topology_;
    std::vector<Collective> records_;
    std::unordered_map<std::uint32_t, Timestamp> ofCollectives_; // launches by correlation
    CorrelationSet collectives_;                                 ///< the same correlations
    Interval span_{};                                            ///< of the rows
    bool onGpu_ = false;
    bool hasGathers_ = false;
    RunKernels kernels_;
    std::map<ProcessIndex, OfProcess> processes_;
    analysis::StepStarts starts_;
    RanksTable table_;
};

} // namespace

RanksTable ranks(const store::RunReader& reader, const RankQuery& query,
                 const std::function<bool()>& cancelled)
{
    RanksTable table;
    reader.atOnce([&] { table = RanksReading(reader, query, cancelled).read(); });
    return table;
}

} // namespace tilescope::query
