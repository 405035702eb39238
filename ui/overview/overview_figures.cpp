#include "ui/overview/overview_figures.h"

#include "core/base/number_text.h"
#include "core/model/text.h"
#include "core/query/memory/memory_difference.h"
#include "ui/kit/count_text.h"
#include "ui/kit/missing_trace.h"
#include "ui/kit/number_text.h"
#include "ui/kit/peak_text.h"
#include "ui/kit/step_text.h"
#include "ui/kit/tone.h"
#include "ui/overview/generation_figures.h"
#include "ui/overview/overview_missing.h"
#include "ui/overview/overview_steps.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilescope::ui {

using query::Hue;
using query::MeanStep;

void KeyFigure::Line::set(double value, quantity::Unit quantity)
{
    const Unit scale = quantity::scaleFor(quantity, std::abs(value));
    number = threeDigits(value / scale.divisor);
    unit = QString::fromStdString(scale.suffix);
}

namespace {

KeyFigure::Line lineOf(const OverviewRun& run)
{
    return {run.letter, notMeasured(), {}, {}};
}

// The verdict in the words of a card.
void setVerdict(KeyFigure& figure, const analysis::TimeDifference& difference)
{
    switch (difference.verdict) {
    case analysis::Verdict::Inconclusive:
        figure.verdict = difference.between.isMeasured() ? QStringLiteral("inconclusive")
                                                         : QStringLiteral("inconclusive, repeat 5×");
        return;
    case analysis::Verdict::NoDifference:
        figure.verdict = QStringLiteral("no difference");
        return;
    case analysis::Verdict::Faster:
    case analysis::Verdict::Slower:
        break;
    }
    const bool faster = difference.verdict == analysis::Verdict::Faster;
    figure.tone = toneOf(difference.difference, difference.verdict);
    figure.verdict = QStringLiteral("%1, %2× %3")
                         .arg(signedTimeText(difference.difference * 1e6),
                              threeDigits(faster ? 1 / difference.ratio : difference.ratio),
                              faster ? QStringLiteral("faster") : QStringLiteral("slower"));
}

KeyFigure stepTime(const OverviewData& data)
{
    KeyFigure figure{.title = QStringLiteral("Step time, median"),
                     .lines = {},
                     .verdict = {},
                     .page = QStringLiteral("compare")};
    const analysis::TimeDifference* difference = data.stepDifference ? &*data.stepDifference : nullptr;
    for (std::size_t i = 0; i < data.runs.size(); ++i) {
        const OverviewRun& run = data.runs[i];
        KeyFigure::Line line = lineOf(run);
        if (const auto& step = run.summary->step) {
            // Shows the compared median, which with repeats is not that of the one run.
            const double median =
                difference ? i == 0 ? difference->medianA : difference->medianB : step->median;
            const std::int64_t repeats = difference ? i == 0 ? difference->runsA : difference->runsB : 1;
            line.set(median * 1e6, quantity::Unit::Nanoseconds);
            line.detail =
                repeats > 1 ? QStringLiteral("of ") + counted(repeats, "run") : shortInterval(*step);
        } else if (run.summary->traits().isImported) {
            line.detail = QStringLiteral("not timed: imported");
        }
        figure.lines.push_back(std::move(line));
    }
    if (difference)
        setVerdict(figure, *difference);
    else if (data.runs.size() == 1)
        if (const auto& step = data.runs[0].summary->step)
            figure.verdict = !step->ci95                 ? QStringLiteral("n < 6: no interval")
                             : step->assumesIndependence ? QStringLiteral("95 % if independent")
                                                         : QStringLiteral("with its 95 % interval");
    return figure;
}

// Of recordings of other programs, whose steps were not timed without tracing.
KeyFigure tracedStep(const OverviewData& data)
{
    KeyFigure figure{.title = QStringLiteral("Traced step, mean"),
                     .of = data.processWords(),
                     .lines = {},
                     .verdict = {},
                     .page = QStringLiteral("timeline")};
    std::vector<double> walls;
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        if (const MeanStep* step = stepOf(run)) {
            walls.push_back(step->wall);
            line.set(step->wall, quantity::Unit::Nanoseconds);
            line.detail = (step->processes > 1 ? QStringLiteral("of %1 in all") : QStringLiteral("of %1"))
                              .arg(step->steps < step->allSteps ? QStringLiteral("%1 of ").arg(step->steps) +
                                                                      counted(step->allSteps, "step")
                                                                : counted(step->steps, "step"));
        } else {
            line.detail =
                run.data->isWhole ? QStringLiteral("no steps found") : QStringLiteral("reading the trace");
        }
        figure.lines.push_back(std::move(line));
    }
    if (walls.size() == 2 && data.stepDifference && data.stepDifference->isDifferent())
        setVerdict(figure, *data.stepDifference);
    else if (walls.size() == 2)
        figure.verdict =
            QStringLiteral("%1, %2").arg(signedTimeText(walls[1] - walls[0]),
                                         !data.stepDifference ? QStringLiteral("not compared")
                                         : data.stepDifference->verdict == analysis::Verdict::NoDifference
                                             ? QStringLiteral("no difference")
                                             : QStringLiteral("inconclusive"));
    else if (!walls.empty())
        figure.verdict = QStringLiteral("with the cost of tracing");
    return figure;
}

