// The connection, the check and the installation, over a real sshd.

#include "core/hosts/host_check.h"
#include "core/hosts/install.h"
#include "core/hosts/ssh_link.h"

#include "core/base/error.h"
#include "core/base/sha256.h"
#include "tests/unit/hosts/sshd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mount.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace tilescope::hosts {

using machine::Finding;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class SshLinks : public ::testing::Test {
protected:
    static void SetUpTestSuite()
    {
        if (testing::Sshd::whyMissing().empty())
            sshd = std::make_unique<testing::Sshd>();
    }
    static void TearDownTestSuite() { sshd.reset(); }
    void SetUp() override
    {
        if (!sshd)
            GTEST_SKIP() << testing::Sshd::whyMissing();
        for (const auto& [name, value] : sshd->environment())
            setenv(name.c_str(), value.c_str(), 1);
        usual();
    }
    void TearDown() override
    {
        if (!sshd)
            return;
        SshLink(box).close();
        fs::remove_all(sshd->remote() / ".cache");
        usual();
    }

    static void usual()
    {
        sshd->setForcedCommand("exec env -i HOME=" + sshd->remote().string() +
                               " PATH=/usr/bin:/bin /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"");
        sshd->knowHostKey(*sshd / "host_key.pub");
        fs::copy_file(*sshd / "user_key.pub", *sshd / "authorized", fs::copy_options::overwrite_existing);
    }
    std::string refusal() const
    {
        try {
            SshLink(box).open();
        } catch (const Error& error) {
            EXPECT_EQ(error.exitCode(), 4);
            return error.sentence();
        }
        return "connected";
    }
    Bundle smallBundle(const std::string& content) const
    {
        Bundle bundle;
        bundle.files = {{.local = {}, .text = content, .name = "bin/tilescope", .isExecutable = true},
                        {.local = {}, .text = std::string(700, 'x'), .name = "share/tilescope/deep/file"}};
        for (const ArchivedFile& file : bundle.files)
            bundle.manifest += sha256(file.text) + "  " + file.name + "\n";
        bundle.digest = sha256(bundle.manifest);
        return bundle;
    }
    fs::path place(const Bundle& bundle) const
    {
        return sshd->remote() / ".cache/tilescope" / bundle.folderName();
    }
    std::vector<std::string> leftBehind() const
    {
        std::vector<std::string> names;
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(sshd->remote() / ".cache/tilescope", none))
            names.push_back(entry.path().filename());
        return names;
    }

    /// A disk of its own for the cache of the host; `isMounted` is false where this process may not mount one.
    struct Disk {
        Disk(fs::path at, unsigned long flags, const char* options) : folder(std::move(at))
        {
            fs::create_directories(folder);
            isMounted = mount("none", folder.c_str(), "tmpfs", flags, options) == 0;
        }
        ~Disk()
        {
            if (isMounted)
                umount2(folder.c_str(), MNT_DETACH); // a process of the host may still be in it
        }
        Disk(const Disk&) = delete;
        Disk& operator=(const Disk&) = delete;

        fs::path folder;
        bool isMounted = false;
    };

    static inline std::unique_ptr<testing::Sshd> sshd;
    Host box{.name = "gpubox", .address = "gpubox"};
};

