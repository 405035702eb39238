#include "ui/kernels/kernels_reading.h"

#include <QObject>

namespace tilescope::ui {

namespace {

constexpr std::int64_t kMostEvents = 1'500'000; // that the question about attention looks at

// The rows of another run for the same selection.
std::vector<KernelLine> linesOfOther(const SelectedRun& run, query::KernelQuery query,
                                     const query::Cancelled& cancelled)
{
    auto session = run.file->borrow();
    const store::RunReader& reader = session->reader();
    query.run = run.key.run;
    query.span = run.span;
    query.work = false;
    if (reader.counts(run.key.run).deviceEvents > 0)
        return linesOf(query::kernels(reader, query, cancelled));
    const bool isByFamily = query.grouping == query::Grouping::Family;
    const query::OpsTable ops = query::ops(reader,
                                           {.run = query.run,
                                            .rangeGlob = query.range,
                                            .grouping = isByFamily ? query::Grouping::Name : query.grouping},
                                           query.span);
    std::optional<OpSpread> spread;
    if (ops.grouping == query::Grouping::Name && query.range.empty() && !query.span)
        spread = spreadOf(run.file->timeline(run.key.run, cancelled),
                          {ops.run.coversRecording(), query.step, {}}, cancelled);
    std::vector<KernelLine> lines = linesOf(ops, nullptr, spread ? &*spread : nullptr);
    return isByFamily ? byFamily(lines) : lines;
}

// Zeros beside the rows of the first run would look measured.
QString whyNothingCorresponds(const store::EventCounts& first, const SelectedRun& second)
{
    const store::EventCounts counts = second.file->borrow()->reader().counts(second.key.run);
    if (counts.deviceEvents == 0 && counts.ops == 0)
        return QObject::tr("%1 was not traced").arg(second.letter);
    if ((counts.deviceEvents > 0) != (first.deviceEvents > 0))
        return QObject::tr("kernels and ops do not correspond");
    return {};
}

} // namespace

KernelsReading readKernels(const SelectedRun& run, const std::optional<SelectedRun>& second,
                           const query::KernelQuery& query, const std::optional<query::Answer>& answer,
                           ProcessIndex process, const query::Cancelled& cancelled)
{
    auto session = run.file->borrow();
    const store::RunReader& reader = session->reader();
    KernelsReading full{query::kernels(reader, query, cancelled), {}, {}, {}, {}, answer, {}};
    const store::EventCounts counts = reader.counts(*query.run);
    if (second && query.topology.empty() && query.grouping != query::Grouping::Shape && !cancelled()) {
        full.whyNoOther = whyNothingCorresponds(counts, *second);
        if (full.whyNoOther.isEmpty())
            full.other = linesOfOther(*second, query, cancelled);
    }
    const query::EventQuery events{.run = query.run,
                                   .rangeGlob = query.range,
                                   .grouping = query.grouping == query::Grouping::Family ||
                                                       query.grouping == query::Grouping::Shape
                                                   ? query::Grouping::Name
                                                   : query.grouping,
                                   .topology = query.topology};
    if (counts.deviceEvents == 0 && !cancelled()) {
        full.ops = query::ops(reader, events, query.span);
        const bool isWhole = query.topology.empty() && !query.span;
        if (full.ops->grouping == query::Grouping::Name && isWhole && !cancelled())
            full.opWork = query::roofline(reader, {query.run, query.range, query::Grouping::Op});
        // The instances of ops are those of the timeline, which knows no ranges.
        if (full.ops->grouping == query::Grouping::Name && query.range.empty() && !query.span)
            full.opSpread = spreadOf(run.file->timeline(run.key.run, cancelled),
                                     {full.ops->run.coversRecording(), query.step, process}, cancelled);
    }
    if (query.grouping == query::Grouping::Shape && !query.span &&
        counts.deviceEvents + counts.ops <= kMostEvents && !cancelled())
        full.byShape = query::roofline(reader, {.run = query.run,
                                                .rangeGlob = query.range,
                                                .grouping = query.grouping,
                                                .topology = query.topology,
                                                .step = query.step});
    if (!answer && counts.deviceEvents + counts.ops <= kMostEvents && !query.topology.device && !cancelled())
        full.attention =
            query::answers(reader, {.run = query.run, .topology = query.topology}, "softmax-in-attention")
                .rows.front();
    return full;
}

} // namespace tilescope::ui
