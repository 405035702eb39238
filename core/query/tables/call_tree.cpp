#include "core/query/tables/call_tree.h"

#include "core/analysis/work/op_totals.h"
#include "core/query/runs/in_order.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

namespace tilescope::query {

namespace {

constexpr int kHalf = 32;
constexpr int kKindBits = 3;

std::uint64_t pairOf(std::uint32_t high, std::uint32_t low)
{
    return std::uint64_t{high} << kHalf | low;
}

CallKind kindOf(DeviceEventKind kind)
{
    switch (kind) {
    case DeviceEventKind::Memcpy:
        return CallKind::Copy;
    case DeviceEventKind::Memset:
        return CallKind::Memset;
    case DeviceEventKind::Kernel:
        break;
    }
    return CallKind::Kernel;
}

/// Hands a run's records to `take` by start, those that contain others first.
template <class Record, class Each, class Take> void eachByStart(const Each& each, const Take& take)
{
    const auto outerFirst = [](const Record& record) {
        return std::pair(record.start, -record.end.time_since_epoch());
    };
    InOrder<Record, decltype(outerFirst)> inOrder(outerFirst);
    const auto takeAll = [&take](std::span<const Record> records) {
        for (const Record& record : records)
            take(record);
    };
    each([&](const Record& record) {
        inOrder.add(record, takeAll);
        return true;
    });
    inOrder.finish(takeAll);
}

class Builder {
public:
    Builder(const store::RunReader& reader, const EventQuery& query, CallTreeScope scope)
        : reader_(reader), textOf_(textsOf(reader)), selection_(query.rangeGlob, textOf_)
    {
        table_.run = chooseRun(reader, query.run);
        table_.whole = scope == CallTreeScope::Recording || table_.run.coversRecording();
        parties_.emplace(reader, table_.run.run, query.parties);
    }

    CallTreeTable build()
    {
        const store::EventCounts counts = reader_.counts(table_.run.run);
        table_.onGpu = counts.deviceEvents > 0;
        table_.events = table_.onGpu ? counts.deviceEvents : counts.ops;
        readOps();
        if (table_.onGpu)
            addGpuTime(counts.frames > 0);
        else
            addOpTime(counts.frames > 0);
        return std::move(table_);
    }

private:
    struct OpFacts {
        StringId name = {};
        OpId parent = {};
    };
    struct Call {
        Timestamp time{};
        ThreadId thread = {};
        std::uint32_t number = 0; ///< place of the activity in the order of reading
    };
    struct OpenFrame {
        Timestamp end{};
        CallTree::Node node = CallTree::kRoot;
    };

    void readOps()
    {
        reader_.eachOp({.run = table_.run.run}, [this](const Op& op) {
            constexpr std::uint32_t kMostOps = 1U << 28;
            if (!op.id || op.id.value >= kMostOps)
                return true;
            if (op.id.value >= ops_.size())
                ops_.resize(std::size_t{op.id.value} + 1);
            ops_[op.id.value] = {op.name, op.parent};
            return true;
        });
    }

    void addGpuTime(bool hasFrames)
    {
        const auto each = [this](const auto& take) {
            reader_.eachDeviceEvent({.run = table_.run.run}, take);
        };
        const auto callOf = [](const DeviceEvent& event) {
            return event.launched == Timestamp{} ? std::pair(event.launched, ThreadId{})
                                                 : std::pair(event.launched, event.launchThread);
        };
        if (hasFrames)
            findFrames(each, callOf);
        std::size_t number = 0;
        each([&](const DeviceEvent& event) {
            const CallTree::Node from = startOf(number++, event);
            if (isSelected(event))
                table_.tree.add(table_.tree.child(opNode(pathNode(from, event.path), event.op),
                                                  kindOf(event.kind), nameOf(event.name)),
                                std::max<std::int64_t>((event.end - event.start).count(), 0));
            return true;
        });
    }

