#include "core/base/output_file.h"

#include "core/base/error.h"
#include "core/base/named_output.h"
#include "core/base/output_folder.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <functional>
#include <sstream>

namespace tilescope {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& file, const std::string& text)
{
    std::ofstream(file, std::ios::binary) << text;
}

std::string contentsOf(const fs::path& file)
{
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

/// The first bytes of a recording.
std::string recordingBytes()
{
    std::string bytes = "SQLite format 3";
    bytes.resize(68, '\0');
    return bytes + "TSCP" + std::string(28, '\0');
}

/// Runs `work` in a separate process; returns its exit status or minus the signal.
int inChild(const std::function<void()>& work)
{
    const pid_t child = fork();
    if (child == 0) {
        try {
            work();
        } catch (...) {
            _exit(97);
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

class OutputFileTest : public ::testing::Test {
protected:
    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const auto& entry : fs::directory_iterator(folder.path()))
            all.push_back(entry.path().filename());
        std::ranges::sort(all);
        return all;
    }
    std::string refusal(const fs::path& target, std::vector<fs::path> inputs = {}) const
    {
        try {
            OutputFile file(target, inputs);
            file.stream() << "new";
            file.commit();
        } catch (const Error& error) {
            EXPECT_EQ(error.exitCode(), 2) << error.sentence();
            return error.sentence();
        }
        return {};
    }

    testing::TemporaryFolder folder;
};

TEST_F(OutputFileTest, AppearsWholeWhenItIsCommitted)
{
    const fs::path target = folder / "a.txt";
    OutputFile file(target);
    file.stream() << std::string(200'000, 'x');
    EXPECT_FALSE(fs::exists(target));
    file.commit();
    EXPECT_EQ(contentsOf(target), std::string(200'000, 'x'));
    EXPECT_THAT(names(), ElementsAre("a.txt"));
}

TEST_F(OutputFileTest, LeavesTheTargetUnchangedWithoutCommit)
{
    put(folder / "a.txt", "old");
    {
        OutputFile file(folder / "a.txt");
        file.stream() << "new" << std::flush;
        EXPECT_EQ(names().size(), 2u);
    }
    EXPECT_EQ(contentsOf(folder / "a.txt"), "old");
    EXPECT_THAT(names(), ElementsAre("a.txt"));
}

TEST_F(OutputFileTest, KeepsThePermissionsOfTheFileItReplaces)
{
    put(folder / "a.txt", "old");
    fs::permissions(folder / "a.txt", fs::perms::owner_read | fs::perms::owner_write);
    writeOutput(folder / "a.txt", "new");
    EXPECT_EQ(fs::status(folder / "a.txt").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFileTest, WritesToTheTargetOfALinkAndKeepsTheLink)
{
    fs::create_directory(folder / "far");
    put(folder / "far" / "real.txt", "old");
    fs::create_symlink("far/real.txt", folder / "link");
    fs::create_symlink("link", folder / "second");
    writeOutput(folder / "second", "new");
    EXPECT_TRUE(fs::is_symlink(folder / "link"));
    EXPECT_TRUE(fs::is_symlink(folder / "second"));
    EXPECT_EQ(contentsOf(folder / "far" / "real.txt"), "new");
    fs::create_symlink("far/missing.txt", folder / "dangling");
    writeOutput(folder / "dangling", "made");
    EXPECT_EQ(contentsOf(folder / "far" / "missing.txt"), "made");
    EXPECT_TRUE(fs::is_symlink(folder / "dangling"));
}

TEST_F(OutputFileTest, RefusesAnythingButRegularFiles)
{
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(refusal(folder / "pipe"), HasSubstr("is not a regular file"));
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = folder / "socket";
    ASSERT_LT(path.size(), sizeof(address.sun_path));
    path.copy(address.sun_path, path.size());
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_THAT(refusal(path), HasSubstr("is not a regular file"));
    close(listener);
    EXPECT_THAT(refusal(folder.path()), HasSubstr("is a folder"));
    EXPECT_THAT(refusal(folder / "name/"), HasSubstr("is a folder"));
    EXPECT_THAT(refusal("/dev/null"), HasSubstr("is not a regular file"));
    EXPECT_THAT(refusal(""), HasSubstr("no file name"));
    fs::create_symlink("/dev/full", folder / "full");
    EXPECT_THAT(refusal(folder / "full"), HasSubstr("is not a regular file"));
    fs::create_symlink("loop", folder / "loop");
    EXPECT_THAT(refusal(folder / "loop"), HasSubstr("is a link that leads to itself"));
    EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
    EXPECT_TRUE(fs::is_socket(folder / "socket"));
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, RefusesStandardOutputOfAnyKind)
{
    put(folder / "redirected", "the shell opened this");
    const int before = dup(STDOUT_FILENO);
    FILE* const redirected = std::fopen((folder / "redirected").c_str(), "r+");
    ASSERT_TRUE(redirected);
    std::fflush(stdout);
    dup2(fileno(redirected), STDOUT_FILENO);
    const std::string out = refusal("/dev/stdout");
    const std::string one = refusal("/proc/self/fd/1");
    const std::string two = refusal("/dev/fd/1");
    dup2(before, STDOUT_FILENO);
    close(before);
    std::fclose(redirected);
    for (const std::string& sentence : {out, one, two})
        EXPECT_THAT(sentence, HasSubstr("is not a regular file"));
    EXPECT_EQ(contentsOf(folder / "redirected"), "the shell opened this");
}

TEST_F(OutputFileTest, RefusesItsInputUnderAnyName)
{
    put(folder / "in.txt", "data");
    fs::create_hard_link(folder / "in.txt", folder / "hard.txt");
    fs::create_symlink("in.txt", folder / "soft.txt");
    fs::create_symlink(folder.path(), folder / "here");
    for (const fs::path& target : {folder / "in.txt", folder / "hard.txt", folder / "soft.txt",
                                   folder / "here" / "in.txt", folder.path() / "./in.txt"})
        EXPECT_THAT(refusal(target, {folder / "in.txt"}), HasSubstr("would be overwritten")) << target;
    EXPECT_EQ(contentsOf(folder / "hard.txt"), "data");
}

TEST_F(OutputFileTest, RefusesARecordingAndItsLogAndLock)
{
    put(folder / "a.tscope", "anything");
    put(folder / "renamed.db", recordingBytes());
    for (const char* name : {"a.tscope-wal", "renamed.db-journal", "a.tscope-lock", "a.tscope-shm"})
        put(folder / name, "pages");
    EXPECT_THAT(refusal(folder / "a.tscope"), HasSubstr("is a recording"));
    EXPECT_THAT(refusal(folder / "renamed.db"), HasSubstr("is a recording"));
    for (const char* name : {"a.tscope-wal", "renamed.db-journal", "a.tscope-lock", "a.tscope-shm"})
        EXPECT_THAT(refusal(folder / name), HasSubstr("belongs to a recording")) << name;
    put(folder / "other-wal", "somebody's");
    EXPECT_EQ(refusal(folder / "other-wal"), "");
}

TEST_F(OutputFileTest, GivesTheReasonForAFailedWrite)
{
    const int code = inChild([this] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit small{50'000, 50'000};
        setrlimit(RLIMIT_FSIZE, &small);
        try {
            writeOutput(folder / "a.txt", std::string(200'000, 'x'));
        } catch (const Error& error) {
            if (error.exitCode() == 3 && error.sentence().find("File too large") != std::string::npos)
                _exit(42);
        }
    });
    EXPECT_EQ(code, 42);
    EXPECT_TRUE(names().empty());
    try {
        writeOutput(folder / "nowhere" / "a.txt", "x");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("No such file or directory"));
    }
}

TEST_F(OutputFileTest, IsRemovedBySignalsThatEndTheProcess)
{
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const int code = inChild([&] {
            std::signal(signal, SIG_DFL);
            OutputFile file(folder / "a.txt");
            file.stream() << "half" << std::flush;
            const TemporaryPath tree(folder / "report", TemporaryPath::Kind::Folder);
            fs::create_directory(tree.path() / "figures");
            put(tree.path() / "figures" / "one.svg", "x");
            raise(signal);
        });
        EXPECT_EQ(code, -signal);
        EXPECT_TRUE(names().empty());
    }
}

TEST_F(OutputFileTest, LeftoversOfKilledWritersGoWithTheNextWriteAndLivingOnesStay)
{
    for (const std::string& name : {std::string("a.txt"), std::string(255, 'n')}) {
        SCOPED_TRACE(name.size());
        const int code = inChild([&] {
            OutputFile file(folder / name);
            file.stream() << "half" << std::flush;
            const TemporaryPath tree(folder / name, TemporaryPath::Kind::Folder);
            put(tree.path() / "half", "x");
            raise(SIGKILL);
        });
        ASSERT_EQ(code, -SIGKILL);
        EXPECT_EQ(names().size(), 2u);
        put(folder / ".a.txt.tilescope-toolong", "not ours");
        {
            OutputFile living(folder / name);
            living.stream() << "first";
            EXPECT_EQ(names().size(), 2u) << "the leftovers are gone";
            writeOutput(folder / name, "second");
            EXPECT_EQ(contentsOf(folder / name), "second");
            EXPECT_EQ(names().size(), 3u) << "the living writer's file stays";
            living.commit();
        }
        EXPECT_EQ(contentsOf(folder / name), "first");
        EXPECT_EQ(names().size(), 2u);
        fs::remove(folder / name);
        fs::remove(folder / ".a.txt.tilescope-toolong");
    }
}

TEST_F(OutputFileTest, AnErrorNamesTheOutputInsteadOfItsDraft)
{
    const OutputFolder output(folder / "out", {});
    const fs::path& draft = output.draft();
    try {
        output.write([&] {
            throw Error{.what = "cannot write " + (draft / "a").string(),
                        .where = (draft / "a").string(),
                        .remedy = "free some space for " + draft.string()};
        });
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.what, "cannot write " + (folder / "out/a").string());
        EXPECT_EQ(error.where, (folder / "out/a").string());
        EXPECT_EQ(error.remedy, "free some space for " + (folder / "out").string());
    }
    try {
        namingOutput("/draft", "/draft/longer", [] { throw Error{.what = "/draft /draft"}; });
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.what, "/draft/longer /draft/longer");
    }
}

} // namespace tilescope
