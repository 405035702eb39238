#include "core/query/advice/waiting_advice.h"

#include "core/query/calls/idle_tree.h"
#include "core/query/waiting/waiting_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace tilescope::query {

namespace {

std::string placeOf(const CodeLine& line)
{
    return line.file + (line.line > 0 ? ":" + std::to_string(line.line) : "") + " in " + line.function;
}

/// Whether the file is of a package whose modules and functions only call the model.
bool isOfWrapper(std::string_view file)
{
    constexpr std::string_view kPackages[] = {
        "torch/", "accelerate/", "deepspeed/", "lightning/", "pytorch_lightning/", "peft/", "fairscale/"};
    return std::ranges::any_of(kPackages, [file](std::string_view package) {
        const std::size_t at = file.rfind(package);
        return at == 0 || (at != std::string_view::npos && file[at - 1] == '/');
    });
}

void addTo(analysis::ConfidenceInterval& sum, const analysis::ConfidenceInterval& more)
{
    sum = {sum.low + more.low, sum.high + more.high};
}

/// A time without an interval is exact.
analysis::ConfidenceInterval limitsOf(Nanoseconds time,
                                      const std::optional<analysis::ConfidenceInterval>& interval)
{
    const auto exact = static_cast<double>(time.count());
    return interval.value_or(analysis::ConfidenceInterval{exact, exact});
}

std::optional<WaitingLine> outermostForward(const WaitingRecords& records)
{
    const CallTree tree = idleTree(records).tree;
    const CallTree::Sums sums = tree.sums();
    std::vector<bool> isBelow(tree.entries().size()); // of a forward, or one itself
    std::map<std::uint32_t, std::int64_t> times;      // by name
    for (CallTree::Node node = CallTree::kRoot + 1; node < tree.entries().size(); ++node) {
        const CallTree::Entry& entry = tree.entries()[node];
        isBelow[node] = isBelow[entry.parent];
        if (isBelow[node] || entry.kind != CallKind::Frame)
            continue;
        const analysis::FunctionParts parts = analysis::partsOf(tree.names()[entry.name]);
        if (parts.name != "forward" || isOfWrapper(parts.file))
            continue;
        isBelow[node] = true;
        times[entry.name] += sums.amount[node];
    }
    const auto most = std::ranges::max_element(times, {}, [](const auto& each) { return each.second; });
    if (most == times.end())
        return {};
    const analysis::FunctionParts parts = analysis::partsOf(tree.names()[most->first]);
    return WaitingLine{.place =
                           "forward of " + std::string(parts.file) + ":" + std::to_string(parts.firstLine),
                       .time = Nanoseconds(most->second)};
}

} // namespace

WaitingAdvice::WaitingAdvice(const WaitingRecords& records)
{
    for (const ProcessIdle& process : records.processes)
        for (const HostStack& stack : process.stacks) {
            const analysis::FunctionParts parts = analysis::partsOf(stack.function);
            loadsInWorkers_ = loadsInWorkers_ || (parts.name == "_get_data" &&
                                                  parts.file.ends_with("torch/utils/data/dataloader.py"));
        }
    const WaitingTable lines = waitingTable(records, WaitingGroup::Line);
    isKnown_ = !lines.rows.empty();
    if (!isKnown_)
        return;
    for (const WaitingRow& row : lines.rows) {
        const std::string place = row.line ? placeOf(*row.line) : std::string();
        addTo(lines_[place], limitsOf(row.idle, row.interval));
        for (const CauseTime& part : row.causes)
            parts_.push_back({.cause = part.cause,
                              .line = {.place = place,
                                       .time = Nanoseconds(std::llround(part.time)),
                                       .interval = part.interval}});
    }
    module_ = outermostForward(records);
    for (const WaitingRow& row : waitingTable(records, WaitingGroup::Place).rows)
        if (row.line && row.next && row.count && row.most && row.median &&
            row.longest) { // the first has most time
            const auto text = [](const CodeLine& line) {
                return line.file + ":" + std::to_string(line.line);
            };
            place_ = {.from = text(*row.line),
                      .to = text(*row.next),
                      .time = row.idle,
                      .count = *row.count,
                      .most = *row.most,
                      .work = row.work,
                      .median = *row.median,
                      .longest = *row.longest};
            break;
        }
}

Nanoseconds WaitingAdvice::timeOf(std::initializer_list<analysis::HostCause> causes) const
{
    Nanoseconds time{0};
    for (const Part& part : parts_)
        if (std::ranges::find(causes, part.cause) != causes.end())
            time += part.line.time;
    return time;
}

std::vector<WaitingLine> WaitingAdvice::linesOf(std::initializer_list<analysis::HostCause> causes) const
{
    struct Sums {
        WaitingLine line;
        bool isFound = false;
        bool isSampled = false;
        analysis::ConfidenceInterval time{}; // of the causes
        analysis::ConfidenceInterval rest{}; // of the others
    };
    std::map<std::string, Sums> sums;
    for (const Part& part : parts_) {
        Sums& sum = sums[part.line.place];
        if (std::ranges::find(causes, part.cause) == causes.end()) {
            addTo(sum.rest, limitsOf(part.line.time, part.line.interval));
            continue;
        }
        sum.line.place = part.line.place;
        sum.line.time += part.line.time;
        sum.isFound = true;
        sum.isSampled = sum.isSampled || part.line.interval;
        addTo(sum.time, limitsOf(part.line.time, part.line.interval));
    }
    std::vector<WaitingLine> sorted;
    for (auto& [place, sum] : sums) {
        if (!sum.isFound)
            continue;
        // The samples that divide the time of a line among causes also show its time without causes, which is known better.
        if (sum.isSampled) {
            const analysis::ConfidenceInterval& whole = lines_.at(place);
            const analysis::ConfidenceInterval both{std::max(sum.time.low, whole.low - sum.rest.high),
                                                    std::min(sum.time.high, whole.high - sum.rest.low)};
            sum.line.interval = both.low <= both.high ? both : sum.time;
        }
        sorted.push_back(std::move(sum.line));
    }
    std::ranges::stable_sort(sorted, [](const WaitingLine& a, const WaitingLine& b) {
        return a.place.empty() != b.place.empty() ? b.place.empty() : a.time > b.time;
    });
    return sorted;
}

std::optional<WaitingLine> WaitingAdvice::module() const
{
    return module_;
}

} // namespace tilescope::query
