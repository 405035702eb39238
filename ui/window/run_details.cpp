#include "ui/window/run_details.h"

#include "core/config/schema.h"
#include "core/config/value_text.h"
#include "core/model/text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/peak_text.h"
#include "ui/kit/program_title.h"
#include "ui/kit/step_text.h"
#include "ui/kit/tool_tip.h"

#include <QObject>

#include <algorithm>
#include <map>
#include <set>

namespace tilescope::ui {

namespace {

// A key of a run as people read it; empty if the run lacks it.
QString valueOf(const query::RunSummary& run, std::string_view key)
{
    if (key == "workload")
        return QString::fromStdString(run.workload);
    return QString::fromStdString(config::valueText(key, run.param(key)));
}

QString measuredStep(const query::RunSummary& run)
{
    if (!run.step && run.tracedStep)
        return timeText(*run.tracedStep * 1e6) + tracedMark();
    if (!run.step)
        return run.result.status == RunStatus::Oom ? QStringLiteral("OOM") : notMeasured();
    return timeText(run.step->median * 1e6);
}

QString stepWithInterval(const query::RunSummary& run)
{
    if (!run.step && run.tracedStep)
        return QObject::tr("%1, mean traced step").arg(timeText(*run.tracedStep * 1e6));
    return run.step ? medianWords(*run.step) : measuredStep(run);
}

QString peakOf(const query::RunSummary& run)
{
    return run.result.peakAllocated ? byteText(double(run.result.peakAllocated->count)) : notMeasured();
}

} // namespace

QString tipOf(const query::RunSummary& run, const QString& title)
{
    QStringList lines{QStringLiteral("%1 %2").arg(run.run.value).arg(title)};
    if (const QString command = QString::fromStdString(run.name); run.traits().isImported && command != title)
        lines << command;
    const QString status = QString::fromUtf8(wordOf(run.result.status));
    if (run.result.status != RunStatus::Ok)
        lines << (run.result.reason.empty()
                      ? status
                      : status + QStringLiteral(": ") + QString::fromStdString(run.result.reason));
    lines << QObject::tr("step %1, %2 %3").arg(stepWithInterval(run), peakName(run), peakOf(run));
    QStringList keys;
    for (const std::string_view key : config::keysBy(&config::KeyUse::details)) {
        const QString value = valueOf(run, key);
        if (!value.isEmpty() && value != QLatin1String("none"))
            keys << QStringLiteral("%1 %2").arg(QLatin1String(key), value);
    }
    constexpr qsizetype kInALine = 4;
    for (qsizetype i = 0; i < keys.size(); i += kInALine)
        lines << keys.mid(i, kInALine).join(QStringLiteral(", "));
    if (!run.tag.empty())
        lines << QObject::tr("tag: %1").arg(QString::fromStdString(run.tag));
    if (!run.note.empty())
        lines << QObject::tr("note: %1").arg(QString::fromStdString(run.note));
    for (const std::string& flag : run.result.flags)
        lines << QObject::tr("flag: %1").arg(QString::fromStdString(flag));
    return tipOfLines(lines);
}

namespace {

std::vector<KeyValueRow> rowsOfOne(const query::RunSummary& run)
{
    std::vector<KeyValueRow> rows;
    if (run.traits().isImported && programTitle(run.name) != run.name)
        rows.push_back({QStringLiteral("name"), {QString::fromStdString(run.name)}});
    for (const std::string_view key : config::keysBy(&config::KeyUse::details)) {
        const QString value = valueOf(run, key);
        if (!value.isEmpty())
            rows.push_back({QString::fromLatin1(key), {value}});
    }
    if (!run.result.device.empty())
        rows.push_back({QStringLiteral("device"), {QString::fromStdString(run.result.device)}});
    rows.push_back({QStringLiteral("step"), {stepWithInterval(run)}, false, true});
    rows.push_back({peakName(run), {peakOf(run)}, false, true});
    const std::string_view word = wordOf(run.result.status);
    rows.push_back({QStringLiteral("status"), {QString::fromUtf8(word)}});
    if (!run.tag.empty())
        rows.push_back({QStringLiteral("tag"), {QString::fromStdString(run.tag)}});
    if (!run.note.empty())
        rows.push_back({QStringLiteral("note"), {QString::fromStdString(run.note)}});
    if (!run.result.reason.empty())
        rows.push_back({QStringLiteral("reason"), {QString::fromStdString(run.result.reason)}});
    return rows;
}

// For several runs: the differences side by side, then the common values.
std::vector<KeyValueRow> rowsOfSeveral(const std::vector<SelectedRun>& runs)
{
    KeyValueRow heading{QStringLiteral("Differs"), {}, true};
    for (const SelectedRun& run : runs)
        heading.values << QStringLiteral("%1 %2").arg(run.run->run.value).arg(run.title);
    std::vector<KeyValueRow> rows{heading};
    std::vector<KeyValueRow> same;
    for (const std::string_view key : config::keysBy(&config::KeyUse::details)) {
        QStringList values;
        bool differs = false;
        for (const SelectedRun& run : runs) {
            const QString value = valueOf(*run.run, key);
            differs = differs || (!values.isEmpty() && values.front() != value);
            values << value;
        }
        if (differs)
            rows.push_back({QString::fromLatin1(key), values, false, true});
        else if (!values.front().isEmpty())
            same.push_back({QString::fromLatin1(key), {values.front()}});
    }
    QStringList steps;
    QStringList peaks;
    for (const SelectedRun& run : runs) {
        steps << measuredStep(*run.run);
        peaks << peakOf(*run.run);
    }
    rows.push_back({QStringLiteral("step"), steps, false, true});
    rows.push_back({peakName(*runs.front().run), peaks, false, true});
    rows.push_back({QStringLiteral("Same"), {}, true});
    rows.insert(rows.end(), same.begin(), same.end());
    return rows;
}

// For many runs: the varying keys, the statuses and the ranges of their figures.
std::vector<KeyValueRow> rowsOfMany(const std::vector<SelectedRun>& runs)
{
    QStringList varying;
    std::vector<KeyValueRow> same;
    for (const std::string_view key : config::keysBy(&config::KeyUse::details)) {
        std::set<QString> values;
        for (const SelectedRun& run : runs)
            values.insert(valueOf(*run.run, key));
        if (values.size() > 1)
            varying << QString::fromLatin1(key);
        else if (!values.begin()->isEmpty())
            same.push_back({QString::fromLatin1(key), {*values.begin()}});
    }
    std::map<std::string_view, int> ends;
    std::int64_t samples = 0;
    std::vector<double> steps;
    std::vector<double> peaks;
    for (const SelectedRun& run : runs) {
        ++ends[wordOf(run.run->result.status)];
        if (run.run->step) {
            samples += run.run->step->n;
            steps.push_back(run.run->step->median * 1e6);
        }
        if (run.run->result.peakAllocated)
            peaks.push_back(double(run.run->result.peakAllocated->count));
    }
    QStringList counts;
    for (const auto& [word, count] : ends)
        counts << QStringLiteral("%1 %2").arg(count).arg(QString::fromUtf8(word));
    const auto between = [](const std::vector<double>& values, QString (*words)(double)) {
        if (values.empty())
            return notMeasured();
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        return QStringLiteral("%1 to %2").arg(words(*least), words(*most));
    };
    std::vector<KeyValueRow> rows{
        {QStringLiteral("varies"), {varying.join(QStringLiteral(", "))}, false, true},
        {QStringLiteral("status"), {counts.join(QStringLiteral(", "))}},
        {QStringLiteral("step"), {between(steps, timeText)}, false, true},
        {peakName(*runs.front().run), {between(peaks, byteText)}, false, true},
        {QStringLiteral("samples"), {wholeNumber(samples)}},
        {QStringLiteral("Same"), {}, true}};
    rows.insert(rows.end(), same.begin(), same.end());
    return rows;
}

} // namespace

std::vector<KeyValueRow> detailsOf(const std::vector<SelectedRun>& runs)
{
    constexpr std::size_t kMostBeside = 2; // of more runs only the varying keys are listed
    if (runs.empty())
        return {};
    if (runs.size() == 1)
        return rowsOfOne(*runs.front().run);
    return runs.size() > kMostBeside ? rowsOfMany(runs) : rowsOfSeveral(runs);
}

} // namespace tilescope::ui