// A trace of such a run would not have GPU time either.
bool isOnCpu(const OverviewRun& run)
{
    const MeanStep* step = stepOf(run);
    return step != nullptr ? !step->onGpu : run.summary->result.device == "cpu";
}

QString whyNoGpuStep(const OverviewRun& run)
{
    if (!whyGpuIsMissing(*run.summary).isEmpty())
        return QStringLiteral("not recorded");
    if (run.data->span && run.data->isWhole && stepOf(run) == nullptr)
        return QStringLiteral("no step in it");
    return isOnCpu(run)        ? QStringLiteral("on the CPU")
           : run.data->isWhole ? noStepWords(*run.summary)
                               : QStringLiteral("reading the trace");
}

const analysis::Statistics* timesOf(const OverviewRun& run, Phase phase)
{
    for (const query::PhaseTimes& times : run.summary->phases)
        if (times.phase == phase && times.wallMs)
            return &*times.wallMs;
    return nullptr;
}

// The two phases that take longest in any of the runs, in the order of a step. None if the step is one phase.
std::vector<Phase> longestPhases(const OverviewData& data)
{
    std::map<Phase, double> longest;
    for (const OverviewRun& run : data.runs)
        for (const query::PhaseTimes& times : run.summary->phases)
            if (times.phase != Phase::Step && times.wallMs)
                longest[times.phase] = std::max(longest[times.phase], times.wallMs->median);
    if (longest.size() < 2)
        return {};
    while (longest.size() > 2)
        longest.erase(std::ranges::min_element(longest, {}, [](const auto& each) { return each.second; }));
    std::vector<Phase> phases;
    for (const auto& each : longest)
        phases.push_back(each.first);
    return phases;
}

KeyFigure phaseTime(const OverviewData& data, Phase phase)
{
    KeyFigure figure{.title = QString::fromUtf8(wordOf(phase)) + QStringLiteral(", median"),
                     .lines = {},
                     .verdict = {},
                     .page = QStringLiteral("timeline")};
    figure.title[0] = figure.title[0].toUpper();
    std::vector<double> medians;
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        if (const analysis::Statistics* times = timesOf(run, phase)) {
            medians.push_back(times->median * 1e6);
            line.set(medians.back(), quantity::Unit::Nanoseconds);
            if (run.summary->step && run.summary->step->median > 0)
                line.detail =
                    QStringLiteral("%1 of step").arg(percentText(times->median / run.summary->step->median));
        }
        figure.lines.push_back(std::move(line));
    }
    if (medians.size() == 2)
        figure.verdict = signedTimeText(medians[1] - medians[0]);
    return figure;
}

