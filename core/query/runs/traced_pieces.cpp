#include "core/query/runs/traced_pieces.h"

#include "core/analysis/time/path_glob.h"
#include "core/analysis/work/op_families.h"
#include "core/analysis/work/op_totals.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/runs/selection.h"
#include "core/store/tracks/call_totals.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace tilescope::query {

namespace {

bool isBatchedProduct(std::string_view op)
{
    return op.starts_with("aten::bmm") || op.starts_with("aten::baddbmm");
}

/// Sums activities by name, place and op.
class PieceSums {
public:
    PieceSums(const store::RunReader& reader, RunId run) : reader_(reader), kernels_(reader, run) {}

    void addKernels(StringId name, DeviceEventKind kind, StringId path, bool isBatched, Nanoseconds time,
                    std::int64_t instances)
    {
        const std::uint64_t ofName = std::uint64_t{name.value} << 2 | static_cast<std::uint64_t>(kind);
        const auto [place, isNew] = places_.try_emplace(
            {ofName, std::uint64_t{path.value} << 1 | std::uint64_t(isBatched)}, pieces_.size());
        if (isNew) {
            const analysis::KernelDescription& description = kernels_.describe(name, kind);
            add(path, isBatched, description.shortName, description.does, description.family);
        }
        pieces_[place->second].time += time;
        pieces_[place->second].instances += instances;
    }

    void addOp(const Op& op, Nanoseconds self)
    {
        const auto [place, isNew] = places_.try_emplace({op.name.value, op.path.value}, pieces_.size());
        if (isNew) {
            const std::string_view name = reader_.text(op.name);
            add(op.path, isBatchedProduct(name), std::string(name), {}, analysis::familyOfOp(name));
        }
        pieces_[place->second].time += self;
        ++pieces_[place->second].instances;
    }

    std::vector<Piece> take() { return std::move(pieces_); }

private:
    struct Key {
        std::uint64_t name = 0;
        std::uint64_t path = 0;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept
        {
            return (key.name * 0x9E37'79B9'7F4A'7C15ULL) ^ (key.path * 0xC2B2'AE3D'27D4'EB4FULL >> 7);
        }
    };

    void add(StringId path, bool isBatched, std::string name, std::string does, analysis::KernelFamily family)
    {
        const std::string_view place = path ? analysis::fromStepDown(reader_.text(path)) : std::string_view{};
        pieces_.push_back({.path = place,
                           .phase = analysis::phaseOf(place),
                           .isBatched = isBatched,
                           .name = std::move(name),
                           .does = std::move(does),
                           .family = family});
    }

