#include "ui/overview/overview_machine.h"

#include "core/query/memory/memory_difference.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"

#include <algorithm>
#include <map>
#include <set>

namespace tilescope::ui {

namespace {

QString bytesOf(std::string_view value)
{
    bool good = false;
    const double number = QString::fromUtf8(value).toDouble(&good);
    return good ? byteText(number) : QString();
}

class Rows {
public:
    void add(const QString& key, const QString& value)
    {
        if (!value.isEmpty())
            rows_.push_back({key, {value}});
    }
    /// Two facts in a row; where one of them is not known, the other alone.
    void addBoth(const QString& key, const QString& value, const QString& otherKey, const QString& other)
    {
        if (!value.isEmpty() && !other.isEmpty())
            add(key + QStringLiteral(", ") + otherKey, value + QStringLiteral(", ") + other);
        else
            add(value.isEmpty() ? otherKey : key, value + other);
    }
    std::vector<KeyValueRow> take() { return std::move(rows_); }

private:
    std::vector<KeyValueRow> rows_;
};

void addSource(Rows& rows, const OverviewRun& run)
{
    const QString format = QString::fromUtf8(run.summary->param("format"));
    if (format.isEmpty())
        return;
    rows.add(QObject::tr("Format"), format.section(QStringLiteral(" ("), 0, 0));
    const QString program = QString::fromStdString(run.data->run.program);
    rows.add(program.startsWith(QLatin1String("Tilescope")) ? QObject::tr("Imported by")
                                                            : QObject::tr("Recorded by"),
             program);
}

void addProcesses(Rows& rows, const RunTopology& topology)
{
    std::set<std::string> hosts;
    std::set<std::string> names;
    std::set<std::int32_t> ranks;
    std::int32_t world = 0;
    for (const TracedProcess& process : topology.processes) {
        hosts.insert(process.host);
        names.insert(process.name);
        if (process.rank)
            ranks.insert(*process.rank);
        world = std::max(world, process.worldSize.value_or(0));
    }
    const auto joined = [](const auto& values, const auto& wordOf) {
        QStringList words;
        for (const auto& value : values)
            words << wordOf(value);
        words.removeAll(QString());
        return words.join(QStringLiteral(", "));
    };
    const auto word = [](const std::string& name) { return QString::fromStdString(name); };
    rows.add(hosts.size() > 1 ? QObject::tr("Hosts") : QObject::tr("Host"), joined(hosts, word));
    const QString all = joined(ranks, [](std::int32_t rank) { return QString::number(rank); });
    if (!ranks.empty())
        rows.add(ranks.size() > 1 ? QObject::tr("Ranks") : QObject::tr("Rank"),
                 world > 0 ? QObject::tr("%1 of %2").arg(all).arg(world) : all);
    if (topology.processes.size() > 1)
        rows.add(QObject::tr("Processes"),
                 QStringLiteral("%1 %2")
                     .arg(wholeNumber(std::ssize(topology.processes)), joined(names, word))
                     .trimmed());
}

void addDevices(Rows& rows, const query::RunOverview& run)
{
    if (!run.topology.devices.empty()) {
        const TracedDevice& first = run.topology.devices.front();
        const QString each = run.topology.devices.size() > 1 ? QObject::tr(" each") : QString();
        rows.add(run.topology.devices.size() > 1 ? QObject::tr("GPUs") : QObject::tr("GPU"),
                 gpusOf(run.topology));
        rows.addBoth(
            QObject::tr("SMs"), first.multiprocessors ? QString::number(*first.multiprocessors) : QString(),
            QObject::tr("memory"), first.memory ? byteText(double(first.memory->count)) + each : QString());
    } else {
        rows.add(QObject::tr("GPU"), QString::fromUtf8(run.fact("gpu.0.name")));
        rows.addBoth(QObject::tr("SMs"), QString::fromUtf8(run.fact("gpu.0.multiprocessors")),
                     QObject::tr("memory"), bytesOf(run.fact("gpu.0.memory")));
    }
    rows.addBoth(QObject::tr("Driver"), QString::fromUtf8(run.fact("driver")), QObject::tr("CUDA"),
                 QString::fromUtf8(run.fact("cuda_runtime")));
    const QString throttled = QString::fromUtf8(run.fact("gpu.throttle_reasons.after"));
    if (!run.fact("gpu.clock.sm.after").empty())
        rows.add(QObject::tr("Clock"),
                 QObject::tr("%1 MHz, %2")
                     .arg(QString::fromUtf8(run.fact("gpu.clock.sm.after")),
                          throttled == QLatin1String("none") ? QObject::tr("not throttled") : throttled));
}

} // namespace

QString gpusOf(const RunTopology& topology)
{
    std::map<std::string, int> names;
    for (const TracedDevice& device : topology.devices)
        ++names[device.name];
    QStringList words;
    for (const auto& [name, count] : names)
        if (!name.empty())
            words << (count > 1 ? QString::number(count) + QStringLiteral(" × ") : QString()) +
                         QString::fromStdString(name);
    return words.join(QStringLiteral(", "));
}

std::vector<KeyValueRow> machineRows(const OverviewRun& run)
{
    Rows rows;
    const query::RunOverview& data = *run.data;
    addSource(rows, run);
    addProcesses(rows, data.topology);
    rows.add(QObject::tr("Snapshot"), QString::fromUtf8(data.fact("snapshot.file")));
    if (data.run.traits().isMemoryOnly)
        rows.add(QObject::tr("Allocator"), QString::fromUtf8(data.fact("env.PYTORCH_CUDA_ALLOC_CONF")));
    if (data.run.result.device.starts_with("cuda"))
        addDevices(rows, data);
    rows.add(QObject::tr("NCCL"), QString::fromUtf8(data.fact("nccl")));
    rows.add(QObject::tr("CPU"), QString::fromUtf8(data.fact("cpu.model")));
    rows.add(QObject::tr("Threads"), QString::fromUtf8(data.fact("torch_threads")));
    rows.add(QObject::tr("PyTorch"), QString::fromUtf8(data.fact("libtorch")));
    rows.add(QObject::tr("System"), QString::fromUtf8(data.fact("os")));
    rows.add(QObject::tr("Program"), QString::fromUtf8(data.fact("program")));
    rows.add(QObject::tr("Steps"), QString::fromUtf8(data.fact("steps.source")));
    std::vector<KeyValueRow> known = rows.take();
    if (known.empty())
        known.push_back({QObject::tr("The run recorded nothing about its machine."), {}});
    return known;
}

} // namespace tilescope::ui
