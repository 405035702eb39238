#include "core/query/tables/waiting_table.h"

#include "core/analysis/waiting/idle_places.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/model/party_index.h"
#include "core/query/runs/process_rank.h"
#include "core/query/runs/run_tables.h"
#include "core/query/tables/path_steps.h"
#include "core/store/host_sample_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::HostCause;
using analysis::IdleTime;

constexpr std::array<std::pair<WaitingGroup, std::string_view>, 5> kWaitingGroups{
    {{WaitingGroup::Line, "line"},
     {WaitingGroup::Function, "function"},
     {WaitingGroup::Place, "place"},
     {WaitingGroup::Cause, "cause"},
     {WaitingGroup::Thread, "thread"}}};

CodeLine codeLineOf(const HostStack& stack)
{
    const auto [file, name] = analysis::partsOf(stack.function);
    return {.file = std::string(file), .line = stack.line, .function = std::string(name)};
}

/// What the recording has of one process.
struct ProcessRecords {
    ProcessIndex process = {};
    std::map<DeviceIndex, std::vector<analysis::LaunchedWork>> work;
    std::vector<analysis::CudaCall> calls; ///< CudaCall::name is an index of `callers`
    struct Caller {
        bool synchronizes = false;
        std::uint32_t stack = kNoStack; ///< at the beginning of the call
        bool operator==(const Caller&) const = default;
        auto operator<=>(const Caller&) const = default;
    };
    std::vector<Caller> callers;
    std::vector<analysis::Interval> windows; ///< steps; empty: the whole recording
    HostSamples samples;
};

/// A row before its text is made: exact and estimated time.
struct WaitingPart {
    double time = 0;
    double below = 0; ///< distance of the lower bound; 0: exact
    double above = 0;
    std::int64_t samples = 0;
    bool isEstimate = false;
    std::map<HostCause, double> causes;

    void add(double exact, HostCause cause)
    {
        time += exact;
        causes[cause] += exact;
    }
};

class ProcessWaiting {
public:
    ProcessWaiting(const ProcessRecords& records, const std::unordered_map<ThreadId, std::string>& threads,
                   WaitingTable& table, std::optional<std::int32_t> rank)
        : records_(records), threads_(threads), table_(table), rank_(rank), stacks_(records.samples.stacks),
          causes_(stacks_), program_(analysis::programCalls(stacks_))
    {
        for (const auto& [device, work] : records.work) {
            idle_.push_back(analysis::idleTime(work, records.samples, records.calls, records.windows));
            total_ += idle_.back().total;
            table.busy += idle_.back().busy;
            table.samples += std::ssize(idle_.back().hits);
            late_ += idle_.back().lateHits;
        }
        table.idle += total_;
    }

    std::int64_t late() const { return late_; }