    const store::RunReader& reader_;
    std::unordered_map<Key, std::size_t, Hash> places_;
    RunKernels kernels_;
    std::vector<Piece> pieces_;
};

/// Whether the op of an attention product identifies the purpose of the product.
bool needsOp(const Piece& piece)
{
    return piece.family == analysis::KernelFamily::Matmul &&
           piece.path.find("/attention") != std::string_view::npos;
}

std::int64_t stepsOf(const std::vector<store::StepTotal>& totals)
{
    std::set<std::int32_t> steps;
    for (const store::StepTotal& step : totals)
        steps.insert(step.step);
    return std::ssize(steps);
}

/// From the totals of the calls; false if there are none.
bool addCallTotals(const store::RunReader& reader, RunId run, TracedPieces& traced)
{
    const std::optional<store::CallTotals> totals = reader.callTotals(run);
    if (!totals || totals->activities.empty())
        return false;
    PieceSums sums(reader, run);
    for (const store::ActivityTotal& total : totals->activities)
        if (total.isTraced)
            sums.addKernels(total.name, total.kind, total.path,
                            total.op != store::kNoOpCall &&
                                isBatchedProduct(reader.text(totals->ops[total.op].name)),
                            Nanoseconds(total.total), total.instances);
    const std::int64_t steps = stepsOf(reader.stepTotals(run));
    traced.pieces = sums.take();
    if (steps == 0 && !traced.pieces.empty())
        return false; // without ranges
    traced.steps = steps;
    traced.onGpu = true;
    return true;
}

/// From the totals of the steps; false if there are none, or if they do not suffice.
bool addTotals(const store::RunReader& reader, RunId run, TracedPieces& traced)
{
    // The pieces of a whole recording include the time between steps.
    if (reader.run(run)->coversRecording())
        return false;
    const std::optional<store::RunTotals> totals = reader.totals(run);
    if (!totals || totals->kernels.empty())
        return false;
    PieceSums sums(reader, run);
    for (const store::KernelTotal& total : totals->kernels)
        sums.addKernels(total.name, total.kind, total.path, false, Nanoseconds(total.total), total.instances);
    traced.pieces = sums.take();
    if (reader.counts(run).ops > 0 && std::ranges::any_of(traced.pieces, needsOp))
        return false;
    traced.steps = stepsOf(totals->steps);
    traced.onGpu = true;
    return true;
}

/// By OpId.
std::vector<bool> batchedProducts(const store::RunReader& reader, RunId run)
{
    constexpr std::uint32_t kMostOps = 1U << 28; // numbers of a damaged file
    std::vector<bool> batched;
    std::unordered_map<StringId, bool> known;
    reader.eachOp({.run = run}, [&](const Op& op) {
        const auto [isBatched, isNew] = known.try_emplace(op.name, false);
        if (isNew)
            isBatched->second = isBatchedProduct(reader.text(op.name));
        if (isBatched->second && op.id && op.id.value < kMostOps) {
            batched.resize(std::max<std::size_t>(batched.size(), std::size_t{op.id.value} + 1));
            batched[op.id.value] = true;
        }
        return true;
    });
    return batched;
}

void addDeviceEvents(const store::RunReader& reader, RunId run, const ProcessFilter& filter,
                     TracedPieces& traced)
{
    const std::vector<bool> batched = batchedProducts(reader, run);
    PieceSums sums(reader, run);
    std::set<std::int32_t> steps;
    std::int32_t lastStep = kNoStep;
    reader.eachDeviceEvent({.run = run}, [&](const DeviceEvent& event) {
        if (!filter.has(event))
            return true;
        traced.onGpu = true;
        if (event.step == kNoStep)
            return true;
        if (event.step != lastStep)
            steps.insert(event.step);
        lastStep = event.step;
        sums.addKernels(event.name, event.kind, event.path,
                        event.op && event.op.value < batched.size() && batched[event.op.value],
                        event.end - event.start, 1);
        return true;
    });
    traced.steps = static_cast<std::int64_t>(steps.size());
    traced.pieces = sums.take();
}

void addOps(const store::RunReader& reader, RunId run, const ProcessFilter& filter, TracedPieces& traced)
{
    std::vector<Op> ops = reader.ops({.run = run});
    std::erase_if(ops, [&](const Op& op) { return !filter.has(op.thread); });
    const std::vector<Nanoseconds> self = analysis::selfTimes(ops);
    PieceSums sums(reader, run);
    std::set<std::int32_t> steps;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].step == kNoStep)
            continue;
        steps.insert(ops[i].step);
        sums.addOp(ops[i], self[i]);
    }
    traced.steps = static_cast<std::int64_t>(steps.size());
    traced.pieces = sums.take();
}

} // namespace

TracedPieces tracedPieces(const store::RunReader& reader, RunId run, const ProcessQuery& topology)
{
    TracedPieces traced;
    if (topology.empty() && (addCallTotals(reader, run, traced) || addTotals(reader, run, traced)))
        return traced;
    const ProcessFilter filter(reader, run, topology);
    if (reader.counts(run).deviceEvents > 0)
        addDeviceEvents(reader, run, filter, traced);
    if (!traced.onGpu)
        addOps(reader, run, filter, traced);
    return traced;
}

} // namespace tilescope::query
