#include "recordings.h"

#include "core/model/memory.h"
#include "core/store/run_writer.h"
#include "tests/bench/query/event_generator.h"

#include <chrono>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

namespace tilescope::bench {

namespace {

namespace fs = std::filesystem;

store::RunHeader header()
{
    return {.name = "bench",
            .workload = "lm",
            .specJson = R"({"workload": "lm", "backend": "naive", "precision": "bf16", "size": "small"})",
            .specHash = "bench",
            .program = "bench_gui"};
}

/// A step that allocates activations in forward and frees them in the order of backward, with temporaries in
/// between.
class StepOfAllocations {
public:
    StepOfAllocations(StringTable& strings, Timestamp origin) : time_(origin)
    {
        for (const char* category : {"activations", "temporaries", "gradients"})
            categories_.push_back(strings.intern(category));
        for (int layer = 0; layer < 24; ++layer)
            paths_.push_back(strings.intern("step/forward/layers." + std::to_string(layer)));
        stepPath_ = strings.intern("step");
    }

    /// The segments, and the model's tensors in the first of them.
    static MemoryFacts facts(Timestamp time)
    {
        MemoryFacts facts;
        std::uint64_t address = kBase - std::uint64_t(kTensors * kTensorBytes);
        const auto segment = [&](std::uint64_t at, std::int64_t bytes) {
            facts.segments.push_back({.time = time, .device = DeviceIndex{0}, .address = at, .bytes = bytes});
            facts.segments.back().isLarge = true;
        };
        segment(address, kTensors * kTensorBytes);
        segment(kBase, kPool);
        for (int i = 0; i < kTensors; ++i) {
            MemoryBlock& block = facts.blocks.emplace_back();
            block.time = time;
            block.device = DeviceIndex{0};
            block.address = address;
            block.bytes = block.size = kTensorBytes;
            block.category = i < kTensors / 3 ? MemoryCategory::Parameters : MemoryCategory::Optimizer;
            block.name = "layers." + std::to_string(i % 24) + "/ffn/down";
            address += std::uint64_t(kTensorBytes);
        }
        facts.blocks.push_back(
            {.time = time, .device = DeviceIndex{0}, .address = kBase, .size = kPool, .isFree = true});
        return facts;
    }

    /// Adds a step of `blocks` blocks, with an event for the allocation and the free of each.
    void addTo(TraceBatch& batch, int blocks)
    {
        Range range;
        range.id = RangeId{step_};
        range.path = range.name = stepPath_;
        range.thread = ThreadId{1};
        range.step = std::int32_t(step_);
        range.start = time_;
        std::vector<AllocEvent> kept;
        for (int i = 0; i < blocks; ++i) {
            const bool isTemporary = i % 3 == 2;
            AllocEvent block = allocate(i, blocks, isTemporary);
            batch.allocEvents.push_back(block);
            if (isTemporary)
                batch.allocEvents.push_back(freed(block));
            else
                kept.push_back(block);
        }
        for (; !kept.empty(); kept.pop_back())
            batch.allocEvents.push_back(freed(kept.back()));
        range.end = time_;
        batch.ranges.push_back(range);
        ++step_;
    }

private:
    AllocEvent allocate(int index, int blocks, bool isTemporary)
    {
        AllocEvent event;
        event.device = DeviceIndex{0};
        event.stream = StreamId{7};
        event.bytes = std::int64_t(512 * (1 + random_() % 4096));
        event.address = top_;
        event.category = categories_[isTemporary ? 1 : 0];
        event.path = paths_[std::size_t(index) * paths_.size() / std::size_t(blocks)];
        event.step = std::int32_t(step_);
        top_ += std::uint64_t(event.bytes);
        return stamped(event);
    }

    AllocEvent freed(AllocEvent event)
    {
        event.action = AllocAction::FreeCompleted;
        top_ -= std::uint64_t(event.bytes);
        return stamped(event);
    }

    AllocEvent stamped(AllocEvent event)
    {
        event.time = time_ += Nanoseconds(500 + random_() % 2000);
        event.allocated = kTensors * kTensorBytes + std::int64_t(top_ - kBase);
        event.reserved = kTensors * kTensorBytes + kPool;
        return event;
    }

