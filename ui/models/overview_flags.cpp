// What to know about runs before trusting or changing them.

#include "ui/models/overview_figures.h"

#include "ui/models/overview_steps.h"
#include "ui/plots/number_text.h"

#include <algorithm>

namespace tilescope::ui {

using query::MeanStep;

Idle idleOf(const MeanStep& step)
{
    using query::Hue;
    const Idle reasons[] = {{Hue::GapLaunching, step.launching},
                            {Hue::GapSynchronising, step.synchronizing},
                            {Hue::GapTracing, step.tracing},
                            {Hue::GapUnexplained, step.unexplained}};
    return *std::max_element(std::begin(reasons), std::end(reasons),
                             [](const Idle& a, const Idle& b) { return a.time < b.time; });
}

namespace {

// "A: " before what is said of one run of two.
QString of(const OverviewRun& run)
{
    return run.letter.isEmpty() ? QString() : run.letter + QStringLiteral(": ");
}

void addVerdict(std::vector<Flag>& flags, const OverviewRun& run)
{
    const MeanStep* step = gpuStepOf(run);
    if (step == nullptr)
        return;
    const bool bound = step->verdict == analysis::StepVerdict::GpuBound;
    const Idle most = idleOf(*step);
    QString text = of(run) + QStringLiteral("GPU busy %1").arg(percentText(step->gpuBusy / step->wall));
    if (most.time > 0)
        text +=
            QStringLiteral(", idle %1 %2").arg(percentText(most.time / step->wall), word(hueWord(most.hue)));
    const bool graph =
        step->verdict == analysis::StepVerdict::LaunchBound && run.summary->param("compile") == "none";
    QString title = word(wordOf(step->verdict));
    if (!title.isEmpty())
        title[0] = title[0].toUpper();
    flags.push_back({bound ? Flag::Kind::Fine : Flag::Kind::Warning, title, text,
                     graph ? QStringLiteral("try compile: graph") : QString(), QStringLiteral("timeline")});
}

void addPrecision(std::vector<Flag>& flags, const OverviewRun& run)
{
    if (gpuStepOf(run) == nullptr || run.summary->param("precision") != "fp32" || run.data->families.empty())
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
    for (const std::string& flag : result.flags)
        flags.push_back({Flag::Kind::Warning,
                         QStringLiteral("Flagged"),
                         of(run) + QString::fromStdString(flag),
                         {},
                         QStringLiteral("machine")});
    if (result.traceOverhead && *result.traceOverhead > kTracingLimit)
        flags.push_back(
            {Flag::Kind::Note, QStringLiteral("Tracing"),
             of(run) +
                 QStringLiteral("a traced step takes %1× a bare one").arg(threeDigits(*result.traceOverhead)),
             QStringLiteral("gaps on the timeline are longer than without it"), QStringLiteral("timeline")});
}

void addLosses(std::vector<Flag>& flags, const OverviewRun& run)
{
    bool any = false;
    for (const query::LossRow& row : run.data->losses.rows) {
        const bool info = row.loss.severity == "info";
        any = any || !info;
        const Flag::Kind kind = info                           ? Flag::Kind::Note
                                : row.loss.severity == "error" ? Flag::Kind::Error
                                                               : Flag::Kind::Warning;
        QString text = of(run) + wholeNumber(row.loss.count) + QLatin1Char(' ') +
                       QString::fromStdString(row.loss.kind).replace(QLatin1Char('_'), QLatin1Char(' '));
        if (!row.loss.detail.empty())
            text += QStringLiteral(" (%1)").arg(QString::fromStdString(row.loss.detail));
        flags.push_back({kind,
                         info ? QStringLiteral("Left out") : QStringLiteral("Lost"),
                         text,
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
    const QString change = withUnit(signedDigits(100 * (drift->ratio - 1)), "%");
    const QString steps = wholeNumber(drift->stepsA + drift->stepsB);
    if (drift->seen())
        flags.push_back(
            {Flag::Kind::Warning,
             QStringLiteral("Drift"),
             of(run) +
                 QStringLiteral("%1 from the first half of the %2 steps to the second").arg(change, steps),
             {},
             QStringLiteral("compare")});
    else
        flags.push_back(
            {Flag::Kind::Fine,
             QStringLiteral("Stable"),
             of(run) + QStringLiteral("no drift seen over %1 steps (halves: %2)").arg(steps, change),
             {},
             QStringLiteral("compare")});
}

// Joins what is said of A and of B alike.
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
