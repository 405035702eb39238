#include "core/query/compare/step_change.h"

#include "core/base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace tilescope::query {

namespace {

using analysis::KernelFamily;

ChangePart partOf(AlignedCall&& call)
{
    ChangePart part{.module = std::move(call.place),
                    .name = std::move(call.name),
                    .shortName = std::move(call.shortName),
                    .family = call.family,
                    .a = call.a,
                    .b = call.b,
                    .delta = std::llround(call.b.value_or(0) - call.a.value_or(0))};
    part.kind = call.isReplaced   ? ChangeKind::Replaced
                : !call.a         ? ChangeKind::New
                : !call.b         ? ChangeKind::Gone
                : part.delta >= 0 ? ChangeKind::Slower
                                  : ChangeKind::Faster;
    return part;
}

void addExposed(std::vector<ChangePart>& parts, ChangeKind kind, const CallTimes& a, const CallTimes& b,
                bool onGpu)
{
    for (AlignedCall& call : alignByPlace(AlignedBy::Modules, a, b, onGpu).calls) {
        // Exposed time of a collective or copy that one side hides completely is 0 there, not missing.
        ChangePart part = partOf(std::move(call));
        part.kind = kind;
        parts.push_back(std::move(part));
    }
}

void addSingle(std::vector<ChangePart>& parts, ChangeKind kind, double a, double b)
{
    parts.push_back({.kind = kind, .a = a, .b = b, .delta = std::llround(b - a)});
}

/// Adds what rounding to nanoseconds left, one at a time, to the parts that were rounded furthest the other way. A part
/// that neither side has stays 0.
void addRounding(std::vector<ChangePart>& parts, std::int64_t rest)
{
    std::vector<ChangePart*> order;
    for (ChangePart& part : parts)
        if (part.a.value_or(0) != 0 || part.b.value_or(0) != 0)
            order.push_back(&part);
    if (order.empty())
        return;
    const auto lost = [](const ChangePart* part) {
        return part->b.value_or(0) - part->a.value_or(0) - static_cast<double>(part->delta);
    };
    const std::int64_t one = rest < 0 ? -1 : 1;
    std::ranges::stable_sort(order, [&](const ChangePart* x, const ChangePart* y) {
        return static_cast<double>(one) * lost(x) > static_cast<double>(one) * lost(y);
    });
    for (std::size_t i = 0; rest != 0; ++i, rest -= one)
        order[i % order.size()]->delta += one;
}

/// Largest first, without those that are 0.
void sortParts(std::vector<ChangePart>& parts)
{
    std::erase_if(parts, [](const ChangePart& part) { return part.delta == 0; });
    std::ranges::stable_sort(parts, [](const ChangePart& x, const ChangePart& y) {
        return std::abs(x.delta) > std::abs(y.delta);
    });
}

std::map<std::string, std::int64_t> allocatedMore(const StepSide& a, const StepSide& b)
{
    std::map<std::string, std::int64_t> more;
    if (a.allocated.empty() || b.allocated.empty())
        return more;
    for (const auto& [module, bytes] : b.allocated)
        more[module] += std::llround(bytes);
    for (const auto& [module, bytes] : a.allocated)
        more[module] -= std::llround(bytes);
    return more;
}

std::string signedText(double value, quantity::Unit unit)
{
    return (value < 0 ? "-" : "+") + quantity::withUnit(std::abs(value), unit);
}

std::string signedTime(double ns)
{
    return signedText(ns, quantity::Unit::Nanoseconds);
}

std::string phrase(const ChangePart& part)
{
    const std::string time = signedTime(static_cast<double>(part.delta));
    switch (part.kind) {
    case ChangeKind::Gone:
        return part.shortName + " is gone (" + time + ")";
    case ChangeKind::New:
        return part.shortName + " is new (" + time + ")";
    case ChangeKind::Replaced:
        return part.shortName + " (" + time + ")";
    case ChangeKind::Communication:
        return part.shortName + " is exposed (" + time + ")";
    case ChangeKind::Copying:
        return part.shortName + " is exposed (" + time + ")";
    default:
        return part.shortName + " is " + std::string(wordOf(part.kind)) + " (" + time + ")";
    }
}

/// A part that no module has.
std::string_view placelessWords(const ChangePart& part)
{
    switch (part.kind) {
    case ChangeKind::Launching:
        return "GPU idle while the host launches";
    case ChangeKind::Synchronizing:
        return "GPU idle while the host waits for it";
    case ChangeKind::Tracing:
        return "GPU idle during work of the tracer";
    case ChangeKind::Unexplained:
        return "GPU idle for no recorded reason";
    case ChangeKind::Overlap:
        return part.delta < 0 ? "more GPU work overlaps" : "less GPU work overlaps";
    case ChangeKind::OutsideOps:
        return "outside of ops";
    case ChangeKind::Untraced:
        return "timed steps, beyond the traced ones";
    default:
        return wordOf(part.kind);
    }
}

/// The change of attention in a module: fused kernels write no scores, naive kernels do.
std::string attentionPhrase(const std::vector<const ChangePart*>& parts, std::optional<std::int64_t> bytes)
{
    const auto has = [&parts](ChangeKind kind, KernelFamily family) {
        return std::ranges::any_of(
            parts, [&](const ChangePart* part) { return part->kind == kind && part->family == family; });
    };
    const std::string memory =
        bytes && *bytes != 0 ? " (" + signedText(static_cast<double>(*bytes), quantity::Unit::Bytes) + ")"
                             : std::string();
    if (has(ChangeKind::Gone, KernelFamily::Softmax) && has(ChangeKind::New, KernelFamily::Attention))
        return "scores are no longer written to memory" + (bytes.value_or(0) < 0 ? memory : "") +
               ", softmax is fused";
    if (has(ChangeKind::New, KernelFamily::Softmax) && has(ChangeKind::Gone, KernelFamily::Attention))
        return "scores are written to memory" + (bytes.value_or(0) > 0 ? memory : "") +
               ", softmax is no longer fused";
    return {};
}

/// One line about the parts of a module, the largest first.
std::string causeOf(const std::string& module, std::int64_t delta,
                    const std::vector<const ChangePart*>& parts, std::optional<std::int64_t> bytes)
{
    std::vector<std::string> phrases;
    if (std::string attention = attentionPhrase(parts, bytes); !attention.empty())
        phrases.push_back(std::move(attention));
    else if (bytes && *bytes != 0)
        phrases.push_back(
            fmt::format("allocates {} {} a step",
                        quantity::withUnit(std::abs(static_cast<double>(*bytes)), quantity::Unit::Bytes),
                        *bytes < 0 ? "less" : "more"));
    constexpr std::size_t kMostCalls = 3;
    for (const ChangePart* part : parts)
        if (phrases.size() < kMostCalls + 1)
            phrases.push_back(phrase(*part));
    std::string line = fmt::format("{} {}:", module.empty() ? "outside of modules" : module,
                                   signedTime(static_cast<double>(delta)));
    for (std::size_t i = 0; i < phrases.size(); ++i)
        line += (i == 0 ? " " : ", ") + phrases[i];
    return line;
}

std::optional<StepChange> changeBetween(const AlignedSide& a, const AlignedSide& b,
                                        std::optional<std::int64_t> deltaNs, const ProcessQuery& topology,
                                        StepScope scope)
{
    const StepSide& left = a.side;
    const StepSide& right = b.side;
    if (left.steps == 0 || right.steps == 0 || left.onGpu != right.onGpu)
        return {};
    StepAlignment alignment = alignSteps(a, b, topology, scope);
    double overlapA = left.compute;
    double overlapB = right.compute;
    for (const AlignedCall& call : alignment.calls) {
        overlapA -= call.a.value_or(0);
        overlapB -= call.b.value_or(0);
    }
    StepChange change{.onGpu = left.onGpu,
                      .isWhole = scope == StepScope::Recording,
                      .stepsA = left.steps,
                      .stepsB = right.steps,
                      .wallA = left.wall,
                      .wallB = right.wall,
                      .delta = deltaNs.value_or(std::llround(right.wall - left.wall)),
                      .isOfTimedSteps = deltaNs.has_value(),
                      .alignedBy = alignment.by,
                      .aligned = alignment.aligned,
                      .process = left.process,
                      .allocated = allocatedMore(left, right)};
    for (AlignedCall& call : alignment.calls)
        change.parts.push_back(partOf(std::move(call)));
    addExposed(change.parts, ChangeKind::Communication, left.communication, right.communication,
               change.onGpu);
    if (change.onGpu) {
        addExposed(change.parts, ChangeKind::Copying, left.copies, right.copies, true);
        addSingle(change.parts, ChangeKind::Overlap, overlapA, overlapB);
        addSingle(change.parts, ChangeKind::Launching, left.idle.launching, right.idle.launching);
        addSingle(change.parts, ChangeKind::Synchronizing, left.idle.synchronizing, right.idle.synchronizing);
        addSingle(change.parts, ChangeKind::Tracing, left.idle.tracing, right.idle.tracing);
        addSingle(change.parts, ChangeKind::Unexplained, left.idle.unexplained, right.idle.unexplained);
    } else {
        addSingle(change.parts, ChangeKind::OutsideOps, left.outsideOps, right.outsideOps);
    }
    std::int64_t rest = change.delta;
    for (const ChangePart& part : change.parts)
        rest -= part.delta;
    if (deltaNs)
        change.parts.push_back({.kind = ChangeKind::Untraced, .delta = rest});
    else
        addRounding(change.parts, rest);
    sortParts(change.parts);
    return change;
}

} // namespace

