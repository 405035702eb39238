#include "ui/kit/view_command.h"

#include "core/base/shell_word.h"

#include <algorithm>

namespace tilescope::ui {

ViewCommand::ViewCommand(const SelectedRun& run, const std::string& section)
    : text_("tilescope show " + shellPath(run.file->path()) + " " + section)
{
    add("--run", std::to_string(run.key.run.value));
    if (!run.span)
        return;
    add("--from", std::to_string(std::max<std::int64_t>(0, run.span->from.count())));
    if (run.span->to != Nanoseconds::max())
        add("--to", std::to_string(run.span->to.count()));
}

ViewCommand& ViewCommand::add(const std::string& option, const std::string& value)
{
    text_ += " " + option;
    if (!value.empty())
        text_ += " " + shellWord(value);
    return *this;
}

ViewCommand& ViewCommand::add(const query::ProcessQuery& topology)
{
    if (topology.rank)
        add("--rank", std::to_string(*topology.rank));
    if (topology.pid)
        add("--process", std::to_string(*topology.pid));
    if (topology.device)
        add("--device", std::to_string(*topology.device));
    if (topology.allSteps)
        add("--all-steps");
    return *this;
}

QString addressOf(const SelectedRun& run)
{
    return QString::fromStdString(
        shellWord(run.file->path().string() + ":" + std::to_string(run.key.run.value)));
}

bool isLimited(const std::vector<SelectedRun>& runs)
{
    return std::ranges::any_of(runs, [](const SelectedRun& run) { return run.span.has_value(); });
}

QString commandOfEach(const std::vector<SelectedRun>& runs, const std::string& section)
{
    QStringList lines;
    for (const SelectedRun& run : runs)
        lines << ViewCommand(run, section).text();
    return lines.join(QLatin1Char('\n'));
}

QString compareCommand(const std::vector<SelectedRun>& runs)
{
    if (runs.empty())
        return {};
    if (runs.size() == 1) {
        SelectedRun whole = runs.front();
        whole.span.reset(); // no table of whole runs follows the filter
        return ViewCommand(whole, "runs").text();
    }
    QString text = QStringLiteral("tilescope compare %1 %2").arg(addressOf(runs[0]), addressOf(runs[1]));
    // One number for both runs, or one for each; none for a run that is not limited.
    const auto add = [&](const char* option, const QString& a, const QString& b) {
        if (a != b)
            text += QStringLiteral(" %1 %2,%3").arg(QLatin1String(option), a, b);
        else if (!a.isEmpty())
            text += QStringLiteral(" %1 %2").arg(QLatin1String(option), a);
    };
    const auto from = [](const SelectedRun& run) {
        return run.span ? QString::number(std::max<std::int64_t>(0, run.span->from.count())) : QString();
    };
    const auto to = [](const SelectedRun& run) {
        return run.span && run.span->to != Nanoseconds::max() ? QString::number(run.span->to.count())
                                                              : QString();
    };
    add("--from", from(runs[0]), from(runs[1]));
    add("--to", to(runs[0]), to(runs[1]));
    if (!isLimited(runs) && runs[0].process.rank && runs[0].process == runs[1].process)
        text += QStringLiteral(" --rank %1").arg(*runs[0].process.rank);
    return text;
}

} // namespace tilescope::ui
