#include "core/record/working_file.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/working_block.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>

namespace tilescope::record {

namespace {

namespace fs = std::filesystem;

using testing::workingStep;

class WorkingFile : public ::testing::Test {
protected:
    WorkingFile()
    {
        WorkingFileWriter writer(file_, {{"pid", "12"}});
        EXPECT_TRUE(writer.append(workingStep(true, 100, 10)));
        writer.addFact("device_untraced", "why");
        EXPECT_TRUE(writer.append(workingStep(false, 200, 10)));
    }

    struct Contents {
        ProcessFacts facts;
        std::vector<WorkingBlock> blocks;
        bool isCut = false;
    };
    Contents read() const
    {
        Contents contents;
        const auto end = readWorkingFile(
            file_,
            [&](ProcessFacts&& facts) {
                contents.facts.insert(contents.facts.end(), facts.begin(), facts.end());
            },
            [&](WorkingBlock&& block) { contents.blocks.push_back(std::move(block)); });
        contents.isCut = end.isCut;
        return contents;
    }
    std::string bytes() const
    {
        std::ifstream in(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write(const std::string& bytes) const { std::ofstream(file_, std::ios::binary) << bytes; }

    testing::TemporaryFolder folder_;
    fs::path file_ = folder_.path() / "a.working";
};

TEST_F(WorkingFile, ReturnsWhatWasWritten)
{
    const Contents contents = read();
    EXPECT_FALSE(contents.isCut);
    EXPECT_EQ(contents.facts, (ProcessFacts{{"pid", "12"}, {"device_untraced", "why"}}));
    ASSERT_EQ(contents.blocks.size(), 2U);
    EXPECT_EQ(contents.blocks[0].strings.at(0), "gemm");
    EXPECT_EQ(contents.blocks[0].launches.at(0).grid[0], 4U);
    EXPECT_TRUE(contents.blocks[1].strings.empty());
    EXPECT_EQ(contents.blocks[1].activities.at(0).start, 205);
    EXPECT_EQ(contents.blocks[1].ranges.at(0).end, 210);
    EXPECT_EQ(contents.blocks[1].recordsChecked, 2);
}

TEST_F(WorkingFile, IsReadableByItsOwnerOnly)
{
    struct stat facts {};
    ASSERT_EQ(stat(file_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
}

TEST_F(WorkingFile, CutAnywhereKeepsTheBlocksBefore)
{
    const std::string whole = bytes();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        write(whole.substr(0, size));
        const Contents contents = read();
        EXPECT_LE(contents.blocks.size(), 1U) << size;
        if (!contents.blocks.empty()) {
            EXPECT_EQ(contents.blocks[0].activities.at(0).start, 105);
        }
    }
    write(whole.substr(0, whole.size() - 1));
    EXPECT_TRUE(read().isCut);
    EXPECT_EQ(read().blocks.size(), 1U);
}

TEST_F(WorkingFile, HasEventsWhereABlockWithEventsIsWhole)
{
    WorkingFileSummary summary = summaryOf(file_);
    EXPECT_TRUE(summary.hasEvents);
    EXPECT_FALSE(summary.isCut);
    EXPECT_EQ(summary.facts, (ProcessFacts{{"pid", "12"}, {"device_untraced", "why"}}));

    const std::string whole = bytes();
    std::size_t shortest = whole.size();
    for (std::size_t size = whole.size(); size > kWorkingFileLine.size(); --size) {
        write(whole.substr(0, size));
        summary = summaryOf(file_);
        EXPECT_EQ(summary.hasEvents, !read().blocks.empty()) << size;
        shortest = summary.hasEvents ? size : shortest;
    }
    write(whole.substr(0, shortest -
                              1)); // as a process leaves it that is killed while it writes its first block
    EXPECT_TRUE(summaryOf(file_).isCut);

    fs::remove(file_);
    WorkingFileWriter writer(file_, {{"pid", "13"}});
    WorkingBlock names;
    names.threads = workingStep(true, 100, 10).threads;
    ASSERT_FALSE(names.threads.empty());
    EXPECT_TRUE(writer.append(names));
    EXPECT_FALSE(summaryOf(file_).hasEvents);
    EXPECT_FALSE(summaryOf(file_).isCut);
}

TEST_F(WorkingFile, NoticesDamage)
{
    const std::string whole = bytes();
    for (std::size_t at = kWorkingFileLine.size(); at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
        write(damaged);
        const Contents contents = read();
        // A block of an unknown kind is passed over.
        EXPECT_TRUE(contents.isCut || contents.blocks.size() + contents.facts.size() < 4) << at;
    }
}

TEST_F(WorkingFile, OfAnotherVersionIsRefused)
{
    write("tilescope working file 9\n" + bytes().substr(kWorkingFileLine.size()));
    EXPECT_THROW(read(), Error);
}

TEST(WorkingFileWriter, CreatesNoFileWithoutABlock)
{
    const testing::TemporaryFolder folder;
    const fs::path file = folder.path() / "a.working";
    {
        const WorkingFileWriter writer(file, {{"pid", "12"}});
    }
    EXPECT_FALSE(fs::exists(file));
}

/// What a thread does that has no descriptors of its own.
WorkingFileWriter::DescriptorScope mapped()
{
    return [](const std::function<void()>& use) {
        use();
        return true;
    };
}

TEST(WorkingFileWriter, WritesTheSameByAMapping)
{
    const testing::TemporaryFolder folder;
    std::array<std::string, 2> contents;
    for (const bool isMapped : {false, true}) {
        const fs::path file = folder.path() / (isMapped ? "mapped.working" : "a.working");
        WorkingFileWriter writer(file, {{"pid", "12"}},
                                 isMapped ? mapped() : WorkingFileWriter::DescriptorScope());
        for (int i = 0; i < 3000; ++i) // more than a page
            ASSERT_TRUE(writer.append(workingStep(i == 0, 100 * i, 10)));
        std::ifstream in(file, std::ios::binary); // while it is being written
        contents[isMapped ? 1 : 0] = {std::istreambuf_iterator<char>(in), {}};
    }
    EXPECT_GT(contents[0].size(), 300'000U);
    EXPECT_TRUE(contents[0] == contents[1]);
}

TEST(WorkingFileWriter, SaysThatItsFileCannotBeMapped)
{
    const testing::TemporaryFolder folder;
    WorkingFileWriter noFolder(folder.path() / "none/a.working", {}, mapped());
    EXPECT_FALSE(noFolder.append(workingStep(true, 1)));
    EXPECT_EQ(noFolder.error(), ENOENT);
    WorkingFileWriter noProcess(folder.path() / "a.working", {}, [](const auto&) { return false; });
    EXPECT_FALSE(noProcess.append(workingStep(true, 1)));
    EXPECT_EQ(noProcess.error(), EAGAIN);
}

class FullWorkingFile : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Ways, FullWorkingFile, ::testing::Bool());

TEST_P(FullWorkingFile, EndsWhereNothingMoreFits)
{
    const testing::TemporaryFolder folder;
    const fs::path file = folder.path() / "a.working";
    WorkingFileWriter writer(file, {}, GetParam() ? mapped() : WorkingFileWriter::DescriptorScope());
    const bool first = writer.append(workingStep(true, 1));
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = fs::file_size(file) + 60, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const bool second = writer.append(workingStep(false, 2));
    writer.addFact("record_ended", "full");
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(first);
    EXPECT_FALSE(second);
    EXPECT_EQ(writer.error(), EFBIG);
    EXPECT_FALSE(writer.append(workingStep(false, 3))) << "nothing but a reason follows";
    int blocks = 0;
    ProcessFacts facts;
    const auto end = readWorkingFile(
        file, [&](ProcessFacts&& more) { facts = std::move(more); }, [&](WorkingBlock&&) { ++blocks; });
    EXPECT_FALSE(end.isCut);
    EXPECT_EQ(blocks, 1);
    EXPECT_EQ(facts, (ProcessFacts{{"record_ended", "full"}}));
}

} // namespace

} // namespace tilescope::record
