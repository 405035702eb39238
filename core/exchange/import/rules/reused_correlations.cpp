#include "core/exchange/import/rules/reused_correlations.h"

#include "core/exchange/import/rules/rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

namespace {

std::uint64_t keyOf(ProcessIndex process, std::uint32_t correlation)
{
    return static_cast<std::uint64_t>(process.value) << 32 | correlation;
}

bool isCall(const HostRow& row)
{
    return (row.kind == HostKind::ApiCall || row.kind == HostKind::Launch) && row.extra != 0;
}

/// The rows of one id.
struct Reused {
    std::vector<std::uint32_t> calls;      ///< indices of HostRows, by time
    std::vector<std::uint32_t> activities; ///< indices of DeviceRows, by time
};

class Separation {
public:
    explicit Separation(ForeignTrace& trace) : trace_(trace) {}

    void run()
    {
        findReused();
        if (reused_.empty())
            return;
        collectCalls();
        for (auto& [key, rows] : reused_)
            separate(rows);
    }

private:
    void findReused()
    {
        std::vector<std::uint64_t> keys;
        keys.reserve(trace_.activities.size());
        for (const DeviceRow& row : trace_.activities) {
            if (row.correlation != 0)
                keys.push_back(keyOf(trace_.processOf(row), row.correlation));
            noteNumber(trace_.processOf(row), row.correlation);
        }
        if (!std::ranges::is_sorted(keys))
            std::ranges::sort(keys);
        std::vector<std::uint64_t> several;
        for (std::size_t i = 1; i < keys.size(); ++i)
            if (keys[i] == keys[i - 1] && (several.empty() || several.back() != keys[i]))
                several.push_back(keys[i]);
        if (several.empty())
            return;
        for (const std::uint64_t key : several)
            reused_.try_emplace(key);
        for (const Collective& collective : trace_.collectives)
            reused_.erase(
                keyOf(collective.process, static_cast<std::uint32_t>(collective.correlation.value)));
        for (const Wait& wait : trace_.waits) {
            reused_.erase(keyOf(wait.process, static_cast<std::uint32_t>(wait.correlation.value)));
            reused_.erase(keyOf(wait.process, static_cast<std::uint32_t>(wait.recordCorrelation.value)));
        }
    }

    void noteNumber(ProcessIndex process, std::uint32_t number)
    {
        const auto at = static_cast<std::size_t>(process.value);
        if (at >= most_.size())
            most_.resize(at + 1, 0);
        most_[at] = std::max(most_[at], number);
    }

    void collectCalls()
    {
        for (std::uint32_t i = 0; i < trace_.host.size(); ++i) {
            const HostRow& row = trace_.host[i];
            if (!isCall(row))
                continue;
            noteNumber(trace_.processOf(row), row.extra);
            if (const auto found = reused_.find(keyOf(trace_.processOf(row), row.extra));
                found != reused_.end())
                found->second.calls.push_back(i);
        }
        for (std::uint32_t i = 0; i < trace_.activities.size(); ++i) {
            const DeviceRow& row = trace_.activities[i];
            if (const auto found = reused_.find(keyOf(trace_.processOf(row), row.correlation));
                found != reused_.end())
                found->second.activities.push_back(i);
        }
    }

    void separate(Reused& rows)
    {
        std::ranges::sort(rows.calls, {}, [&](std::uint32_t i) { return trace_.host[i].start; });
        std::vector<std::size_t> firsts; // of the calls that begin after all earlier ones have ended
        std::int64_t until = 0;
        for (std::size_t i = 0; i < rows.calls.size(); ++i) {
            const HostRow& row = trace_.host[rows.calls[i]];
            if (i == 0 || row.start > until)
                firsts.push_back(i);
            until = i == 0 ? row.end : std::max(until, row.end);
        }
        if (firsts.size() < 2)
            return;
        trace_.work.rows += static_cast<std::int64_t>(rows.calls.size() + rows.activities.size());
        std::ranges::sort(rows.activities, {}, [&](std::uint32_t i) { return trace_.activities[i].start; });
        const auto startOf = [&](std::size_t group) { return trace_.host[rows.calls[firsts[group]]].start; };
        bool isPaired = firsts.size() == rows.activities.size();
        for (std::size_t i = 0; isPaired && i < firsts.size(); ++i)
            isPaired = startOf(i) <= trace_.activities[rows.activities[i]].start + kEarlyNs;
        const ProcessIndex process = trace_.processOf(trace_.host[rows.calls.front()]);
        std::uint32_t& most = most_[static_cast<std::size_t>(process.value)];
        if (std::numeric_limits<std::uint32_t>::max() - most < firsts.size())
            return;
        std::size_t call = firsts[1];
        std::size_t activity = 0;
        for (std::size_t group = 0; group < firsts.size(); ++group) {
            const bool isLast = group + 1 == firsts.size();
            const std::uint32_t number = group == 0 ? 0 : ++most;
            for (; group > 0 && call < (isLast ? rows.calls.size() : firsts[group + 1]); ++call)
                trace_.host[rows.calls[call]].extra = number;
            const auto isOfGroup = [&](std::size_t i) {
                return isPaired ? i == group
                                : isLast || trace_.activities[rows.activities[i]].start + kEarlyNs <
                                                startOf(group + 1);
            };
            for (; activity < rows.activities.size() && isOfGroup(activity); ++activity)
                if (group > 0)
                    trace_.activities[rows.activities[activity]].correlation = number;
        }
    }

    ForeignTrace& trace_;
    std::unordered_map<std::uint64_t, Reused> reused_; ///< by process and id
    std::vector<std::uint32_t> most_;                  ///< highest id, by process
};

} // namespace

void separateReusedCorrelations(ForeignTrace& trace)
{
    Separation(trace).run();
}

} // namespace tilescope::exchange