    void addOpTime(bool hasFrames)
    {
        const auto each = [this](const auto& take) {
            eachByStart<Op>([this](const auto& read) { reader_.eachOp({.run = table_.run.run}, read); },
                            take);
        };
        if (hasFrames)
            findFrames(each, [](const Op& op) { return std::pair(op.start, op.thread); });
        std::size_t number = 0;
        analysis::OpTotals sums;
        each([&](const Op& op) {
            const CallTree::Node from = startOf(number++, op);
            std::optional<std::uint32_t> node;
            if (isSelected(op))
                node = opNode(pathNode(from, op.path), op.id);
            sums.add(op, node);
            return true;
        });
        for (const analysis::OpTotal& total : sums.finish())
            table_.tree.add(total.group, total.self.count(), total.instances);
    }

    bool isSelected(const DeviceEvent& event)
    {
        return isInScope(event.step) && parties_->has(event) && selection_.has(event.path);
    }
    bool isSelected(const Op& op)
    {
        return isInScope(op.step) && parties_->has(op.thread) && selection_.has(op.path);
    }
    bool isInScope(std::int32_t step) const { return table_.whole || step != kNoStep; }

    ProcessIndex processOf(const DeviceEvent& event) const
    {
        const ProcessIndex process = parties_->parties().of(event.device, event.stream);
        return process ? process : parties_->parties().of(event.launchThread);
    }
    ProcessIndex processOf(const Op& op) const { return parties_->parties().of(op.thread); }

    /// The stack around an activity: process and frames.
    template <class Event> CallTree::Node startOf(std::size_t number, const Event& event)
    {
        return number < frames_.size() ? frames_[number] : processNode(processOf(event));
    }

    CallTree::Node processNode(ProcessIndex process)
    {
        if (!parties_->parties().hasSeveral() || !process)
            return CallTree::kRoot;
        return table_.tree.child(CallTree::kRoot, CallKind::Process, parties_->parties().titleOf(process));
    }

    /// Finds the innermost frame that was open when each activity was called.
    template <class Each, class CallOf> void findFrames(const Each& each, const CallOf& callOf)
    {
        std::vector<Call> calls;
        each([&](const auto& event) {
            const auto [time, thread] = callOf(event);
            if (thread)
                calls.push_back({time, thread, static_cast<std::uint32_t>(frames_.size())});
            frames_.push_back(processNode(processOf(event)));
            return true;
        });
        std::ranges::stable_sort(calls, {}, &Call::time);
        std::unordered_map<ThreadId, std::vector<OpenFrame>> open;
        auto call = calls.begin();
        const auto place = [&](Timestamp before) {
            for (; call != calls.end() && call->time < before; ++call) {
                std::vector<OpenFrame>& stack = open[call->thread];
                close(stack, call->time);
                if (!stack.empty())
                    frames_[call->number] = stack.back().node;
            }
        };
        eachByStart<Frame>(
            [&](const auto& take) { reader_.eachFrame({.run = table_.run.run}, take); },
            [&](const Frame& frame) {
                place(frame.start);
                std::vector<OpenFrame>& stack = open[frame.thread];
                close(stack, frame.start);
                const CallTree::Node parent =
                    stack.empty() ? processNode(parties_->parties().of(frame.thread)) : stack.back().node;
                stack.push_back({frame.end, table_.tree.child(parent, CallKind::Frame, nameOf(frame.name))});
            });
        place(Timestamp::max());
    }

    static void close(std::vector<OpenFrame>& stack, Timestamp until)
    {
        while (!stack.empty() && stack.back().end <= until)
            stack.pop_back();
    }

    std::uint32_t nameOf(StringId id)
    {
        const auto [known, isNew] = names_.try_emplace(id, 0);
        if (isNew)
            known->second = table_.tree.nameIndex(reader_.text(id));
        return known->second;
    }

    CallTree::Node pathNode(CallTree::Node from, StringId path)
    {
        if (!path)
            return from;
        const auto [known, isNew] = paths_.try_emplace(pairOf(from, path.value), from);
        if (!isNew)
            return known->second;
        const std::string text(reader_.text(path));
        CallTree::Node node = from;
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find('/', begin), text.size());
            if (end > begin)
                node = table_.tree.child(node, CallKind::Module,
                                         std::string_view(text).substr(begin, end - begin));
            begin = end + 1;
        }
        return known->second = node;
    }

