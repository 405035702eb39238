#include "core/query/generation/generation_table.h"

#include "core/analysis/memory/block_lives.h"
#include "core/analysis/stats/statistics.h"
#include "core/analysis/work/device_sheets.h"
#include "core/base/error.h"
#include "core/config/schema.h"
#include "core/model/generation.h"
#include "core/model/metric.h"
#include "core/query/generation/iteration_parts.h"
#include "core/query/kernels/metrics_table.h"
#include "core/query/runs/run_device.h"
#include "core/query/runs/run_tables.h"
#include "core/query/work/work_tables.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tilescope::query {

namespace {

constexpr std::array<std::string_view, 3> kGenerationGroups{"iteration", "type", "batch"};

/// A process of a run that has several; none: the only one, or unknown.
ProcessIndex amongSeveral(const TopologyIndex& topology, ProcessIndex process)
{
    return topology.hasSeveral() ? process : ProcessIndex{};
}

/// Bytes of all parameters that each process holds on its GPUs, at most at one time.
std::map<ProcessIndex, std::int64_t> weightBytesOf(const store::RunReader& reader, RunId run,
                                                   const ProcessFilter& filter)
{
    std::map<std::int32_t, analysis::BlockLives<std::int64_t>> lives;
    std::map<ProcessIndex, std::int64_t> held;
    std::map<ProcessIndex, std::int64_t> most;
    reader.eachAllocEvent({.run = run}, [&](const AllocEvent& event) {
        if (!event.device || !filter.hasDevice(event.device))
            return true;
        const bool isParameter = event.category && reader.text(event.category) == "parameters";
        const auto closed =
            lives[event.device.value].apply(event, [&] { return isParameter ? event.bytes : 0; });
        const ProcessIndex process = amongSeveral(filter.topology(), filter.topology().of(event.device));
        std::int64_t& now = held[process];
        now += (isParameter && event.action == AllocAction::Alloc ? event.bytes : 0) - closed.value_or(0);
        most[process] = std::max(most[process], now);
        return true;
    });
    std::erase_if(most, [](const auto& each) { return each.second <= 0; });
    return most;
}

/// What the spec of a run of Tilescope's own says of its iterations: a prompt, then a token of each sequence at a time.
void addSpec(const ExperimentSpec& spec, std::vector<GenerationRow>& rows)
{
    std::int64_t context = 0;
    for (GenerationRow& row : rows) {
        Iteration& iteration = row.iteration;
        const bool isPrefill = iteration.type == StepType::Prefill;
        if (!isPrefill && context == 0)
            continue; // the prompt was not traced
        context = isPrefill ? spec.context : context + 1;
        iteration.sequences = spec.batch;
        iteration.prompts = isPrefill ? std::optional<std::int64_t>(spec.batch) : std::nullopt;
        iteration.context = static_cast<double>(context);
        iteration.newTokens = spec.batch * (isPrefill ? spec.context : 1);
        iteration.cacheBytes = decodedBytes(spec, context - 1).count - decodedWeightBytes(spec).count;
    }
}

class GenerationReading {
public:
    GenerationReading(const store::RunReader& reader, RunId run, const ProcessQuery& topology)
        : reader_(reader), run_(run), topology_(topology), filter_(reader, run, topology)
    {
    }