TEST_F(SshLinks, RunCommandsOverOneConnection)
{
    SshLink link(box);
    link.open();
    EXPECT_TRUE(SshLink(box).isOpen());
    const CommandOutcome outcome =
        link.run("printf '%s' " + quotedForHost("it's \"$HOME\" `id` * \\") + "; echo bad >&2; exit 7");
    EXPECT_EQ(outcome.out, "it's \"$HOME\" `id` * \\");
    EXPECT_EQ(outcome.err, "bad\n");
    EXPECT_EQ(outcome.code, 7);
    std::string text(300'000, 'a');
    bool isGiven = false;
    EXPECT_EQ(
        link.run("wc -c",
                 [&] { return std::exchange(isGiven, true) ? std::string_view() : std::string_view(text); })
            .out,
        "300000\n");
    EXPECT_THROW(quotedForHost("two\nlines"), Error);
}

// A host key that is not known yet is a question to the user. The dialog is a child of what SSH_ASKPASS names.
TEST_F(SshLinks, EndTheDialogThatAsksWhenTheyAreStopped)
{
    const fs::path asked = *sshd / "asked";
    const fs::path program = *sshd / "askpass";
    std::ofstream(program) << "#!/bin/sh\nsleep 1000 &\necho $SSH_ASKPASS_REQUIRE $$ $! >" << asked.string()
                           << ".part\nmv " << asked.string() << ".part " << asked.string() << "\nwait\n";
    fs::permissions(program, fs::perms::owner_all);
    setenv("SSH_ASKPASS", program.c_str(), 1);
    setenv("DISPLAY", ":7", 1);
    sshd->write("known_hosts", "");
    askInDialogs();
    std::stop_source stop;
    std::jthread stopping([&] {
        while (!fs::exists(asked))
            std::this_thread::yield();
        stop.request_stop();
    });
    EXPECT_THROW(SshLink(box).open(stop.get_token()), Stopped);
    stopping.join();
    std::ifstream in(asked);
    const auto commandOf = [](pid_t pid) {
        std::ifstream command("/proc/" + std::to_string(pid) + "/cmdline");
        return std::string{std::istreambuf_iterator<char>(command), {}};
    };
    std::string way;
    in >> way;
    EXPECT_EQ(way, "prefer");
    int processes = 0;
    for (pid_t pid = 0; in >> pid; ++processes)
        while (!commandOf(pid).empty()) // one that has ended has none
            std::this_thread::yield();
    EXPECT_EQ(processes, 2);
    fs::remove(asked);
}

TEST_F(SshLinks, EndWithTheirConnection)
{
    SshLink link(box);
    link.open();
    sshd->cut();
    EXPECT_THROW(link.run("true"), Error);
    link.open(); // connects again
    EXPECT_EQ(link.run("echo back").out, "back\n");
}

TEST_F(SshLinks, SayWhyAHostRefuses)
{
    fs::resize_file(*sshd / "authorized", 0);
    EXPECT_THAT(refusal(), HasSubstr("it accepted no key"));
    usual();
    fs::resize_file(*sshd / "known_hosts", 0);
    EXPECT_THAT(refusal(), HasSubstr("its host key is not in known_hosts"));
    sshd->knowHostKey(*sshd / "user_key.pub");
    EXPECT_THAT(refusal(), HasSubstr("its host key differs from the one in known_hosts"));
    box.address = "no-such-host.invalid";
    EXPECT_THAT(refusal(), HasSubstr("its name is unknown"));
}

TEST_F(SshLinks, SayThatNothingListens)
{
    sshd->stop();
    EXPECT_THAT(refusal(), HasSubstr("refuses connections"));
    sshd->start();
}

TEST_F(SshLinks, CheckAHostStepByStep)
{
    box.setUp = {"export TILESCOPE_TORCH=$HOME/torch", "echo noise"};
    fs::create_directory(sshd->remote() / "torch");
    std::ofstream(sshd->remote() / "torch/version.py") << "__version__ = '2.11.0+cu130'\n";
    SshLink link(box);
    std::map<std::string, Finding> found;
    checkHost(link, smallBundle("x"), [&](const Finding& finding) { found[finding.topic] = finding; });
    EXPECT_EQ(found["connection"].verdict, Finding::Verdict::Ok) << found["connection"].finding;
    EXPECT_EQ(found["system"].verdict, Finding::Verdict::Ok) << found["system"].finding;
    EXPECT_THAT(found["LibTorch"].finding, HasSubstr("2.11.0+cu130"));
    EXPECT_EQ(found["free space"].verdict, Finding::Verdict::Ok) << found["free space"].finding;
    EXPECT_EQ(found["Tilescope"].verdict, Finding::Verdict::Note);
    EXPECT_TRUE(leftBehind().empty()) << "the check changes nothing";
    install(link, smallBundle("x"));
    checkHost(link, smallBundle("x"), [&](const Finding& finding) { found[finding.topic] = finding; });
    EXPECT_EQ(found["Tilescope"].verdict, Finding::Verdict::Ok) << found["Tilescope"].finding;
}

TEST_F(SshLinks, CheckNamesSetUpLinesThatFailAndADamagedCopy)
{
    box.setUp = {"true", "source /no/such/venv", "echo 'open"};
    SshLink link(box);
    link.open();
    const Bundle bundle = smallBundle("x");
    install(link, bundle);
    std::vector<std::string> said;
    const auto check = [&] {
        said.clear();
        checkHost(link, bundle, [&](const Finding& finding) {
            if (finding.topic == "set-up" || finding.topic == "Tilescope")
                said.push_back(finding.finding);
        });
    };
    check();
    ASSERT_EQ(said.size(), 3u);
    EXPECT_EQ(said[0], "line 2 fails: source /no/such/venv");
    EXPECT_EQ(said[1], "line 3 fails: echo 'open");
    EXPECT_THAT(said[2], HasSubstr("of this build is there"));
    fs::resize_file(place(bundle) / "share/tilescope/deep/file", 10);
    check();
    EXPECT_EQ(said.back(), "its copy there is damaged (share/tilescope/deep/file: FAILED)");
    fs::remove(place(bundle) / "bin/tilescope");
    check();
    EXPECT_EQ(said.back(), "its copy there is damaged (bin/tilescope: FAILED open or read)");
    removeFiles(link);
}

TEST_F(SshLinks, GiveUpOnACommandThatDoesNotEnd)
{
    SshLink link(box);
    link.open();
    for (const char* line : {"exec sleep 5", "exec timeout 5 yes"}) {
        try {
            link.run(line, {}, {}, std::chrono::seconds(1));
            FAIL() << line;
        } catch (const Error& error) {
            EXPECT_THAT(error.sentence(), HasSubstr("gpubox: it does not answer within 1 s"));
        }
    }
}

TEST_F(SshLinks, CheckReportsAHostThatSendsGarbage)
{
    sshd->setForcedCommand("head -c 3000000 /dev/urandom");
    SshLink link(box);
    std::vector<Finding> findings;
    checkHost(link, smallBundle("x"), [&](const Finding& finding) { findings.push_back(finding); });
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].verdict, Finding::Verdict::Missing);
    EXPECT_THAT(findings[0].finding, HasSubstr("does not run a simple command"));
}

