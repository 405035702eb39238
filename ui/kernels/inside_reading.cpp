#include "ui/kernels/inside_reading.h"

#include <algorithm>

namespace tilescope::ui {

namespace {

InsideReading readOne(const store::RunReader& reader, const SelectedRun& run,
                      const query::Cancelled& cancelled)
{
    const auto tableBy = [&](query::InsideGroup group) {
        return query::inside(reader, {.run = run.key.run, .topology = run.process, .group = group});
    };
    InsideReading reading;
    reading.kernels = tableBy(query::InsideGroup::Kernel);
    if (!reading.kernels.isSampled || cancelled())
        return reading;
    reading.lines = tableBy(query::InsideGroup::Line);
    reading.reasons = tableBy(query::InsideGroup::Reason);
    reading.instructions = tableBy(query::InsideGroup::Instruction);
    reading.sources = query::kernelSources(reader, run.key.run);
    reading.launches = query::kernelLaunches(reader, run.key.run, run.process, cancelled);
    reading.metrics = query::metrics(reader, {.run = run.key.run, .topology = run.process}, cancelled);
    return reading;
}

std::map<std::string, std::set<std::string>> pairsOf(const query::InsideTable& shown,
                                                     const query::InsideTable& before)
{
    std::map<std::string, std::set<std::string>> named; // the kernels before, by the name that pairs
    for (const auto& [kernel, name] : query::pairingNames(before, shown))
        named[name].insert(kernel);
    std::map<std::string, std::set<std::string>> pairs;
    for (const auto& [kernel, name] : query::pairingNames(shown, before))
        if (const auto found = named.find(name); found != named.end())
            pairs[kernel] = found->second;
    return pairs;
}

} // namespace

std::optional<double> InsideReading::metric(const std::string& kernel, std::string_view name) const
{
    const auto at = metrics.find(name);
    const auto row = std::ranges::find(metrics.rows, kernel, &query::MetricsRow::kernel);
    return at && row != metrics.rows.end() ? row->values[*at].mean : std::nullopt;
}

std::set<std::string> InsideReadings::kernelsBefore(const std::string& kernel) const
{
    const auto found = pairs.find(kernel);
    return found == pairs.end() ? std::set<std::string>() : found->second;
}

InsideReadings readInside(const SelectedRun& shown, const std::optional<SelectedRun>& before,
                          const query::Cancelled& cancelled)
{
    InsideReadings readings;
    const auto session = shown.file->borrow();
    readings.shown = readOne(session->reader(), shown, cancelled);
    if (!before || cancelled())
        return readings;
    const auto other = before->file->borrow();
    readings.before = readOne(other->reader(), *before, cancelled);
    readings.pairs = pairsOf(readings.shown.kernels, readings.before->kernels);
    const auto differenceBy = [&](query::InsideGroup group) {
        return query::insideDifference(other->reader(), {.run = before->key.run, .topology = before->process},
                                       session->reader(),
                                       {.run = shown.key.run, .topology = shown.process, .group = group});
    };
    if (!readings.shown.kernels.isSampled || !readings.before->kernels.isSampled || cancelled())
        return readings;
    readings.difference = differenceBy(query::InsideGroup::Line);
    if (!cancelled())
        readings.instructions = differenceBy(query::InsideGroup::Instruction);
    return readings;
}

} // namespace tilescope::ui