KeyFigure gpuBusy(const OverviewData& data)
{
    KeyFigure figure{.title = QStringLiteral("GPU busy"),
                     .of = data.processWords(),
                     .lines = {},
                     .verdict = {},
                     .page = QStringLiteral("timeline")};
    std::vector<double> shares;
    bool isOfRecording = false;
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        if (const MeanStep* step = gpuStepOf(run)) {
            shares.push_back(100 * step->gpuBusy / step->wall);
            line.number = threeDigits(shares.back());
            line.unit = QStringLiteral("%");
            line.detail = timeText(step->gpuBusy);
        } else if (const std::optional<query::BusyShare>& whole = run.wholeBusy) {
            shares.push_back(100 * whole->busy());
            line.number = threeDigits(shares.back());
            line.unit = QStringLiteral("%");
            line.detail = QStringLiteral("of %1%2").arg(
                timeText(double(whole->length) / whole->devices),
                whole->devices > 1 ? QStringLiteral(", mean of %1").arg(counted(whole->devices, "GPU"))
                                   : QString());
            isOfRecording = true;
        } else {
            line.detail = whyNoGpuStep(run);
        }
        figure.lines.push_back(std::move(line));
    }
    if (shares.size() == 2)
        figure.verdict = QStringLiteral("%1 percentage points").arg(signedDigits(shares[1] - shares[0]));
    else if (shares.size() == 1 && data.runs.size() == 1)
        figure.verdict = isOfRecording      ? (data.isLimited() ? QStringLiteral("of the time filter")
                                                                : QStringLiteral("of the whole recording"))
                         : data.isLimited() ? QStringLiteral("of the time in steps")
                                            : QStringLiteral("of the traced steps");
    return figure;
}

KeyFigure idle(const OverviewData& data)
{
    KeyFigure figure{.title = QStringLiteral("GPU idle"),
                     .of = data.processWords(),
                     .lines = {},
                     .verdict = {},
                     .page = QStringLiteral("timeline")};
    std::optional<Hue> reason;
    QStringList verdicts;
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        if (const MeanStep* step = gpuStepOf(run)) {
            if (!reason)
                reason = idleOf(*step).hue;
            const auto idles = idlesOf(*step);
            const double time = std::ranges::find(idles, *reason, &Idle::hue)->time;
            line.number = threeDigits(100 * time / step->wall);
            line.unit = QStringLiteral("%");
            line.detail = timeText(time);
            const QString verdict = QString::fromUtf8(wordOf(step->verdict));
            if (step->verdict != analysis::StepVerdict::GpuBound)
                figure.tone = Tone::Warning;
            verdicts << verdict;
        } else if (const std::optional<query::BusyShare>& whole = run.wholeBusy) {
            const double idle = 1 - whole->busy();
            line.number = threeDigits(100 * idle);
            line.unit = QStringLiteral("%");
            line.detail = timeText(idle * double(whole->length) / whole->devices);
        } else {
            line.detail = whyNoGpuStep(run);
        }
        figure.lines.push_back(std::move(line));
    }
    if (reason)
        figure.title = QStringLiteral("Idle, %1").arg(QString::fromUtf8(hueWord(*reason)));
    if (verdicts.size() == 2 && verdicts[0] == verdicts[1])
        figure.verdict = QStringLiteral("%1, both").arg(verdicts[0]);
    else
        figure.verdict = verdicts.join(QStringLiteral(", "));
    return figure;
}

// Within the time filter and of the chosen process, if there is one.
std::optional<Bytes> peakOf(const OverviewRun& run)
{
    if (!run.data->span && (run.data->process.empty() || !run.data->live))
        return run.summary->result.peakAllocated;
    return run.data->live ? std::optional(run.data->live->allocated) : std::nullopt;
}