TEST_F(SshLinks, InstallABundleOnceAndLeaveOthersAlone)
{
    SshLink link(box);
    link.open();
    const Bundle first = smallBundle("#!/bin/sh\necho first\n");
    const Bundle second = smallBundle("#!/bin/sh\necho second\n");
    Bytes told;
    EXPECT_TRUE(install(link, first, [&](Bytes copied, Bytes) { told = copied; }));
    EXPECT_GT(told.count, 700);
    EXPECT_FALSE(install(link, first));
    EXPECT_TRUE(install(link, second));
    EXPECT_EQ(leftBehind().size(), 2u);
    EXPECT_EQ(link.run(hostCommand(link, first, "x")).out, "first\n");
    EXPECT_EQ(fs::status(place(first)).permissions(), fs::perms(0700));
    EXPECT_EQ(fs::status(place(first) / "share/tilescope/deep/file").permissions(), fs::perms(0600));
    EXPECT_EQ(fs::file_size(place(first) / "share/tilescope/deep/file"), 700u);
    removeFiles(link);
    EXPECT_TRUE(leftBehind().empty());
}

TEST_F(SshLinks, InstallNothingThatDiffersFromWhatWasSent)
{
    SshLink link(box);
    link.open();
    Bundle bundle = smallBundle("good");
    bundle.files[0].text = "evil";
    try {
        install(link, bundle);
        FAIL() << "a file with another checksum was accepted";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("differs from what was sent"));
    }
    EXPECT_TRUE(leftBehind().empty());
}

