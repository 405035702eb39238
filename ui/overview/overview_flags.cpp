// Conditions that the reader of the figures should know.

#include "ui/overview/overview_figures.h"

#include "core/model/flags.h"
#include "core/model/losses.h"
#include "core/model/text.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/overview/overview_steps.h"

#include <cmath>

namespace tilescope::ui {

using query::MeanStep;

namespace {

// Puts "A: " before a sentence about one of two runs.
QString of(const OverviewRun& run)
{
    return run.letter.isEmpty() ? QString() : run.letter + QStringLiteral(": ");
}

Flag::Kind kindOf(LossSeverity severity)
{
    switch (severity) {
    case LossSeverity::Info:
        return Flag::Kind::Note;
    case LossSeverity::Error:
        return Flag::Kind::Error;
    case LossSeverity::Warning:
        break;
    }
    return Flag::Kind::Warning;
}

void addVerdict(std::vector<Flag>& flags, const OverviewRun& run)
{
    const MeanStep* step = gpuStepOf(run);
    if (step == nullptr || run.data->span) // flags are of whole runs
        return;
    const bool bound = step->verdict == analysis::StepVerdict::GpuBound;
    const Idle most = idleOf(*step);
    QString text = of(run) + QStringLiteral("GPU busy %1").arg(percentText(step->gpuBusy / step->wall));
    if (most.time > 0)
        text += QStringLiteral(", idle %1 %2")
                    .arg(percentText(most.time / step->wall), QString::fromUtf8(hueWord(most.hue)));
    const bool graph =
        step->verdict == analysis::StepVerdict::LaunchBound && run.summary->param("compile") == "none";
    QString title = QString::fromUtf8(wordOf(step->verdict));
    if (!title.isEmpty())
        title[0] = title[0].toUpper();
    flags.push_back({bound ? Flag::Kind::Fine : Flag::Kind::Warning, title, text,
                     graph ? QStringLiteral("try compile: graph") : QString(), QStringLiteral("timeline")});
}

void addPrecision(std::vector<Flag>& flags, const OverviewRun& run)
{
    if (gpuStepOf(run) == nullptr || run.data->span || run.summary->param("precision") != "fp32" ||
        run.data->families.empty())
        return;
    const query::FamilyShare& first = run.data->families.front();
    if (first.hue != query::Hue::Matmul)
        return;
    flags.push_back(
        {Flag::Kind::Warning, QStringLiteral("TF32 off"),
         of(run) +
             QStringLiteral("fp32 matmul without tensor cores takes %1 a step").arg(timeText(first.perStep)),
         QStringLiteral("try precision: tf32"), QStringLiteral("kernels")});
}

void addResult(std::vector<Flag>& flags, const OverviewRun& run)
{
    const RunResult& result = run.summary->result;
    if (result.status != RunStatus::Ok && !result.reason.empty())
        flags.push_back({result.status == RunStatus::Error ? Flag::Kind::Error : Flag::Kind::Warning,
                         QStringLiteral("Not finished"),
                         of(run) + QString::fromStdString(result.reason),
                         {},
                         {}});
    for (const std::string& flag : result.flags) {
        const FlagInfo* info = findFlag(flag);
        flags.push_back({info == nullptr ? Flag::Kind::Warning : kindOf(info->severity),
                         QStringLiteral("Flagged"),
                         of(run) + QString::fromStdString(describeFlag(flag)),
                         {},
                         QStringLiteral("machine")});
    }
    if (result.traceOverhead && *result.traceOverhead > kTracingLimit)
        flags.push_back({Flag::Kind::Note, QStringLiteral("Tracing"),
                         of(run) + QStringLiteral("a traced step takes %1× as long as a timed one")
                                       .arg(threeDigits(*result.traceOverhead)),
                         QStringLiteral("gaps on the timeline are longer than without tracing"),
                         QStringLiteral("timeline")});
    if (result.traceOverhead && *result.traceOverhead < kImplausible)
        flags.push_back({Flag::Kind::Warning, QStringLiteral("Tracing"),
                         of(run) + QStringLiteral("a traced step takes %1× as long as a timed one, "
                                                  "which tracing cannot cause: the step time changed")
                                       .arg(threeDigits(*result.traceOverhead)),
                         QStringLiteral("run it again"), QStringLiteral("timeline")});
}

// "Records of the source of kinds that a recording does not hold (cat: mtia_runtime): 56". Files of earlier
// versions have the kind alone.
QString lossText(const store::RunReader::LossRecord& loss)
{
    QString text = QString::fromStdString(loss.detail);
    if (text.isEmpty())
        text = QString::fromStdString(loss.kind).replace(QLatin1Char('_'), QLatin1Char(' '));
    text[0] = text[0].toUpper();
    return text + QStringLiteral(": ") + wholeNumber(loss.count);
}

// Which steps of a recording means are of, and what happened before them.
void addSteps(std::vector<Flag>& flags, const OverviewRun& run)
{
    for (const std::string& sentence : run.data->choice.notes())
        flags.push_back({Flag::Kind::Note, QStringLiteral("Steps"),
                         of(run) + QString::fromStdString(sentence),
                         sentence.starts_with(run.data->choice.summary) && !run.data->choice.summary.empty()
                             ? QStringLiteral("View > All steps includes the others")
                             : QString(),
                         QStringLiteral("timeline")});
    if (run.data->start)
        flags.push_back({Flag::Kind::Note,
                         QStringLiteral("Start"),
                         of(run) + QString::fromStdString(run.data->start->text()),
                         {},
                         QStringLiteral("timeline")});
}

void addLosses(std::vector<Flag>& flags, const OverviewRun& run)
{
    bool any = false;
    for (const query::LossRow& row : run.data->losses.rows) {
        const bool info = !isLost(row.loss.severity);
        any = any || !info;
        const Flag::Kind kind =
            kindOf(fromWord<LossSeverity>(row.loss.severity).value_or(LossSeverity::Warning));
        flags.push_back({kind,
                         info ? QStringLiteral("Left out") : QStringLiteral("Lost"),
                         of(run) + lossText(row.loss),
                         {},
                         QStringLiteral("machine")});
    }
    if (!any && run.data->losses.recordsChecked > 0)
        flags.push_back({Flag::Kind::Fine,
                         QStringLiteral("No losses"),
                         of(run) + QStringLiteral("0 records dropped, %1 checked")
                                       .arg(wholeNumber(run.data->losses.recordsChecked)),
                         {},
                         {}});
}

void addDrift(std::vector<Flag>& flags, const OverviewRun& run)
{
    const auto& drift = run.data->drift;
    if (!drift)
        return;
    const auto percent = [](double ratio) { return signedDigits(100 * (ratio - 1)); };
    const QString change = withUnit(percent(drift->ratio), "%");
    const QString interval =
        QStringLiteral("95 %: %1 to %2").arg(percent(drift->ratio95.low), percent(drift->ratio95.high));
    const QString steps = counted(drift->stepsA + drift->stepsB, "step");
    const bool narrow = drift->ratio95.low >= 1 / (1 + analysis::kNoDifference) &&
                        drift->ratio95.high <= 1 + analysis::kNoDifference;
    constexpr double kMatters = 0.01;
    if (drift->seen() && std::abs(drift->ratio - 1) >= kMatters)
        flags.push_back({Flag::Kind::Warning,
                         QStringLiteral("Drift"),
                         of(run) + QStringLiteral("%1 from the first half of the %2 to the second (%3)")
                                       .arg(change, steps, interval),
                         {},
                         QStringLiteral("compare")});
    else if (narrow)
        flags.push_back(
            {Flag::Kind::Fine,
             QStringLiteral("Stable"),
             of(run) +
                 QStringLiteral("no drift beyond 5 % over %1 (halves: %2, %3)").arg(steps, change, interval),
             {},
             QStringLiteral("compare")});
    else
        flags.push_back({Flag::Kind::Warning, QStringLiteral("Too noisy to tell"),
                         of(run) + QStringLiteral("cannot tell whether the %1 drift (halves: %2, %3)")
                                       .arg(steps, change, interval),
                         QStringLiteral("more steps or a quieter machine"), QStringLiteral("compare")});
}

// Joins the sentences about A and B.
void addMerged(std::vector<Flag>& flags, Flag flag)
{
    for (Flag& known : flags) {
        if (known.kind != flag.kind || known.title != flag.title || known.page != flag.page)
            continue;
        known.text += QStringLiteral("; ") + flag.text;
        if (known.advice.isEmpty())
            known.advice = flag.advice;
        return;
    }
    flags.push_back(std::move(flag));
}

} // namespace

std::vector<Flag> flagsOf(const OverviewData& data)
{
    std::vector<Flag> flags;
    for (const OverviewRun& run : data.runs) {
        std::vector<Flag> own;
        addResult(own, run);
        addVerdict(own, run);
        addPrecision(own, run);
        addSteps(own, run);
        addLosses(own, run);
        addDrift(own, run);
        for (Flag& flag : own)
            addMerged(flags, std::move(flag));
    }
    std::stable_sort(flags.begin(), flags.end(),
                     [](const Flag& a, const Flag& b) { return a.kind > b.kind; });
    return flags;
}

} // namespace tilescope::ui
