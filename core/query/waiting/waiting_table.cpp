#include "core/query/waiting/waiting_table.h"

#include "core/analysis/waiting/idle_places.h"
#include "core/base/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::HostCause;

constexpr std::array<std::pair<WaitingGroup, std::string_view>, 6> kWaitingGroups{
    {{WaitingGroup::Line, "line"},
     {WaitingGroup::Innermost, "innermost"},
     {WaitingGroup::Function, "function"},
     {WaitingGroup::Place, "place"},
     {WaitingGroup::Cause, "cause"},
     {WaitingGroup::Thread, "thread"}}};

/// The line of a stack's last call.
CodeLine codeLineOf(const HostStack& stack)
{
    const auto [file, name, first] = analysis::partsOf(stack.function);
    return {.file = std::string(file), .line = stack.line, .function = std::string(name), .firstLine = first};
}

/// A row before its text is made: exact and estimated time.
struct WaitingPart {
    double time = 0;
    double below = 0; ///< distance of the lower bound; 0: exact
    double above = 0;
    std::int64_t samples = 0;
    bool isEstimate = false;
    struct CausePart {
        double time = 0;
        double below = 0;
        double above = 0;
    };
    std::map<HostCause, CausePart> causes;
    std::map<std::string, double> calls; ///< exact time by name

    void addCall(const std::string& call, double exact, HostCause cause)
    {
        add(exact, cause);
        calls[call] += exact;
    }
    void add(double exact, HostCause cause)
    {
        time += exact;
        causes[cause].time += exact;
    }
    void addCause(const analysis::IdleShare& share, HostCause cause)
    {
        CausePart& part = causes[cause];
        part.below = joined(part.below, share.time - share.interval.low);
        part.above = joined(part.above, share.interval.high - share.time);
        part.time += share.time;
    }
    /// Devices of a process are sampled independently. std::hypot() would need glibc 2.35.
    static double joined(double sum, double reach) { return std::sqrt(sum * sum + reach * reach); }
};

class ProcessWaiting {
public:
    ProcessWaiting(const ProcessIdle& process, const WaitingRecords& records, WaitingTable& table)
        : process_(process), records_(records), table_(table), stacks_(process.stacks), causes_(stacks_),
          program_(analysis::programCalls(stacks_)), python_(analysis::pythonCalls(stacks_))
    {
        for (const auto& [device, idle] : process.devices)
            total_ += idle.total;
    }

    void addRows()
    {
        first_ = table_.rows.size();
        switch (table_.group) {
        case WaitingGroup::Line:
            addCode([this](std::uint32_t stack) { return program_[stack]; }, true);
            break;
        case WaitingGroup::Innermost:
            addCode([this](std::uint32_t stack) { return python_[stack]; }, true);
            break;
        case WaitingGroup::Function:
            addCode([](std::uint32_t stack) { return stack; }, false);
            break;
        case WaitingGroup::Cause:
            addCauses();
            break;
        case WaitingGroup::Place:
            addPlaces();
            break;
        case WaitingGroup::Thread:
            addThreads();
            break;
        }
        addOthers();
        makeExact();
    }

private:
    /// Rows of lines or functions.
    template <class CallOf> void addCode(CallOf callOf, bool withLines)
    {
        // Stacks that end in the same line, or function, have one number.
        std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> numbers;
        std::vector<std::uint32_t> numberOf(stacks_.size());
        std::vector<std::uint32_t> example;
        for (std::uint32_t i = 0; i < stacks_.size(); ++i) {
            const HostStack& call = stacks_[callOf(i)];
            const auto [place, isNew] = numbers.try_emplace({call.function, withLines ? call.line : 0},
                                                            static_cast<std::uint32_t>(example.size()));
            if (isNew)
                example.push_back(callOf(i));
            numberOf[i] = place->second;
        }
        std::map<std::uint32_t, WaitingPart> parts;
        WaitingPart unresolved;
        const auto none = static_cast<std::uint32_t>(example.size());
        const auto valueOf = [&](const HostSample& hit) {
            return hit.stack == kNoStack ? none : numberOf[hit.stack];
        };
        for (const auto& [device, idle] : process_.devices) {
            const analysis::IdleShares shares = analysis::sharesOf(idle, stacks_, valueOf);
            for (const analysis::IdleShare& share : shares.shares)
                addShare(parts[share.value], share);
            // The cause of a line is that with most of it.
            constexpr auto kCauses = static_cast<std::uint32_t>(analysis::kHostCauses);
            const analysis::IdleShares byCause =
                analysis::sharesOf(idle, stacks_, [&](const HostSample& hit) {
                    return valueOf(hit) * kCauses + static_cast<std::uint32_t>(causes_.of(hit));
                });
            for (const analysis::IdleShare& share : byCause.shares)
                parts[share.value / kCauses].addCause(share, static_cast<HostCause>(share.value % kCauses));
            unresolved.add(static_cast<double>(shares.unresolved.count()), HostCause::Unexplained);
            for (const analysis::IdleCall& call : idle.calls) {
                const CudaCaller& caller = process_.callers[call.name];
                const std::uint32_t value = caller.stack == kNoStack ? none : numberOf[caller.stack];
                parts[value].addCall(caller.call, static_cast<double>(call.time.count()), causeOf(caller));
            }
        }
        for (const auto& [value, part] : parts) {
            WaitingRow row = rowOf(part);
            if (value != none) {
                row.line = codeLineOf(stacks_[example[value]]);
                if (!withLines)
                    row.line->line = 0;
            }
            table_.rows.push_back(std::move(row));
        }
        if (unresolved.time > 0)
            table_.rows.push_back(rowOf(unresolved));
    }