// "rank 1", or "largest of 2 ranks".
QString peakProcess(const OverviewData& data)
{
    QStringList words;
    for (const OverviewRun& run : data.runs) {
        if (run.data->processWords.empty())
            continue;
        const std::vector<TracedProcess>& processes = run.data->topology.processes;
        const bool areRanks = std::ranges::all_of(
            processes, [](const TracedProcess& process) { return process.rank.has_value(); });
        words << (run.data->process.empty() || !run.data->live
                      ? QStringLiteral("largest of %1")
                            .arg(areRanks ? counted(std::ssize(processes), "rank")
                                          : counted(std::ssize(processes), "process", "processes"))
                      : QString::fromStdString(run.data->processWords));
    }
    words.removeDuplicates();
    return words.join(QStringLiteral(", "));
}

KeyFigure peakMemory(const OverviewData& data)
{
    KeyFigure figure{.title = peakName(*data.runs.front().summary),
                     .of = peakProcess(data),
                     .lines = {},
                     .verdict = {},
                     .page = QStringLiteral("memory")};
    figure.title[0] = figure.title[0].toUpper();
    std::vector<double> peaks;
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        if (const std::optional<Bytes> peak = peakOf(run)) {
            peaks.push_back(double(peak->count));
            line.set(peaks.back(), quantity::Unit::Bytes);
            if (!run.data->peakPhase.empty())
                line.detail = QStringLiteral("in %1").arg(QString::fromStdString(run.data->peakPhase));
            else if (run.data->run.traits().countsRequested)
                line.detail = QStringLiteral("requested");
        } else if (run.summary->traits().isImported) {
            line.detail = QStringLiteral("not recorded");
        }
        figure.lines.push_back(std::move(line));
    }
    if (peaks.size() == 2) {
        const double more = peaks[1] - peaks[0];
        const Unit unit = byteUnit(more);
        figure.verdict =
            more == 0 ? QStringLiteral("equal") : withUnit(signedDigits(more / unit.divisor), unit.suffix);
        figure.tone = toneOf(more, true);
    } else if (data.runs.size() == 1 && data.isLimited()) {
        figure.verdict = QStringLiteral("within the time filter");
    } else if (data.runs.size() == 1 && data.runs[0].summary->result.peakReserved) {
        figure.verdict = QStringLiteral("peak reserved %1")
                             .arg(byteText(double(data.runs[0].summary->result.peakReserved->count)));
    }
    return figure;
}

// Tokens that a step works on; none if the workload has no such thing.
std::optional<double> tokensOf(const query::RunSummary& run)
{
    const auto number = [&run](std::string_view key) {
        return parseNumber<double>(run.param(key)).value_or(0);
    };
    const double tokens = number("batch") * number(run.workload == "lm" ? "context" : "seq_len");
    return tokens > 0 ? std::optional(tokens) : std::nullopt;
}

KeyFigure throughput(const OverviewData& data)
{
    KeyFigure figure{
        .title = QStringLiteral("Throughput"), .lines = {}, .verdict = {}, .page = QStringLiteral("charts")};
    std::vector<double> rates;
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        const std::optional<double> tokens = tokensOf(*run.summary);
        if (tokens && run.summary->step && run.summary->step->median > 0) {
            const double rate = *tokens / (run.summary->step->median / 1e3);
            rates.push_back(rate);
            line.number = threeDigits(rate >= 1e6 ? rate / 1e6 : rate >= 1e3 ? rate / 1e3 : rate);
            line.unit = rate >= 1e6   ? QStringLiteral("M/s")
                        : rate >= 1e3 ? QStringLiteral("k/s")
                                      : QStringLiteral("/s");
            line.detail = QStringLiteral("%1 a step").arg(wholeNumber(std::int64_t(*tokens)));
        } else if (run.summary->traits().isImported) {
            line.detail = QStringLiteral("no spec: imported");
        }
        figure.lines.push_back(std::move(line));
    }
    if (!rates.empty())
        figure.verdict = QStringLiteral("tokens, by the median step");
    return figure;
}

