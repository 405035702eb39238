#include "core/record/working_file.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>

namespace tilescope::record {

namespace {

namespace fs = std::filesystem;

WorkingBlock blockOf(const std::string& name, std::int64_t start)
{
    WorkingBlock block;
    block.strings = {name};
    block.launches.push_back({.grid = {4, 1, 1}});
    block.ranges.push_back(
        {.start = start, .end = start + 5, .thread = 7, .name = 0, .step = 1, .backwardPath = kNoString});
    block.activities.push_back({.start = start,
                                .end = start + 3,
                                .launched = start - 1,
                                .bytes = 0,
                                .graphNode = 0,
                                .name = 0,
                                .backwardPath = kNoString,
                                .correlation = 9,
                                .launchThread = 7,
                                .stream = 7,
                                .launch = 0,
                                .device = 0,
                                .kind = 0,
                                .copy = 0,
                                .unused = 0});
    block.recordsChecked = start;
    return block;
}

class WorkingFile : public ::testing::Test {
protected:
    WorkingFile()
    {
        WorkingFileWriter writer(file_, {{"pid", "12"}});
        EXPECT_TRUE(writer.append(blockOf("first", 100)));
        writer.addFact("device_untraced", "why");
        EXPECT_TRUE(writer.append(blockOf("second", 200)));
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
    EXPECT_EQ(contents.blocks[1].strings, std::vector<std::string>{"second"});
    EXPECT_EQ(contents.blocks[1].activities.at(0).start, 200);
    EXPECT_EQ(contents.blocks[1].launches.at(0).grid[0], 4U);
    EXPECT_EQ(contents.blocks[1].ranges.at(0).end, 205);
    EXPECT_EQ(contents.blocks[1].recordsChecked, 200);
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
    for (std::size_t size = kWorkingFileLine.size(); size < whole.size(); ++size) {
        write(whole.substr(0, size));
        const Contents contents = read();
        EXPECT_LE(contents.blocks.size(), 1U) << size;
        if (!contents.blocks.empty()) {
            EXPECT_EQ(contents.blocks[0].activities.at(0).start, 100);
        }
    }
    write(whole.substr(0, whole.size() - 1));
    EXPECT_TRUE(read().isCut);
    EXPECT_EQ(read().blocks.size(), 1U);
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

TEST(WorkingFileWriter, EndsWhereNothingMoreFits)
{
    const testing::TemporaryFolder folder;
    const fs::path file = folder.path() / "a.working";
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 400, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    WorkingFileWriter writer(file, {});
    const bool first = writer.append(blockOf("first", 1));
    const bool second = writer.append(blockOf("second", 2));
    writer.addFact("record_ended", "full");
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(first);
    EXPECT_FALSE(second);
    EXPECT_EQ(writer.error(), EFBIG);
    EXPECT_FALSE(writer.append(blockOf("third", 3))) << "nothing but a reason follows";
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