    void addCauses()
    {
        std::map<HostCause, WaitingPart> parts;
        for (const auto& [device, idle] : process_.devices) {
            const analysis::IdleShares shares =
                analysis::sharesOf(idle, stacks_, [this](const HostSample& hit) {
                    return static_cast<std::uint32_t>(causes_.of(hit));
                });
            for (const analysis::IdleShare& share : shares.shares) {
                const auto cause = static_cast<HostCause>(share.value);
                addShare(parts[cause], share);
                parts[cause].addCause(share, cause);
            }
            if (shares.unresolved.count() > 0)
                parts[HostCause::Unexplained].add(static_cast<double>(shares.unresolved.count()),
                                                  HostCause::Unexplained);
            for (const analysis::IdleCall& call : idle.calls) {
                const CudaCaller& caller = process_.callers[call.name];
                const HostCause cause = causeOf(caller);
                parts[cause].addCall(caller.call, static_cast<double>(call.time.count()), cause);
            }
        }
        for (const auto& [cause, part] : parts)
            table_.rows.push_back(rowOf(part));
    }

    void addPlaces()
    {
        for (const auto& [device, idle] : process_.devices)
            for (const analysis::IdlePlace& place : idle.places) {
                WaitingRow row = rowOf(place.host, place.times);
                if (const auto name = records_.names.find(place.endedBy); name != records_.names.end())
                    row.work = name->second;
                row.thread = records_.threadName(place.thread);
                const auto [before, after] = analysis::divergenceOf(stacks_, place.before, place.after);
                if (before != kNoStack)
                    row.line = codeLineOf(stacks_[before]);
                if (after != kNoStack)
                    row.next = codeLineOf(stacks_[after]);
                table_.rows.push_back(std::move(row));
            }
    }

    void addThreads()
    {
        std::map<ThreadId, std::pair<Nanoseconds, std::vector<Nanoseconds>>> threads;
        for (const auto& [device, idle] : process_.devices)
            for (const analysis::IdlePlace& place : idle.places) {
                auto& [time, times] = threads[place.thread];
                time += place.host;
                times.insert(times.end(), place.times.begin(), place.times.end());
            }
        for (const auto& [thread, sums] : threads) {
            WaitingRow row = rowOf(sums.first, sums.second);
            row.thread = records_.threadName(thread);
            table_.rows.push_back(std::move(row));
        }
    }

