#include "ui/overview/overview_missing.h"

#include "ui/kit/missing_trace.h"

namespace tilescope::ui {

namespace {

// Why a run that should have `what` lacks it; empty if it should not.
QString obstacle(const OverviewRun& run, const QString& what)
{
    if (!run.data->isWhole)
        return QStringLiteral("Reading the trace…");
    switch (run.summary->result.status) {
    case RunStatus::Running:
        return QStringLiteral("The run is being written: %1 when it traces its steps.").arg(what);
    case RunStatus::Ok:
        return {};
    default:
        return whyTraceIsMissing(*run.summary);
    }
}

// Each run's sentence, behind its letter where they differ.
template <class Sentence> QString joined(const OverviewData& data, Sentence sentence)
{
    QStringList words;
    for (const OverviewRun& run : data.runs)
        words << sentence(run);
    if (words.removeDuplicates() > 0 || words.size() < 2)
        return words.value(0);
    for (int i = 0; i < words.size(); ++i)
        words[i].prepend(data.runs[std::size_t(i)].letter + QStringLiteral(": "));
    return words.join(QLatin1Char('\n'));
}

} // namespace

QString whyNoSteps(const OverviewData& data, const QString& what)
{
    return joined(data, [&what](const OverviewRun& run) {
        if (run.data->span && run.data->isWhole)
            return run.data->step ? QStringLiteral("The time filter has no %1 within a step.").arg(what)
                                  : QStringLiteral("No traced step lies in the time filter.");
        if (run.summary->traits().coversRecording && run.data->isWhole)
            return run.data->step ? QStringLiteral("The recording has no %1 within its steps.").arg(what)
                                  : QStringLiteral("The recording has no steps: a range named step around "
                                                   "each one, or a profiler's step(), marks them.");
        if (!wantsTrace(*run.summary) && run.summary->result.status != RunStatus::Skipped)
            return QStringLiteral(
                "No step was traced: set trace: kernels and trace_steps above 0 in the spec.");
        const QString why = obstacle(run, QStringLiteral("this is filled"));
        return why.isEmpty() ? QStringLiteral("No traced step was recorded.") : why;
    });
}

QString whyNoEvents(const OverviewData& data, const QString& what)
{
    const bool isOfRecordings = std::ranges::all_of(data.runs, [](const OverviewRun& run) {
        return run.data->isWhole && !run.data->step && run.summary->traits().coversRecording;
    });
    if (!isOfRecordings)
        return whyNoSteps(data, what);
    return (data.isLimited() ? QStringLiteral("The time filter has no %1.")
                             : QStringLiteral("The recording has no %1."))
        .arg(what);
}

QString whyNoAllocations(const OverviewData& data)
{
    return joined(data, [](const OverviewRun& run) {
        if (run.summary->traits().coversRecording && run.data->isWhole)
            return QStringLiteral("The recording has no allocations. ") +
                   remedyFor(MissingPart::Memory, *run.summary);
        const bool isAsked = wantsTrace(*run.summary) && run.summary->param("memory") != "false";
        if (!isAsked && run.summary->result.status != RunStatus::Skipped)
            return QStringLiteral(
                "Allocations were not recorded: set memory: true, trace: kernels and trace_steps above 0 in "
                "the spec.");
        const QString why = obstacle(run, QStringLiteral("this is filled"));
        return why.isEmpty() ? QStringLiteral("No allocation was recorded.") : why;
    });
}

QString noStepWords(const query::RunSummary& run)
{
    if (run.traits().coversRecording)
        return QStringLiteral("no steps found");
    if (!wantsTrace(run) || run.result.status == RunStatus::Ok)
        return QStringLiteral("not traced");
    return run.result.status == RunStatus::Running ? QStringLiteral("not traced yet")
                                                   : QStringLiteral("not reached");
}

} // namespace tilescope::ui