    static constexpr std::uint64_t kBase = 0x7f00'0000'0000ULL;
    static constexpr std::int64_t kPool = 8LL << 30; ///< segment of what steps allocate
    static constexpr std::int64_t kTensors = 300;    ///< there before the trace, in a segment below
    static constexpr std::int64_t kTensorBytes = 4LL << 20;
    std::mt19937_64 random_{1};
    Timestamp time_;
    std::uint64_t top_ = kBase; ///< the allocator is a stack: what is freed was allocated last
    std::uint32_t step_ = 0;
    std::vector<StringId> categories_, paths_;
    StringId stepPath_;
};

/// The stack of a Python program: a random walk of calls and returns.
class PythonStack {
public:
    explicit PythonStack(StringTable& strings)
    {
        for (int i = 0; i < kFunctions; ++i)
            names_.push_back(strings.intern("package/module_" + std::to_string(i % 100) + ".py(" +
                                            std::to_string(7 * i) + "): function_" + std::to_string(i)));
    }

    /// Adds `calls` calls between two instants; all have returned at the second one.
    void addTo(TraceBatch& batch, Timestamp from, Timestamp to, std::int64_t calls)
    {
        batch.frames.clear();
        const std::int64_t turns = 2 * calls;
        const auto at = [&](std::int64_t turn) { return from + (to - from) * turn / turns; };
        std::vector<std::size_t> open; // of the batch's frames
        for (std::int64_t turn = 0; turn < turns; ++turn) {
            const bool mayCall = std::ssize(batch.frames) < calls && open.size() < kDeepest;
            if (mayCall && (open.empty() || random_() % 100 < kCallPercent)) {
                open.push_back(batch.frames.size());
                Frame& frame = batch.frames.emplace_back();
                frame.name = names_[random_() % names_.size()];
                frame.thread = ThreadId{31'415};
                frame.start = at(turn);
            } else if (!open.empty()) {
                batch.frames[open.back()].end = at(turn);
                open.pop_back();
            }
        }
        for (const std::size_t left : open)
            batch.frames[left].end = to;
    }

private:
    static constexpr int kFunctions = 3'000;
    static constexpr std::size_t kDeepest = 48;
    static constexpr unsigned kCallPercent = 53; ///< the stack is deep most of the time
    std::mt19937_64 random_{1};
    std::vector<StringId> names_;
};

} // namespace

void removeRecording(const fs::path& file)
{
    for (const char* suffix : {"", "-wal", "-shm", "-lock"})
        fs::remove(file.string() + suffix);
}

void makeRecording(const fs::path& file, std::int64_t events, std::int64_t calls)
{
    removeRecording(file);
    StringTable strings;
    store::RunWriter writer(file, strings);
    writer.beginRun(header());
    EventGenerator generator(strings, TraceClock::now());
    PythonStack stack(strings);
    TraceBatch batch;
    const std::int64_t batches = events / EventGenerator::kEventsPerBatch;
    for (std::int64_t i = 0; i < batches; ++i) {
        const Timestamp from = generator.now();
        generator.next(batch);
        if (calls > 0)
            stack.addTo(batch, from, generator.now(), calls / batches);
        writer.write(batch);
    }
    writer.endRun({});
}

void makeAllocations(const fs::path& file, std::int64_t events)
{
    constexpr int kBlocksAStep = 5'000;
    removeRecording(file);
    StringTable strings;
    store::RunWriter writer(file, strings);
    writer.beginRun(header());
    const Timestamp begin = TraceClock::now();
    StepOfAllocations steps(strings, begin);
    writer.writeMemory(StepOfAllocations::facts(begin));
    for (std::int64_t written = 0; written < events; written += 2LL * kBlocksAStep) {
        TraceBatch batch;
        steps.addTo(batch, kBlocksAStep);
        writer.write(batch);
    }
    writer.endRun({});
}

void writeLive(const fs::path& file, std::int64_t rate, int seconds)
{
    removeRecording(file);
    StringTable strings;
    store::RunWriter writer(file, strings);
    writer.beginRun(header());
    EventGenerator generator(strings, TraceClock::now());
    TraceBatch batch;
    std::int64_t written = 0;
    const auto start = std::chrono::steady_clock::now();
    for (auto due = start; due - start < std::chrono::seconds(seconds);) {
        generator.next(batch);
        writer.write(batch);
        writer.commit();
        written += EventGenerator::kEventsPerBatch;
        due = start + std::chrono::nanoseconds(1'000'000'000LL * written / rate);
        std::this_thread::sleep_until(due);
    }
    writer.endRun({});
    std::printf("%lld\n", static_cast<long long>(written));
}

} // namespace tilescope::bench
