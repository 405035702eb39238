// Traces of other programs where verbs expect a recording.

#include "command_line.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

namespace tilescope {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ProgramResult;
using ::testing::StartsWith;

std::string traceWith(int kernels)
{
    std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
    for (int i = 1; i <= kernels; ++i) {
        const std::string id = std::to_string(i);
        text +=
            std::string(i > 1 ? "," : "") +
            R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": )" +
            id + R"(0.0, "dur": 1.0, "args": {"correlation": )" + id +
            R"(}}, {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": )" + id +
            R"(2.0, "dur": 3.0, "args": {"device": 0, "stream": 7, "correlation": )" + id + "}}";
    }
    return text + "]}";
}

/// Waits until a process blocks a signal, which it then reads; false if it ends before.
bool blocks(int pid, int signal)
{
    for (;;) {
        std::ifstream status("/proc/" + std::to_string(pid) + "/status");
        std::string name;
        bool isAlive = false;
        for (std::string word; status >> word; name = word) {
            isAlive = isAlive || (name == "State:" && word != "Z");
            if (name == "SigBlk:" && (std::stoull(word, nullptr, 16) >> (signal - 1) & 1) != 0)
                return true;
        }
        if (!isAlive)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

class Opening : public CommandLine {
protected:
    void SetUp() override
    {
        CommandLine::SetUp();
        environment["XDG_CACHE_HOME"] = (folder / "cache").string();
        write("a.json", traceWith(3));
        write("b.json", traceWith(4));
    }
};

TEST_F(Opening, ShowsATraceThroughTheCache)
{
    const ProgramResult first = tilescope({"show", "a.json", "kernels", "--format", "json"});
    ASSERT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.err, StartsWith("imported a.json into the import cache"));
    EXPECT_EQ(std::ranges::count(first.err, '\n'), 1);
    EXPECT_EQ(nlohmann::json::parse(first.out).at(0).at("instances"), 3);
    const ProgramResult second = tilescope({"show", "a.json", "kernels", "--format", "json"});
    EXPECT_EQ(second.out, first.out);
    EXPECT_THAT(second.err, StartsWith("using the recording that was imported from a.json"));
}

TEST_F(Opening, ShowsTheRangesOfATraceWithoutSteps)
{
    write("ranges.json",
          R"({"schemaVersion": 1, "traceEvents": [
              {"ph": "X", "cat": "user_annotation", "name": "inference", "pid": 7, "tid": 7, "ts": 5, "dur": 90, "args": {}},
              {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 10, "dur": 1,
               "args": {"correlation": 1}},
              {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 3,
               "args": {"device": 0, "stream": 7, "correlation": 1}}]})");
    const ProgramResult shown = tilescope({"show", "ranges.json", "ranges", "--format", "json"});
    ASSERT_EQ(shown.code, 0) << shown.err;
    const auto rows = nlohmann::json::parse(shown.out);
    ASSERT_EQ(rows.size(), 1u) << shown.out;
    EXPECT_EQ(rows[0].at("path"), "inference");
    EXPECT_EQ(rows[0].at("wall_ns"), 90'000);
    EXPECT_EQ(rows[0].at("gpu_ns"), 3'000);
    EXPECT_THAT(tilescope({"show", "ranges.json", "ranges"}).out, HasSubstr("The recording has no steps"));
    const ProgramResult kernels =
        tilescope({"show", "ranges.json", "kernels", "--range", "infer*", "--format", "json"});
    ASSERT_EQ(kernels.code, 0) << kernels.err;
    const auto kernelRows = nlohmann::json::parse(kernels.out);
    ASSERT_EQ(kernelRows.size(), 1u) << kernels.out;
    EXPECT_TRUE(kernelRows[0].at("instances_per_step").is_null()) << "there are no steps";
    for (const char* section : {"steps", "ranks", "path", "advice"})
        EXPECT_THAT(tilescope({"show", "ranges.json", section}).out, HasSubstr("no steps")) << section;
    EXPECT_THAT(tilescope({"show", "ranges.json", "what-if", "--scale", "gemm=0.5"}).out,
                HasSubstr("has no steps: the prediction is of all of it"));
    EXPECT_THAT(tilescope({"show", "ranges.json", "answers"}).out, HasSubstr("The recording has no steps"));
    const ProgramResult roofline =
        tilescope({"show", "ranges.json", "roofline", "--group", "range", "--format", "json"});
    ASSERT_EQ(nlohmann::json::parse(roofline.out).size(), 1u) << roofline.out;
    EXPECT_EQ(nlohmann::json::parse(roofline.out)[0].at("range"), "inference");
    EXPECT_EQ(nlohmann::json::parse(roofline.out)[0].at("time_ns"), 3'000);
    EXPECT_THAT(tilescope({"show", "ranges.json", "ranges", "--range", "step/**"}).out,
                HasSubstr("No range of the run matches."));
    EXPECT_THAT(tilescope({"show", "ranges.json", "memory"}).out, HasSubstr("profile_memory=True"));
}

TEST_F(Opening, RowsOfStepsNameTheirProcess)
{
    std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
    for (const std::string pid : {"70", "80"})
        for (const std::string step : {"1", "2"})
            text += std::string(text.ends_with('[') ? "" : ",") +
                    R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#)" + step +
                    R"(", "pid": )" + pid + R"(, "tid": )" + pid + R"(, "ts": )" + step +
                    R"(00, "dur": 90, "args": {}},)" +
                    R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": )" + pid + R"(, "tid": )" +
                    pid + R"(, "ts": )" + step + R"(10, "dur": 50, "args": {}})";
    write("two.json", text + "]}");
    for (const std::string section : {"steps", "ranks", "path"}) {
        const ProgramResult shown = tilescope({"show", "two.json", section, "--format", "json"});
        ASSERT_EQ(shown.code, 0) << shown.err;
        std::map<std::pair<int, int>, int> rows; // by number and pid
        for (const auto& row : nlohmann::json::parse(shown.out))
            ++rows[{row.at("process"), row.at("pid")}];
        const std::map<std::pair<int, int>, int> expected{{{0, 70}, 2}, {{1, 80}, 2}};
        EXPECT_EQ(rows, expected) << section << shown.out;
    }
}

TEST_F(Opening, SaysInOneLineWhatARecordingLost)
{
    std::string cut = traceWith(3);
    cut.resize(cut.size() - 40); // within the last event
    write("cut.json", cut);
    const std::string sentence = "Run 1 is incomplete: sources that end early: ";
    const ProgramResult imported = tilescope({"import", "cut.json", "-o", "cut.tscope"});
    ASSERT_EQ(imported.code, 0);
    EXPECT_THAT(imported.err, HasSubstr(sentence));
    EXPECT_THAT(imported.err, HasSubstr("tilescope show cut.tscope losses"));
    const ProgramResult table = tilescope({"show", "cut.tscope", "kernels"});
    EXPECT_THAT(table.out, HasSubstr(sentence));
    const ProgramResult json = tilescope({"show", "cut.tscope", "kernels", "--format", "json"});
    EXPECT_THAT(json.err, HasSubstr(sentence));
    EXPECT_EQ(nlohmann::json::parse(json.out).size(), 1u);
    EXPECT_THAT(tilescope({"export", "cut.tscope", "--kineto", "out.json"}).err, HasSubstr(sentence));
    EXPECT_THAT(tilescope({"share", "cut.tscope", "-o", "out.html"}).out, HasSubstr(sentence));
    const ProgramResult whole = tilescope({"import", "a.json", "-o", "whole.tscope"});
    ASSERT_EQ(whole.code, 0);
    EXPECT_THAT(whole.err, Not(HasSubstr("incomplete")));
    EXPECT_THAT(tilescope({"show", "whole.tscope", "kernels"}).out, Not(HasSubstr("incomplete")));
}

TEST_F(Opening, ComparesAndExportsTraces)
{
    const ProgramResult compared = tilescope({"compare", "a.json", "b.json"});
    EXPECT_EQ(compared.code, 0) << compared.err;
    EXPECT_THAT(compared.out, StartsWith("A  a.json, Run 1"));
    EXPECT_THAT(compared.out, Not(HasSubstr("cache")));
    const ProgramResult exported = tilescope({"export", "a.json", "--perfetto", "a.pftrace"});
    EXPECT_EQ(exported.code, 0) << exported.err;
    EXPECT_THAT(exported.out, StartsWith("run 1 of a.json: 3 GPU events"));
    const ProgramResult onto = tilescope({"export", "a.json", "--kineto", "a.json"});
    EXPECT_EQ(onto.code, 2);
    EXPECT_THAT(onto.err, HasSubstr("is an input of this command"));
}

TEST_F(Opening, MergesTraces)
{
    const ProgramResult merged = tilescope({"merge", "a.json", "b.json", "-o", "ab.tscope"});
    ASSERT_EQ(merged.code, 0) << merged.err;
    EXPECT_THAT(merged.out, StartsWith("2 runs added, 0 already in the file -> ab.tscope"));
    EXPECT_THAT(merged.err, StartsWith("imported a.json into the import cache"));
    // The cache holds the same runs.
    EXPECT_THAT(tilescope({"merge", "b.json", "-o", "ab.tscope"}).out, StartsWith("0 runs added, 1 already"));
    EXPECT_EQ(nlohmann::json::parse(tilescope({"show", "ab.tscope", "--format", "json"}).out).size(), 2U);
}

TEST_F(Opening, ErrorsNameTheTraceAndNotTheCache)
{
    const ProgramResult reported = tilescope({"report", "a.json", "-o", "report"});
    EXPECT_EQ(reported.code, 2);
    EXPECT_THAT(reported.err, HasSubstr("\na.json: no run of any study"));
    const ProgramResult shown = tilescope({"show", "a.json", "kernels", "--run", "7"});
    EXPECT_EQ(shown.code, 2);
    EXPECT_THAT(shown.err, Not(HasSubstr("cache/")));
    const ProgramResult answered = tilescope({"show", "a.json", "answers", "--format", "json"});
    EXPECT_EQ(answered.code, 0) << answered.err;
    EXPECT_THAT(answered.out, Not(HasSubstr("cache/")));
}

TEST_F(Opening, VerifySaysWhatItVerifies)
{
    const ProgramResult verified = tilescope({"verify", "a.json"});
    EXPECT_EQ(verified.code, 2);
    EXPECT_EQ(verified.err,
              "a.json: not a recording; verify checks the rows and checksums of a .tscope file; import it "
              "first: tilescope import a.json -o OUT.tscope\n");
    EXPECT_THAT(verified.out, IsEmpty());
}

TEST_F(Opening, RecordsThatATraceRepeatsAreNoLosses)
{
    std::string text = traceWith(3);
    const std::string repeated =
        R"([{"ph": "X", "cat": "gpu_user_annotation", "name": "x", "pid": 0, "tid": 7, "ts": 1.0, "dur": 2.0}, )";
    text.replace(text.find('['), 1, repeated);
    write("repeats.json", text);
    const ProgramResult shown = tilescope({"show", "repeats.json", "losses"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_THAT(shown.err, Not(HasSubstr("lost")));
    EXPECT_THAT(shown.out, HasSubstr("gpu_user_annotation"));
    EXPECT_THAT(shown.out, HasSubstr("Nothing lost ("));
    write("broken.json", traceWith(3).replace(traceWith(3).find("\"ts\": 10.0"), 10, "\"ts\": null"));
    const ProgramResult broken = tilescope({"show", "broken.json", "losses"});
    EXPECT_THAT(broken.err, HasSubstr("; 1 record was lost (tilescope show broken.json losses)"));
    EXPECT_THAT(broken.out, Not(HasSubstr("Nothing lost")));
}

TEST_F(Opening, AFolderOfRanksIsOneRun)
{
    fs::create_directory(folder / "ranks");
    for (const char* name : {"a.json", "b.json"})
        fs::copy_file(folder / name, folder / "ranks" / name);
    const ProgramResult shown = tilescope({"show", "ranks", "kernels", "--format", "json"});
    ASSERT_EQ(shown.code, 0) << shown.err;
    std::int64_t kernels = 0;
    for (const nlohmann::json& row : nlohmann::json::parse(shown.out))
        kernels += row.at("instances").get<std::int64_t>();
    EXPECT_EQ(kernels, 7);
}

TEST_F(Opening, AWrongFileGetsOneSentenceWithTheFormats)
{
    write("notes.txt", "no trace");
    const ProgramResult shown = tilescope({"show", "notes.txt"});
    EXPECT_EQ(shown.code, 2);
    EXPECT_THAT(shown.err, StartsWith("notes.txt: the format of this file is not known"));
    EXPECT_THAT(shown.err, HasSubstr("memory snapshot"));
    EXPECT_EQ(std::ranges::count(shown.err, '\n'), 1);
}

TEST_F(Opening, TheCacheIsListedAndCleared)
{
    EXPECT_THAT(tilescope({"cache"}).out, HasSubstr("the import cache is empty"));
    tilescope({"show", "a.json"});
    tilescope({"show", "b.json"});
    const ProgramResult listed = tilescope({"cache"});
    EXPECT_EQ(listed.code, 0) << listed.err;
    for (const char* text : {"a.json", "b.json", "2 recordings", "of at most 10.0 GiB"})
        EXPECT_THAT(listed.out, HasSubstr(text));
    const nlohmann::json rows = nlohmann::json::parse(tilescope({"cache", "--format", "json"}).out);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("source"), "b.json") << "the last used is first";
    EXPECT_TRUE(fs::exists(rows[0].at("file").get<std::string>()));
    EXPECT_THAT(tilescope({"doctor"}).out, HasSubstr("2 recordings"));
    EXPECT_THAT(tilescope({"cache", "clear"}).out, StartsWith("removed 2 recordings ("));
    EXPECT_THAT(tilescope({"cache"}).out, HasSubstr("the import cache is empty"));
    EXPECT_EQ(tilescope({"cache", "empty"}).code, 2);
}

TEST_F(Opening, AWrongLimitIsRefused)
{
    environment["TILESCOPE_IMPORT_CACHE"] = "plenty";
    const ProgramResult shown = tilescope({"show", "a.json"});
    EXPECT_EQ(shown.code, 2);
    EXPECT_THAT(shown.err, StartsWith("TILESCOPE_IMPORT_CACHE: 'plenty' is not a size"));
}

TEST_F(Opening, ImportPrintsALineForEachFile)
{
    const ProgramResult imported = tilescope({"import", "a.json", "b.json", "-o", "ab.tscope"});
    ASSERT_EQ(imported.code, 0) << imported.err;
    EXPECT_THAT(imported.out, StartsWith("a.json: "));
    EXPECT_THAT(imported.out, HasSubstr("\nb.json: "));
    EXPECT_THAT(imported.out, HasSubstr(" -> run 1 of ab.tscope\n"));
    EXPECT_THAT(imported.out, Not(HasSubstr("\\n")));
    EXPECT_THAT(imported.err, IsEmpty());
}

TEST_F(Opening, AnInterruptedImportLeavesNothing)
{
    write("large.json", traceWith(200'000));
    testing::Program program(command({"import", "large.json", "-o", "out.tscope"}), folder.path(),
                             environment);
    ASSERT_TRUE(blocks(program.pid(), SIGINT)) << "it ended too early";
    kill(program.pid(), SIGINT);
    const ProgramResult ended = program.wait();
    EXPECT_EQ(ended.code, 130) << ended.err;
    EXPECT_THAT(ended.err, IsEmpty());
    EXPECT_THAT(ended.out, IsEmpty());
    std::vector<std::string> left;
    for (const auto& each : fs::directory_iterator(folder.path()))
        if (each.path().filename().string().find("out.tscope") != std::string::npos)
            left.push_back(each.path().filename());
    EXPECT_THAT(left, IsEmpty());
}

} // namespace
} // namespace tilescope