    /// What is not the host's code.
    void addOthers()
    {
        WaitingPart launching;
        WaitingPart queued;
        WaitingPart unknown;
        for (const auto& [device, idle] : process_.devices) {
            launching.add(static_cast<double>(idle.launching.count()), HostCause::Launching);
            queued.add(static_cast<double>(idle.queued.count()), HostCause::Queued);
            unknown.add(static_cast<double>(idle.unknown.count()), HostCause::Unexplained);
        }
        for (const WaitingPart& part : {launching, queued, unknown})
            if (part.time > 0)
                addToCause(part);
    }

    void addToCause(const WaitingPart& part)
    {
        WaitingRow row = rowOf(part);
        const auto same = std::ranges::find_if(table_.rows.begin() + static_cast<std::ptrdiff_t>(first_),
                                               table_.rows.end(), [&](const WaitingRow& each) {
                                                   return !each.line && !each.next &&
                                                          each.cause == row.cause && each.thread.empty() &&
                                                          !each.interval;
                                               });
        if (same == table_.rows.end())
            table_.rows.push_back(std::move(row));
        else
            join(*same, row);
    }

    /// Of the same cause, both exact.
    static void join(WaitingRow& row, const WaitingRow& more)
    {
        row.idle += more.idle;
        for (const CauseTime& time : more.causes) {
            const auto same = std::ranges::find(row.causes, time.cause, &CauseTime::cause);
            if (same == row.causes.end())
                row.causes.push_back(time);
            else
                same->time += time.time;
        }
    }

    static HostCause causeOf(const CudaCaller& caller)
    {
        return analysis::causeOfCall(caller.call, caller.synchronizes);
    }

    static void addShare(WaitingPart& part, const analysis::IdleShare& share)
    {
        part.below = WaitingPart::joined(part.below, share.time - share.interval.low);
        part.above = WaitingPart::joined(part.above, share.interval.high - share.time);
        part.time += share.time;
        part.samples += share.samples;
        part.isEstimate = true;
    }

    WaitingRow rowOf(const WaitingPart& part) const
    {
        WaitingRow row{.rank = process_.rank,
                       .numbers = process_.numbers,
                       .title = process_.title,
                       .steps = process_.steps,
                       .idle = Nanoseconds(std::llround(part.time))};
        const auto most =
            std::ranges::max_element(part.causes, {}, [](const auto& each) { return each.second.time; });
        for (const auto& [cause, time] : part.causes) {
            row.causes.push_back({.cause = cause, .time = time.time});
            if (time.below > 0 || time.above > 0)
                row.causes.back().interval = analysis::ConfidenceInterval{
                    std::max(0.0, time.time - time.below), time.time + time.above};
        }
        std::vector<std::pair<double, std::string>> calls;
        for (const auto& [call, time] : part.calls)
            calls.emplace_back(time, call);
        std::ranges::stable_sort(calls, std::greater{}, &std::pair<double, std::string>::first);
        for (const auto& [time, call] : calls)
            row.calls += (row.calls.empty() ? "" : ", ") + call;
        row.cause = most == part.causes.end() ? wordOf(HostCause::Unexplained) : wordOf(most->first);
        if (part.isEstimate) {
            row.interval =
                analysis::ConfidenceInterval{std::max(0.0, part.time - part.below), part.time + part.above};
            row.samples = part.samples;
        }
        return row;
    }

    WaitingRow rowOf(Nanoseconds time, std::vector<Nanoseconds> times) const
    {
        WaitingRow row{.rank = process_.rank,
                       .numbers = process_.numbers,
                       .title = process_.title,
                       .steps = process_.steps,
                       .idle = time,
                       .count = std::ssize(times)};
        std::ranges::sort(times);
        row.median = times[times.size() / 2];
        row.longest = times.back();
        Nanoseconds sum{0};
        std::int64_t most = 0;
        for (; most < std::ssize(times) && 10 * sum < 9 * time; ++most)
            sum += times[times.size() - 1 - static_cast<std::size_t>(most)];
        row.most = most;
        return row;
    }