    GenerationTable read(const std::function<bool()>& cancelled)
    {
        GenerationTable table{.run = chooseRun(reader_, run_)};
        Iterations found = iterationsOf(reader_, run_, topology_);
        table.source = found.source;
        table.marks = std::move(found.marks);
        table.choice = std::move(found.choice);
        for (Iteration& each : found.list) {
            const TopologyIndex& index = filter_.topology();
            table.rows.push_back({.iteration = std::move(each)});
            GenerationRow& row = table.rows.back();
            row.title = index.titleOf(row.iteration.process);
            row.rank = rankOf(index, row.iteration.process);
            row.numbers = numbersOf(index, row.iteration.process);
            table.hasProcesses = table.hasProcesses || !row.title.empty();
        }
        if (table.rows.empty())
            return table;
        spec_ = config::specOf(table.run.specJson);
        if (spec_ && spec_->mode == Mode::Generate) {
            addSpec(*spec_, table.rows);
            table.timed = generationFigures(reader_, table.run, reader_.samples(run_));
        }
        if (!addIterationParts(reader_, run_, filter_, table.rows, cancelled))
            return GenerationTable{.run = std::move(table.run)};
        addBytes(table, cancelled);
        summarize(table);
        return table;
    }

private:
    void addBytes(GenerationTable& table, const std::function<bool()>& cancelled)
    {
        if (std::ranges::none_of(table.rows, &GenerationRow::onGpu)) {
            table.whyNoBytes = "no GPU activity was recorded";
            return;
        }
        addSampledBytes(table, cancelled);
        std::map<ProcessIndex, std::int64_t> weights;
        if (spec_ && spec_->mode == Mode::Generate)
            weights[{}] = decodedWeightBytes(*spec_).count; // it runs in one process
        else
            weights = weightBytesOf(reader_, run_, filter_);
        const auto isSame = [&](const auto& each) { return each.second == weights.begin()->second; };
        if (!weights.empty() && std::ranges::all_of(weights, isSame))
            table.weightBytes = weights.begin()->second;
        for (GenerationRow& row : table.rows) {
            const auto own = weights.find(amongSeveral(filter_.topology(), row.iteration.process));
            if (!row.bytes && row.onGpu && own != weights.end() && row.iteration.cacheBytes) {
                row.bytes = own->second + *row.iteration.cacheBytes;
                row.bytesSource = BytesSource::Sizes;
            }
        }
        if (std::ranges::any_of(table.rows, [](const GenerationRow& row) { return !row.bytes; }))
            table.whyNoBytes =
                "neither metrics of the GPU's memory nor the sizes of weights and cache were recorded";
        const DeviceCeilings ceilings = ceilingsOf(reader_, table.run);
        const std::string device = deviceOfRun(reader_, table.run).name;
        const analysis::DeviceSheet* const sheet = analysis::DeviceSheets::standard().find(device);
        table.bandwidth = ceilings.measured.bytes ? ceilings.measured.bytes : ceilings.sheet.bytes;
        table.bandwidthFrom = ceilings.measured.bytes ? ceilings.measuredFrom : ceilings.sheetFrom;
        // The rate of the memory does not depend on the spec, which recordings of other programs lack.
        if (!table.bandwidth && sheet && sheet->bytes) {
            table.bandwidth = sheet->bytes;
            table.bandwidthFrom = "data sheet of " + sheet->name;
        }
    }

    void addSampledBytes(GenerationTable& table, const std::function<bool()>& cancelled)
    {
        const MetricsTable sampled =
            metrics(reader_, {.run = run_, .topology = topology_, .group = MetricsGroup::Step}, cancelled);
        const auto read = sampled.find(kDramRead);
        const auto write = sampled.find(kDramWrite);
        if (!read || !write)
            return;
        std::map<std::pair<std::int32_t, std::int32_t>, double> bytes;
        for (const MetricsRow& row : sampled.rows)
            if (row.step && row.values[*read].bytes && row.values[*write].bytes)
                bytes[{row.numbers.process.value_or(-1), *row.step}] =
                    *row.values[*read].bytes + *row.values[*write].bytes;
        for (GenerationRow& row : table.rows)
            if (const auto known =
                    bytes.find({row.numbers.process.value_or(-1), row.iteration.step.value_or(-1)});
                row.iteration.step && known != bytes.end()) {
                row.bytes = static_cast<std::int64_t>(known->second);
                row.bytesSource = BytesSource::Metrics;
            }
    }

