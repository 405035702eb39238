#include "core/store/tracks/call_totals_writer.h"

#include "core/model/text.h"
#include "core/store/rows/row_inserter.h"

#include <algorithm>
#include <array>

namespace tilescope::store {

namespace {

using Key = std::array<std::uint32_t, 5>;

struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept
    {
        std::size_t hash = 0;
        for (const std::uint32_t value : key)
            hash = (hash ^ value) * 0x9E37'79B9'7F4A'7C15ULL ^ hash >> 29;
        return hash;
    }
};

using KeyPlaces = std::unordered_map<Key, std::uint32_t, KeyHash>;

/// The total of a key; appends one if there is none.
template <class Total>
Total& totalAt(const Key& key, KeyPlaces& places, std::vector<Total>& totals, bool& isNew)
{
    const auto [place, added] = places.try_emplace(key, static_cast<std::uint32_t>(totals.size()));
    isNew = added;
    if (added)
        totals.emplace_back();
    return totals[place->second];
}

Cell cellOfCall(std::uint32_t op)
{
    return op == kNoOpCall ? Cell() : Cell(std::int64_t{op});
}

Cell cellOfFlag(bool value)
{
    return std::int64_t{value ? 1 : 0};
}

Cell cellOfFirst(const StepBits& steps)
{
    return steps.first == kNoStep ? Cell() : Cell(std::int64_t{steps.first});
}

Cell cellOfBits(const StepBits& steps, bool areKnown)
{
    return areKnown && !steps.bits.empty() ? Cell(Blob{steps.bits}) : Cell();
}

/// A process and flags, packed into one number.
template <class... Flags> std::uint32_t packed(ProcessIndex process, Flags... flags)
{
    auto value = static_cast<std::uint32_t>(process.value);
    ((value = value << 1 | std::uint32_t{flags}), ...);
    return value;
}

} // namespace

struct CallTotalsWriter::Keys {
    KeyPlaces ops;
    KeyPlaces activities;
    KeyPlaces allocations;
};

CallTotalsWriter::CallTotalsWriter(WritableFile& target, std::int64_t run, const TopologyIndex& topology)
    : target_(target), run_(run), topology_(topology),
      mostTotals_(kMostTotals + kMostOfProcess * topology.topology().processes.size()),
      keys_(std::make_unique<Keys>())
{
}

CallTotalsWriter::~CallTotalsWriter() = default;

void CallTotalsWriter::giveUp()
{
    keys_.reset();
    totals_ = {};
    ops_ = {};
    together_ = {};
    selfTimes_ = {};
    awaited_ = {};
    correlations_ = {};
}

// Ops ---------------------------------------------------------------------------------------------------------

void CallTotalsWriter::add(const Op& op)
{
    if (!together_.empty() && together_.front().start != op.start)
        takeTogether();
    if (keys_)
        together_.push_back(op);
}

/// Of ops that start together, the longest contains the others.
void CallTotalsWriter::takeTogether()
{
    std::ranges::stable_sort(together_, [](const Op& a, const Op& b) {
        return a.end != b.end ? a.end > b.end : a.id.value < b.id.value;
    });
    for (const Op& op : together_)
        if (keys_)
            take(op);
    together_.clear();
}

void CallTotalsWriter::take(const Op& op)
{
    const bool isDuplicate = op.id && op.id.value < ops_.size() && ops_[op.id.value].total != kNoOpCall;
    if (!op.id || op.id.value >= kMostOps || isDuplicate || awaited_.contains(op.id.value))
        return giveUp();
    const bool hasCaller = op.parent && op.parent != op.id && isKnown(op.parent);
    if (!keys_)
        return;
    const std::uint32_t caller = hasCaller ? ops_[op.parent.value].total : kNoOpCall;
    const std::uint32_t depth = hasCaller ? depths_[caller] + 1 : 0;
    const bool isTraced = op.step != kNoStep;
    const ProcessIndex process = topology_.of(op.thread);
    bool isNew = false;
    OpCallTotal& total =
        totalAt({caller, op.name.value, op.shapes.value, op.path.value, packed(process, isTraced)},
                keys_->ops, totals_.ops, isNew);
    if (isNew) {
        total.caller = caller;
        total.name = op.name;
        total.shapes = op.shapes;
        total.path = op.path;
        total.process = process;
        total.isTraced = isTraced;
        depths_.push_back(depth);
        callsOfItsName_.push_back(0);
    }
    ++total.calls;
    total.total += (op.end - op.start).count();
    if (isTraced && knowsOpSteps_)
        knowsOpSteps_ = total.steps.add(op.step);
    const auto number = static_cast<std::uint32_t>(&total - totals_.ops.data());
    selfTimes_.add(op, number);
    if (op.id.value >= ops_.size())
        ops_.resize(std::size_t{op.id.value} + 1);
    ops_[op.id.value] = {.total = number, .caller = hasCaller ? op.parent : OpId{}, .step = op.step};
    if (hasCaller) {
        OpState& outer = ops_[op.parent.value];
        countsWork_ = countsWork_ && outer.step == op.step;
        if (op.shapes && totals_.ops[caller].name == op.name && !outer.callsItsName) {
            outer.callsItsName = true;
            ++callsOfItsName_[caller];
        }
    }
    if (totals_.ops.size() > mostTotals_ || depth > kDeepest)
        giveUp();
}

