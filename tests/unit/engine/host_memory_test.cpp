#include "core/engine/common/host_memory.h"

#include "tests/support/temporary_folder.h"

#include <fstream>
#include <gtest/gtest.h>

namespace tilescope::engine {
namespace {

class HostMemory : public ::testing::Test {
protected:
    void write(const std::filesystem::path& file, const std::string& text)
    {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path root_ = folder_ / "root";
};

TEST_F(HostMemory, IsWhatTheSystemCallsAvailable)
{
    write("proc/meminfo", "MemTotal:  8000 kB\nMemFree:  1000 kB\nMemAvailable:  4000 kB\nBuffers: 10 kB\n");
    EXPECT_EQ(availableHostMemory(root_), Bytes{4000 * 1024});
}

TEST_F(HostMemory, IsAtMostWhatTheControlGroupLeaves)
{
    write("proc/meminfo", "MemAvailable:  4000 kB\n");
    write("sys/fs/cgroup/memory.max", "1000000\n");
    write("sys/fs/cgroup/memory.current", "700000\n");
    write("sys/fs/cgroup/memory.stat", "anon 500000\ninactive_file 150000\n");
    EXPECT_EQ(availableHostMemory(root_), Bytes{450000});
}

TEST_F(HostMemory, AGroupWithoutLimitDoesNotCount)
{
    write("proc/meminfo", "MemAvailable:  4000 kB\n");
    write("sys/fs/cgroup/memory.max", "max\n");
    write("sys/fs/cgroup/memory.current", "700000\n");
    EXPECT_EQ(availableHostMemory(root_), Bytes{4000 * 1024});
}

TEST_F(HostMemory, ReadsControlGroupsOfTheOldKind)
{
    write("proc/meminfo", "MemAvailable:  4000 kB\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
    write("sys/fs/cgroup/memory/memory.usage_in_bytes", "900000\n");
    EXPECT_EQ(availableHostMemory(root_), Bytes{100000});
}

} // namespace
} // namespace tilescope::engine
