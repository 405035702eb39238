// Properties of every verb that writes; add a row to writers() for a new verb.

#include "command_line.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"

#include <gmock/gmock.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

namespace tilescope {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProgramResult;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

/// Verbs with `@` in the place of their output.
const std::vector<Words>& writers()
{
    static const std::vector<Words> all{
        {"export", "mem.tscope", "--snapshot", "@"},
        {"export", "mem.tscope", "--perfetto", "@"},
        {"export", "mem.tscope", "--kineto", "@"},
        {"share", "mem.tscope", "-o", "@"},
        {"import", "snap.pickle", "-o", "@"},
        {"merge", "mem.tscope", "-o", "@"},
        {"--batch", "sweep.yaml", "-o", "@"},
        {"run", "attention", "--device", "cpu", "--seq_len", "64", "-o", "@"},
        {"doctor", "--ceilings", "--device", "cpu", "-o", "@"},
        {"note", "@", "1", "text"},
        {"tag", "@", "1", "word"},
        {"delete", "@", "1"},
        {"compact", "@"},
    };
    return all;
}

Words with(Words words, const std::string& output)
{
    std::ranges::replace(words, std::string("@"), output);
    return words;
}

std::string textOf(const Words& words)
{
    std::string text;
    for (const std::string& word : words)
        text += word + " ";
    return text;
}

std::string contentsOf(const fs::path& file)
{
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

/// Type, inode and size of a name, from lstat.
std::string identityOf(const fs::path& file)
{
    struct stat status {};
    if (lstat(file.c_str(), &status) != 0)
        return "nothing";
    return std::to_string(status.st_mode) + " " + std::to_string(status.st_ino) + " " +
           std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_nsec);
}

bool isOneSentence(const std::string& text)
{
    return text.size() > 1 && text.find('\n') == text.size() - 1;
}

/// A character that a terminal may interpret, except the end of a line.
bool hasControls(const std::string& text)
{
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        const bool endsLine = byte == '\n' || text.compare(i, 2, "\r\n") == 0; // CSV, by RFC 4180
        if ((byte < 0x20 && !endsLine) || byte == 0x7f || c1)
            return true;
    }
    return false;
}

} // namespace

class Outputs : public CommandLine {
protected:
    void SetUp() override
    {
        CommandLine::SetUp();
        fs::copy_file(fs::path(TILESCOPE_TEST_DATA) / "memory_small2_train.pickle", folder / "snap.pickle");
        ASSERT_EQ(tilescope({"--batch", "sweep.yaml", "-o", "a.tscope"}).code, 0);
        ASSERT_EQ(tilescope({"import", "snap.pickle", "-o", "mem.tscope"}).code, 0);
        fs::remove(folder / "starts");
    }

    std::vector<std::string> names(const std::string& within = "") const
    {
        std::vector<std::string> all;
        for (const auto& entry : fs::directory_iterator(folder / within))
            if (entry.path().filename() != "starts" && entry.path().filename() != "calibration")
                all.push_back(entry.path().filename());
        std::ranges::sort(all);
        return all;
    }

    /// Runs with standard output or limits set by a shell.
    ProgramResult shell(const std::string& how, const Words& words) const
    {
        Words command{"/bin/sh", "-c", how, TILESCOPE_PROGRAM};
        command.insert(command.end(), words.begin(), words.end());
        return testing::runProgram(command, folder.path(), environment);
    }
};