bool CallTotalsWriter::isKnown(OpId op)
{
    if (op.value < ops_.size() && ops_[op.value].total != kNoOpCall)
        return true;
    awaited_.insert(op.value);
    if (awaited_.size() > mostTotals_)
        giveUp();
    return false;
}

std::optional<std::uint32_t> CallTotalsWriter::totalOf(OpId op)
{
    takeTogether();
    const bool known = keys_ && op && isKnown(op);
    if (!keys_)
        return {};
    return known ? ops_[op.value].total : kNoOpCall;
}

// Activities and allocations ----------------------------------------------------------------------------------

void CallTotalsWriter::add(const DeviceEvent& event, bool isLaunched)
{
    const std::optional<std::uint32_t> op = totalOf(event.op);
    if (!op)
        return;
    if (*op != kNoOpCall)
        noteLaunch(event.op, event.step);
    ProcessIndex process = topology_.of(event.device, event.stream);
    process = process ? process : topology_.of(event.launchThread);
    noteReplay(event, process, isLaunched);
    const bool isTraced = event.step != kNoStep;
    const bool isReplayed = event.graphNode != 0;
    bool isNew = false;
    ActivityTotal& total =
        totalAt({*op, event.name.value, event.path.value, static_cast<std::uint32_t>(event.kind),
                 packed(process, isTraced, isLaunched, isReplayed)},
                keys_->activities, totals_.activities, isNew);
    if (isNew) {
        total.kind = event.kind;
        total.name = event.name;
        total.path = event.path;
        total.process = process;
        total.op = *op;
        total.isTraced = isTraced;
        total.isLaunched = isLaunched;
        total.isReplayed = isReplayed;
    }
    total.KernelTotal::add((event.end - event.start).count());
    if (isTraced && knowsSteps_)
        knowsSteps_ = total.steps.add(event.step);
    if (totals_.activities.size() > mostTotals_)
        giveUp();
}

/// The op and those around it launched something. Each is noted once.
void CallTotalsWriter::noteLaunch(OpId op, std::int32_t step)
{
    countsWork_ = countsWork_ && ops_[op.value].step == step;
    for (; op && !ops_[op.value].launches; op = ops_[op.value].caller) {
        ops_[op.value].launches = true;
        OpCallTotal& total = totals_.ops[ops_[op.value].total];
        ++total.launching;
        total.first = total.first ? std::min(total.first, op) : op;
    }
}

/// Clears countsWork_ if kernels outside a graph share a launch, because totals do not distinguish them from
/// others.
void CallTotalsWriter::noteReplay(const DeviceEvent& event, ProcessIndex process, bool isLaunched)
{
    if (event.kind != DeviceEventKind::Kernel || event.graphNode != 0 || !isLaunched || !event.correlation ||
        !countsWork_)
        return;
    constexpr unsigned kHalf = 16;
    constexpr std::size_t kMostHalves = 1
                                        << 13; // 64 MiB: numbers of damaged or hashed recordings lie anywhere
    const std::uint64_t ofProcess = static_cast<std::uint32_t>(process.value);
    std::vector<bool>& known = correlations_[ofProcess << kHalf | event.correlation.value >> kHalf];
    countsWork_ = correlations_.size() <= kMostHalves;
    if (!countsWork_) {
        correlations_.clear();
        return;
    }
    known.resize(1U << kHalf);
    const std::uint32_t number = event.correlation.value & ((1U << kHalf) - 1);
    countsWork_ = !known[number];
    known[number] = true;
}