    /// The rows add up to the idle time: rounding is the longest row's.
    void makeExact()
    {
        const auto rows = std::span(table_.rows).subspan(first_);
        Nanoseconds sum{0};
        for (const WaitingRow& row : rows)
            sum += row.idle;
        if (!rows.empty())
            std::ranges::max_element(rows, {}, &WaitingRow::idle)->idle += total_ - sum;
        for (WaitingRow& row : rows)
            row.share = total_.count() > 0
                            ? static_cast<double>(row.idle.count()) / static_cast<double>(total_.count())
                            : 0;
    }

    const ProcessIdle& process_;
    const WaitingRecords& records_;
    WaitingTable& table_;
    std::span<const HostStack> stacks_;
    analysis::HostCauses causes_;
    std::vector<std::uint32_t> program_;
    std::vector<std::uint32_t> python_;
    Nanoseconds total_{0};
    std::size_t first_ = 0;
};

std::string titleOf(const ProcessIdle& process, DeviceIndex device)
{
    if (process.devices.size() == 1 && !process.title.empty())
        return process.title;
    const auto number = process.gpuTitles.find(device);
    return number == process.gpuTitles.end() ? process.title : number->second;
}

} // namespace

std::string_view wordOf(WaitingGroup group)
{
    return std::ranges::find(kWaitingGroups, group, &std::pair<WaitingGroup, std::string_view>::first)
        ->second;
}

WaitingGroup waitingGroupOf(std::string_view word)
{
    const auto* const known =
        std::ranges::find(kWaitingGroups, word, &std::pair<WaitingGroup, std::string_view>::second);
    if (known == kWaitingGroups.end())
        throw Error{.what = "show waiting cannot be grouped by '" + std::string(word) + "'",
                    .where = "--group",
                    .remedy = "allowed here: line, innermost, function, place, cause, thread"};
    return known->first;
}

bool WaitingTable::isHostBoundNext() const
{
    constexpr std::int64_t kLeastBusy = 9; // times the idle time
    return busy >= kLeastBusy * idle && perProcessStep(lead.work) > perGpuStep(busy);
}

bool WaitingTable::isOfSeveral() const
{
    return std::ranges::any_of(
        rows, [this](const WaitingRow& row) { return row.numbers.process != rows.front().numbers.process; });
}

double WaitingTable::perGpuStep(Nanoseconds time) const
{
    std::int64_t all = 0;
    for (const GpuIdle& gpu : gpus)
        all += std::max<std::int64_t>(gpu.steps, 1);
    return static_cast<double>(time.count()) / static_cast<double>(std::max<std::int64_t>(all, 1));
}

WaitingTable waitingTable(const WaitingRecords& records, WaitingGroup group)
{
    WaitingTable table{.run = records.run,
                       .group = group,
                       .span = records.span,
                       .idle = records.idle(),
                       .busy = records.busy(),
                       .lead = records.lead(),
                       .peers = records.peers,
                       .choice = records.choice,
                       .steps = records.steps,
                       .samples = records.samples(),
                       .lateShare = records.lateShare()};
    table.processSteps = 0;
    for (const ProcessIdle& process : records.processes) {
        ProcessWaiting(process, records, table).addRows();
        if (process.devices.empty())
            continue;
        table.processSteps += std::max<std::int64_t>(process.steps, 1);
        for (const auto& [device, idle] : process.devices)
            table.gpus.push_back({.title = titleOf(process, device),
                                  .idle = idle.total,
                                  .busy = idle.busy,
                                  .steps = process.steps});
    }
    table.processSteps = std::max<std::int64_t>(table.processSteps, 1);
    std::ranges::stable_sort(table.rows, std::greater{}, &WaitingRow::idle);
    std::erase_if(table.rows, [](const WaitingRow& row) { return row.idle.count() <= 0; });
    if (table.rows.empty())
        table.whyEmpty = whyNothingWaits(records);
    return table;
}

WaitingTable waiting(const store::RunReader& reader, const WaitingScope& scope, WaitingGroup group)
{
    return waitingTable(waitingRecords(reader, scope), group);
}

} // namespace tilescope::query