TEST_F(Outputs, AreRegularFilesOnly)
{
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    fs::create_symlink("pipe", folder / "link to a pipe");
    fs::create_symlink("loop", folder / "loop");
    fs::create_directory(folder / "folder");
    Words kinds{"pipe", "link to a pipe", "loop", "folder"};
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = folder / "socket";
    if (path.copy(address.sun_path, sizeof(address.sun_path) - 1) == path.size() &&
        bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0)
        kinds.emplace_back("socket");
    // Not a file in /dev: a defective program run as root would destroy it.
    if (mknod((folder / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0)
        kinds.emplace_back("device");
    const auto before = names();
    for (const Words& writer : writers())
        for (const std::string& kind : kinds) {
            const Words words = with(writer, kind);
            SCOPED_TRACE(textOf(words));
            const std::string identity = identityOf(folder / kind);
            const ProgramResult refused = tilescope(words);
            EXPECT_EQ(refused.code, 2);
            EXPECT_TRUE(isOneSentence(refused.err)) << refused.err;
            EXPECT_THAT(refused.out, IsEmpty());
            EXPECT_EQ(identityOf(folder / kind), identity);
            EXPECT_EQ(names(), before);
        }
    close(listener);
}

TEST_F(Outputs, AReportAppearsWholeOrNotAtAll)
{
    ASSERT_EQ(tilescope({"--batch", "study:attention-grid", "--quick", "-o", "study.tscope"}).code, 0);
    environment["TILESCOPE_GUI"] = "/nonexistent/window";
    const auto before = names();
    const Words words{"report", "study.tscope", "-o", "deep/er/report"};
    const ProgramResult failed = shell("ulimit -f 8; exec \"$0\" \"$@\"", words);
    EXPECT_EQ(failed.code, 3);
    EXPECT_TRUE(isOneSentence(failed.err)) << failed.err;
    EXPECT_THAT(failed.err, ::testing::StartsWith("deep/er/report/")) << "not the draft";
    EXPECT_THAT(failed.out, IsEmpty());
    EXPECT_EQ(names(), before) << "created folders are removed";
    ASSERT_EQ(tilescope(words).code, 0);
    const auto files = names("deep/er/report");
    EXPECT_THAT(files, ::testing::IsSupersetOf({"index.html", "report.md", "report.json", "tables"}));

    const std::string page = contentsOf(folder / "deep/er/report/index.html");
    fs::remove(folder / "deep/er/report/report.md");
    fs::create_hard_link(folder / "study.tscope", folder / "deep/er/report/report.md");
    const std::string recording = contentsOf(folder / "study.tscope");
    const ProgramResult refused = tilescope(words);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("report.md: is an input of this command"));
    EXPECT_EQ(contentsOf(folder / "study.tscope"), recording);
    EXPECT_EQ(contentsOf(folder / "deep/er/report/index.html"), page) << "nothing else was replaced either";
    EXPECT_EQ(names("deep/er/report"), files);
    for (const char* target : {"study.tscope", "snap.pickle"})
        EXPECT_THAT(tilescope({"report", "study.tscope", "-o", target}).err, HasSubstr("is not a folder"));
    fs::create_symlink("linked", folder / "link");
    EXPECT_EQ(tilescope({"report", "study.tscope", "-o", "link/"}).code, 0);
    EXPECT_TRUE(fs::exists(folder / "linked" / "index.html"));
}

TEST_F(Outputs, NeverReplaceARecordingByAnotherKindOfFile)
{
    fs::create_hard_link(folder / "mem.tscope", folder / "hard");
    fs::create_symlink("mem.tscope", folder / "soft");
    fs::copy_file(folder / "a.tscope", folder / "renamed.db");
    write("a.tscope-wal", "pages that are not in the file yet");
    const auto before = names();
    for (const char* target :
         {"mem.tscope", "hard", "soft", "./mem.tscope", "a.tscope", "renamed.db", "a.tscope-wal"}) {
        SCOPED_TRACE(target);
        const std::string contents = contentsOf(folder / target);
        const std::string identity = identityOf(folder / target);
        const ProgramResult refused = tilescope({"export", "mem.tscope", "--snapshot", target});
        EXPECT_EQ(refused.code, 2);
        EXPECT_TRUE(isOneSentence(refused.err)) << refused.err;
        EXPECT_EQ(contentsOf(folder / target), contents);
        EXPECT_EQ(identityOf(folder / target), identity);
        EXPECT_EQ(names(), before);
    }
}

TEST_F(Outputs, ReplaceOnlyFilesOfTheirOwnKind)
{
    const Words exports[] = {{"export", "mem.tscope", "--snapshot", "@"},
                             {"export", "mem.tscope", "--perfetto", "@"},
                             {"export", "mem.tscope", "--kineto", "@"},
                             {"share", "mem.tscope", "-o", "@"}};
    const std::string program = "import torch\nprint(torch.__version__)\n";
    const std::string trace = R"({"schemaVersion": 1, "traceEvents": []})";
    for (const Words& words : exports) {
        SCOPED_TRACE(textOf(words));
        ASSERT_EQ(tilescope(with(words, "first")).code, 0);
        EXPECT_EQ(tilescope(with(words, "first")).code, 0) << "of its own kind";
        const std::string contents = contentsOf(folder / "first");
        for (const auto& [name, text] : {std::pair("train.py", program), std::pair("t.json", trace)}) {
            if (words[2] == "--kineto" && text == trace)
                continue;
            write(name, text);
            const ProgramResult refused = tilescope(with(words, name));
            EXPECT_EQ(refused.code, 2);
            EXPECT_TRUE(isOneSentence(refused.err)) << refused.err;
            EXPECT_THAT(refused.err, HasSubstr(std::string(name) + ": holds something else"));
            EXPECT_EQ(contentsOf(folder / name), text);
            Words forced = with(words, name);
            forced.emplace_back("--force");
            EXPECT_EQ(tilescope(forced).code, 0);
            EXPECT_NE(contentsOf(folder / name), text) << contents.size();
        }
        fs::remove(folder / "first");
    }
    write("empty", "");
    EXPECT_EQ(tilescope({"share", "mem.tscope", "-o", "empty"}).code, 0);
}

TEST_F(Outputs, ExportsMayGoToStandardOutput)
{
    ASSERT_EQ(tilescope({"export", "mem.tscope", "--kineto", "t.json"}).code, 0);
    const ProgramResult piped = tilescope({"export", "mem.tscope", "--kineto", "-"});
    EXPECT_EQ(piped.code, 0) << piped.err;
    EXPECT_EQ(piped.out.substr(0, piped.out.rfind('"', piped.out.rfind('"') - 1)),
              contentsOf(folder / "t.json").substr(0, piped.out.rfind('"', piped.out.rfind('"') - 1)))
        << "nothing but the trace, which names itself at its end";
    EXPECT_THAT(piped.err, HasSubstr("-> standard output"));
    EXPECT_THAT(tilescope({"export", "mem.tscope", "--kineto", "-", "-q"}).err, IsEmpty());
    const ProgramResult folderOfFiles = tilescope({"export", "mem.tscope", "--arrow", "-"});
    EXPECT_EQ(folderOfFiles.code, 2);
    EXPECT_THAT(folderOfFiles.err, HasSubstr("cannot be written to standard output"));
    EXPECT_THAT(folderOfFiles.out, IsEmpty());
}

TEST_F(Outputs, QuietCommandsPrintOnlyTheirResult)
{
    environment["XDG_CACHE_HOME"] = (folder / "cache").string();
    EXPECT_THAT(tilescope({"share", "mem.tscope", "-o", "page.html", "-q"}).out, IsEmpty());
    EXPECT_TRUE(fs::exists(folder / "page.html"));
    const ProgramResult swept = tilescope({"--batch", "sweep.yaml", "-o", "quiet.tscope", "-q"});
    EXPECT_EQ(swept.code, 0);
    EXPECT_THAT(swept.out + swept.err, IsEmpty());
    EXPECT_EQ(store::RunReader(folder / "quiet.tscope").runs().size(), 4U);
    EXPECT_THAT(tilescope({"show", "a.tscope", "-q"}).out, HasSubstr("seq_len"));
    for (const Words& words :
         {Words{"merge", "mem.tscope", "-o", "merged.tscope"}, Words{"compact", "a.tscope"},
          Words{"import", "snap.pickle", "-o", "imported.tscope"}, Words{"cache", "clear"},
          Words{"export", "mem.tscope", "--snapshot", "again.pickle"}}) {
        Words quiet = words;
        quiet.emplace_back("-q");
        const ProgramResult ended = tilescope(quiet);
        EXPECT_EQ(ended.code, 0) << textOf(words) << ended.err;
        EXPECT_THAT(ended.out + ended.err, IsEmpty()) << textOf(words);
    }
}

TEST_F(Outputs, ColoursAreChosen)
{
    const auto hasColour = [](const std::string& text) { return text.find('\x1b') != std::string::npos; };
    EXPECT_FALSE(hasColour(tilescope({"show", "a.tscope"}).out)) << "it goes to a pipe";
    EXPECT_TRUE(hasColour(tilescope({"show", "a.tscope", "--color", "always"}).out));
    EXPECT_FALSE(hasColour(tilescope({"show", "a.tscope", "--color", "never"}).out));
    EXPECT_EQ(tilescope({"show", "a.tscope", "--color", "red"}).code, 2);
    EXPECT_THAT(tilescope({"show", "a.tscope", "--json"}).err, HasSubstr("write --format json"));
}

TEST_F(Outputs, AreNotInputs)
{
    fs::create_hard_link(folder / "mem.tscope", folder / "hard.tscope");
    const auto before = contentsOf(folder / "mem.tscope");
    for (const char* target : {"mem.tscope", "hard.tscope"}) {
        const ProgramResult merged = tilescope({"merge", "a.tscope", "mem.tscope", "-o", target});
        EXPECT_EQ(merged.code, 2);
        EXPECT_THAT(merged.err, HasSubstr("is the target, too"));
    }
    EXPECT_EQ(tilescope({"import", "snap.pickle", "-o", "snap.pickle"}).code, 2);
    EXPECT_EQ(tilescope({"--batch", "sweep.yaml", "-o", "sweep.yaml"}).code, 2);
    EXPECT_EQ(contentsOf(folder / "mem.tscope"), before);
    EXPECT_EQ(contentsOf(folder / "snap.pickle"),
              contentsOf(fs::path(TILESCOPE_TEST_DATA) / "memory_small2_train.pickle"));
    EXPECT_THAT(contentsOf(folder / "sweep.yaml"), ::testing::StartsWith("workload"));
}

TEST_F(Outputs, ExportsRefuseStandardOutput)
{
    for (const char* how : {"exec \"$0\" \"$@\" > redirected", "\"$0\" \"$@\" | cat; exit 2"}) {
        const ProgramResult refused = shell(how, {"export", "mem.tscope", "--snapshot", "/dev/stdout"});
        EXPECT_EQ(refused.code, 2);
        EXPECT_EQ(refused.err,
                  "/dev/stdout: is not a regular file; name a file instead of a device or a pipe\n");
        EXPECT_THAT(refused.out, IsEmpty());
    }
}

TEST_F(Outputs, MayBeLinksAndSoMayInputs)
{
    fs::create_directory(folder / "links");
    fs::create_symlink("../a.tscope", folder / "links" / "a.tscope");
    fs::create_symlink("../mem.tscope", folder / "links" / "mem.tscope");
    fs::create_symlink("../new.tscope", folder / "links" / "new.tscope");
    fs::create_symlink("../out.pickle", folder / "links" / "out.pickle");
    const auto links = names("links");
    const std::vector<Words> verbs{
        {"show", "links/a.tscope"},
        {"verify", "links/a.tscope"},
        {"compare", "links/a.tscope:1", "links/a.tscope:2"},
        {"note", "links/a.tscope", "1", "through a link"},
        {"tag", "links/a.tscope", "1", "linked"},
        {"delete", "links/a.tscope", "2"},
        {"compact", "links/a.tscope"},
        {"--batch", "sweep.yaml", "-o", "links/a.tscope", "--resume"},
        {"--batch", "sweep.yaml", "-o", "links/a.tscope", "--dry-run"},
        {"doctor", "--ceilings", "--device", "cpu", "-o", "links/a.tscope"},
        {"export", "links/mem.tscope", "--snapshot", "links/out.pickle"},
        {"import", "links/out.pickle", "-o", "links/mem.tscope"},
        {"merge", "links/mem.tscope", "-o", "links/a.tscope"},
        {"merge", "links/a.tscope", "-o", "links/new.tscope"},
        {"verify", "links/new.tscope"},
    };
    for (const Words& words : verbs) {
        SCOPED_TRACE(textOf(words));
        const ProgramResult result = tilescope(words);
        EXPECT_EQ(result.code, 0) << result.err;
        EXPECT_EQ(names("links"), links) << "log and lock belong beside the file itself";
        for (const std::string& link : links)
            EXPECT_TRUE(fs::is_symlink(folder / "links" / link)) << link;
    }
    const auto runs = store::RunReader(folder / "a.tscope").runs();
    EXPECT_EQ(runs.size(), 6U);
    EXPECT_EQ(runs.front().note, "through a link");
    EXPECT_EQ(store::RunReader(folder / "new.tscope").runs().size(), 6U);
}

TEST_F(Outputs, CallTheBytesOfASnapshotRequested)
{
    for (const Words& words :
         {Words{"import", "snap.pickle", "-o", "again.tscope"}, Words{"show", "mem.tscope"},
          Words{"show", "mem.tscope", "memory"}, Words{"show", "mem.tscope", "memory", "--at", "peak"},
          Words{"compare", "mem.tscope", "mem.tscope"},
          Words{"export", "mem.tscope", "--snapshot", "out.pickle"}}) {
        const ProgramResult shown = tilescope(words);
        EXPECT_EQ(shown.code, 0) << textOf(words) << shown.err;
        EXPECT_THAT(shown.out, HasSubstr("requested")) << textOf(words);
        EXPECT_THAT(shown.out, ::testing::Not(HasSubstr(" allocated"))) << textOf(words);
    }
}

TEST_F(Outputs, BeyondTheFileSizeLimitLeaveNothing)
{
    const auto before = names();
    for (const Words& writer : writers()) {
        if (writer.front() == "run" || writer.front() == "--batch" || writer.front() == "doctor" ||
            writer[1] == "@")
            continue; // below
        const Words words = with(writer, "new");
        SCOPED_TRACE(textOf(words));
        const ProgramResult failed = shell("ulimit -f 20; exec \"$0\" \"$@\"", words);
        EXPECT_EQ(failed.code, 3) << failed.err;
        EXPECT_TRUE(isOneSentence(failed.err)) << failed.err;
        EXPECT_THAT(failed.err, HasSubstr("ulimit -f"));
        EXPECT_EQ(names(), before);
    }
    // SQLite may reach the limit in the database, in its log or in the log's index.
    for (const int blocks : {4, 8, 16, 32, 40, 48, 64}) {
        const ProgramResult failed = shell("ulimit -f " + std::to_string(blocks) + "; exec \"$0\" \"$@\"",
                                           {"run", "attention", "--device", "cpu", "-o", "limited.tscope"});
        if (failed.code != 0) {
            EXPECT_THAT(failed.err + failed.out, HasSubstr("ulimit -f")) << blocks;
        }
        for (const std::string& name : names())
            if (name.starts_with("limited.tscope"))
                fs::remove(folder / name);
    }
    // The existing file stays intact, whether the change fits or not.
    for (const Words& words :
         {Words{"note", "a.tscope", "1", std::string(60'000, 'x')}, Words{"compact", "a.tscope"},
          Words{"delete", "a.tscope", "2"}, Words{"merge", "mem.tscope", "-o", "a.tscope"},
          Words{"run", "attention", "--device", "cpu", "-o", "a.tscope"}}) {
        SCOPED_TRACE(words.front());
        const ProgramResult tried = shell("ulimit -f 20; exec \"$0\" \"$@\"", words);
        EXPECT_TRUE(tried.code == 0 || tried.code == 3) << tried.code << tried.err;
        const store::VerifyReport report = store::verify(folder / "a.tscope");
        EXPECT_TRUE(report.ok()) << report.problems.at(0);
        for (const std::string& name : names())
            EXPECT_EQ(name.find(".tscope.tilescope-"), std::string::npos) << name;
    }
}

TEST_F(Outputs, AChangeBeyondTheFileSizeLimitLeavesTheFileIntact)
{
    fs::copy_file(folder / "a.tscope", folder / "before.tscope");
    int failures = 0;
    for (int limit = 20; limit <= 800; limit += 20)
        for (const Words& words :
             {Words{"delete", "a.tscope", "1"}, Words{"merge", "mem.tscope", "-o", "a.tscope"}}) {
            SCOPED_TRACE(words.front() + " with ulimit -f " + std::to_string(limit));
            fs::copy_file(folder / "before.tscope", folder / "a.tscope",
                          fs::copy_options::overwrite_existing);
            const ProgramResult tried =
                shell("ulimit -f " + std::to_string(limit) + "; exec \"$0\" \"$@\"", words);
            EXPECT_TRUE(tried.code == 0 || tried.code == 3) << tried.code << tried.err;
            failures += tried.code == 3 ? 1 : 0;
            const store::VerifyReport report = store::verify(folder / "a.tscope");
            EXPECT_TRUE(report.ok()) << report.problems.at(0);
            for (const char* log : {"a.tscope-wal", "a.tscope-shm"})
                fs::remove(folder / log);
        }
    EXPECT_GT(failures, 3) << "the limits are too high to reach a write";
}

TEST_F(Outputs, ToAFullDeviceEndWithThree)
{
    if (!fs::is_character_file("/dev/full"))
        GTEST_SKIP() << "this system has no /dev/full";
    const std::vector<Words> printing{
        {"--help"},
        {"--version"},
        {"run", "--help"},
        {"studies"},
        {"presets", "--format", "json"},
        {"doctor"},
        {"show", "a.tscope"},
        {"show", "a.tscope", "samples", "--format", "csv"},
        {"compare", "a.tscope:1", "a.tscope:2"},
        {"verify", "a.tscope"},
        {"--batch", "sweep.yaml", "--dry-run"},
        {"--batch", "sweep.yaml", "--dry-run", "--format", "json"},
        {"--batch", "sweep.yaml", "-o", "b.tscope"},
        {"--batch", "sweep.yaml", "-o", "c.tscope", "--format", "json"},
        {"run", "attention", "--device", "cpu", "-o", "d.tscope"},
        {"doctor", "--ceilings", "--device", "cpu", "-o", "e.tscope"},
        {"export", "mem.tscope", "--snapshot", "f.pickle"},
        {"import", "snap.pickle", "-o", "g.tscope"},
        {"merge", "mem.tscope", "-o", "h.tscope"},
        {"sql", "a.tscope", "select * from runs"},
        {"compact", "a.tscope"},
    };
    for (const Words& words : printing)
        for (const char* how : {"exec \"$0\" \"$@\" > /dev/full", "exec \"$0\" \"$@\" >&-"}) {
            SCOPED_TRACE(how + std::string(": ") + textOf(words));
            const ProgramResult result = shell(how, words);
            EXPECT_EQ(result.code, 3);
            EXPECT_THAT(result.err, HasSubstr("standard output: cannot be written"));
        }
    EXPECT_EQ(store::RunReader(folder / "b.tscope").runs().size(), 8U) << "the sweeps ran nevertheless";
}

TEST_F(Outputs, NeverMoveACursor)
{
    const std::string hostile = "\x1b[31mred\u009b2J\nline\r\u202e\x7f";
    fs::copy_file(folder / "a.tscope", folder / (hostile + ".tscope"));
    fs::copy_file(folder / "mem.tscope", folder / (hostile + "mem.tscope"));
    fs::copy_file(folder / "snap.pickle", folder / (hostile + ".pickle"));
    fs::copy_file(folder / "sweep.yaml", folder / (hostile + ".yaml"));
    write(hostile + ".text", "neither a recording nor a snapshot");
    const std::string file = hostile + ".tscope";
    std::vector<Words> all{
        {hostile},
        {hostile + ".tscope", "--no-such-option"},
        {"--" + hostile},
        {"show", hostile},
        {"show", file},
        {"show", file, hostile},
        {"show", file, "kernels", "--range", hostile},
        {"show", file, "--run", hostile},
        {"show", file, "--group", hostile},
        {"show", file, "--format", hostile},
        {"compare", file + ":1", file + ":2"},
        {"compare", file + ":" + hostile, file},
        {"compare", hostile, file},
        {"sql", file},
        {"sql", file, "select 'x' as \"" + hostile + "\", name from runs"},
        {"sql", file, hostile},
        {"sql", file, "select \"" + hostile + "\" from nowhere"},
        {"verify", file},
        {"verify", hostile + ".text"},
        {"report", file, "-o", hostile + " report"},
        {"report", file, "-o", "report", "--format", hostile},
        {"report", file, "-o", "report", "--study", hostile},
        {"export", hostile + "mem.tscope", "--snapshot", hostile + "out.pickle"},
        {"export", file, "--snapshot", file},
        {"export", file, "--snapshot", "x", "--at", hostile},
        {"import", hostile + ".pickle", "-o", hostile + "new.tscope"},
        {"show", hostile + "new.tscope"},
        {"show", hostile + "new.tscope", "--format", "json"},
        {"show", hostile + "new.tscope", "--format", "csv"},
        {"import", hostile + ".text", "-o", "new.tscope"},
        {"import", hostile, "-o", "new.tscope"},
        {"merge", file, "-o", hostile + "merged.tscope"},
        {"merge", hostile, "-o", hostile},
        {"note", file, "1", hostile},
        {"show", file, "runs", "--format", "json"},
        {"note", file, hostile, "text"},
        {"note", file, "1", "text", hostile},
        {"tag", file, hostile, "x"},
        {"delete", file, hostile},
        {"delete", file, "99"},
        {"delete", hostile, "1"},
        {"compact", file},
        {"compact", hostile},
        {"--batch", hostile},
        {"--batch", hostile + ".yaml", "-o", hostile + "swept.tscope"},
        {"--batch", hostile + ".yaml", "-o", hostile + "swept.tscope", "--resume"},
        {"--batch", hostile + ".yaml", "-o", hostile + "json.tscope", "--format", "json"},
        {"--batch", hostile + ".yaml", "--dry-run"},
        {"--batch", hostile + ".yaml", "--dry-run", "--format", "json"},
        {"--batch", hostile + ".text", "--dry-run"},
        {"--batch", "sweep.yaml", "--set", hostile},
        {"--batch", "sweep.yaml", "--set", hostile + "=1"},
        {"--batch", "sweep.yaml", "--set", "steps=" + hostile},
        {"--batch", "sweep.yaml", "--shard", hostile},
        {"--batch", "sweep.yaml", "--dry-run", "--capacity", hostile},
        {"--batch", "study:" + hostile},
        {"run", hostile},
        {"run", "attention", "--backend", hostile},
        {"run", "attention", "--" + hostile},
        {"run", "attention", "--device", "cpu", "-o", hostile + "run.tscope"},
        {"doctor", hostile},
        {"doctor", "--ceilings", "--device", hostile},
        {"doctor", "--ceilings", "--device", "cpu", "-o", hostile + "ceilings.tscope"},
        {"studies", hostile},
        {"presets", "--format", hostile},
    };
    environment["TILESCOPE_GUI"] = hostile;
    for (const Words& words : all) {
        const ProgramResult result = tilescope(words);
        EXPECT_FALSE(hasControls(result.out)) << textOf(words) << "\n" << result.out;
        EXPECT_FALSE(hasControls(result.err)) << textOf(words) << "\n" << result.err;
        EXPECT_EQ(result.err.find("\nline"), std::string::npos) << result.err;
        EXPECT_LE(result.code, 4);
    }
}

TEST_F(Outputs, DeletingIsAllOrNothing)
{
    const std::string before = contentsOf(folder / "a.tscope");
    for (const Words& words : {Words{"delete", "a.tscope", "2", "99"}, Words{"delete", "a.tscope", "99", "2"},
                               Words{"delete", "a.tscope", "2", "x"}}) {
        EXPECT_EQ(tilescope(words).code, 2) << textOf(words);
        EXPECT_EQ(store::RunReader(folder / "a.tscope").runs().size(), 4U) << textOf(words);
    }
    EXPECT_EQ(tilescope({"delete", "a.tscope", "2", "3", "2"}).code, 0);
    EXPECT_EQ(store::RunReader(folder / "a.tscope").runs().size(), 2U);
    EXPECT_TRUE(store::verify(folder / "a.tscope").ok());
}

TEST_F(Outputs, ANoteWithoutATextRemovesNothing)
{
    ASSERT_EQ(tilescope({"note", "a.tscope", "1", "fan was loud"}).code, 0);
    const auto noteOf = [this] { return store::RunReader(folder / "a.tscope").run(RunId{1})->note; };
    for (const char* verb : {"note", "tag"}) {
        EXPECT_EQ(tilescope({verb, "a.tscope", "1"}).code, 2);
        EXPECT_EQ(tilescope({verb, "a.tscope", "1", "two", "words"}).code, 2);
    }
    EXPECT_EQ(noteOf(), "fan was loud");
    EXPECT_EQ(tilescope({"note", "a.tscope", "1", ""}).code, 0);
    EXPECT_EQ(noteOf(), "");
}

TEST_F(Outputs, AnImportReadsRegularFilesOfALimitedSize)
{
    ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
    fs::create_directory(folder / "folder");
    write("empty", "");
    write("huge", "\x80\x04"); // as a pickle begins
    const std::uintmax_t limit = std::uintmax_t{2} << 30;
    fs::resize_file(folder / "huge", limit + 1); // takes no space
    for (const char* input : {"/dev/zero", "pipe", "folder", "empty", "huge", "/proc/self/maps", "nothing"}) {
        const ProgramResult refused = tilescope({"import", input, "-o", "new.tscope"});
        EXPECT_EQ(refused.code, 2) << input;
        EXPECT_TRUE(isOneSentence(refused.err)) << refused.err;
        EXPECT_FALSE(fs::exists(folder / "new.tscope"));
    }
    EXPECT_THAT(tilescope({"import", "huge", "-o", "new.tscope"}).err, HasSubstr("has more than 2 GiB"));
    EXPECT_THAT(tilescope({"import", "--help"}).out, HasSubstr("at most 2 GiB"));
}

TEST_F(Outputs, AnImportOfAnUnknownFormatListsTheFormats)
{
    for (const std::string content : {"{\"points\": []}", "\x80", "\x80\x01", "SQLite format 3"}) {
        write("other", content);
        const ProgramResult refused = tilescope({"import", "other", "-o", "new.tscope"});
        EXPECT_EQ(refused.code, 2);
        EXPECT_THAT(refused.err, HasSubstr(content[0] == '{' ? "is JSON without a list of traceEvents"
                                                             : "memory snapshot of PyTorch (.pickle)"));
        EXPECT_TRUE(isOneSentence(refused.err)) << refused.err;
        EXPECT_FALSE(fs::exists(folder / "new.tscope"));
    }
}

} // namespace tilescope
