#include "core/query/compare/step_alignment.h"

#include "core/analysis/kernels/sequence_alignment.h"
#include "core/query/calls/call_tree.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::AlignedPair;
using analysis::KernelFamily;

constexpr double kEnough = 0.99;

void describeCall(AlignedCall& call, DeviceEventKind kind)
{
    analysis::KernelDescription description = analysis::KernelFamilies::standard().describe(call.name, kind);
    if (!description.shortName.empty())
        call.shortName = std::move(description.shortName);
    call.family = description.family;
}

/// Share of the time that is in places which both sides have.
double sharedTime(const CallTimes& a, const CallTimes& b)
{
    std::map<std::string_view, std::pair<double, double>> places;
    for (const auto& [call, ns] : a)
        places[call.place].first += ns;
    for (const auto& [call, ns] : b)
        places[call.place].second += ns;
    double both = 0;
    double all = 0;
    for (const auto& [place, ns] : places) {
        all += ns.first + ns.second;
        if (!place.empty() && ns.first > 0 && ns.second > 0)
            both += ns.first + ns.second;
    }
    return all > 0 ? both / all : 1;
}

/// The sequences of both sides with what their kernels are compared by.
class KernelSequences {
public:
    using Kernels = std::span<const SequencedKernel>;
    enum class Key : std::uint8_t { Name, ShortName, Family };

    KernelSequences(Kernels a, Kernels b) : kernels_{a, b}
    {
        for (std::size_t side = 0; side < kernels_.size(); ++side)
            for (const SequencedKernel& kernel : kernels_[side])
                facts_[side].push_back(&factsOf(kernel.name));
    }

    struct Facts {
        std::string shortName;
        KernelFamily family = KernelFamily::Other;
        std::array<std::uint32_t, 3> keys{}; ///< by Key
    };
    const Facts& facts(std::size_t side, std::size_t at) const { return *facts_[side][at]; }
    const SequencedKernel& kernel(std::size_t side, std::size_t at) const { return kernels_[side][at]; }

    /// Pairs with ascending positions, between which nothing has an equal key.
    std::vector<AlignedPair> pairs() const
    {
        std::vector<AlignedPair> found;
        addPairs({0, kernels_[0].size(), 0, kernels_[1].size()}, 0, found);
        return found;
    }

private:
    struct Stretch {
        std::size_t beginA, endA, beginB, endB;
    };
    static constexpr std::array kOrder{Key::Name, Key::ShortName, Key::Family};

    static bool isInFixedOrder(KernelFamily family)
    {
        return family == KernelFamily::Matmul || family == KernelFamily::Convolution ||
               family == KernelFamily::Attention;
    }

    const Facts& factsOf(std::string_view name)
    {
        const auto [known, isNew] = known_.try_emplace(name);
        Facts& facts = known->second;
        if (!isNew)
            return facts;
        analysis::KernelDescription description = analysis::KernelFamilies::standard().describe(name);
        facts.shortName =
            description.shortName.empty() ? std::string(name) : std::move(description.shortName);
        facts.family = description.family;
        facts.keys[0] = keyOf("n" + std::string(name));
        facts.keys[1] = keyOf("s" + facts.shortName);
        facts.keys[2] =
            isInFixedOrder(facts.family) ? keyOf("f" + std::string(wordOf(facts.family))) : kNoKey;
        return facts;
    }

    std::uint32_t keyOf(const std::string& text)
    {
        return keys_.try_emplace(text, static_cast<std::uint32_t>(keys_.size() + kFirstKey)).first->second;
    }

    std::vector<std::uint32_t> keysOf(std::size_t side, std::size_t begin, std::size_t end, Key key) const
    {
        std::vector<std::uint32_t> keys;
        for (std::size_t i = begin; i < end; ++i) {
            const std::uint32_t value = facts_[side][i]->keys[static_cast<std::size_t>(key)];
            // Kernels without a key are equal to none of the other side.
            keys.push_back(value == kNoKey ? static_cast<std::uint32_t>(side) : value);
        }
        return keys;
    }

