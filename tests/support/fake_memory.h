#pragma once

#include "core/model/text.h"
#include "core/query/memory/memory_reading.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::testing {

/// A run's memory events, built by hand and read through a file: blocks from before the trace, allocations
/// and frees. Times are nanoseconds; the run begins with its first event.
class FakeMemory {
public:
    explicit FakeMemory(std::string workload = "lm") : workload_(std::move(workload)) {}

    /// A block that existed when the trace began.
    FakeMemory& older(std::uint64_t address, std::int64_t bytes, std::string name,
                      MemoryCategory category = MemoryCategory::Parameters)
    {
        facts_.blocks.push_back({.time = timestampAt(1),
                                 .device = DeviceIndex{0},
                                 .address = address,
                                 .bytes = bytes,
                                 .size = bytes,
                                 .category = category,
                                 .name = std::move(name)});
        trace_.alreadyAllocated(bytes);
        return *this;
    }
    /// Bytes allocated before the trace without a recorded block.
    FakeMemory& unrecorded(std::int64_t bytes)
    {
        trace_.alreadyAllocated(bytes);
        return *this;
    }
    /// A segment that existed when the trace began, free except for its older blocks.
    FakeMemory& segment(std::uint64_t address, std::int64_t bytes, bool isExpandable = false)
    {
        facts_.segments.push_back({.time = timestampAt(1),
                                   .device = DeviceIndex{0},
                                   .address = address,
                                   .bytes = bytes,
                                   .isExpandable = isExpandable});
        return *this;
    }
    /// A free block of a segment.
    FakeMemory& freeBlock(std::uint64_t address, std::int64_t bytes)
    {
        facts_.blocks.push_back({.time = timestampAt(1),
                                 .device = DeviceIndex{0},
                                 .address = address,
                                 .size = bytes,
                                 .isFree = true});
        return *this;
    }
    /// The source location of a range.
    FakeMemory& opened(std::string path, std::string file, std::int64_t line, std::string function)
    {
        facts_.places.push_back({std::move(path), std::move(file), line, std::move(function)});
        return *this;
    }
    FakeMemory& step(std::int32_t number, std::int64_t from, std::int64_t to)
    {
        trace_.step(number, from, to);
        return *this;
    }
    /// The op that requests the following allocations.
    FakeMemory& op(std::string_view name, std::string_view shapes)
    {
        trace_.op(name, 1, 2);
        if (!shapes.empty())
            trace_.shaped(shapes);
        op_ = trace_.lastOp();
        return *this;
    }
    FakeMemory& alloc(std::uint64_t address, std::int64_t bytes, std::int64_t time, std::string_view path,
                      MemoryCategory category = MemoryCategory::Activations)
    {
        trace_.alloc(address, bytes, time).category(wordOf(category));
        if (!path.empty())
            trace_.at(path);
        ops_.emplace_back(trace_.batch().allocEvents.size() - 1, op_);
        sizes_[address] = bytes;
        return *this;
    }
    FakeMemory& free(std::uint64_t address, std::int64_t time)
    {
        trace_.free(address, sizes_[address], time);
        return *this;
    }
    /// Allocations and frees at 300 addresses, in all phases, modules and categories.
    FakeMemory& random(int events, std::uint32_t seed)
    {
        constexpr const char* kPaths[] = {"", "step/forward/layers.0/attention", "step/backward/layers.1/ffn",
                                          "step/optimizer", "step/forward/embedding"};
        std::mt19937 random(seed);
        std::map<std::uint64_t, bool> live;
        std::int64_t time = 10;
        for (int i = 0; i < events; ++i) {
            time += 2 + static_cast<std::int64_t>(random() % 40); // a free is two events
            const std::uint64_t address = 0x10000 + 4096 * (random() % 300);
            if (live[address])
                free(address, time);
            else
                alloc(address, static_cast<std::int64_t>(1 + random() % 4000), time, kPaths[random() % 5],
                      static_cast<MemoryCategory>(random() % 8));
            live[address] = !live[address];
        }
        return *this;
    }

    std::shared_ptr<const query::MemoryHistory> history(query::MemoryParts parts = query::MemoryParts::All)
    {
        return query::memoryHistory(store::RunReader(file()), RunId{1}, {}, parts);
    }
    std::shared_ptr<const query::MemoryHistory> outline()
    {
        return query::memoryOutline(store::RunReader(file()), RunId{1});
    }
    std::shared_ptr<const query::MemoryOps> ops(const query::MemoryHistory& history)
    {
        return query::memoryOps(store::RunReader(file()), history);
    }
    std::vector<query::TimelineStep> steps(Timestamp origin)
    {
        return query::tracedSteps(store::RunReader(file()), RunId{1}, origin);
    }

    const std::filesystem::path& file()
    {
        if (!isWritten_) {
            isWritten_ = true;
            store::RunWriter writer(file_, strings_);
            writer.beginRun({"test", workload_, "{}", "hash", "test"});
            TraceBatch batch = trace_.batch();
            for (const auto& [event, op] : ops_)
                batch.allocEvents[event].op = op;
            writer.write(batch);
            writer.writeMemory(facts_);
            writer.endRun({});
        }
        return file_;
    }

private:
    std::string workload_;
    TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "memory.tscope";
    StringTable strings_;
    FakeTrace trace_{strings_};
    MemoryFacts facts_;
    OpId op_ = {};
    std::vector<std::pair<std::size_t, OpId>> ops_; // by event
    std::map<std::uint64_t, std::int64_t> sizes_;
    bool isWritten_ = false;
};

} // namespace tilescope::testing