    void addRows()
    {
        first_ = table_.rows.size();
        switch (table_.group) {
        case WaitingGroup::Line:
            addCode([this](std::uint32_t stack) { return program_[stack]; }, true);
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
        for (const IdleTime& idle : idle_) {
            const analysis::IdleShares shares = analysis::sharesOf(idle, stacks_, valueOf);
            for (const analysis::IdleShare& share : shares.shares)
                addShare(parts[share.value], share);
            // The cause of a line is that with most of it.
            constexpr auto kCauses = static_cast<std::uint32_t>(HostCause::Unexplained) + 1;
            const analysis::IdleShares byCause =
                analysis::sharesOf(idle, stacks_, [&](const HostSample& hit) {
                    return valueOf(hit) * kCauses + static_cast<std::uint32_t>(causes_.of(hit));
                });
            for (const analysis::IdleShare& share : byCause.shares)
                parts[share.value / kCauses].causes[static_cast<HostCause>(share.value % kCauses)] +=
                    share.time;
            unresolved.add(static_cast<double>(shares.unresolved.count()), HostCause::Unexplained);
            for (const analysis::IdleCall& call : idle.calls) {
                const ProcessRecords::Caller& caller = records_.callers[call.name];
                const std::uint32_t value = caller.stack == kNoStack ? none : numberOf[caller.stack];
                parts[value].add(static_cast<double>(call.time.count()), causeOf(caller));
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
        for (const IdleTime& idle : idle_) {
            const analysis::IdleShares shares =
                analysis::sharesOf(idle, stacks_, [this](const HostSample& hit) {
                    return static_cast<std::uint32_t>(causes_.of(hit));
                });
            for (const analysis::IdleShare& share : shares.shares) {
                const auto cause = static_cast<HostCause>(share.value);
                addShare(parts[cause], share);
                parts[cause].causes[cause] += share.time;
            }
            if (shares.unresolved.count() > 0)
                parts[HostCause::Unexplained].add(static_cast<double>(shares.unresolved.count()),
                                                  HostCause::Unexplained);
            for (const analysis::IdleCall& call : idle.calls) {
                const HostCause cause = causeOf(records_.callers[call.name]);
                parts[cause].add(static_cast<double>(call.time.count()), cause);
            }
        }
        for (const auto& [cause, part] : parts)
            table_.rows.push_back(rowOf(part));
    }

    void addPlaces()
    {
        for (const IdleTime& idle : idle_)
            for (const analysis::IdlePlace& place : idle.places) {
                WaitingRow row = rowOf(place.host, place.times);
                row.thread = threadName(place.thread);
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
        for (const IdleTime& idle : idle_)
            for (const analysis::IdlePlace& place : idle.places) {
                auto& [time, times] = threads[place.thread];
                time += place.host;
                times.insert(times.end(), place.times.begin(), place.times.end());
            }
        for (const auto& [thread, sums] : threads) {
            WaitingRow row = rowOf(sums.first, sums.second);
            row.thread = threadName(thread);
            table_.rows.push_back(std::move(row));
        }
    }

    /// What is not the host's code.
    void addOthers()
    {
        WaitingPart launching;
        WaitingPart queued;
        WaitingPart unknown;
        for (const IdleTime& idle : idle_) {
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
            same->idle += row.idle;
    }

    static HostCause causeOf(const ProcessRecords::Caller& caller)
    {
        return caller.synchronizes ? HostCause::Synchronization : HostCause::CudaCalls;
    }

    static void addShare(WaitingPart& part, const analysis::IdleShare& share)
    {
        // Devices of a process are sampled independently. std::hypot() would need glibc 2.35.
        const auto with = [](double sum, double reach) { return std::sqrt(sum * sum + reach * reach); };
        part.below = with(part.below, share.time - share.interval.low);
        part.above = with(part.above, share.interval.high - share.time);
        part.time += share.time;
        part.samples += share.samples;
        part.isEstimate = true;
    }

    WaitingRow rowOf(const WaitingPart& part) const
    {
        WaitingRow row{.rank = rank_, .idle = Nanoseconds(std::llround(part.time))};
        const auto most =
            std::ranges::max_element(part.causes, {}, [](const auto& each) { return each.second; });
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
        WaitingRow row{.rank = rank_, .idle = time, .count = std::ssize(times)};
        std::ranges::sort(times);
        row.median = times[times.size() / 2];
        row.longest = times.back();
        return row;
    }

    std::string threadName(ThreadId thread) const
    {
        const auto known = threads_.find(thread);
        return known == threads_.end() ? "thread " + std::to_string(thread.value) : known->second;
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

    const ProcessRecords& records_;
    const std::unordered_map<ThreadId, std::string>& threads_;
    WaitingTable& table_;
    std::optional<std::int32_t> rank_;
    std::span<const HostStack> stacks_;
    analysis::HostCauses causes_;
    std::vector<std::uint32_t> program_;
    std::vector<IdleTime> idle_; ///< by device
    Nanoseconds total_{0};
    std::int64_t late_ = 0;
    std::size_t first_ = 0;
};

class WaitingReading {
public:
    WaitingReading(const store::RunReader& reader, const WaitingQuery& query)
        : reader_(reader), query_(query), filter_(reader, chooseRun(reader, query.run).run, query.parties)
    {
        table_.run = chooseRun(reader, query.run);
        table_.group = query.group;
    }

    WaitingTable read()
    {
        const RunId run = table_.run.run;
        for (const EnvironmentEntry& entry : reader_.environment(run))
            if (entry.key == "record.host_samples")
                table_.recorded = entry.value;
        for (HostSamples& samples : store::hostSamples(reader_.file(), run)) {
            table_.hasStacks = table_.hasStacks || !samples.threads.empty();
            if (!samples.threads.empty() && filter_.has(samples.threads.front().thread))
                processes_[samples.process].samples = std::move(samples);
        }
        if (!table_.hasStacks)
            return std::move(table_);
        readSteps();
        readWork();
        readCalls();
        for (const ThreadName& thread : reader_.threads(run))
            if (thread.name)
                threads_[thread.thread] = reader_.text(thread.name);
        std::int64_t late = 0;
        for (auto& [process, records] : processes_) {
            if (query_.step && records.windows.empty())
                continue;
            ProcessWaiting waiting(records, threads_, table_, rankOf(filter_.parties(), process));
            waiting.addRows();
            late += waiting.late();
        }
        table_.lateShare =
            table_.samples > 0 ? static_cast<double>(late) / static_cast<double>(table_.samples) : 0;
        std::ranges::stable_sort(table_.rows, std::greater{}, &WaitingRow::idle);
        std::erase_if(table_.rows, [](const WaitingRow& row) { return row.idle.count() <= 0; });
        return std::move(table_);
    }

private:
    void readSteps()
    {
        std::map<std::int32_t, int> numbers;
        if (!query_.step)
            table_.choice = stepChoice(reader_, table_.run.run, query_.parties);
        for (const analysis::RecordedStep& step :
             pathSteps(reader_, table_.run.run, filter_.parties(), [] { return false; })) {
            const auto process = processes_.find(step.process);
            if (process == processes_.end() || step.step == kNoStep ||
                (query_.step && step.step != *query_.step) ||
                !table_.choice.isTypical(numbersOf(filter_.parties(), step.process).process, step.step))
                continue;
            process->second.windows.push_back(step.wall);
            ++numbers[step.step];
        }
        for (auto& [process, records] : processes_)
            records.windows = analysis::unionOf(std::move(records.windows));
        table_.steps = std::ssize(numbers);
        table_.hasStep = !query_.step || table_.steps > 0;
    }

    void readWork()
    {
        reader_.eachDeviceEvent({.run = table_.run.run}, [this](const DeviceEvent& event) {
            const auto process = processes_.find(filter_.parties().of(event.device, event.stream));
            if (process != processes_.end())
                process->second.work[event.device].push_back(
                    {.start = event.start,
                     .end = event.end,
                     .launched = event.launched == Timestamp{} ? std::nullopt : std::optional(event.launched),
                     .thread = event.launchThread});
            return true;
        });
        for (auto& [number, process] : processes_)
            for (auto& [device, work] : process.work)
                std::ranges::stable_sort(work, {}, &analysis::LaunchedWork::start);
    }

    void readCalls()
    {
        // The stack at the beginning of a call is noted as that of a launch.
        std::map<ThreadId, std::vector<HostSample>> launches;
        for (const auto& [number, process] : processes_)
            for (const SampledHostThread& thread : process.samples.threads)
                std::ranges::copy_if(thread.samples, std::back_inserter(launches[thread.thread]),
                                     &HostSample::isLaunch);
        std::map<std::pair<ProcessIndex, ProcessRecords::Caller>, std::uint32_t> callers;
        reader_.eachApiCall({.run = table_.run.run}, [&](const ApiCall& call) {
            if (call.kind == ApiKind::Overhead || call.kind == ApiKind::Wait || call.kind == ApiKind::Launch)
                return true;
            const auto process = processes_.find(filter_.parties().of(call.thread));
            if (process == processes_.end())
                return true;
            ProcessRecords::Caller caller{.synchronizes = call.kind == ApiKind::Synchronize};
            const std::vector<HostSample>& own = launches[call.thread];
            const auto at = std::ranges::lower_bound(own, call.start, {}, &HostSample::time);
            if (at != own.end() && at->time == call.start)
                caller.stack = at->stack;
            std::vector<ProcessRecords::Caller>& all = process->second.callers;
            const auto [known, isNew] =
                callers.try_emplace({process->first, caller}, static_cast<std::uint32_t>(all.size()));
            if (isNew)
                all.push_back(caller);
            process->second.calls.push_back(
                {.start = call.start, .end = call.end, .thread = call.thread, .name = known->second});
            return true;
        });
    }

    const store::RunReader& reader_;
    const WaitingQuery& query_;
    PartyFilter filter_;
    WaitingTable table_;
    std::map<ProcessIndex, ProcessRecords> processes_;
    std::unordered_map<ThreadId, std::string> threads_;
};

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
                    .remedy = "allowed here: line, function, place, cause, thread"};
    return known->first;
}

WaitingTable waiting(const store::RunReader& reader, const WaitingQuery& query)
{
    WaitingTable table;
    reader.atOnce([&] { table = WaitingReading(reader, query).read(); });
    return table;
}

} // namespace tilescope::query