    static void summarize(GenerationTable& table)
    {
        using Key = std::pair<StepType, std::optional<std::int64_t>>;
        std::map<StepType, std::vector<std::size_t>> types;
        std::map<Key, std::vector<std::size_t>> batches;
        for (std::size_t i = 0; i < table.rows.size(); ++i) {
            const Iteration& iteration = table.rows[i].iteration;
            types[iteration.type].push_back(i);
            batches[{iteration.type, iteration.sequences}].push_back(i);
        }
        for (const auto& [type, rows] : types)
            table.types.push_back(summaryOf(table, rows));
        for (const auto& [key, rows] : batches)
            table.batches.push_back(summaryOf(table, rows));
        if (const GenerationSummary* const decode = table.of(StepType::Decode))
            table.perToken = decode->wall;
        std::vector<double> first;
        for (std::size_t i = 0; i < table.rows.size(); ++i) {
            const GenerationRow& row = table.rows[i];
            const Iteration& iteration = row.iteration;
            if (iteration.type == StepType::Prefill && iteration.generation)
                first.push_back(static_cast<double>(row.wall().count()));
            if (i + 1 >= table.rows.size() || table.rows[i + 1].iteration.process != iteration.process ||
                table.rows[i + 1].iteration.generation != iteration.generation)
                continue;
            table.between +=
                std::max(Nanoseconds(0), table.rows[i + 1].iteration.wall.start - iteration.wall.end);
        }
        table.firstToken = figuresOf(std::move(first));
    }

    static GenerationSummary summaryOf(const GenerationTable& table, const std::vector<std::size_t>& indices)
    {
        GenerationSummary summary;
        const auto count = static_cast<double>(indices.size());
        std::vector<double> walls;
        double tokens = 0;
        double seconds = 0;
        bool knowsTokens = true;
        bool knowsBytes = true;
        double bytes = 0;
        std::vector<std::pair<Nanoseconds, std::size_t>> byWall;
        for (const std::size_t index : indices) {
            const GenerationRow& row = table.rows[index];
            const Iteration& iteration = row.iteration;
            const bool isFirst = walls.empty();
            summary.type = iteration.type;
            summary.sequences =
                isFirst || summary.sequences == iteration.sequences ? iteration.sequences : std::nullopt;
            if (iteration.context) {
                summary.contextFrom =
                    std::min(summary.contextFrom.value_or(*iteration.context), *iteration.context);
                summary.contextTo =
                    std::max(summary.contextTo.value_or(*iteration.context), *iteration.context);
            }
            walls.push_back(static_cast<double>(row.wall().count()));
            byWall.emplace_back(row.wall(), index);
            summary.onGpu = summary.onGpu || row.onGpu;
            for (std::size_t part = 0; part < kGenerationParts; ++part)
                summary.parts[part] += static_cast<double>(row.parts[part].count()) / count;
            summary.gpuBusy += static_cast<double>(row.gpuBusy().count()) / count;
            summary.gpuIdle += static_cast<double>(row.gpuIdle().count()) / count;
            summary.unrecorded += static_cast<double>(iteration.unrecorded.count()) / count;
            knowsTokens = knowsTokens && iteration.newTokens;
            tokens += static_cast<double>(iteration.newTokens.value_or(0));
            seconds += walls.back() / 1e9;
            knowsBytes = knowsBytes && row.bytes;
            bytes += static_cast<double>(row.bytes.value_or(0)) / count;
            summary.bytesSource =
                isFirst || summary.bytesSource == row.bytesSource ? row.bytesSource : BytesSource::None;
        }
        if (knowsTokens && seconds > 0)
            summary.tokensPerSecond = tokens / seconds;
        if (knowsBytes)
            summary.bytes = bytes;
        std::ranges::sort(byWall);
        summary.median = static_cast<std::int32_t>(byWall[byWall.size() / 2].second);
        summary.wall = *figuresOf(std::move(walls));
        return summary;
    }

