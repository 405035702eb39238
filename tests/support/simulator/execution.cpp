#include "tests/support/simulator/execution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace tilescope::simulator {

namespace {

constexpr std::int64_t kStagedBytes =
    64 * 1024; ///< a smaller copy from pageable memory travels with its command

constexpr Duration kTie{1'000};
constexpr Duration kNear = kNearlyAsLong;
constexpr Duration kNearBatch{
    60'000}; ///< for batches, of which nobody knows how long one that is ready takes

struct Reason {
    std::uint32_t node = 0;
    Duration delay{0};
    Work between = Work::Host;
};

/// A piece whose times may not be known yet.
struct Node {
    Piece piece;
    Duration duration{0};
    std::vector<Reason> reasons = {};
    std::vector<std::uint32_t> dependents = {};
    std::size_t unknown = 0; ///< reasons whose end is not known, and 1 while it is held
    bool isKnown = false;
};

/// Works out the times of nodes as soon as all they depend on are known.
class NodeTimes {
public:
    std::uint32_t add(Work work, Duration duration, std::vector<Reason> reasons, bool isHeld = false)
    {
        const auto number = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({.piece = {.work = work}, .duration = duration, .unknown = 1});
        for (const Reason& reason : reasons)
            addReason(number, reason);
        if (!isHeld)
            release(number);
        return number;
    }
    void addReason(std::uint32_t number, const Reason& reason)
    {
        nodes_[number].reasons.push_back(reason);
        if (!nodes_[reason.node].isKnown) {
            ++nodes_[number].unknown;
            nodes_[reason.node].dependents.push_back(number);
        }
    }
    void release(std::uint32_t number)
    {
        std::vector<std::uint32_t> open{number};
        while (!open.empty()) {
            const std::uint32_t next = open.back();
            open.pop_back();
            if (--nodes_[next].unknown > 0)
                continue;
            findTimes(nodes_[next]);
            open.insert(open.end(), nodes_[next].dependents.begin(), nodes_[next].dependents.end());
        }
    }
    const Node& operator[](std::uint32_t number) const { return nodes_[number]; }
    std::size_t size() const { return nodes_.size(); }

private:
    void findTimes(Node& node)
    {
        for (const Reason& reason : node.reasons) {
            const Duration allowed = nodes_[reason.node].piece.end + reason.delay;
            if (!node.piece.before || allowed > node.piece.start) {
                node.piece.start = allowed;
                node.piece.before = reason.node;
                node.piece.between = reason.between;
            }
        }
        for (const Reason& reason : node.reasons) {
            const Duration earlier = node.piece.start - nodes_[reason.node].piece.end - reason.delay;
            if (reason.node == node.piece.before ||
                earlier > (node.piece.work == Work::Loading ? kNearBatch : kNear))
                continue;
            node.piece.near.push_back({reason.node, reason.between, earlier});
            if (earlier <= kTie)
                node.piece.rival = node.piece.near.back();
        }
        node.piece.end = node.piece.start + node.duration;
        node.isKnown = true;
    }

    std::vector<Node> nodes_;
};

struct Stream {
    std::vector<std::uint32_t> tail = {}; ///< what the next command waits for
    std::vector<std::uint32_t> commands = {};
};

struct Event {
    std::vector<std::uint32_t> nodes;
    std::int32_t stream = 0;
    std::int64_t correlation = 0;
};

struct CollectiveState {
    std::vector<std::uint32_t> arrivals;
    std::vector<std::uint32_t> transfers;
};

/// A position in nested bodies.
struct Frame {
    const std::vector<Instruction>* body = nullptr;
    std::size_t next = 0;
    std::optional<std::size_t> range = {};
};

struct ThreadState {
    std::vector<Frame> frames;
    std::uint32_t last = 0;
    std::vector<std::int64_t> ops;
    std::optional<std::int64_t> awaited = {}; ///< a flag that no thread has set yet
};

class Executor {
public:
    Executor(const SimulatedProgram& program, const Scale& scale)
        : program_(program), scale_(scale), ranks_(program.clocks.size())
    {
        for (const SimulatedThread& thread : program.threads) {
            if (thread.rank >= ranks_.size())
                throw std::invalid_argument("a thread is of a rank that the program does not have");
            ThreadState& state = threads_.emplace_back();
            state.frames.push_back({.body = &thread.instructions});
            state.last = nodes_.add(Work::Host, Duration(0), {});
            execution_.ofThread.push_back({state.last});
        }
    }

    Execution run()
    {
        while (const std::optional<std::size_t> thread = nextThread())
            advance(*thread);
        for (const ThreadState& thread : threads_)
            if (!thread.frames.empty())
                throw std::invalid_argument("the program waits for something that never happens");
        for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
            if (!nodes_[i].isKnown)
                throw std::invalid_argument("a collective lacks a rank");
            execution_.pieces.push_back(nodes_[i].piece);
        }
        findTimes();
        return std::move(execution_);
    }

private:
    struct Rank {
        std::map<std::int32_t, Stream> streams;
        std::map<std::int64_t, Event> events;
        std::map<std::int64_t, std::uint32_t> flags;
        std::int64_t correlation = 0;
        std::int64_t op = 0;
        std::int64_t step = kNoNumber;
    };
    /// Nodes that delimit a record; the times are known at the end.
    struct Limits {
        std::uint32_t start = 0;
        std::uint32_t end = 0;
    };

    /// The thread that is first to act: those that share a stream use it in the order of time.
    std::optional<std::size_t> nextThread() const
    {
        std::optional<std::size_t> first;
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            const ThreadState& thread = threads_[i];
            if (thread.frames.empty() || !nodes_[thread.last].isKnown ||
                (thread.awaited && !ranks_[program_.threads[i].rank].flags.contains(*thread.awaited)))
                continue;
            if (!first || nodes_[thread.last].piece.end < nodes_[threads_[*first].last].piece.end)
                first = i;
        }
        return first;
    }

    void advance(std::size_t index)
    {
        thread_ = index;
        Frame& frame = thread().frames.back();
        if (frame.next == frame.body->size()) {
            if (frame.range)
                rangeLimits_[*frame.range].end = thread().last;
            if (frame.range && execution_.ranges[*frame.range].kind == RangeKind::Op)
                thread().ops.pop_back();
            if (frame.range && execution_.ranges[*frame.range].kind == RangeKind::Step)
                rank().step = kNoNumber;
            thread().frames.pop_back();
            return;
        }
        const Instruction& instruction = (*frame.body)[frame.next];
        if (instruction.action == Action::Await && !rank().flags.contains(instruction.number)) {
            thread().awaited = instruction.number;
            return;
        }
        thread().awaited.reset();
        ++frame.next;
        perform(instruction);
    }

    void perform(const Instruction& instruction)
    {
        switch (instruction.action) {
        case Action::Compute:
            compute(instruction);
            break;
        case Action::Range:
            open(instruction);
            break;
        case Action::Launch:
        case Action::Fill:
        case Action::Collective:
        case Action::Replay:
            launch(instruction);
            break;
        case Action::Copy:
            copy(instruction);
            break;
        case Action::Record:
            record(instruction);
            break;
        case Action::StreamWait:
            streamWait(instruction);
            break;
        case Action::SyncStream:
        case Action::SyncEvent:
        case Action::SyncDevice:
        case Action::Free:
            synchronize(instruction);
            break;
        case Action::Allocate:
            allocate(instruction);
            break;
        case Action::Signal:
            rank().flags[instruction.number] = thread().last;
            break;
        case Action::Await:
            await(instruction);
            break;
        }
    }

    ThreadState& thread() { return threads_[thread_]; }
    Rank& rank() { return ranks_[program_.threads[thread_].rank]; }

    Duration scaled(Work work, Duration duration) const
    {
        const double factor = scale_[work];
        return factor == 1 ? duration
                           : Duration(std::llround(factor * static_cast<double>(duration.count())));
    }

    std::uint32_t node(Work work, Duration duration, std::vector<Reason> reasons, bool isHeld = false)
    {
        for (Reason& reason : reasons)
            reason.delay = scaled(reason.between, reason.delay);
        return nodes_.add(work, scaled(work, duration), std::move(reasons), isHeld);
    }
    /// Continues the thread with a piece that may also wait for others.
    void step(Work work, Duration duration, std::vector<Reason> others = {})
    {
        others.insert(others.begin(), {.node = thread().last, .between = work});
        thread().last = node(work, duration, std::move(others));
        execution_.ofThread[thread_].push_back(thread().last);
    }
    std::vector<Reason> endsOf(const std::vector<std::uint32_t>& nodes, Duration delay, Work between) const
    {
        std::vector<Reason> reasons;
        for (const std::uint32_t each : nodes)
            reasons.push_back({each, delay, between});
        return reasons;
    }

    void compute(const Instruction& instruction)
    {
        const std::uint32_t before = thread().last;
        step(instruction.work, instruction.duration);
        if (instruction.work != Work::Tracing)
            return;
        execution_.tracings.push_back({.rank = program_.threads[thread_].rank});
        tracingLimits_.push_back({before, thread().last});
    }

    void open(const Instruction& instruction)
    {
        std::int64_t number = instruction.number;
        if (instruction.range == RangeKind::Op)
            thread().ops.push_back(number = ++rank().op);
        if (instruction.range == RangeKind::Step)
            rank().step = number;
        thread().frames.push_back({.body = &instruction.body, .range = execution_.ranges.size()});
        execution_.ranges.push_back(
            {.thread = thread_, .kind = instruction.range, .name = instruction.name, .number = number});
        rangeLimits_.push_back({thread().last, thread().last});
    }

    /// Begins a CUDA call; endCall() ends it.
    std::int64_t beginCall(std::string name)
    {
        execution_.calls.push_back(
            {.thread = thread_, .name = std::move(name), .correlation = ++rank().correlation});
        callLimits_.push_back({thread().last, thread().last});
        return rank().correlation;
    }
    void endCall() { callLimits_.back().end = thread().last; }

    /// The part of a call before its command is submitted, including the wait for a place in the queue.
    void submit(const Stream& stream, Duration call)
    {
        step(Work::Call, call / 2);
        if (stream.commands.size() >= program_.queueDepth)
            step(Work::Call, Duration(0),
                 {{stream.commands[stream.commands.size() - program_.queueDepth], Duration(0), Work::Call}});
    }

    std::vector<Reason> reasonsOf(const Stream& stream, const Instruction& instruction) const
    {
        std::vector<Reason> reasons = endsOf(stream.tail, instruction.gap, Work::Order);
        reasons.push_back({threads_[thread_].last, instruction.latency, Work::Latency});
        return reasons;
    }

    ExecutedWork workOf(const Instruction& instruction, std::int64_t correlation)
    {
        return {.rank = program_.threads[thread_].rank,
                .stream = instruction.stream,
                .work = instruction.work,
                .name = instruction.name,
                .correlation = correlation,
                .op = thread().ops.empty() ? 0 : thread().ops.back(),
                .step = rank().step,
                .bytes = instruction.bytes,
                .copy = instruction.copy,
                .isPageable = instruction.isPageable};
    }

    void addWork(ExecutedWork work, std::uint32_t first, std::uint32_t last)
    {
        work.firstPiece = first;
        work.piece = last;
        execution_.works.push_back(std::move(work));
        workLimits_.push_back({first, last});
    }

    void launch(const Instruction& instruction)
    {
        Stream& stream = rank().streams[instruction.stream];
        const std::int64_t correlation = beginCall(nameOfCall(instruction));
        submit(stream, instruction.call);
        switch (instruction.action) {
        case Action::Replay:
            replay(instruction, stream, correlation);
            break;
        case Action::Collective:
            meet(instruction, stream, correlation);
            break;
        default: {
            const std::uint32_t kernel =
                node(instruction.work, instruction.duration, reasonsOf(stream, instruction));
            stream.tail = {kernel};
            stream.commands.push_back(kernel);
            addWork(workOf(instruction, correlation), kernel, kernel);
        }
        }
        step(Work::Call, instruction.call - instruction.call / 2);
        endCall();
    }

    static std::string nameOfCall(const Instruction& instruction)
    {
        switch (instruction.action) {
        case Action::Fill:
            return "cudaMemsetAsync";
        case Action::Replay:
            return "cudaGraphLaunch";
        case Action::Collective:
            return "cudaLaunchKernelExC";
        default:
            return "cudaLaunchKernel";
        }
    }

    void replay(const Instruction& instruction, Stream& stream, std::int64_t correlation)
    {
        std::vector<std::uint32_t> nodes;
        std::vector<bool> isLast(instruction.body.size(), true);
        for (std::size_t i = 0; i < instruction.body.size(); ++i) {
            const Instruction& each = instruction.body[i];
            std::vector<Reason> reasons;
            for (const std::size_t before : each.after) {
                if (before >= i)
                    throw std::invalid_argument("a node of a graph depends on a later one");
                reasons.push_back({nodes[before], each.gap, Work::Order});
                isLast[before] = false;
            }
            if (reasons.empty())
                reasons = reasonsOf(stream, instruction);
            nodes.push_back(node(each.work, each.duration, std::move(reasons)));
            ExecutedWork work = workOf(each, correlation);
            work.graphNode = i + 1;
            addWork(std::move(work), nodes.back(), nodes.back());
        }
        std::vector<std::uint32_t> ends;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (isLast[i])
                ends.push_back(nodes[i]);
        if (ends.empty())
            return;
        stream.commands.push_back(node(Work::Order, Duration(0), endsOf(ends, Duration(0), Work::Order)));
        stream.tail = std::move(ends);
    }

    void meet(const Instruction& instruction, Stream& stream, std::int64_t correlation)
    {
        CollectiveState& collective = collectives_[instruction.number];
        const std::uint32_t arrival = node(Work::Communication, Duration(0), reasonsOf(stream, instruction));
        const std::uint32_t transfer = node(Work::Communication, instruction.duration, {}, true);
        collective.arrivals.push_back(arrival);
        collective.transfers.push_back(transfer);
        stream.tail = {transfer};
        stream.commands.push_back(transfer);
        ExecutedWork work = workOf(instruction, correlation);
        work.collective = instruction.number;
        addWork(std::move(work), arrival, transfer);
        if (collective.arrivals.size() < ranks_.size())
            return;
        for (const std::uint32_t each : collective.transfers) {
            for (const std::uint32_t other : collective.arrivals)
                nodes_.addReason(each, {other, Duration(0), Work::Communication});
            nodes_.release(each);
        }
    }

    void copy(const Instruction& instruction)
    {
        Stream& stream = rank().streams[instruction.stream];
        const std::int64_t correlation = beginCall("cudaMemcpyAsync");
        submit(stream, instruction.call);
        const bool isStaged = instruction.isPageable && instruction.copy == CopyKind::HostToDevice &&
                              instruction.bytes > kStagedBytes;
        if (isStaged) {
            step(Work::Wait, Duration(0), endsOf(stream.tail, program_.syncReturn, Work::Wait));
            step(Work::Call, instruction.duration);
        }
        const std::uint32_t copied = node(Work::Copy, instruction.duration, reasonsOf(stream, instruction));
        stream.tail = {copied};
        stream.commands.push_back(copied);
        ExecutedWork work = workOf(instruction, correlation);
        work.work = Work::Copy;
        addWork(std::move(work), copied, copied);
        if (instruction.isPageable && instruction.copy == CopyKind::DeviceToHost)
            step(Work::Wait, Duration(0), {{copied, program_.syncReturn, Work::Wait}});
        step(Work::Call, instruction.call - instruction.call / 2);
        endCall();
    }

    void record(const Instruction& instruction)
    {
        const std::int64_t correlation = beginCall("cudaEventRecord");
        step(Work::Host, instruction.call);
        rank().events[instruction.number] = {.nodes = rank().streams[instruction.stream].tail,
                                             .stream = instruction.stream,
                                             .correlation = correlation};
        endCall();
    }

    const Event& eventOf(const Instruction& instruction)
    {
        const auto found = rank().events.find(instruction.number);
        if (found == rank().events.end())
            throw std::invalid_argument("an event is awaited before it is recorded");
        return found->second;
    }

    void streamWait(const Instruction& instruction)
    {
        const Event& event = eventOf(instruction);
        const std::int64_t correlation = beginCall("cudaStreamWaitEvent");
        const std::uint32_t before = thread().last;
        step(Work::Host, instruction.call);
        std::vector<std::uint32_t>& tail = rank().streams[instruction.stream].tail;
        tail.insert(tail.end(), event.nodes.begin(), event.nodes.end());
        endCall();
        addWait(instruction, event, correlation, {before, thread().last});
    }

    void addWait(const Instruction& instruction, const Event& event, std::int64_t correlation, Limits limits)
    {
        execution_.waits.push_back({.rank = program_.threads[thread_].rank,
                                    .action = instruction.action,
                                    .stream = instruction.stream,
                                    .waitedFor = event.stream,
                                    .correlation = correlation,
                                    .recorded = event.correlation});
        waitLimits_.push_back(limits);
    }

    void synchronize(const Instruction& instruction)
    {
        Event event;
        event.stream = instruction.stream;
        std::string name;
        switch (instruction.action) {
        case Action::SyncEvent:
            event = eventOf(instruction);
            name = "cudaEventSynchronize";
            break;
        case Action::SyncStream:
            event.nodes = rank().streams[instruction.stream].tail;
            name = "cudaStreamSynchronize";
            break;
        default:
            for (const auto& [number, stream] : rank().streams)
                event.nodes.insert(event.nodes.end(), stream.tail.begin(), stream.tail.end());
            name = instruction.action == Action::Free ? "cudaFree" : "cudaDeviceSynchronize";
        }
        const std::int64_t correlation = beginCall(name);
        const std::uint32_t before = thread().last;
        step(Work::Wait, instruction.call);
        step(Work::Wait, Duration(0), endsOf(event.nodes, program_.syncReturn, Work::Wait));
        if (instruction.action == Action::Free)
            step(Work::Allocation, instruction.duration);
        else
            addWait(instruction, event, correlation, {before, thread().last});
        endCall();
    }

    void allocate(const Instruction& instruction)
    {
        beginCall("cudaMalloc");
        step(Work::Allocation, instruction.duration);
        endCall();
    }

    void await(const Instruction& instruction)
    {
        step(instruction.work, Duration(0),
             {{rank().flags.at(instruction.number), program_.wakeUp, instruction.work}});
    }

    template <class Record> void setTimes(std::vector<Record>& records, const std::vector<Limits>& limits)
    {
        for (std::size_t i = 0; i < records.size(); ++i) {
            records[i].start = execution_.pieces[limits[i].start].end;
            records[i].end = execution_.pieces[limits[i].end].end;
        }
    }
    void findTimes()
    {
        setTimes(execution_.calls, callLimits_);
        setTimes(execution_.ranges, rangeLimits_);
        setTimes(execution_.waits, waitLimits_);
        setTimes(execution_.tracings, tracingLimits_);
        setTimes(execution_.works, workLimits_);
        for (std::size_t i = 0; i < execution_.works.size(); ++i)
            execution_.works[i].start = execution_.pieces[workLimits_[i].start].start;
    }

    const SimulatedProgram& program_;
    const Scale& scale_;
    NodeTimes nodes_;
    std::vector<Rank> ranks_;
    std::vector<ThreadState> threads_;
    std::map<std::int64_t, CollectiveState> collectives_;
    std::size_t thread_ = 0; ///< that acts now
    Execution execution_;
    std::vector<Limits> callLimits_;
    std::vector<Limits> rangeLimits_;
    std::vector<Limits> waitLimits_;
    std::vector<Limits> tracingLimits_;
    std::vector<Limits> workLimits_;
};

} // namespace

Execution execute(const SimulatedProgram& program, const Scale& scale)
{
    return Executor(program, scale).run();
}

} // namespace tilescope::simulator