    void addPairs(const Stretch& stretch, std::size_t level, std::vector<AlignedPair>& found) const
    {
        if (level == kOrder.size() || stretch.beginA == stretch.endA || stretch.beginB == stretch.endB)
            return;
        const auto pairs = analysis::alignSequences(keysOf(0, stretch.beginA, stretch.endA, kOrder[level]),
                                                    keysOf(1, stretch.beginB, stretch.endB, kOrder[level]));
        Stretch between{stretch.beginA, 0, stretch.beginB, 0};
        for (const AlignedPair& pair : pairs) {
            between.endA = stretch.beginA + pair.a;
            between.endB = stretch.beginB + pair.b;
            addPairs(between, level + 1, found);
            found.push_back(
                {static_cast<std::uint32_t>(between.endA), static_cast<std::uint32_t>(between.endB)});
            between.beginA = between.endA + 1;
            between.beginB = between.endB + 1;
        }
        between.endA = stretch.endA;
        between.endB = stretch.endB;
        addPairs(between, level + 1, found);
    }

    static constexpr std::uint32_t kNoKey = 2; ///< 0 and 1 stand for the sides
    static constexpr std::uint32_t kFirstKey = 3;

    std::array<Kernels, 2> kernels_;
    std::map<std::string_view, Facts> known_; ///< by name; addresses are stable
    std::unordered_map<std::string, std::uint32_t> keys_;
    std::array<std::vector<const Facts*>, 2> facts_;
};

/// Adds up what was paired, by place and name.
class KernelPairing {
public:
    KernelPairing(std::span<const SequencedKernel> a, std::span<const SequencedKernel> b)
        : kernels_{a, b}, sequences_(a, b)
    {
        for (std::size_t side = 0; side < kernels_.size(); ++side)
            for (const SequencedKernel& kernel : kernels_[side])
                total_[side] += kernel.time;
    }

    StepAlignment pair()
    {
        std::size_t a = 0;
        std::size_t b = 0;
        for (const AlignedPair& pair : sequences_.pairs()) {
            addStretch(a, pair.a, b, pair.b);
            addStretch(pair.a, pair.a + 1, pair.b, pair.b + 1);
            a = pair.a + 1;
            b = pair.b + 1;
        }
        addStretch(a, kernels_[0].size(), b, kernels_[1].size());
        StepAlignment alignment{.by = AlignedBy::Kernels};
        const double all = total_[0] + total_[1];
        alignment.aligned = all > 0 ? aligned_ / all : 1;
        for (auto& [key, call] : calls_)
            alignment.calls.push_back(std::move(call));
        return alignment;
    }

private:
    double timeOf(std::size_t side, std::size_t begin, std::size_t end) const
    {
        double time = 0;
        for (std::size_t i = begin; i < end; ++i)
            time += kernels_[side][i].time;
        return time;
    }

    /// Kernels between the same neighbours on both sides.
    void addStretch(std::size_t beginA, std::size_t endA, std::size_t beginB, std::size_t endB)
    {
        constexpr double kMost = 0.05;
        const double timeA = timeOf(0, beginA, endA);
        const double timeB = timeOf(1, beginB, endB);
        const bool isPair = endA == beginA + 1 && endB == beginB + 1;
        const bool isAligned = endA > beginA && endB > beginB &&
                               (isPair || (timeA <= kMost * total_[0] && timeB <= kMost * total_[1]));
        if (!isAligned) {
            // Kernels that only B has stand where A's kernel before them does.
            for (std::size_t i = beginB; i < endB; ++i) {
                AlignedCall& call = single(1, i, placeOr(placeBefore_, kernels_[1][i].place));
                call.b = call.b.value_or(0) + kernels_[1][i].time;
            }
            for (std::size_t i = beginA; i < endA; ++i) {
                AlignedCall& call = single(0, i, kernels_[0][i].place);
                call.a = call.a.value_or(0) + kernels_[0][i].time;
                placeBefore_ = kernels_[0][i].place;
            }
            return;
        }
        aligned_ += timeA + timeB;
        placeBefore_ = kernels_[0][beginA].place;
        const std::string& place = placeOr(placeBefore_, kernels_[1][beginB].place);
        const bool isSame =
            isPair && sequences_.facts(0, beginA).shortName == sequences_.facts(1, beginB).shortName;
        AlignedCall& call = isSame ? single(0, beginA, place) : replaced(beginA, endA, beginB, endB, place);
        call.a = call.a.value_or(0) + timeA;
        call.b = call.b.value_or(0) + timeB;
    }

