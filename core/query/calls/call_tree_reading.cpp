#include "core/query/calls/call_tree.h"

#include "core/analysis/work/op_totals.h"
#include "core/analysis/work/timed_work.h"
#include "core/base/error.h"
#include "core/config/schema.h"
#include "core/query/calls/call_tree_filter.h"
#include "core/query/calls/idle_tree.h"
#include "core/query/calls/sample_tree.h"
#include "core/query/runs/in_order.h"
#include "core/query/runs/run_kernels.h"
#include "core/query/runs/run_tables.h"
#include "core/query/runs/selection.h"
#include "core/query/runs/side_reading.h"
#include "core/query/runs/stored_work.h"
#include "core/query/runs/thread_choice.h"
#include "core/query/runs/work_context.h"
#include "core/store/tracks/call_totals.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tilescope::query {

namespace {

std::uint64_t joinedKey(std::uint32_t high, std::uint32_t low)
{
    constexpr int kHalf = 32;
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

/// Passes a run's records to `take` in start order; a record that contains others comes first.
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

class CallTreeReading {
public:
    CallTreeReading(const store::RunReader& reader, const EventQuery& query, const CallTreeOptions& options,
                    const std::function<bool()>& cancelled)
        : reader_(reader), cancelled_(cancelled), textOf_(textsOf(reader)),
          selection_(query.rangeGlob, textOf_)
    {
        table_.run = chooseRun(reader, query.run);
        table_.weight = options.weight;
        table_.span = options.span;
        const bool hasNoSteps = table_.run.traits().isImported;
        table_.whole = options.scope == CallTreeScope::Recording || options.span ||
                       (options.scope == CallTreeScope::Table && hasNoSteps);
        topology_.emplace(reader, table_.run.run, query.topology);
        if (!query.rangeGlob.empty())
            glob_.emplace(query.rangeGlob);
        window_ = windowOf(reader, table_.run.run, options.span);
        if (options.thread)
            findThreads(*options.thread);
        isWhole_ = !options.span && query.topology.empty() && !threads_;
        isOfProcesses_ = !options.span && !query.topology.device && !threads_;
    }

    CallTreeTable build()
    {
        const store::EventCounts counts = reader_.counts(table_.run.run);
        table_.onGpu = counts.deviceEvents > 0 && table_.weight != CallWeight::Host;
        if (table_.weight == CallWeight::Flops || table_.weight == CallWeight::Moved) {
            table_.events = counts.ops;
            addWork();
            return std::move(table_);
        }
        table_.events = table_.weight == CallWeight::Allocated ? counts.allocEvents
                        : table_.onGpu                         ? counts.deviceEvents
                                                               : counts.ops;
        if (addStored(counts)) {
            findFamilies();
            return std::move(table_);
        }
        // While this thread finds the frames around the activities.
        readOps_.emplace(reader_, table_.run, cancelled_,
                         [run = table_.run.run](const store::RunReader& own, const auto& isCancelled) {
                             return factsOfOps(own, run, isCancelled);
                         });
        if (table_.weight == CallWeight::Allocated)
            addAllocations();
        else if (table_.onGpu)
            addGpuTime(counts.frames > 0);
        else
            addOpTime(counts.frames > 0);
        findFamilies();
        return std::move(table_);
    }

private:
    struct OpFacts {
        StringId name = {};
        OpId parent = {};
        std::uint32_t chain = 0; ///< chainOf(); 0 until it is known
    };
    struct Chain {
        std::uint32_t outer = 0;
        StringId name = {};
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

    /// The threads with that number, of the chosen process.
    void findThreads(std::int64_t number)
    {
        threads_.emplace();
        std::string known;
        for (const ThreadChoice& choice : threadChoices(reader_, table_.run.run)) {
            if (!topology_->has(choice.thread))
                continue;
            known += (known.empty() ? "" : ", ") + choice.title;
            if (choice.number == number)
                threads_->insert(choice.thread);
        }
        if (threads_->empty())
            throw Error{.what = "the run has no thread " + std::to_string(number),
                        .where = "--thread",
                        .remedy = known.empty() ? "leave it out" : "its threads are " + known};
    }

    /// From the totals that the file stores; false if there are none, or if they are insufficient.
    bool addStored(const store::EventCounts& counts)
    {
        const bool needsFrames = counts.frames > 0 && table_.weight != CallWeight::Allocated;
        if (needsFrames || !(isWhole_ || (isOfProcesses_ && knowsProcesses())))
            return false;
        const std::optional<store::CallTotals> totals = reader_.callTotals(table_.run.run);
        if (!totals)
            return false;
        std::vector<std::uint32_t> chains;
        for (const store::OpCallTotal& op : totals->ops)
            chains.push_back(innerChain(op.caller == store::kNoOpCall ? 0 : chains[op.caller], op.name));
        const ProcessIndex asked = topology_->topology().hasSeveral() ? topology_->process() : ProcessIndex{};
        const auto isCounted = [&](const auto& total) {
            return isInScope(total.isTraced) && selection_.has(total.path) &&
                   (!asked || total.process == asked);
        };
        const auto nodeOf = [&](const auto& total, CallKind place) {
            return chainNode(pathNode(processNode(total.process), total.path, place),
                             total.op == store::kNoOpCall ? 0 : chains[total.op]);
        };
        if (table_.weight == CallWeight::Allocated) {
            for (const store::AllocationTotal& total : totals->allocations)
                if (isCounted(total))
                    addBlocks(nodeOf(total, placeOfBlocks()), total.category, total.bytes, total.blocks);
        } else if (table_.onGpu) {
            for (const store::ActivityTotal& total : totals->activities)
                if (isCounted(total))
                    table_.tree.add(table_.tree.child(nodeOf(total, CallKind::Module), kindOf(total.kind),
                                                      nameOf(total.name)),
                                    total.total, total.instances);
        } else {
            for (std::size_t i = 0; i < chains.size(); ++i)
                if (const store::OpCallTotal& total = totals->ops[i]; isCounted(total))
                    table_.tree.add(chainNode(pathNode(processNode(total.process), total.path), chains[i]),
                                    total.self, total.calls);
        }
        return true;
    }

    /// Whether the totals say of which process each activity or op is. Memory belongs to a device, which several may use.
    bool knowsProcesses() const
    {
        return table_.weight != CallWeight::Allocated &&
               std::ranges::all_of(topology_->topology().topology().streams,
                                   [](const TracedStream& stream) { return bool(stream.process); });
    }

    /// Of the kernels at the ends of stacks whose names say none.
    void findFamilies()
    {
        RunKernels kernels(reader_, table_.run.run);
        std::unordered_set<std::uint32_t> names;
        for (const CallTree::Entry& entry : table_.tree.entries())
            if (entry.kind == CallKind::Kernel && names.insert(entry.name).second)
                kernels.describe(table_.tree.names()[entry.name], DeviceEventKind::Kernel);
        table_.byLaunch = kernels.takeByLaunch();
    }

    static std::vector<OpFacts> factsOfOps(const store::RunReader& reader, RunId run,
                                           const std::function<bool()>& cancelled)
    {
        std::vector<OpFacts> ops;
        reader.eachOp({.run = run}, [&](const Op& op) {
            constexpr std::uint32_t kMostOps = 1U << 28;
            if (op.id && op.id.value < kMostOps) {
                if (op.id.value >= ops.size())
                    ops.resize(std::size_t{op.id.value} + 1);
                ops[op.id.value] = {.name = op.name, .parent = op.parent};
            }
            return !cancelled();
        });
        return ops;
    }

    void addGpuTime(bool hasFrames)
    {
        const auto each = [this](const auto& take) { reader_.eachDeviceEvent(window_, take); };
        const auto callOf = [](const DeviceEvent& event) {
            return event.launched == Timestamp{} ? std::pair(event.launched, ThreadId{})
                                                 : std::pair(event.launched, event.launchThread);
        };
        if (hasFrames)
            findFrames(each, callOf);
        ops_ = readOps_->take();
        std::size_t number = 0;
        each([&](const DeviceEvent& event) {
            const std::size_t place = number++;
            if (isSelected(event))
                table_.tree.add(
                    table_.tree.child(opNode(pathNode(startOf(place, event), event.path), event.op),
                                      kindOf(event.kind), nameOf(event.name)),
                    withinSpan(event).count());
            return !cancelled_();
        });
    }

    void addOpTime(bool hasFrames)
    {
        const auto each = [this](const auto& take) {
            eachByStart<Op>([this](const auto& read) { reader_.eachOp(window_, until(read)); }, take);
        };
        if (hasFrames)
            findFrames(each, [](const Op& op) { return std::pair(op.start, op.thread); });
        ops_ = readOps_->take();
        std::size_t number = 0;
        analysis::OpTotals sums;
        each([&](const Op& op) {
            const std::size_t place = number++;
            std::optional<std::uint32_t> node;
            if (isSelected(op))
                node = opNode(pathNode(startOf(place, op), op.path), op.id);
            Op part = op;
            clip(part, window_);
            sums.add(part, node);
            return true;
        });
        for (const analysis::OpTotal& total : sums.finish())
            table_.tree.add(total.group, total.self.count(), total.instances);
    }

    /// Bytes by what allocated them.
    void addAllocations()
    {
        const CallKind place = placeOfBlocks();
        ops_ = readOps_->take();
        reader_.eachAllocEvent(window_, [&](const AllocEvent& event) {
            if (event.action != AllocAction::Alloc || !isInScope(event.step != kNoStep) ||
                !topology_->hasDevice(event.device) || !selection_.has(event.path))
                return !cancelled_();
            addBlocks(opNode(pathNode(processNode(topology_->topology().of(event.device)), event.path, place),
                             event.op),
                      event.category, event.bytes, 1);
            return !cancelled_();
        });
    }

    CallKind placeOfBlocks() const
    {
        return table_.run.traits().pathsAreStacks ? CallKind::Frame : CallKind::Module;
    }

    void addBlocks(CallTree::Node from, StringId category, std::int64_t bytes, std::int64_t blocks)
    {
        table_.tree.add(category ? table_.tree.child(from, CallKind::Allocation, nameOf(category))
                                 : table_.tree.child(from, CallKind::Allocation, "allocation"),
                        bytes, blocks);
    }

    /// FLOPs or bytes by module and the op that counts them. Work is not divided: in a time span it counts if one of its kernels
    /// starts there; without a GPU, if the op does.
    void addWork()
    {
        for (const analysis::TimedWork& item : workItems()) {
            const std::int64_t amount =
                table_.weight == CallWeight::Flops ? item.work.flops.count : item.work.bytes.count;
            if (!item.counted || amount == 0 || !isInScope(item.step != kNoStep) ||
                (glob_ && !glob_->contains(item.path)))
                continue;
            const CallTree::Node node = table_.tree.child(
                componentsNode(CallTree::kRoot, item.path, CallKind::Module), CallKind::Op, item.op);
            table_.tree.add(node, amount, item.instances);
        }
    }

    std::vector<analysis::TimedWork> workItems()
    {
        RunKernels kernels(reader_, table_.run.run);
        const auto familyOf = [&kernels](const DeviceEvent& event) { return kernels.familyOf(event); };
        std::string unread;
        const analysis::WorkContext context = workContextOf(config::specOf(table_.run.specJson, &unread));
        const analysis::WorkScope scope =
            table_.whole ? analysis::WorkScope::Recording : analysis::WorkScope::TracedSteps;
        if (table_.onGpu && isWhole_)
            if (auto stored = storedWork(reader_, table_.run.run, textOf_, familyOf, context, scope))
                return std::move(*stored);
        std::vector<Op> ops = reader_.ops({.run = table_.run.run});
        std::vector<DeviceEvent> device = reader_.deviceEvents(window_);
        const auto startsInSpan = [this](const auto& event) {
            return !table_.span || (event.start >= window_.from && event.start < window_.to);
        };
        std::erase_if(ops, [&](const Op& op) {
            return !topology_->has(op.thread) || !isOfThread(op.thread) ||
                   (!table_.onGpu && !startsInSpan(op));
        });
        std::erase_if(device, [&](const DeviceEvent& event) {
            return !topology_->has(event) || !isOfThread(event.launchThread) || !startsInSpan(event);
        });
        if (table_.onGpu && device.empty())
            return {};
        return timedWorkOfOps(ops, device, textOf_, familyOf, context, scope);
    }

    /// `take`, until the reading is cancelled.
    auto until(const auto& take) const
    {
        return [this, &take](const auto& event) { return take(event) && !cancelled_(); };
    }

    template <class Event> Nanoseconds withinSpan(const Event& event) const
    {
        const Timestamp from = std::max(event.start, window_.from);
        return std::max(std::min(event.end, window_.to), from) - from;
    }

    bool isSelected(const DeviceEvent& event)
    {
        return isInScope(event.step != kNoStep) && topology_->has(event) && isOfThread(event.launchThread) &&
               selection_.has(event.path);
    }
    bool isSelected(const Op& op)
    {
        return isInScope(op.step != kNoStep) && topology_->has(op.thread) && isOfThread(op.thread) &&
               selection_.has(op.path);
    }
    bool isOfThread(ThreadId thread) const { return !threads_ || threads_->contains(thread); }
    bool isInScope(bool isTraced) const { return table_.whole || isTraced; }

    ProcessIndex processOf(const DeviceEvent& event) const
    {
        const ProcessIndex process = topology_->topology().of(event.device, event.stream);
        return process ? process : topology_->topology().of(event.launchThread);
    }
    ProcessIndex processOf(const Op& op) const { return topology_->topology().of(op.thread); }

    /// The stack around an activity: process and frames.
    template <class Event> CallTree::Node startOf(std::size_t number, const Event& event)
    {
        return number < frames_.size() ? frames_[number] : processNode(processOf(event));
    }

    CallTree::Node processNode(ProcessIndex process)
    {
        if (!topology_->topology().hasSeveral() || !process)
            return CallTree::kRoot;
        return table_.tree.child(CallTree::kRoot, CallKind::Process, topology_->topology().titleOf(process));
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
            return !cancelled_();
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
            [&](const auto& take) { reader_.eachFrame({.run = table_.run.run}, until(take)); },
            [&](const Frame& frame) {
                place(frame.start);
                std::vector<OpenFrame>& stack = open[frame.thread];
                close(stack, frame.start);
                const CallTree::Node parent =
                    stack.empty() ? processNode(topology_->topology().of(frame.thread)) : stack.back().node;
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

    CallTree::Node pathNode(CallTree::Node from, StringId path, CallKind kind = CallKind::Module)
    {
        if (!path)
            return from;
        const auto [known, isNew] = paths_.try_emplace(joinedKey(from, path.value), from);
        if (isNew)
            known->second = componentsNode(from, std::string(reader_.text(path)), kind);
        return known->second;
    }

    CallTree::Node componentsNode(CallTree::Node node, std::string_view path, CallKind kind)
    {
        for (std::size_t begin = 0; begin <= path.size();) {
            const std::size_t end = std::min(path.find('/', begin), path.size());
            if (end > begin)
                node = table_.tree.child(node, kind, path.substr(begin, end - begin));
            begin = end + 1;
        }
        return node;
    }

    CallTree::Node opNode(CallTree::Node from, OpId op) { return chainNode(from, chainOf(op)); }

    /// Few chains of ops differ, so each is followed once.
    CallTree::Node chainNode(CallTree::Node from, std::uint32_t chain)
    {
        if (chain == 0)
            return from;
        const auto [known, isNew] = chainNodes_.try_emplace(joinedKey(from, chain), from);
        if (!isNew)
            return known->second;
        const auto [outer, name] = chains_[chain];
        std::vector<StringId> names{name};
        for (std::uint32_t at = outer; at != 0; at = chains_[at].outer)
            names.push_back(chains_[at].name);
        CallTree::Node node = from;
        for (std::size_t i = names.size(); i-- > 0;)
            node = table_.tree.child(node, CallKind::Op, nameOf(names[i]));
        return chainNodes_[joinedKey(from, chain)] = node;
    }

    /// The number of the names of an op and the ops around it; 0 for none.
    std::uint32_t chainOf(OpId op)
    {
        constexpr std::size_t kDeepest = 256; // ops of a damaged file may contain each other
        chain_.clear();
        for (; op && op.value < ops_.size() && ops_[op.value].chain == 0 && chain_.size() < kDeepest;
             op = ops_[op.value].parent)
            chain_.push_back(op);
        std::uint32_t chain = op && op.value < ops_.size() ? ops_[op.value].chain : 0;
        for (std::size_t i = chain_.size(); i-- > 0;) {
            OpFacts& facts = ops_[chain_[i].value];
            facts.chain = chain = innerChain(chain, facts.name);
        }
        return chain;
    }

    /// The number of the chain `outer` followed by a name; itself for none.
    std::uint32_t innerChain(std::uint32_t outer, StringId name)
    {
        if (!name)
            return outer;
        const auto [known, isNew] = chainNumbers_.try_emplace(joinedKey(outer, name.value),
                                                              static_cast<std::uint32_t>(chains_.size()));
        if (isNew)
            chains_.push_back({outer, name});
        return known->second;
    }

    const store::RunReader& reader_;
    const std::function<bool()>& cancelled_;
    const analysis::TextOf textOf_;
    PathSelection selection_;
    std::optional<analysis::PathGlob> glob_; ///< the same for paths that are no strings of the file
    std::optional<ProcessFilter> topology_;
    std::optional<std::unordered_set<ThreadId>> threads_; ///< none: all
    CallTreeTable table_;
    store::EventWindow window_; ///< of the activities that count
    bool isWhole_ = true;       ///< no process, device or span was requested
    bool isOfProcesses_ = true; ///< no device or span was requested
    std::optional<SideReading<std::vector<OpFacts>>> readOps_;
    std::vector<OpFacts> ops_;           ///< by OpId
    std::vector<CallTree::Node> frames_; ///< by activity; empty without frames
    std::unordered_map<StringId, std::uint32_t> names_;
    std::unordered_map<std::uint64_t, CallTree::Node> paths_;
    std::vector<OpId> chain_;
    std::vector<Chain> chains_{Chain{}};
    std::unordered_map<std::uint64_t, std::uint32_t> chainNumbers_; ///< by outer chain and name
    std::unordered_map<std::uint64_t, CallTree::Node> chainNodes_;  ///< by node around it and chain
};

} // namespace

CallTreeTable callTree(const store::RunReader& reader, const EventQuery& query,
                       const CallTreeOptions& options, const std::function<bool()>& cancelled)
{
    CallTreeTable table;
    if (options.thread && (options.weight == CallWeight::Idle || options.weight == CallWeight::Allocated))
        throw Error{.what = options.weight == CallWeight::Idle
                                ? "the idle time of a GPU is of all threads"
                                : "allocations are recorded without their thread",
                    .where = "--thread",
                    .remedy = "choose another --weight"};
    if (options.weight == CallWeight::Idle) {
        if (!query.rangeGlob.empty())
            throw Error{.what = "the idle time of a GPU is in no range",
                        .where = "--range",
                        .remedy = "limit it to a time: --from and --to"};
        table = idleTree(
            waitingRecords(reader, {.run = query.run, .topology = query.topology, .span = options.span}));
    } else if (options.weight == CallWeight::Samples) {
        if (!query.rangeGlob.empty() || options.span)
            throw Error{.what = "samples of instructions are read from the GPU every 200 ms and more, and "
                                "are in no range or time span",
                        .where = "--weight samples",
                        .remedy =
                            "give neither --range nor a span; for some steps, record those with --steps"};
        CallTreeOptions times = options;
        times.weight = CallWeight::Time;
        times.scope = CallTreeScope::Recording;
        reader.atOnce([&] {
            table =
                sampleTree(reader, query.topology, CallTreeReading(reader, query, times, cancelled).build());
        });
    } else {
        reader.atOnce([&] { table = CallTreeReading(reader, query, options, cancelled).build(); });
    }
    return filtered(std::move(table), options.filters);
}

} // namespace tilescope::query