    const store::RunReader& reader_;
    RunId run_;
    ProcessQuery topology_;
    ProcessFilter filter_;
    std::optional<ExperimentSpec> spec_; ///< of a run of Tilescope's own
};

std::optional<double> percentOf(const std::optional<double>& bandwidth, std::optional<double> bytes,
                                double ns)
{
    if (!bandwidth || !bytes || ns <= 0 || *bandwidth <= 0)
        return {};
    return 100 * *bytes / (ns / 1e9) / *bandwidth;
}

} // namespace

std::string_view wordOf(GenerationPart part)
{
    static constexpr std::array<std::string_view, kGenerationParts> kWords{
        "attention", "products", "sampling", "other", "communication", "copies"};
    return kWords[static_cast<std::size_t>(part)];
}

std::string_view wordOf(GenerationGroup group)
{
    return kGenerationGroups[static_cast<std::size_t>(group)];
}

GenerationGroup generationGroupOf(std::string_view word)
{
    const auto found = std::ranges::find(kGenerationGroups, word);
    if (found == kGenerationGroups.end())
        throw Error{.what = "'" + std::string(word) + "' is no grouping of iterations",
                    .where = "--group",
                    .remedy = "use iteration, type or batch",
                    .kind = ErrorKind::Usage};
    return static_cast<GenerationGroup>(found - kGenerationGroups.begin());
}

std::string_view wordOf(BytesSource source)
{
    return source == BytesSource::Metrics ? "metrics" : source == BytesSource::Sizes ? "sizes" : "";
}

Nanoseconds GenerationRow::gpuBusy() const
{
    return std::accumulate(parts.begin(), parts.end(), Nanoseconds(0));
}

std::optional<double> GenerationRow::tokensPerSecond() const
{
    const double seconds = static_cast<double>(wall().count()) / 1e9;
    return iteration.newTokens && seconds > 0
               ? std::optional(static_cast<double>(*iteration.newTokens) / seconds)
               : std::nullopt;
}

std::optional<std::int64_t> GenerationRow::outputTokens() const
{
    return iteration.isSpeculative || iteration.type == StepType::Other ? std::nullopt : iteration.sequences;
}

std::optional<double> GenerationTable::bandwidthPercent(const GenerationRow& row) const
{
    return percentOf(bandwidth, row.bytes ? std::optional(static_cast<double>(*row.bytes)) : std::nullopt,
                     static_cast<double>(row.wall().count()));
}

std::optional<double> GenerationTable::bandwidthPercent(const GenerationSummary& summary) const
{
    return percentOf(bandwidth, summary.bytes, summary.wall.mean);
}

std::string_view GenerationTable::perTokenWords() const
{
    return std::ranges::any_of(rows, [](const GenerationRow& row) { return row.iteration.isSpeculative; })
               ? "time per decode iteration"
               : "time per output token";
}

const GenerationSummary* GenerationTable::of(StepType type) const
{
    const auto found = std::ranges::find(types, type, &GenerationSummary::type);
    return found == types.end() ? nullptr : &*found;
}

std::optional<TimeFigures> figuresOf(std::vector<double> times)
{
    if (times.empty())
        return {};
    std::ranges::sort(times);
    const double sum = std::accumulate(times.begin(), times.end(), 0.0);
    return TimeFigures{.n = std::ssize(times),
                       .mean = sum / static_cast<double>(times.size()),
                       .p50 = analysis::quantile(times, 0.5),
                       .p90 = analysis::quantile(times, 0.9),
                       .p99 = analysis::quantile(times, 0.99)};
}

GenerationTable generation(const store::RunReader& reader, std::optional<RunId> run,
                           const ProcessQuery& topology, const std::function<bool()>& cancelled)
{
    GenerationTable table;
    reader.atOnce([&] {
        const std::vector<RunId> asked = chooseRunIds(reader, run);
        if (!asked.empty())
            table = GenerationReading(reader, asked.back(), topology).read(cancelled);
    });
    return table;
}

} // namespace tilescope::query
