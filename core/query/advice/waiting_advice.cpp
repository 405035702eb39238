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
    for (const WaitingRow& row : lines.rows)
        for (const CauseTime& part : row.causes)
            parts_.push_back({.cause = part.cause,
                              .line = {.place = row.line ? placeOf(*row.line) : std::string(),
                                       .time = Nanoseconds(std::llround(part.time)),
                                       .interval = part.interval}});
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
    std::map<std::string, WaitingLine> lines;
    for (const Part& part : parts_) {
        if (std::ranges::find(causes, part.cause) == causes.end())
            continue;
        const auto [known, isNew] = lines.try_emplace(part.line.place, part.line);
        if (isNew)
            continue;
        WaitingLine& line = known->second;
        if (part.line.interval) { // causes of a line are known by the same samples
            const auto base = line.interval.value_or(analysis::ConfidenceInterval{
                static_cast<double>(line.time.count()), static_cast<double>(line.time.count())});
            line.interval = analysis::ConfidenceInterval{base.low + part.line.interval->low,
                                                         base.high + part.line.interval->high};
        } else if (line.interval) {
            const auto time = static_cast<double>(part.line.time.count());
            line.interval =
                analysis::ConfidenceInterval{line.interval->low + time, line.interval->high + time};
        }
        line.time += part.line.time;
    }
    std::vector<WaitingLine> sorted;
    for (auto& [place, line] : lines)
        sorted.push_back(std::move(line));
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