TEST_F(SshLinks, InstallSaysThatTheDiskIsFull)
{
    const Disk small(sshd->remote() / ".cache", 0, "size=64k");
    if (!small.isMounted)
        GTEST_SKIP() << "no small disk can be mounted (needs root)";
    SshLink link(box);
    link.open();
    try {
        install(link, smallBundle(std::string(1'000'000, 'x')));
        ADD_FAILURE() << "a megabyte on a disk of 64 KiB";
    } catch (const Error& error) {
        EXPECT_THAT(error.sentence(), HasSubstr("there is no space"));
        EXPECT_EQ(error.exitCode(), 4);
    }
    EXPECT_TRUE(leftBehind().empty());
}

// fish and csh read backslashes, quotes and exclamation marks of a quoted word differently from sh.
TEST_F(SshLinks, SendLinesThatEveryLoginShellReadsAlike)
{
    const std::string odd = "it's \"a\" \\ \\\\ b! !x $HOME `id` * ~ %s \xc3\xbc \\n";
    const fs::path noted = sshd->remote() / "line";
    const auto serveBy = [&](const std::string& shell) {
        sshd->setForcedCommand("printf %s \"$SSH_ORIGINAL_COMMAND\" >" + noted.string() +
                               "\nexec env -i HOME=" + sshd->remote().string() + " PATH=/usr/bin:/bin " +
                               shell + " -c \"$SSH_ORIGINAL_COMMAND\"");
    };
    SshLink link(box);
    link.open();
    for (const char* shell : {"/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh", "/bin/ksh", "/bin/tcsh",
                              "/bin/csh", "/usr/bin/fish"}) {
        if (!fs::exists(shell))
            continue;
        serveBy(shell);
        EXPECT_EQ(link.run("printf %s " + quotedForHost(odd)).out, odd) << shell;
        EXPECT_EQ(link.run("f() { return 7; }; ! test -d / || f").code, 7) << shell;
    }
    std::ifstream in(noted);
    const std::string line{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(std::ranges::count(line, '\''), 4) << line;
    for (const char* unlike : {"!", "\\'", "\\\\", "'\\"})
        EXPECT_EQ(line.find(unlike), std::string::npos) << unlike << " in " << line;
}

TEST_F(SshLinks, SayThatAShellRunsNothing)
{
    sshd->setForcedCommand("echo 'Welcome'; echo 'This account is not available.'; exit 1");
    SshLink link(box);
    link.open();
    try {
        install(link, smallBundle("x"));
        ADD_FAILURE() << "nothing can be installed there";
    } catch (const Error& error) {
        EXPECT_EQ(error.what, "its shell does not run a simple command: exit code 1 (This account is not "
                              "available.)");
        EXPECT_EQ(error.exitCode(), 4);
    }
    sshd->setForcedCommand("exec cat");
    EXPECT_THROW(install(link, smallBundle("x")), Error);
}

TEST_F(SshLinks, CheckFindsDisksThatRunNothingOrTakeNoFiles)
{
    const auto examined = [&](unsigned long flags, const char* options) -> std::optional<Finding> {
        const Disk disk(sshd->remote() / ".cache", flags, options);
        if (!disk.isMounted)
            return {};
        SshLink link(box);
        std::map<std::string, Finding> found;
        checkHost(link, smallBundle("x"), [&](const Finding& finding) { found[finding.topic] = finding; });
        return found["free space"];
    };
    const auto noExec = examined(MS_NOEXEC, "size=400m");
    if (!noExec)
        GTEST_SKIP() << "no disk can be mounted (needs root)";
    EXPECT_EQ(noExec->verdict, Finding::Verdict::Missing);
    EXPECT_THAT(noExec->finding, HasSubstr("noexec"));
    const auto noFiles = examined(0, "size=400m,nr_inodes=20");
    EXPECT_EQ(noFiles->verdict, Finding::Verdict::Missing);
    EXPECT_THAT(noFiles->finding, HasSubstr("more files"));
    EXPECT_EQ(examined(0, "size=400m")->verdict, Finding::Verdict::Ok);
}

TEST_F(SshLinks, StopWhenAsked)
{
    SshLink link(box);
    link.open();
    std::stop_source source;
    std::jthread asking([&] { source.request_stop(); });
    EXPECT_THROW(link.run("sleep 60", {}, source.get_token()), Stopped);
}

} // namespace tilescope::hosts