    static const std::string& placeOr(const std::string& place, const std::string& other)
    {
        return place.empty() ? other : place;
    }

    /// Sums of kernels without a counterpart, or with a counterpart of the same name.
    AlignedCall& single(std::size_t side, std::size_t at, const std::string& place)
    {
        const SequencedKernel& kernel = kernels_[side][at];
        AlignedCall& call = calls_[{place, sequences_.facts(side, at).shortName, Group::Single}];
        if (call.name.empty()) {
            call.place = place;
            call.name = kernel.name;
            call.shortName = sequences_.facts(side, at).shortName;
            call.family = sequences_.facts(side, at).family;
        }
        return call;
    }

    AlignedCall& replaced(std::size_t beginA, std::size_t endA, std::size_t beginB, std::size_t endB,
                          const std::string& place)
    {
        const auto names = [&](std::size_t most) {
            return namesOf(0, beginA, endA, most) + " -> " + namesOf(1, beginB, endB, most);
        };
        constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
        AlignedCall& call = calls_[{place, names(kAll), Group::Replaced}];
        if (call.name.empty()) {
            constexpr std::size_t kReadable = 3;
            call.place = place;
            call.name = names(kAll);
            call.shortName = names(kReadable);
            call.family = sequences_.facts(1, beginB).family;
            call.isReplaced = true;
        }
        return call;
    }

    /// `vectorized add + layer norm`: each name once, in order; beyond a limit, only the number of further
    /// names.
    std::string namesOf(std::size_t side, std::size_t begin, std::size_t end, std::size_t most) const
    {
        std::vector<std::string_view> names;
        for (std::size_t i = begin; i < end; ++i) {
            const std::string_view name = sequences_.facts(side, i).shortName;
            if (std::ranges::find(names, name) == names.end())
                names.push_back(name);
        }
        std::string text;
        for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
            text += (text.empty() ? "" : " + ") + std::string(names[i]);
        return names.size() <= most ? text : text + " + " + std::to_string(names.size() - most) + " more";
    }

    enum class Group : std::uint8_t { Single, Replaced };

    std::array<std::span<const SequencedKernel>, 2> kernels_;
    KernelSequences sequences_;
    std::array<double, 2> total_{};
    double aligned_ = 0;
    std::string placeBefore_; ///< of A's last kernel
    std::map<std::tuple<std::string, std::string, Group>, AlignedCall> calls_;
};

/// `model.py: forward` of `/home/me/model.py(42): forward`: folders and lines differ between versions.
std::string withoutLine(const std::string& frame)
{
    const std::size_t open = frame.find('(');
    const std::size_t close = frame.find("): ", open);
    if (open == std::string::npos || close == std::string::npos)
        return frame;
    const std::size_t slash = frame.rfind('/', open);
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    return frame.substr(begin, open - begin) + frame.substr(close + 1);
}

/// `FSDP.forward (layers.*)` of `FSDP.forward (layers.3)`: numbers of layers in the names of ops, as in those of modules.
std::string withoutLayers(std::string_view op)
{
    constexpr std::string_view kBefore = ".#[/";
    std::string text;
    for (std::size_t i = 0; i < op.size(); ++i) {
        text += op[i];
        if (kBefore.find(op[i]) == std::string_view::npos)
            continue;
        std::size_t end = i + 1;
        while (end < op.size() && op[end] >= '0' && op[end] <= '9')
            ++end;
        const bool isWhole =
            end == op.size() || std::string_view(").]/ _:").find(op[end]) != std::string_view::npos;
        if (end > i + 1 && isWhole) {
            text += '*';
            i = end - 1;
        }
    }
    return text;
}

/// Whether a node is below one of these kinds.
bool isWithin(const CallTree& tree, CallTree::Node node, CallKind kind)
{
    for (; node != CallTree::kRoot; node = tree.entries()[node].parent)
        if (tree.entries()[node].kind == kind)
            return true;
    return false;
}