void CallTotalsWriter::add(const AllocEvent& event)
{
    const std::optional<std::uint32_t> op = totalOf(event.op);
    if (!op)
        return;
    const ProcessIndex process = topology_.of(event.device);
    const bool isTraced = event.step != kNoStep;
    const bool isOnGpu = bool(event.device);
    bool isNew = false;
    AllocationTotal& total =
        totalAt({*op, event.path.value, event.category.value, packed(process, isTraced, isOnGpu), 0},
                keys_->allocations, totals_.allocations, isNew);
    if (isNew) {
        total.path = event.path;
        total.category = event.category;
        total.process = process;
        total.op = *op;
        total.isTraced = isTraced;
        total.isOnGpu = isOnGpu;
    }
    ++total.blocks;
    total.bytes += event.bytes;
    if (totals_.allocations.size() > mostTotals_)
        giveUp();
}

// Writing -----------------------------------------------------------------------------------------------------

void CallTotalsWriter::finish()
{
    for (const analysis::OpTotal& self : selfTimes_.finish())
        totals_.ops[self.group].self = self.self.count();
    // Whether an op counts depends on its inner ops, so all calls of a group must agree in them.
    for (std::size_t i = 0; i < totals_.ops.size(); ++i)
        countsWork_ = countsWork_ && (callsOfItsName_[i] == 0 || callsOfItsName_[i] == totals_.ops[i].calls);
}

/// Ops that differ in every step would take more bytes than they have calls.
void CallTotalsWriter::weighSteps()
{
    std::int64_t calls = 0;
    std::int64_t bytes = 0;
    for (const OpCallTotal& total : totals_.ops) {
        calls += total.calls;
        bytes += std::ssize(total.steps.bits);
    }
    knowsOpSteps_ = knowsOpSteps_ && bytes <= calls;
}

void CallTotalsWriter::write()
{
    takeTogether();
    if (!keys_)
        return;
    finish();
    weighSteps();
    writeOps();
    writeActivities();
    writeAllocations();
}

void CallTotalsWriter::writeOps()
{
    RowInserter rows(target_.database(), target_.chunks(), "op_total",
                     {"id", "run", "number", "caller", "name", "shapes", "path", "process", "traced", "first",
                      "calls", "launching", "total", "self", "first_step", "steps"});
    std::int64_t number = 0;
    for (const OpCallTotal& total : totals_.ops)
        rows.insert(run_, {run_, number++, cellOfCall(total.caller), cellOfId(total.name),
                           cellOfId(total.shapes), cellOfId(total.path), cellOfId(total.process),
                           cellOfFlag(total.isTraced), cellOfId(total.first), total.calls,
                           countsWork_ ? Cell(total.launching) : Cell(), total.total, total.self,
                           cellOfFirst(total.steps), cellOfBits(total.steps, knowsOpSteps_)});
}

void CallTotalsWriter::writeActivities()
{
    RowInserter rows(target_.database(), target_.chunks(), "activity_total",
                     {"id", "run", "kind", "name", "path", "process", "op", "traced", "launched", "replayed",
                      "instances", "total", "shortest", "longest", "squares", "first_step", "steps"});
    for (const ActivityTotal& total : totals_.activities)
        rows.insert(run_, {run_, wordOf(total.kind), cellOfId(total.name), cellOfId(total.path),
                           cellOfId(total.process), cellOfCall(total.op), cellOfFlag(total.isTraced),
                           cellOfFlag(total.isLaunched), cellOfFlag(total.isReplayed), total.instances,
                           total.total, total.shortest, total.longest, total.squares,
                           cellOfFirst(total.steps), cellOfBits(total.steps, knowsSteps_)});
}

void CallTotalsWriter::writeAllocations()
{
    RowInserter rows(target_.database(), target_.chunks(), "allocation_total",
                     {"id", "run", "path", "category", "process", "op", "traced", "gpu", "blocks", "bytes"});
    for (const AllocationTotal& total : totals_.allocations)
        rows.insert(run_, {run_, cellOfId(total.path), cellOfId(total.category), cellOfId(total.process),
                           cellOfCall(total.op), cellOfFlag(total.isTraced), cellOfFlag(total.isOnGpu),
                           total.blocks, total.bytes});
}

} // namespace tilescope::store