std::string_view wordOf(ChangeKind kind)
{
    constexpr std::array<std::string_view, 14> kWords{
        "slower",       "faster",  "replaced",  "gone",          "new",     "exposed communication",
        "exposed copy", "overlap", "launching", "synchronizing", "tracing", "unexplained",
        "outside ops",  "untraced"};
    return kWords[static_cast<std::size_t>(kind)];
}

std::optional<StepChange> stepChange(const store::RunReader& a, std::span<const RunId> runsA,
                                     const store::RunReader& b, std::span<const RunId> runsB,
                                     std::optional<std::int64_t> deltaNs, const ProcessQuery& topology)
{
    const StepSide left = stepSide(a, runsA, topology, StepScope::Traced);
    const StepSide right = stepSide(b, runsB, topology, StepScope::Traced);
    return stepChange({a, runsA, left}, {b, runsB, right}, deltaNs, topology);
}

std::optional<StepChange> stepChange(const AlignedSide& a, const AlignedSide& b,
                                     std::optional<std::int64_t> deltaNs, const ProcessQuery& topology)
{
    if (!a.side.onGpu || !b.side.onGpu || deltaNs || (a.side.steps > 0 && b.side.steps > 0))
        return changeBetween(a, b, deltaNs, topology, StepScope::Traced);
    const StepSide left = stepSide(a.reader, a.runs, topology, StepScope::Recording);
    const StepSide right = stepSide(b.reader, b.runs, topology, StepScope::Recording);
    return changeBetween({a.reader, a.runs, left}, {b.reader, b.runs, right}, deltaNs, topology,
                         StepScope::Recording);
}