// Model FLOPs against what the device can do; the rate alone if that is not known.
KeyFigure utilisation(const OverviewData& data)
{
    KeyFigure figure{
        .title = QStringLiteral("MFU"), .lines = {}, .verdict = {}, .page = QStringLiteral("kernels")};
    std::vector<double> shares;
    const query::Utilisation* last = nullptr;
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        if (const auto& used = run.data->utilisation) {
            last = &*used;
            line.set(used->flopsPerSecond, quantity::Unit::FlopsPerSecond);
            if (const std::optional<double> mfu = used->mfu()) {
                shares.push_back(100 * *mfu);
                line.detail = quantityText(used->flopsPerSecond, quantity::Unit::FlopsPerSecond);
                line.number = threeDigits(shares.back());
                line.unit = QStringLiteral("%");
            }
        }
        figure.lines.push_back(std::move(line));
    }
    if (shares.size() == 2) {
        figure.verdict = QStringLiteral("%1 percentage points").arg(signedDigits(shares[1] - shares[0]));
    } else if (last != nullptr && last->mfu()) {
        const double ceiling = last->measuredCeiling ? *last->measuredCeiling : *last->sheetCeiling;
        figure.verdict =
            QStringLiteral("of %1, %2")
                .arg(quantityText(ceiling, quantity::Unit::FlopsPerSecond),
                     last->measuredCeiling ? QStringLiteral("measured") : QStringLiteral("data sheet"));
    } else {
        figure.title = QStringLiteral("Model FLOP rate");
        figure.verdict = QStringLiteral("MFU: doctor --ceilings");
    }
    return figure;
}

bool anyUtilisation(const OverviewData& data)
{
    return std::any_of(data.runs.begin(), data.runs.end(),
                       [](const OverviewRun& run) { return run.data->utilisation.has_value(); });
}

KeyFigure tracing(const OverviewData& data)
{
    KeyFigure figure{.title = QStringLiteral("Tracing cost"),
                     .lines = {},
                     .verdict = {},
                     .page = QStringLiteral("timeline")};
    double worst = 0;
    double least = 1;
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        if (const auto& overhead = run.summary->result.traceOverhead) {
            worst = std::max(worst, *overhead);
            least = std::min(least, *overhead);
            line.number = threeDigits(*overhead);
            line.unit = QStringLiteral("×");
            if (run.summary->step)
                line.detail = QStringLiteral("timed %1").arg(timeText(run.summary->step->median * 1e6));
        } else if (run.summary->traits().isImported) {
            line.detail = QStringLiteral("unknown: imported");
        } else {
            line.detail = stepOf(run) != nullptr ? QStringLiteral("not measured") : noStepWords(*run.summary);
        }
        figure.lines.push_back(std::move(line));
    }
    if (least < kImplausible) {
        figure.verdict = QStringLiteral("implausible: below 1");
        figure.tone = Tone::Warning;
    } else if (worst > kTracingLimit) {
        figure.verdict = QStringLiteral("above the limit of 1.10");
        figure.tone = Tone::Warning;
    } else if (worst > 0) {
        figure.verdict = QStringLiteral("below the limit of 1.10");
    }
    return figure;
}

// The time of a span that is in steps; a run without the filter has its mean traced step.
KeyFigure timeInSteps(const OverviewData& data)
{
    KeyFigure figure{.title = QStringLiteral("Time in steps"),
                     .of = data.processWords(),
                     .lines = {},
                     .verdict = {},
                     .page = QStringLiteral("timeline")};
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        const MeanStep* step = stepOf(run);
        if (step != nullptr) {
            line.set(step->wall, quantity::Unit::Nanoseconds);
        }
        const auto& span = run.data->span;
        if (!span)
            line.detail = QStringLiteral("mean traced step");
        else if (step != nullptr)
            line.detail = QStringLiteral("of %1").arg(timeText(double((span->to - span->from).count())));
        else
            line.detail =
                run.data->isWhole ? QStringLiteral("no step in it") : QStringLiteral("reading the trace");
        figure.lines.push_back(std::move(line));
    }
    if (data.runs.size() == 1)
        figure.verdict = QStringLiteral("within the time filter");
    return figure;
}