    CallTree::Node opNode(CallTree::Node from, OpId op)
    {
        constexpr std::size_t kDeepest = 256; // ops of a damaged file may contain each other
        chain_.clear();
        for (; op && op.value < ops_.size() && chain_.size() < kDeepest; op = ops_[op.value].parent)
            if (ops_[op.value].name)
                chain_.push_back(ops_[op.value].name);
        for (std::size_t i = chain_.size(); i-- > 0;)
            from = table_.tree.child(from, CallKind::Op, nameOf(chain_[i]));
        return from;
    }

    const store::RunReader& reader_;
    const analysis::TextOf textOf_;
    PathSelection selection_;
    std::optional<PartyFilter> parties_;
    CallTreeTable table_;
    std::vector<OpFacts> ops_;           ///< by OpId
    std::vector<CallTree::Node> frames_; ///< by activity; empty without frames
    std::unordered_map<StringId, std::uint32_t> names_;
    std::unordered_map<std::uint64_t, CallTree::Node> paths_;
    std::vector<StringId> chain_;
};

/// The nodes to show: the longest, of equal ones those that stand first, so that a parent is before its children.
std::vector<bool> longest(const std::vector<std::int64_t>& ns, std::size_t most)
{
    std::vector<bool> keep(ns.size(), true);
    if (most == 0 || ns.size() <= most + 1)
        return keep;
    std::vector<CallTree::Node> nodes(ns.size() - 1);
    std::iota(nodes.begin(), nodes.end(), CallTree::kRoot + 1);
    const auto last = nodes.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(nodes.begin(), last, nodes.end(), [&ns](CallTree::Node a, CallTree::Node b) {
        return ns[a] != ns[b] ? ns[a] > ns[b] : a < b;
    });
    std::for_each(last, nodes.end(), [&keep](CallTree::Node node) { keep[node] = false; });
    return keep;
}

} // namespace

std::string_view wordOf(CallKind kind)
{
    constexpr std::array<std::string_view, 7> kWords{"process", "frame", "module", "op",
                                                     "kernel",  "copy",  "memset"};
    return kWords[static_cast<std::size_t>(kind)];
}

std::uint32_t CallTree::nameIndex(std::string_view name)
{
    const auto [text, isNew] =
        nameIndex_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
    if (isNew)
        names_.emplace_back(name);
    return text->second;
}

CallTree::Node CallTree::child(Node parent, CallKind kind, std::string_view name)
{
    return child(parent, kind, nameIndex(name));
}

CallTree::Node CallTree::child(Node parent, CallKind kind, std::uint32_t name)
{
    const auto [node, isNew] =
        children_.try_emplace(pairOf(parent, name << kKindBits | static_cast<std::uint32_t>(kind)),
                              static_cast<Node>(entries_.size()));
    if (isNew)
        entries_.push_back({.parent = parent, .name = name, .kind = kind});
    return node->second;
}

void CallTree::add(Node node, std::int64_t ns, std::int64_t count)
{
    entries_[node].ns += ns;
    entries_[node].count += count;
}

void CallTree::renameAll(const std::function<std::string(const std::string&)>& rename)
{
    for (std::string& name : names_)
        name = rename(name);
    nameIndex_.clear();
}

std::vector<std::uint32_t> CallTree::stackOf(Node node) const
{
    std::vector<std::uint32_t> stack;
    for (; node != kRoot; node = entries_[node].parent)
        stack.push_back(entries_[node].name);
    std::ranges::reverse(stack);
    return stack;
}

CallTree::Sums CallTree::sums() const
{
    Sums sums{.ns = std::vector<std::int64_t>(entries_.size()),
              .count = std::vector<std::int64_t>(entries_.size())};
    for (std::size_t node = entries_.size(); node-- > 0;) {
        sums.ns[node] += entries_[node].ns;
        sums.count[node] += entries_[node].count;
        if (node != kRoot) {
            sums.ns[entries_[node].parent] += sums.ns[node];
            sums.count[entries_[node].parent] += sums.count[node];
        }
    }
    return sums;
}

