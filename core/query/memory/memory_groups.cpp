#include "core/query/memory/memory_groups.h"

#include "core/analysis/memory/library_frame.h"
#include "core/analysis/time/path_glob.h"
#include "core/model/text.h"
#include "core/query/memory/memory_difference.h"
#include "core/query/runs/grouping.h"

#include <algorithm>
#include <unordered_map>

namespace tilescope::query {

namespace {

/// Stacking order: persistent groups below changing ones, so that their edges are level.
constexpr std::array kStackOrder{MemoryCategory::Parameters,  MemoryCategory::Optimizer,
                                 MemoryCategory::Inputs,      MemoryCategory::Workspace,
                                 MemoryCategory::Gradients,   MemoryCategory::Activations,
                                 MemoryCategory::Temporaries, MemoryCategory::Unattributed};
constexpr std::size_t kMostGroups = 24; // more colours are hard to distinguish
constexpr std::string_view kOthers = "other modules";
constexpr std::string_view kOtherOps = "other ops";

/// The position of the number in a component like layers.3; npos if it has none.
std::size_t dotOfNumber(std::string_view component)
{
    const std::size_t dot = component.rfind('.');
    const bool isNumbered = dot != std::string_view::npos && dot + 1 < component.size() &&
                            component.find_first_not_of("0123456789", dot + 1) == std::string_view::npos;
    return isNumbered ? dot : std::string_view::npos;
}

/// attention of layers.3/attention/qkv and of Model/h.0/attention, embedding of embedding and of Model/embedding,
/// lm_head of `lm_head first moment`.
std::string_view kindOfModule(std::string_view module)
{
    // The path after the last numbered component or, without one, after the class of the outermost module.
    std::string_view rest = module;
    std::string_view numbered;
    for (std::string_view left = module; !left.empty();) {
        const std::size_t slash = left.find('/');
        const std::string_view component = left.substr(0, slash);
        left = slash == std::string_view::npos ? std::string_view{} : left.substr(slash + 1);
        const std::size_t dot = dotOfNumber(component);
        if (dot != std::string_view::npos) {
            numbered = component.substr(0, dot);
            rest = left;
        }
    }
    if (rest.empty())
        return numbered;
    if (const std::size_t slash = rest.find('/');
        numbered.empty() && slash != std::string_view::npos && rest.front() >= 'A' && rest.front() <= 'Z')
        rest.remove_prefix(slash + 1);
    return rest.substr(0, rest.find_first_of("/ "));
}

/// File and function of the frame that allocated, in a program with an imported snapshot.
std::string callerOf(std::string_view path)
{
    const std::string_view frame = callerFrame(path);
    if (frame.empty())
        return {};
    const std::size_t line = frame.find(".py:");
    std::string_view file = frame.substr(0, line + 3);
    if (const std::size_t folder = file.rfind(analysis::kFolderSlash); folder != std::string_view::npos)
        file.remove_prefix(folder + analysis::kFolderSlash.size());
    return std::string(file) + ' ' + std::string(frame.substr(frame.find(':', line + 4) + 1));
}

/// Numbers keys in order of first occurrence.
class Names {
public:
    explicit Names(MemoryGroups& groups) : groups_(groups) {}
    std::uint8_t of(std::string_view key)
    {
        const auto found = std::ranges::find(groups_.names, key);
        if (found != groups_.names.end())
            return static_cast<std::uint8_t>(found - groups_.names.begin());
        if (groups_.names.size() >= kMostGroups && key != kOthers && key != kUnattributed)
            return of(kOthers);
        groups_.names.emplace_back(key);
        return static_cast<std::uint8_t>(groups_.names.size() - 1);
    }

private:
    MemoryGroups& groups_;
};

/// The group of each text, so that a path is taken apart once and not for each of its blocks.
template <class KeyOf>
std::vector<std::uint8_t> groupsOfTexts(const MemoryHistory& history, Names& names, KeyOf keyOf,
                                        std::uint32_t MemoryLife::*which)
{
    std::vector<std::uint8_t> groups(history.texts.size(), 0);
    std::vector<bool> known(history.texts.size(), false);
    for (const MemoryLife& block : history.blocks) {
        const std::uint32_t text = block.*which;
        if (text == 0 || known[text])
            continue;
        known[text] = true;
        groups[text] = names.of(keyOf(history.text(text)));
    }
    return groups;
}

void groupByPhase(const MemoryHistory& history, MemoryGroups& groups)
{
    Names names(groups);
    const std::uint8_t older = names.of(kOlderGroup);
    for (const std::string_view phase : {"forward", "loss", "backward", "optimizer"})
        names.of(phase);
    const std::uint8_t none = names.of(kNoPhaseGroup);
    const auto keyOf = [](std::string_view path) {
        const std::string_view phase = analysis::phaseOf(path);
        return phase.empty() ? kNoPhaseGroup : phase;
    };
    const std::vector<std::uint8_t> byPath = groupsOfTexts(history, names, keyOf, &MemoryLife::path);
    for (const MemoryLife& block : history.blocks)
        groups.groupOf.push_back(block.begin == MemoryLife::kBefore ? older
                                 : block.path == 0                  ? none
                                                                    : byPath[block.path]);
}

void groupByModule(const MemoryHistory& history, MemoryGroups& groups)
{
    Names names(groups);
    const std::uint8_t older = names.of(kOlderGroup);
    const bool isStack = history.run.traits().pathsAreStacks;
    const auto keyOfPath = [isStack](std::string_view path) {
        if (std::string caller = isStack ? callerOf(path) : std::string(); !caller.empty())
            return caller;
        const std::string_view module = analysis::moduleOf(path);
        return std::string(module.empty() ? kNoModuleGroup : kindOfModule(module));
    };
    const auto keyOfName = [isStack](std::string_view name) {
        std::string caller = isStack ? callerOf(name) : std::string();
        return caller.empty() ? std::string(kindOfModule(name)) : caller;
    };
    const std::vector<std::uint8_t> byName = groupsOfTexts(history, names, keyOfName, &MemoryLife::name);
    const std::vector<std::uint8_t> byPath = groupsOfTexts(history, names, keyOfPath, &MemoryLife::path);
    const std::uint8_t none = names.of(kNoModuleGroup);
    for (const MemoryLife& block : history.blocks)
        groups.groupOf.push_back(block.name != 0                      ? byName[block.name]
                                 : block.begin == MemoryLife::kBefore ? older
                                 : block.path == 0                    ? none
                                                                      : byPath[block.path]);
}

// The ops that allocated most have groups of their own.
void groupByOp(const MemoryHistory& history, MemoryGroups& groups, const MemoryOps* ops)
{
    const auto keyOf = [&](const MemoryLife& block) {
        const std::string_view op = opOf(history, block, ops);
        return block.isOlder() ? kOlderGroup : op.empty() ? kNoOpGroup : op;
    };
    std::unordered_map<std::string_view, std::int64_t> bytes;
    for (const MemoryLife& block : history.blocks)
        bytes[keyOf(block)] += block.bytes;
    std::vector<std::string_view> order;
    for (const auto& [op, sum] : bytes)
        if (op != kOlderGroup)
            order.push_back(op);
    std::ranges::sort(order, [&](std::string_view a, std::string_view b) {
        return std::pair(-bytes[a], a) < std::pair(-bytes[b], b);
    });
    constexpr std::size_t kMostOps = kMostGroups - 3; // besides older blocks, the others and the rest
    if (order.size() > kMostOps)
        order.resize(kMostOps);
    Names names(groups);
    names.of(kOlderGroup);
    for (const std::string_view op : order)
        names.of(op);
    for (const MemoryLife& block : history.blocks) {
        const std::string_view key = keyOf(block);
        const bool isOwn = key == kOlderGroup || std::ranges::find(order, key) != order.end();
        groups.groupOf.push_back(names.of(isOwn ? key : kOtherOps));
    }
}

/// Updates the bytes of each group, and the remainder of the allocator's count, at each change.
void drawCurves(const MemoryHistory& history, MemoryGroups& groups)
{
    const StepCurve& count = history.allocated;
    const std::vector<std::uint32_t> ends = history.byEnd();
    std::vector<StepCurveDrawing> drawings(groups.names.size());
    std::vector<std::int64_t> bytes(groups.names.size(), 0);
    std::size_t begun = 0;
    std::size_t ended = 0;
    std::size_t counted = 0;
    std::int64_t known = 0;
    const auto nextBegin = [&] {
        return begun == history.blocks.size() ? MemoryLife::kAfter
                                              : std::max(history.blocks[begun].begin, count.time(0));
    };
    const auto nextEnd = [&] {
        return ended == ends.size() ? MemoryLife::kAfter : history.blocks[ends[ended]].end;
    };
    const auto nextCount = [&] { return counted == count.size() ? MemoryLife::kAfter : count.time(counted); };
    const auto change = [&](std::uint32_t block, std::int64_t sign) {
        known += sign * history.blocks[block].bytes;
        bytes[groups.groupOf[block]] += sign * history.blocks[block].bytes;
    };
    for (;;) {
        const std::int64_t time = std::min({nextBegin(), nextEnd(), nextCount()});
        if (time == MemoryLife::kAfter)
            break;
        for (; nextEnd() == time; ++ended)
            change(ends[ended], -1);
        for (; nextBegin() == time; ++begun)
            change(static_cast<std::uint32_t>(begun), 1);
        while (nextCount() == time)
            ++counted;
        const std::int64_t unknown = (counted == 0 ? 0 : count.value(counted - 1)) - known;
        for (std::size_t group = 0; group < bytes.size(); ++group)
            if (const std::int64_t now = bytes[group] + (group == groups.rest ? unknown : 0);
                now != 0 || !drawings[group].empty())
                drawings[group].add(time, now);
    }
    for (StepCurveDrawing& drawing : drawings)
        groups.curves.push_back(std::make_shared<const StepCurve>(drawing.curve()));
}

} // namespace

std::int64_t MemoryGroups::at(std::size_t group, std::int64_t time) const
{
    const StepCurve& curve = *curves[group];
    return curve.empty() || time < curve.time(0) ? 0 : curve.at(time);
}

std::string_view callerFrame(std::string_view path)
{
    while (!path.empty()) {
        const std::size_t cut = path.rfind('/');
        const std::string_view frame = cut == std::string_view::npos ? path : path.substr(cut + 1);
        const std::size_t line = frame.find(".py:");
        const std::size_t name = line == std::string_view::npos ? line : frame.find(':', line + 4);
        if (name != std::string_view::npos &&
            !analysis::isLibraryFrame(frame.substr(name + 1),
                                      analysis::withSlashes(frame.substr(0, line + 3))))
            return frame;
        path = cut == std::string_view::npos ? std::string_view{} : path.substr(0, cut);
    }
    return {};
}

std::string_view moduleOf(const MemoryHistory& history, const MemoryLife& block)
{
    return block.name != 0 ? history.text(block.name) : analysis::moduleOf(history.text(block.path));
}

std::shared_ptr<const MemoryGroups> memoryGroups(const std::shared_ptr<const MemoryHistory>& history,
                                                 MemoryGrouping grouping,
                                                 const std::function<bool()>& cancelled, const MemoryOps* ops)
{
    auto groups = std::make_shared<MemoryGroups>();
    groups->grouping = grouping;
    if (grouping == MemoryGrouping::Category) {
        std::array<std::uint8_t, kMemoryCategories> places{};
        for (const MemoryCategory category : kStackOrder) {
            const auto index = static_cast<std::size_t>(category);
            places[index] = static_cast<std::uint8_t>(groups->names.size());
            groups->names.emplace_back(wordOf(category));
            groups->curves.emplace_back(history, &history->curves[index]);
        }
        groups->rest = places[static_cast<std::size_t>(MemoryCategory::Unattributed)];
        groups->groupOf.reserve(history->blocks.size());
        for (const MemoryLife& block : history->blocks)
            groups->groupOf.push_back(places[static_cast<std::size_t>(block.category)]);
        return groups;
    }
    if (grouping == MemoryGrouping::Phase)
        groupByPhase(*history, *groups);
    else if (grouping == MemoryGrouping::Module)
        groupByModule(*history, *groups);
    else
        groupByOp(*history, *groups, ops);
    groups->rest = Names(*groups).of(kUnattributed);
    if (cancelled && cancelled())
        return nullptr;
    if (!history->empty())
        drawCurves(*history, *groups);
    return groups;
}

MemoryGrouping defaultGrouping(const MemoryHistory& history)
{
    // A snapshot has no categories, only stacks.
    if (history.run.traits().pathsAreStacks)
        return MemoryGrouping::Module;
    std::size_t ofPhases = 0;
    for (const MemoryLife& block : history.blocks) {
        if (block.category != MemoryCategory::Unattributed)
            return MemoryGrouping::Category;
        ofPhases += block.path != 0 && !analysis::phaseOf(history.text(block.path)).empty() ? 1 : 0;
    }
    return history.blocks.empty()                 ? MemoryGrouping::Category
           : 2 * ofPhases > history.blocks.size() ? MemoryGrouping::Phase
                                                  : MemoryGrouping::Op;
}

void memoryStacks(const MemoryHistory& history, const MemoryGroups& groups, double from, double perColumn,
                  std::span<MemoryStack> out, std::span<std::int64_t> bytes)
{
    if (history.empty())
        return;
    const std::size_t count = groups.names.size();
    for (std::size_t column = 0; column < out.size(); ++column) {
        const double start = from + perColumn * static_cast<double>(column);
        MemoryStack& to = out[column];
        to.time = history.allocated.highest(static_cast<std::int64_t>(start),
                                            static_cast<std::int64_t>(start + perColumn));
        to.allocated = history.allocated.at(to.time);
        to.reserved = history.reserved.at(to.time);
        for (std::size_t group = 0; group < count; ++group)
            bytes[column * count + group] = groups.at(group, to.time);
    }
}

} // namespace tilescope::query