// Self time of ops within steps and between them, of a mean process.
KeyFigure timeInOps(const OverviewData& data)
{
    KeyFigure figure{.title = QStringLiteral("Time in ops"),
                     .of = data.processWords(),
                     .lines = {},
                     .verdict = {},
                     .page = QStringLiteral("kernels")};
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOf(run);
        double time = 0;
        for (const query::FamilyShare& share : run.data->families)
            time += share.perStep;
        if (const MeanStep* step = stepOf(run)) {
            line.set(time, quantity::Unit::Nanoseconds);
            line.detail = QStringLiteral("%1 of it").arg(percentText(time / step->wall));
        }
        figure.lines.push_back(std::move(line));
    }
    return figure;
}

} // namespace

bool OverviewData::isLimited() const
{
    return std::ranges::any_of(runs, [](const OverviewRun& run) { return run.data->span.has_value(); });
}

QString OverviewData::processWords() const
{
    QStringList words;
    for (const OverviewRun& run : runs)
        words << QString::fromStdString(run.data->processWords);
    if (words.size() == 2 && words[0] == words[1])
        words.removeLast();
    if (words.size() == 2)
        for (qsizetype i = 0; i < 2; ++i)
            if (!words[i].isEmpty())
                words[i].prepend(runs[std::size_t(i)].letter + QLatin1Char(' '));
    words.removeAll(QString());
    return words.join(QStringLiteral(", "));
}

std::vector<KeyFigure> keyFigures(const OverviewData& data)
{
    if (data.isLimited()) {
        if (std::ranges::all_of(data.runs, isOnCpu))
            return {timeInSteps(data), timeInOps(data), peakMemory(data)};
        return {timeInSteps(data), gpuBusy(data), idle(data), peakMemory(data)};
    }
    if (showsGeneration(data)) {
        std::vector<KeyFigure> figures = generationFigures(data);
        figures.push_back(peakMemory(data));
        return figures;
    }
    // A recording of another program has no timed steps and no spec, so the other cards would be empty.
    if (std::ranges::all_of(data.runs,
                            [](const OverviewRun& run) { return run.summary->traits().coversRecording; })) {
        if (std::ranges::all_of(data.runs, isOnCpu))
            return {tracedStep(data), timeInOps(data), peakMemory(data)};
        return {tracedStep(data), gpuBusy(data), idle(data), peakMemory(data)};
    }
    const auto hasNoGpuStep = [](const OverviewRun& run) {
        const bool isUntraced =
            run.data->isWhole && stepOf(run) == nullptr && !run.summary->traits().coversRecording;
        return isOnCpu(run) || isUntraced;
    };
    if (std::ranges::all_of(data.runs, hasNoGpuStep)) {
        std::vector<KeyFigure> figures{stepTime(data)};
        const std::vector<Phase> phases = longestPhases(data);
        for (const Phase phase : phases)
            figures.push_back(phaseTime(data, phase));
        if (phases.empty() && anyUtilisation(data))
            figures.push_back(throughput(data));
        figures.push_back(peakMemory(data));
        figures.push_back(anyUtilisation(data) ? utilisation(data) : throughput(data));
        figures.push_back(tracing(data));
        return figures;
    }
    return {stepTime(data),
            gpuBusy(data),
            idle(data),
            peakMemory(data),
            anyUtilisation(data) ? utilisation(data) : throughput(data),
            tracing(data)};
}

} // namespace tilescope::ui