std::int64_t CallTree::totalNs() const
{
    return std::accumulate(entries_.begin(), entries_.end(), std::int64_t{0},
                           [](std::int64_t sum, const Entry& entry) { return sum + entry.ns; });
}

std::int64_t CallTree::totalCount() const
{
    return std::accumulate(entries_.begin(), entries_.end(), std::int64_t{0},
                           [](std::int64_t sum, const Entry& entry) { return sum + entry.count; });
}

CallTreeTable callTree(const store::RunReader& reader, const EventQuery& query, CallTreeScope scope)
{
    CallTreeTable table;
    reader.atOnce([&] { table = Builder(reader, query, scope).build(); });
    return table;
}

std::optional<DeviceEventKind> deviceKindOf(CallKind kind)
{
    switch (kind) {
    case CallKind::Kernel:
        return DeviceEventKind::Kernel;
    case CallKind::Copy:
        return DeviceEventKind::Memcpy;
    case CallKind::Memset:
        return DeviceEventKind::Memset;
    default:
        return {};
    }
}

CallTree inverted(const CallTree& tree)
{
    CallTree turned;
    for (CallTree::Node node = CallTree::kRoot + 1; node < tree.entries().size(); ++node) {
        const CallTree::Entry& end = tree.entries()[node];
        if (end.count == 0)
            continue;
        CallTree::Node to = CallTree::kRoot;
        for (CallTree::Node at = node; at != CallTree::kRoot; at = tree.entries()[at].parent)
            to = turned.child(to, tree.entries()[at].kind, tree.nameOf(at));
        turned.add(to, end.ns, end.count);
    }
    return turned;
}

std::vector<CallTreeRow> rowsOf(const CallTree& tree, std::size_t most)
{
    const CallTree::Sums sums = tree.sums();
    const std::vector<bool> keep = longest(sums.ns, most);
    std::vector<std::vector<CallTree::Node>> children(tree.entries().size());
    for (CallTree::Node node = CallTree::kRoot + 1; node < tree.entries().size(); ++node)
        if (keep[node])
            children[tree.entries()[node].parent].push_back(node);
    for (std::vector<CallTree::Node>& each : children)
        std::ranges::stable_sort(each, std::greater{},
                                 [&sums](CallTree::Node node) { return sums.ns[node]; });
    std::vector<CallTreeRow> rows;
    struct Place {
        CallTree::Node node;
        std::optional<std::int64_t> parent;
        std::size_t depth;
        std::string path; ///< of the modules around it
    };
    std::vector<Place> todo;
    const auto enter = [&](CallTree::Node node, std::optional<std::int64_t> row, std::size_t depth,
                           const std::string& path) {
        for (auto child = children[node].rbegin(); child != children[node].rend(); ++child)
            todo.push_back({*child, row, depth, path});
    };
    enter(CallTree::kRoot, {}, 0, {});
    while (!todo.empty()) {
        const Place place = std::move(todo.back());
        todo.pop_back();
        const CallTree::Entry& entry = tree.entries()[place.node];
        const auto id = static_cast<std::int64_t>(rows.size());
        const bool isModule = entry.kind == CallKind::Module;
        std::string path = place.path;
        if (isModule)
            path += (path.empty() ? "" : "/") + tree.nameOf(place.node);
        rows.push_back(
            {.id = id,
             .parent = place.parent,
             .name = tree.nameOf(place.node),
             .kind = entry.kind,
             .self = Nanoseconds(entry.ns),
             .total = Nanoseconds(sums.ns[place.node]),
             .count = sums.count[place.node],
             .percent = percentOf(Nanoseconds(sums.ns[place.node]), Nanoseconds(sums.ns[CallTree::kRoot])),
             .path = isModule ? path : std::string(),
             .depth = place.depth});
        enter(place.node, id, place.depth + 1, path);
    }
    return rows;
}

} // namespace tilescope::query
