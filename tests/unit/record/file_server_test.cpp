#include "core/record/file_server.h"

#include "core/record/file_request.h"
#include "core/record/working_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/working_block.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

namespace tilescope::record {

namespace {

namespace fs = std::filesystem;

/// A server whose requests a thread answers.
class AnsweredFileServer : public ::testing::Test {
protected:
    AnsweredFileServer()
        : thread_([this] {
              while (!ends_) {
                  pollfd wait{.fd = server_.descriptor(), .events = POLLIN, .revents = 0};
                  if (poll(&wait, 1, 10) > 0)
                      server_.serve();
              }
          })
    {
    }
    ~AnsweredFileServer() override { stop(); }
    void stop()
    {
        ends_ = true;
        if (thread_.joinable())
            thread_.join();
    }

    testing::TemporaryFolder folder_;
    FileServer server_{folder_.path()};
    const std::string address_ = server_.address();
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

TEST_F(AnsweredFileServer, OpensAFileThatTheProcessCannotReach)
{
    ASSERT_FALSE(address_.empty());
    WorkingFileWriter writer(folder_.path() / "none/12-34.working", {{"pid", "12"}}, {},
                             [&](const fs::path& file) { return requestFile(address_, file); });
    EXPECT_TRUE(writer.append(testing::workingStep(true, 100, 10)));
    writer.close();
    const fs::path file = folder_.path() / "12-34.working";
    struct stat facts {};
    ASSERT_EQ(stat(file.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U);
    const WorkingFileSummary summary = summaryOf(file);
    EXPECT_EQ(summary.facts, (ProcessFacts{{"pid", "12"}}));
    EXPECT_TRUE(summary.hasEvents);
}

TEST_F(AnsweredFileServer, OpensNothingElse)
{
    std::ofstream(folder_.path() / "1-2.working") << "of another process";
    for (const char* name : {"1-2.working", "a.working", "..", "1-2.end", ".working", "1 2.working"})
        EXPECT_LT(requestFile(address_, folder_.path() / "none" / name), 0) << name;
    const std::string withoutKey = address_.substr(0, address_.find(':') + 1);
    EXPECT_LT(requestFile(withoutKey, folder_.path() / "none/3-4.working"), 0);
    EXPECT_LT(requestFile(withoutKey + "0", folder_.path() / "none/3-4.working"), 0);
    EXPECT_LT(requestFile("", folder_.path() / "none/3-4.working"), 0);
    EXPECT_LT(requestFile("none:key", folder_.path() / "none/3-4.working"), 0);
    EXPECT_EQ(fs::file_size(folder_.path() / "1-2.working"), 18U);
    EXPECT_FALSE(fs::exists(folder_.path() / "3-4.working"));
}

TEST_F(AnsweredFileServer, KeepsWhyAProcessIsNotRecorded)
{
    tellEnd(address_, folder_.path() / "none/5-6.working", "no space left");
    tellEnd(address_, folder_.path() / "none/5-6.working", "a later reason");
    tellEnd(address_, folder_.path() / "none/7-8.working", std::string(100'000, 'x'));
    stop();
    const std::map<std::string, std::string>& ends = server_.ends();
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_EQ(ends.at("5-6.working"), "no space left");
    EXPECT_LT(ends.at("7-8.working").size(), 4096U);
}

TEST(FileServer, IsAskedOnlyForFilesOutOfReach)
{
    int requests = 0;
    const auto request = [&](const fs::path&) {
        ++requests;
        return -1;
    };
    const testing::TemporaryFolder folder;
    WorkingFileWriter reached(folder.path() / "1-2.working", {}, {}, request);
    EXPECT_TRUE(reached.create());
    EXPECT_EQ(requests, 0);
    WorkingFileWriter missing(folder.path() / "none/1-2.working", {}, {}, request);
    EXPECT_FALSE(missing.create());
    EXPECT_EQ(missing.error(), ENOENT);
    EXPECT_EQ(requests, 1);
    // What a filter of system calls returns: such a program may not make a socket either.
    EXPECT_FALSE(isOutOfReach(EPERM));
    EXPECT_FALSE(isOutOfReach(EMFILE));
    EXPECT_FALSE(isOutOfReach(0));
}

} // namespace

} // namespace tilescope::record