std::string alignmentSentence(const StepChange& change)
{
    return fmt::format("{} of the {} time of both is aligned, {}.",
                       quantity::withUnit(100 * change.aligned, quantity::Unit::Percent),
                       change.onGpu ? "compute kernel" : "op",
                       !change.onGpu && change.alignedBy == AlignedBy::Ops ? "by the names of ops"
                                                                           : explain(change.alignedBy));
}

std::vector<std::string> causesOf(const StepChange& change, std::size_t most)
{
    struct Module {
        std::int64_t delta = 0;
        std::vector<const ChangePart*> parts = {}; ///< the largest first
    };
    std::map<std::string, Module> modules;
    for (const ChangePart& part : change.parts) {
        if (part.name.empty())
            continue;
        Module& module = modules[part.module];
        module.delta += part.delta;
        module.parts.push_back(&part);
    }
    std::vector<std::pair<std::int64_t, std::string>>
        lines; // with their change; of equal ones modules come first
    for (const auto& [name, module] : modules) {
        if (module.delta == 0)
            continue;
        const auto bytes = change.allocated.find(name);
        const bool knowsBytes = bytes != change.allocated.end() && change.alignedBy == AlignedBy::Modules;
        lines.emplace_back(module.delta, causeOf(name, module.delta, module.parts,
                                                 knowsBytes ? std::optional(bytes->second) : std::nullopt));
    }
    for (const ChangePart& part : change.parts)
        if (part.name.empty())
            lines.emplace_back(part.delta, std::string(placelessWords(part)) + " " +
                                               signedTime(static_cast<double>(part.delta)));
    std::ranges::stable_sort(
        lines, [](const auto& x, const auto& y) { return std::abs(x.first) > std::abs(y.first); });
    std::vector<std::string> causes;
    for (auto& [delta, line] : lines)
        if (causes.size() < most)
            causes.push_back(std::move(line));
    return causes;
}

} // namespace tilescope::query
