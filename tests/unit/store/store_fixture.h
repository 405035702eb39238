#pragma once

#include "core/model/events.h"
#include "core/model/strings.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace tilescope::store::testing {

/// A folder that goes with its contents.
class TemporaryFolder {
public:
    TemporaryFolder()
    {
        // In memory where that is possible: hundreds of small files that are synced each are slow on a disk.
        const std::filesystem::path memory = "/dev/shm";
        const bool inMemory = access(memory.c_str(), W_OK) == 0;
        std::string name =
            ((inMemory ? memory : std::filesystem::temp_directory_path()) / "tilescope-store-XXXXXX")
                .string();
        if (!mkdtemp(name.data()))
            throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~TemporaryFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// Makes events whose times count in nanoseconds from the run's first moment.
class Builder {
public:
    explicit Builder(StringTable& strings) : strings_(strings), origin_(TraceClock::now()) {}

    Timestamp at(std::int64_t nanoseconds) const { return origin_ + Nanoseconds(nanoseconds); }
    StringId text(std::string_view text) { return strings_.intern(text); }

    Range range(std::uint32_t id, std::string_view path, std::int64_t start, std::int64_t end)
    {
        Range range;
        range.id = RangeId{id};
        range.path = text(path);
        range.name = text(path.substr(path.rfind('/') + 1));
        range.thread = ThreadId{101};
        range.start = at(start);
        range.end = at(end);
        return range;
    }
    Op op(std::uint32_t id, std::string_view name, std::int64_t start, std::int64_t end)
    {
        Op op;
        op.id = OpId{id};
        op.name = text(name);
        op.thread = ThreadId{101};
        op.start = at(start);
        op.end = at(end);
        return op;
    }
    DeviceEvent kernel(std::string_view name, std::int64_t start, std::int64_t end)
    {
        DeviceEvent event;
        event.name = text(name);
        event.device = DeviceIndex{0};
        event.stream = StreamId{7};
        event.launch = {
            .grid = {12, 1, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1}, .registersPerThread = 40};
        event.start = at(start);
        event.end = at(end);
        return event;
    }
    AllocEvent allocation(AllocAction action, std::uint64_t address, std::int64_t bytes, std::int64_t time)
    {
        AllocEvent event;
        event.action = action;
        event.address = address;
        event.bytes = bytes;
        event.time = at(time);
        return event;
    }

private:
    StringTable& strings_;
    Timestamp origin_;
};

inline RunHeader header(std::string name = "test")
{
    return {.name = std::move(name),
            .workload = "attention",
            .specJson = R"({"workload":"attention"})",
            .specHash = "abc123",
            .program = "Tilescope test"};
}

} // namespace tilescope::store::testing
