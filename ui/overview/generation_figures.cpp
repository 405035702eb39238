#include "ui/overview/generation_figures.h"

#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::GenerationPart;
using query::GenerationSummary;
using query::GenerationTable;
using query::Hue;

namespace {

constexpr double kHostLimits = 0.5; ///< share of idle time from which the card warns

KeyFigure::Line lineOfRun(const OverviewRun& run)
{
    KeyFigure::Line line;
    line.letter = run.letter;
    line.number = notMeasured();
    return line;
}

const GenerationTable& generationOf(const OverviewRun& run)
{
    return *run.data->generation;
}

/// Iterations of decode; of a recording without them those of prefill.
const GenerationSummary& mainOf(const OverviewRun& run)
{
    const GenerationSummary* const decode = generationOf(run).of(StepType::Decode);
    return decode != nullptr ? *decode : *generationOf(run).of(StepType::Prefill);
}

QString batchText(const GenerationTable& table, StepType type)
{
    const GenerationSummary* const summary = table.of(type);
    if (summary == nullptr || !summary->sequences)
        return {};
    const QString context = summary->contextFrom && summary->contextFrom == summary->contextTo
                                ? QStringLiteral(" × %1 tokens").arg(std::llround(*summary->contextFrom))
                                : QString();
    return context.isEmpty() ? counted(*summary->sequences, "sequence")
                             : QString::number(*summary->sequences) + context;
}

constexpr double kNsOfMs = 1e6;

/// The timed generations of a run of mode generate, which `show runs` has too; null: there are only traced iterations.
const query::GenerationFigures* timedOf(const OverviewRun& run)
{
    return run.data->timedGeneration ? &*run.data->timedGeneration : nullptr;
}

KeyFigure firstToken(const OverviewData& data)
{
    KeyFigure figure{
        .title = QStringLiteral("Time to first token"), .verdict = {}, .page = QStringLiteral("timeline")};
    for (const OverviewRun& run : data.runs) {
        const GenerationTable& table = generationOf(run);
        KeyFigure::Line line = lineOfRun(run);
        const GenerationSummary* const prefill = table.of(StepType::Prefill);
        if (const query::GenerationFigures* timed = timedOf(run); timed != nullptr && timed->firstTokenMs) {
            line.set(timed->firstTokenMs->median * kNsOfMs, quantity::Unit::Nanoseconds);
            figure.verdict =
                QStringLiteral("median of %1").arg(counted(timed->firstTokenMs->n, "generation"));
        } else if (table.firstToken) {
            line.set(table.firstToken->p50, quantity::Unit::Nanoseconds);
            line.detail =
                table.firstToken->n > 1 ? QStringLiteral("median of %1").arg(table.firstToken->n) : QString();
            figure.verdict = QStringLiteral("prefill of %1").arg(batchText(table, StepType::Prefill));
            if (batchText(table, StepType::Prefill).isEmpty())
                figure.verdict = QStringLiteral("prefill iterations");
        } else if (prefill != nullptr) {
            figure.title = QStringLiteral("Prefill iteration");
            line.set(prefill->wall.p50, quantity::Unit::Nanoseconds);
            line.detail =
                prefill->wall.n > 1 ? QStringLiteral("median of %1").arg(prefill->wall.n) : QString();
            figure.verdict = QStringLiteral("requests are not followed");
        } else {
            line.detail = QStringLiteral("no prefill was recorded");
        }
        figure.lines.push_back(std::move(line));
    }
    return figure;
}

KeyFigure perToken(const OverviewData& data)
{
    KeyFigure figure{
        .title = QStringLiteral("Time per output token"), .verdict = {}, .page = QStringLiteral("timeline")};
    for (const OverviewRun& run : data.runs) {
        KeyFigure::Line line = lineOfRun(run);
        if (const query::GenerationFigures* timed = timedOf(run); timed != nullptr && timed->perTokenMs) {
            line.set(timed->perTokenMs->median * kNsOfMs, quantity::Unit::Nanoseconds);
            line.detail = timed->perTokenP99Ms
                              ? QStringLiteral("p99 %1").arg(timeText(*timed->perTokenP99Ms * kNsOfMs))
                              : QString();
            figure.verdict = QStringLiteral("median of %1").arg(counted(timed->perTokenMs->n, "token"));
            figure.lines.push_back(std::move(line));
            continue;
        }
        const std::optional<query::TimeFigures>& perToken = generationOf(run).perToken;
        if (!perToken) {
            line.detail = QStringLiteral("no decode was recorded");
            figure.lines.push_back(std::move(line));
            continue;
        }
        const query::TimeFigures& wall = *perToken;
        if (generationOf(run).perTokenWords() != "time per output token")
            figure.title = QStringLiteral("Time per decode iteration");
        line.set(wall.p50, quantity::Unit::Nanoseconds);
        line.detail = wall.n > 1 ? QStringLiteral("p99 %1").arg(timeText(wall.p99)) : QString();
        if (data.runs.size() == 1)
            figure.verdict = wall.n > 1
                                 ? QStringLiteral("median, p90 %1, n %2").arg(timeText(wall.p90)).arg(wall.n)
                                 : QStringLiteral("one decode iteration");
        figure.lines.push_back(std::move(line));
    }
    if (data.runs.size() == 2 && !timedOf(data.runs[0]) && !timedOf(data.runs[1]) &&
        generationOf(data.runs[0]).perToken && generationOf(data.runs[1]).perToken)
        figure.verdict = signedTimeText(generationOf(data.runs[1]).perToken->p50 -
                                        generationOf(data.runs[0]).perToken->p50);
    return figure;
}

KeyFigure tokensPerSecond(const OverviewData& data)
{
    KeyFigure figure{
        .title = QStringLiteral("Tokens a second"), .verdict = {}, .page = QStringLiteral("charts")};
    for (const OverviewRun& run : data.runs) {
        const GenerationSummary& decode = mainOf(run);
        KeyFigure::Line line = lineOfRun(run);
        if (const query::GenerationFigures* timed = timedOf(run);
            timed != nullptr && timed->tokensPerSecond) {
            line.number = threeDigits(*timed->tokensPerSecond);
            figure.verdict = QStringLiteral("decode, all sequences");
        } else if (decode.tokensPerSecond) {
            line.number = threeDigits(*decode.tokensPerSecond);
            line.detail = decode.sequences && *decode.sequences > 1
                              ? QStringLiteral("%1 a sequence")
                                    .arg(threeDigits(*decode.tokensPerSecond / double(*decode.sequences)))
                              : QString();
            const QString type = QString::fromUtf8(wordOf(decode.type));
            const QString batch = batchText(generationOf(run), decode.type);
            figure.verdict = batch.isEmpty() ? type : QStringLiteral("%1, %2").arg(type, batch);
        } else {
            line.detail = QStringLiteral("the batch was not recorded");
        }
        figure.lines.push_back(std::move(line));
    }
    return figure;
}

KeyFigure decodeBusy(const OverviewData& data)
{
    KeyFigure figure{.title = QStringLiteral("GPU busy, %1").arg(iterationWord(data)),
                     .verdict = {},
                     .page = QStringLiteral("timeline")};
    for (const OverviewRun& run : data.runs) {
        const GenerationSummary& decode = mainOf(run);
        KeyFigure::Line line = lineOfRun(run);
        if (decode.onGpu && decode.wall.mean > 0) {
            line.number = threeDigits(100 * decode.gpuBusy / decode.wall.mean);
            line.unit = QStringLiteral("%");
            line.detail =
                QStringLiteral("%1 of %2").arg(timeText(decode.gpuBusy), timeText(decode.wall.mean));
            if (decode.unrecorded > kHostLimits * decode.gpuIdle) {
                figure.tone = Tone::Warning;
                figure.verdict = QStringLiteral("not all work was recorded");
            } else if (decode.gpuIdle > kHostLimits * decode.wall.mean) {
                figure.tone = Tone::Warning;
                figure.verdict = QStringLiteral("the host is the limit");
            } else if (figure.verdict.isEmpty()) {
                figure.verdict = QStringLiteral("of a mean iteration");
            }
        } else {
            line.detail = QStringLiteral("no GPU activity");
        }
        figure.lines.push_back(std::move(line));
    }
    return figure;
}

KeyFigure bandwidth(const OverviewData& data)
{
    KeyFigure figure{
        .title = QStringLiteral("Bandwidth use"), .verdict = {}, .page = QStringLiteral("kernels")};
    for (const OverviewRun& run : data.runs) {
        const GenerationTable& table = generationOf(run);
        const GenerationSummary& decode = mainOf(run);
        KeyFigure::Line line = lineOfRun(run);
        if (const query::GenerationFigures* timed = timedOf(run); timed != nullptr) {
            if (timed->bandwidthPercent) {
                line.number = threeDigits(*timed->bandwidthPercent);
                line.unit = QStringLiteral("%");
                figure.verdict = QStringLiteral("of a measured copy");
            } else if (timed->perTokenMs && timed->bytesPerToken && table.bandwidth) {
                constexpr double kMsPerSecond = 1e3;
                const double rate = *timed->bytesPerToken / timed->perTokenMs->mean * kMsPerSecond;
                line.number = threeDigits(100 * rate / *table.bandwidth);
                line.unit = QStringLiteral("%");
                figure.verdict = QStringLiteral("of %1, %2")
                                     .arg(quantityText(*table.bandwidth, quantity::Unit::BytesPerSecond),
                                          QString::fromStdString(table.bandwidthFrom));
            } else {
                line.detail = QStringLiteral("no copy was measured");
            }
        } else if (const std::optional<double> percent = table.bandwidthPercent(decode)) {
            line.number = threeDigits(*percent);
            line.unit = QStringLiteral("%");
            line.detail = QStringLiteral("%1 busy").arg(
                percentText(decode.gpuBusy > 0 ? *percent / 100 * decode.wall.mean / decode.gpuBusy : 0));
            figure.verdict = QStringLiteral("of %1, %2")
                                 .arg(quantityText(*table.bandwidth, quantity::Unit::BytesPerSecond),
                                      decode.bytesSource == query::BytesSource::Metrics
                                          ? QStringLiteral("by metrics")
                                          : QStringLiteral("weights and cache"));
        } else {
            line.detail = decode.bytes ? QStringLiteral("the memory's rate is not known")
                                       : QStringLiteral("bytes were not recorded");
        }
        figure.lines.push_back(std::move(line));
    }
    return figure;
}

} // namespace

