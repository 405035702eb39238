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

} // namespace

std::optional<double> InsideReading::metric(const std::string& kernel, std::string_view name) const
{
    const auto at = metrics.find(name);
    const auto row = std::ranges::find(metrics.rows, kernel, &query::MetricsRow::kernel);
    return at && row != metrics.rows.end() ? row->values[*at].mean : std::nullopt;
}

std::set<std::string> kernelsBefore(const InsideReadings& readings, const std::string& kernel)
{
    std::set<std::string> before;
    if (!readings.before)
        return before;
    const auto names = query::pairingNames(readings.shown.kernels, readings.before->kernels);
    const auto own = names.find(kernel);
    if (own == names.end())
        return before;
    for (const auto& [other, name] : query::pairingNames(readings.before->kernels, readings.shown.kernels))
        if (name == own->second)
            before.insert(other);
    return before;
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