/// The compute kernels at the ends of a call tree, with the ops or the frame around them. In a tree of several processes,
/// those of unknown processes are left out, as they belong to no step of a process.
void addCalls(const CallTree& tree, AlignedBy by, CallTimes& times)
{
    const analysis::KernelFamilies& families = analysis::KernelFamilies::standard();
    const CallKind around = by == AlignedBy::Ops ? CallKind::Op : CallKind::Frame;
    // The root has no kind.
    const bool hasProcesses =
        std::any_of(tree.entries().begin() + 1, tree.entries().end(),
                    [](const CallTree::Entry& entry) { return entry.kind == CallKind::Process; });
    std::unordered_map<std::uint32_t, bool> computes; // by name
    for (CallTree::Node node = CallTree::kRoot + 1; node < tree.entries().size(); ++node) {
        const CallTree::Entry& end = tree.entries()[node];
        if (end.kind != CallKind::Kernel || end.count == 0 ||
            (hasProcesses && !isWithin(tree, node, CallKind::Process)))
            continue;
        const auto [known, isNew] = computes.try_emplace(end.name);
        if (isNew)
            known->second = families.describe(tree.nameOf(node)).family != KernelFamily::Collective;
        if (!known->second)
            continue;
        std::string place;
        for (CallTree::Node at = end.parent; at != CallTree::kRoot; at = tree.entries()[at].parent) {
            if (tree.entries()[at].kind != around)
                continue;
            if (by == AlignedBy::Frames) {
                place = withoutLine(tree.nameOf(at));
                break;
            }
            place = withoutLayers(tree.nameOf(at)) + (place.empty() ? "" : "/" + place);
        }
        times[{.place = std::move(place), .name = tree.nameOf(node)}] += static_cast<double>(end.amount);
    }
}

CallTimes callsBy(AlignedBy by, const AlignedSide& side, const ProcessQuery& topology, StepScope scope)
{
    CallTimes times;
    // Places name no process, so that one tree of several processes adds up theirs.
    for (const RunId run : side.runs)
        addCalls(callTree(side.reader, {.run = run, .topology = topology},
                          {.scope = scope == StepScope::Recording ? CallTreeScope::Recording
                                                                  : CallTreeScope::Steps})
                     .tree,
                 by, times);
    for (auto& [call, ns] : times)
        ns /= static_cast<double>(side.side.steps);
    return times;
}

bool hasPlaces(AlignedBy by, const AlignedSide& side)
{
    return std::ranges::any_of(side.runs, [&](RunId run) {
        const store::EventCounts counts = side.reader.counts(run);
        return (by == AlignedBy::Ops ? counts.ops : counts.frames) > 0;
    });
}

std::vector<SequencedKernel> sequenceOf(const AlignedSide& side, const ProcessQuery& topology,
                                        StepScope scope)
{
    std::vector<SequencedKernel> sequence;
    std::unordered_map<StringId, std::string> places;
    for (const PlacedKernel& kernel :
         kernelSequence(side.reader, side.runs, topology, scope, side.side.steps)) {
        const auto [known, isNew] = places.try_emplace(kernel.path);
        if (isNew && kernel.path)
            known->second = alignedModule(side.reader.text(kernel.path));
        sequence.push_back({side.reader.text(kernel.name), known->second, kernel.time});
    }
    return sequence;
}