bool showsGeneration(const OverviewData& data)
{
    return !data.runs.empty() && std::ranges::all_of(data.runs, [](const OverviewRun& run) {
        return !run.data->span && run.data->generation &&
               (run.data->generation->of(StepType::Decode) != nullptr ||
                run.data->generation->of(StepType::Prefill) != nullptr);
    });
}

QString iterationWord(const OverviewData& data)
{
    const auto word = [](const OverviewRun& run) { return QString::fromUtf8(wordOf(mainOf(run).type)); };
    const QString first = word(data.runs.front());
    return word(data.runs.back()) == first ? first : QStringLiteral("generation");
}

std::vector<KeyFigure> generationFigures(const OverviewData& data)
{
    return {firstToken(data), perToken(data), tokensPerSecond(data), decodeBusy(data), bandwidth(data)};
}

std::vector<StepBar> decodeBars(const OverviewData& data)
{
    std::vector<StepBar> bars;
    for (const OverviewRun& run : data.runs) {
        const GenerationSummary& decode = mainOf(run);
        StepBar bar{run.letter, run.title, {}};
        const auto add = [&bar](const char* label, Hue hue, double time) {
            if (time > 0)
                bar.parts.push_back({QString::fromLatin1(label), hue, time});
        };
        const auto part = [&decode](GenerationPart which) { return decode.parts[std::size_t(which)]; };
        add("attention", Hue::Attention, part(GenerationPart::Attention));
        add("products", Hue::Matmul, part(GenerationPart::Products));
        add("sampling", Hue::Reduction, part(GenerationPart::Sampling));
        add("other", Hue::Other, part(GenerationPart::Other));
        add("communication", Hue::Collective, part(GenerationPart::Communication));
        add("copies", Hue::Copy, part(GenerationPart::Copies));
        if (decode.onGpu) {
            add("GPU waits", Hue::GapLaunching, decode.gpuIdle - decode.unrecorded);
            add("not recorded", Hue::GapUnexplained, decode.unrecorded);
        } else {
            add("host", Hue::GapUnexplained, decode.wall.mean);
        }
        bars.push_back(std::move(bar));
    }
    return bars;
}

} // namespace tilescope::ui