/// In a place where A has products, convolutions or attention that B lacks and the other way round, these replace each
/// other.
void joinReplaced(std::vector<AlignedCall>& calls)
{
    using Key = std::pair<std::string, KernelFamily>;
    std::map<Key, std::array<std::vector<std::size_t>, 2>> open; // calls of one side only
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const AlignedCall& call = calls[i];
        const bool isInOrder = call.family == KernelFamily::Matmul ||
                               call.family == KernelFamily::Attention ||
                               call.family == KernelFamily::Convolution;
        if (isInOrder && !call.place.empty() && call.a.has_value() != call.b.has_value())
            open[{call.place, call.family}][call.a ? 0 : 1].push_back(i);
    }
    std::vector<bool> joined(calls.size(), false);
    for (const auto& [key, sides] : open) {
        if (sides[0].empty() || sides[1].empty())
            continue;
        AlignedCall call{.place = key.first, .family = key.second, .isReplaced = true};
        for (std::size_t side = 0; side < sides.size(); ++side) {
            std::string names;
            for (const std::size_t i : sides[side]) {
                names += (names.empty() ? "" : " + ") + calls[i].shortName;
                std::optional<double>& time = side == 0 ? call.a : call.b;
                time = time.value_or(0) + (side == 0 ? calls[i].a : calls[i].b).value_or(0);
                joined[i] = true;
            }
            call.shortName += (side == 0 ? "" : " -> ") + names;
        }
        call.name = call.shortName;
        calls.push_back(std::move(call));
        joined.push_back(false);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < calls.size(); ++i)
        if (!joined[i]) {
            if (kept != i)
                calls[kept] = std::move(calls[i]);
            ++kept;
        }
    calls.resize(kept);
}

/// Aligns steps on a CPU: ops by name alone.
CallTimes byName(const CallTimes& calls)
{
    CallTimes times;
    for (const auto& [call, ns] : calls)
        times[{.place = call.name, .name = call.name, .kind = call.kind}] += ns;
    return times;
}

} // namespace

std::string_view wordOf(AlignedBy by)
{
    constexpr std::array<std::string_view, 4> kWords{"modules", "ops", "frames", "kernels"};
    return kWords[static_cast<std::size_t>(by)];
}

std::string_view explain(AlignedBy by)
{
    constexpr std::array<std::string_view, 4> kWords{
        "by the paths of modules and NVTX ranges", "by the ops that launch them",
        "by the Python functions that launch them", "by the order of the kernels in a step"};
    return kWords[static_cast<std::size_t>(by)];
}

StepAlignment alignByPlace(AlignedBy by, const CallTimes& a, const CallTimes& b, bool onGpu)
{
    StepAlignment alignment{.by = by, .aligned = sharedTime(a, b)};
    std::map<std::pair<std::string, std::string>, AlignedCall> calls; // by place and short name
    const auto add = [&](const CallTimes& times, std::optional<double> AlignedCall::*side) {
        for (const auto& [placed, ns] : times) {
            AlignedCall call{.place = placed.place, .name = placed.name, .shortName = placed.name};
            if (onGpu)
                describeCall(call, placed.kind);
            const auto known =
                calls.try_emplace({call.place, onGpu ? call.shortName : call.name}, std::move(call)).first;
            known->second.*side = (known->second.*side).value_or(0) + ns;
        }
    };
    add(a, &AlignedCall::a);
    add(b, &AlignedCall::b);
    for (auto& [key, call] : calls)
        alignment.calls.push_back(std::move(call));
    if (onGpu)
        joinReplaced(alignment.calls);
    return alignment;
}

StepAlignment alignByKernels(std::span<const SequencedKernel> a, std::span<const SequencedKernel> b)
{
    return KernelPairing(a, b).pair();
}

StepAlignment alignSteps(const AlignedSide& a, const AlignedSide& b, const ProcessQuery& topology,
                         StepScope scope)
{
    StepAlignment best = alignByPlace(AlignedBy::Modules, a.side.calls, b.side.calls, a.side.onGpu);
    const auto consider = [&best](StepAlignment other) {
        if (other.aligned > best.aligned)
            best = std::move(other);
    };
    if (!a.side.onGpu) {
        if (best.aligned < kEnough)
            consider(alignByPlace(AlignedBy::Ops, byName(a.side.calls), byName(b.side.calls), false));
        if (best.by == AlignedBy::Ops)
            for (AlignedCall& call : best.calls)
                call.place.clear();
        return best;
    }
    for (const AlignedBy by : {AlignedBy::Ops, AlignedBy::Frames})
        if (best.aligned < kEnough && hasPlaces(by, a) && hasPlaces(by, b))
            consider(
                alignByPlace(by, callsBy(by, a, topology, scope), callsBy(by, b, topology, scope), true));
    if (best.aligned < kEnough)
        consider(alignByKernels(sequenceOf(a, topology, scope), sequenceOf(b, topology, scope)));
    return best;
}

} // namespace tilescope::query
