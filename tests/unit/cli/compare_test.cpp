#include "app/cli/compare.h"

#include "core/base/error.h"
#include "core/model/run_workload.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/json_schema.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <sstream>

namespace tilescope::cli {

namespace {

using nlohmann::json;
using testing::FakeTrace;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Three traced steps with three kernels: a matmul of `gemm` ns, a softmax and a kernel unique to the run.
void tracedSteps(FakeTrace& trace, std::int64_t gemm, const std::string& own, int gemms)
{
    for (int step = 0; step < 3; ++step) {
        const std::int64_t t = 1'000'000 * (step + 1);
        trace.step(step, t, t + 900'000).range("step/forward", t, t + 900'000);
        std::int64_t now = t + 10;
        const auto kernel = [&](const std::string& name, std::int64_t duration) {
            trace.kernel(name, now, now + duration).at("step/forward/attention");
            now += duration + 10;
        };
        for (int i = 0; i < gemms; ++i)
            kernel("nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT", gemm + 5 * step);
        kernel("void (anonymous namespace)::softmax_warp_forward<float, float, float, 7>(float*)",
               20'000 + 7 * step);
        kernel(own, 3'000 + step);
    }
}

class Compare : public ::testing::Test {
protected:
    /// Runs 1 and 2 are repeats of one point. In run 3 the step takes 5 % longer, the matmul 10 %, and one
    /// kernel differs. Run 4 launches its matmul twice. Run 5 ran out of memory.
    Compare()
    {
        StringTable strings;
        store::RunWriter writer(file(), strings);
        const auto write = [&](const std::string& name, const std::string& spec, double factor,
                               std::int64_t gemm, const std::string& own, int gemms) {
            FakeTrace trace(strings);
            tracedSteps(trace, gemm, own, gemms);
            writer.beginRun({name, "lm", spec, "hash", "Tilescope test"});
            writer.writeEnvironment(
                std::vector<EnvironmentEntry>{{"gpu", name, ""}, {"load.before", name, ""}});
            std::vector<Sample> samples;
            for (int step = 0; step < 20; ++step) {
                const auto wall =
                    Nanoseconds(static_cast<std::int64_t>(factor * (1e7 + 1e4 * (step * 7 % 5))));
                samples.push_back({step, SampleKind::Measure, Phase::Step, wall, wall / 2});
                samples.push_back({step, SampleKind::Measure, Phase::Forward, wall / 3, {}});
            }
            writer.writeSamples(samples);
            writer.write(trace.batch());
            RunResult result;
            result.device = "cuda:0";
            result.peakAllocated = Bytes{gemm * 1000};
            writer.endRun(result);
        };
        write("alike", R"({"workload":"lm","backend":"naive"})", 1, 50'000, "alpha()", 1);
        write("alike", R"({"workload":"lm","backend":"naive"})", 1.0005, 50'002, "alpha()", 1);
        write("slow", R"({"workload":"lm","backend":"sdpa"})", 1.05, 55'000, "beta()", 1);
        write("twice", R"({"workload":"lm","backend":"naive","batch":2})", 1, 50'000, "alpha()", 2);
        writer.beginRun({"big", "lm", "{}", "hash", "Tilescope test"});
        RunResult oom;
        oom.status = RunStatus::Oom;
        writer.endRun(oom);
    }

    std::string file() const { return (folder_ / "t.tscope").string(); }

    json compared(const std::string& a, const std::string& b, const std::string& runToRun = {}) const
    {
        std::ostringstream out;
        compare({.a = file() + ":" + a, .b = file() + ":" + b, .format = "json", .runToRun = runToRun}, out);
        EXPECT_THAT(
            testing::schemaOffences(out.str(), TILESCOPE_SOURCE_DIR "/resources/schema/compare.schema.json"),
            IsEmpty())
            << out.str();
        return json::parse(out.str());
    }

    std::string text(const std::string& a, const std::string& b, const std::string& runToRun = {}) const
    {
        std::ostringstream out;
        compare({.a = file() + ":" + a, .b = file() + ":" + b, .runToRun = runToRun}, out);
        return out.str();
    }

    static json row(const json& rows, const std::string& key, const std::string& value)
    {
        for (const json& each : rows)
            if (each[key] == value)
                return each;
        return {};
    }

    const testing::TemporaryFolder folder_;
};

} // namespace

namespace {

/// When the runs of a file began.
enum class Order {
    First, ///< one after the other; those of Order::Second in turn with them: A B, B A, …
    Second,
    After ///< after all of the others
};

std::int64_t startOf(Order order, std::size_t run)
{
    const auto pair = static_cast<std::int64_t>(run);
    const bool isLater = (order == Order::Second) != (run % 2 == 1);
    return order == Order::After ? 1'000'000 + pair : 1000 + 10 * pair + (isLater ? 1 : 0);
}

/// A file of runs with the given step times and seeds, ten steps each; `flag` applies to the last.
std::string fileOf(const std::filesystem::path& path, const std::string& size,
                   const std::vector<std::pair<double, int>>& runs, const std::string& flag = {},
                   Order order = Order::First)
{
    StringTable strings;
    store::RunWriter writer(path, strings);
    for (std::size_t r = 0; r < runs.size(); ++r) {
        writer.beginRun({"r",
                         "lm",
                         R"({"workload":"lm","repeat":5,"size":")" + size + R"(","seed":)" +
                             std::to_string(runs[r].second) + "}",
                         "h",
                         "Tilescope test",
                         {},
                         startOf(order, r)});
        std::vector<Sample> samples;
        for (int i = 0; i < 10; ++i)
            samples.push_back({i, SampleKind::Measure, Phase::Step,
                               Nanoseconds(static_cast<std::int64_t>(runs[r].first * 1e6) + i % 3 * 1000)});
        writer.writeSamples(samples);
        RunResult result;
        result.device = "cpu";
        if (r + 1 == runs.size() && !flag.empty())
            result.flags = {flag};
        writer.endRun(result);
    }
    return path.string();
}

json comparedFiles(const std::string& a, const std::string& b)
{
    std::ostringstream out;
    compare({.a = a, .b = b, .format = "json"}, out);
    EXPECT_THAT(
        testing::schemaOffences(out.str(), TILESCOPE_SOURCE_DIR "/resources/schema/compare.schema.json"),
        IsEmpty());
    return json::parse(out.str());
}

} // namespace

TEST_F(Compare, AGateAppliesToTheInterval)
{
    const auto gated = [this](const std::string& a, const std::string& b, const std::string& gate) {
        std::ostringstream out;
        const int code = compare({.a = file() + ":" + a,
                                  .b = file() + ":" + b,
                                  .format = "json",
                                  .runToRun = "0.3%",
                                  .gate = gate},
                                 out);
        EXPECT_THAT(
            testing::schemaOffences(out.str(), TILESCOPE_SOURCE_DIR "/resources/schema/compare.schema.json"),
            IsEmpty())
            << out.str();
        return std::pair(code, json::parse(out.str())["gate"]);
    };
    // Run 3 takes 5 % longer than run 1.
    EXPECT_EQ(gated("1", "3", "10%"),
              std::pair(0, json({{"allowed", 0.1},
                                 {"outcome", "passed"},
                                 {"repeats", nullptr},
                                 {"sentence", "Gate passed: B is at most 10.0 % slower than A."}})));
    EXPECT_EQ(gated("1", "3", "3%").first, 1);
    const auto [code, gate] = gated("1", "3", "5%");
    EXPECT_EQ(code, 5);
    EXPECT_EQ(gate["outcome"], "undecided");
    EXPECT_EQ(gated("3", "1", "0").first, 0) << "faster";
    EXPECT_TRUE(compared("1", "3")["gate"].is_null());
}

TEST_F(Compare, ATimeSpanHasWhatRunsInIt)
{
    const auto inSpan = [this](const std::string& from, const std::string& to) {
        std::ostringstream out;
        compare({.a = file() + ":1", .b = file() + ":3", .format = "json", .from = from, .to = to}, out);
        EXPECT_THAT(
            testing::schemaOffences(out.str(), TILESCOPE_SOURCE_DIR "/resources/schema/compare.schema.json"),
            IsEmpty())
            << out.str();
        return json::parse(out.str());
    };
    // The matmul begins 10 ns after the first event of each run, and takes 50 µs in A and 55 µs in B.
    const json both = inSpan("10010", "30010");
    const json gemm = row(both["kernels"], "name", "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT");
    EXPECT_EQ(gemm["a_ns"], 20'000);
    EXPECT_EQ(gemm["b_ns"], 20'000);
    EXPECT_EQ(both["kernels"].size(), 1u) << "the other kernels begin later";
    EXPECT_EQ(both["a"]["span"], json({{"from_ns", 10'010}, {"to_ns", 30'010}}));
    EXPECT_TRUE(both["times"].empty());
    const json each = inSpan("0,40010", "30010,100010");
    EXPECT_EQ(row(each["kernels"], "name", "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT")["a_ns"], 30'000);
    EXPECT_EQ(row(each["kernels"], "name", "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT")["b_ns"], 15'000);
    EXPECT_TRUE(inSpan("", "20000")["a"]["span"]["from_ns"] == 0);
    std::ostringstream out;
    compare({.a = file() + ":1", .b = file() + ":3", .from = "10010", .to = "30010"}, out);
    EXPECT_THAT(out.str(), HasSubstr("GPU time of kernels: A 20.0 µs from 10.0 µs to 30.0 µs"));
    EXPECT_THAT(out.str(), HasSubstr("Kernels: GPU time in the time span"));
    const auto refuses = [&](const auto& change) {
        CompareRequest request{.a = file() + ":1", .b = file() + ":3", .from = "0"};
        change(request);
        EXPECT_THROW(compare(request, out), Error);
    };
    refuses([](CompareRequest& request) { request.gate = "3%"; });
    refuses([](CompareRequest& request) { request.at = "end"; });
    refuses([](CompareRequest& request) { request.to = "0"; });
    refuses([](CompareRequest& request) { request.from = "0,x"; });
}

TEST_F(Compare, AGateOfSingleRunsIsUndecided)
{
    std::ostringstream out;
    EXPECT_EQ(compare({.a = file() + ":3", .b = file() + ":4", .gate = "3%"}, out), 5);
    EXPECT_THAT(out.str(),
                HasSubstr("Gate undecided: these runs do not show whether B is more than 3.00 % slower"));
    std::ostringstream oom;
    EXPECT_EQ(compare({.a = file() + ":1", .b = file() + ":5", .gate = "3%"}, oom), 5) << "no step times";
}

TEST_F(Compare, MarkdownFitsAPullRequest)
{
    std::ostringstream out;
    EXPECT_EQ(compare({.a = file() + ":1",
                       .b = file() + ":3",
                       .format = "md",
                       .runToRun = "0.3%",
                       .gate = "3%",
                       .limit = "1"},
                      out),
              1);
    const std::string text = out.str();
    EXPECT_TRUE(text.starts_with("**Gate exceeded: B is more than 3.00 % slower than A.** A step of B takes"))
        << text;
    EXPECT_THAT(text, HasSubstr("<details><summary>Kernels: GPU time a traced step</summary>"));
    EXPECT_THAT(text, HasSubstr("| --- |"));
    EXPECT_THAT(text, HasSubstr("more row"));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("\x1b")));
}

TEST_F(Compare, TwoRunsOfOnePointAreInconclusive)
{
    const json alike = compared("1", "2");
    EXPECT_EQ(alike["verdict"], "inconclusive");
    EXPECT_EQ(alike["sentence"], "Inconclusive: one run of each. Repeat both 5 times to decide.");
    EXPECT_NEAR(alike["ratio"]["value"].get<double>(), 1.0005, 1e-9);
    EXPECT_EQ(alike["ratio"]["lo"], nullptr);
    EXPECT_EQ(alike["ratio"]["confidence"], nullptr);
    EXPECT_EQ(alike["ratio"]["reason"], "one run of each: how much runs differ is not measured");
    EXPECT_EQ(alike["between_runs"]["source"], "steps");
    EXPECT_NEAR(alike["delta_ns"].get<double>(), 0.0005 * 10'020'000, 2);
    EXPECT_EQ(alike["a"]["runs"], json::parse("[1]"));
    EXPECT_EQ(alike["parameters"], json::array());
    EXPECT_EQ(alike["environment"], json::array());
    for (const char* table : {"families", "kernels", "ranges"}) {
        EXPECT_FALSE(alike[table].empty()) << table;
        for (const json& each : alike[table])
            EXPECT_EQ(each["verdict"], "inconclusive") << each;
    }
    EXPECT_THAT(text("1", "2"), HasSubstr("No group differs: inconclusive 3."));
}

TEST_F(Compare, DifferencesAreFoundAndNamed)
{
    const json slower = compared("1", "3", "0.3%");
    EXPECT_EQ(slower["verdict"], "slower");
    EXPECT_EQ(slower["parameters"], json::parse(R"([{"key": "backend", "a": "naive", "b": "sdpa"}])"));
    EXPECT_EQ(slower["environment"], json::parse(R"([{"key": "gpu", "a": "alike", "b": "slow"}])"));
    const json step = slower["times"][0];
    EXPECT_EQ(step["phase"], "step");
    EXPECT_EQ(step["clock"], "wall");
    EXPECT_NEAR(step["ratio"].get<double>(), 1.05 / std::sqrt(1.0005), 1e-6);
    EXPECT_EQ(step["ratio"], slower["ratio"]["value"]);
    EXPECT_EQ(step["ratio_ci95"][0], slower["ratio"]["lo"]);
    EXPECT_LT(step["ratio_ci95"][0].get<double>(), 1.05);
    EXPECT_GT(step["ratio_ci95"][0].get<double>(), 1.03);
    EXPECT_EQ(slower["times"][1]["clock"], "gpu");
    EXPECT_EQ(slower["memory"][0]["difference"], 5'000'000);
    EXPECT_EQ(row(slower["families"], "family", "matmul")["verdict"], "slower");
    EXPECT_EQ(row(slower["families"], "family", "softmax")["verdict"], "no-difference");
    EXPECT_EQ(slower["a"]["runs"], json::parse("[1, 2]")) << "the repeats of its point";
    EXPECT_EQ(slower["between_runs"]["in_turn"], false);
    EXPECT_EQ(compared("1", "3")["between_runs"]["runs"], 2);
    EXPECT_EQ(compared("1", "3")["between_runs"]["shift"], 0.2)
        << "runs of a fifth of a second, not taken in turn";
    EXPECT_EQ(slower["ratio"]["confidence"], 0.95);
    EXPECT_EQ(row(slower["kernels"], "name", "alpha()")["verdict"], "gone");
    EXPECT_EQ(row(slower["kernels"], "name", "beta()")["verdict"], "new");
    EXPECT_TRUE(row(slower["kernels"], "name", "beta()")["a_ns"].is_null());
    EXPECT_EQ(slower["kernels"][0]["short_name"],
              "nvjet gemm bf16 128x64x64 TNT"); // the largest change first
    EXPECT_EQ(row(slower["ranges"], "path", "step/forward/attention")["verdict"], "slower");
    EXPECT_THAT(text("1", "3", "0.3%"),
                HasSubstr("A step of B takes 5.0 % longer than one of A: B / A = 1.050"));
    EXPECT_THAT(text("1", "3"),
                HasSubstr("A and B were not taken in turn: by how busy the host was, each may lie 20.0 % "
                          "higher as a whole."));
    EXPECT_EQ(compared("3", "1", "0.3%")["verdict"], "faster");
}

TEST_F(Compare, AnAdditionalLaunchIsACountNotATime)
{
    const json kernel = row(compared("1", "4")["kernels"], "short_name", "nvjet gemm bf16 128x64x64 TNT");
    EXPECT_EQ(kernel["verdict"], "count");
    EXPECT_EQ(kernel["instances_a"], 1.0);
    EXPECT_EQ(kernel["instances_b"], 2.0);
}

TEST_F(Compare, ARunWithoutStepsCannotBeCompared)
{
    EXPECT_EQ(compared("1", "5")["verdict"], "untested");
    EXPECT_THAT(text("1", "5"),
                HasSubstr("The step times cannot be compared: run 1 of A is ok, run 5 of B is oom"));
}

TEST_F(Compare, ImportedRunsAreComparedByTheirKernels)
{
    {
        StringTable strings;
        store::RunWriter writer(folder_ / "imported.tscope", strings);
        for (const std::int64_t gemm : {50'000, 60'000}) {
            FakeTrace trace(strings);
            tracedSteps(trace, gemm, "alpha()", 1);
            writer.beginRun({"imported", std::string(kTraceWorkload.name), "{}", "hash", "Tilescope test"});
            writer.write(trace.batch());
            writer.endRun({});
        }
    }
    std::ostringstream out;
    const std::string imported = (folder_ / "imported.tscope").string();
    compare({.a = imported + ":1", .b = imported + ":2", .format = "json"}, out);
    const json result = json::parse(out.str());
    EXPECT_EQ(result["verdict"], "inconclusive") << "by its recorded steps";
    const std::string sentence = result["sentence"];
    EXPECT_THAT(sentence, ::testing::StartsWith("The mean traced step takes "));
    EXPECT_THAT(sentence, HasSubstr("Inconclusive: one run of each."));
    EXPECT_NEAR(result["ratio"]["value"].get<double>(), 1, 0.01);
    EXPECT_EQ(result["alignment"]["by"], "modules");
    EXPECT_EQ(result["alignment"]["of"], "traced steps");
    std::int64_t sum = 0;
    for (const json& part : result["parts"])
        sum += part["delta_ns"].get<std::int64_t>();
    EXPECT_EQ(sum, result["delta_ns"].get<std::int64_t>());
    const auto gemm = [](const json& compared) {
        return row(compared["kernels"], "short_name", "nvjet gemm bf16 128x64x64 TNT");
    };
    EXPECT_EQ(gemm(result)["verdict"], "inconclusive") << "20 % between single runs of milliseconds";
    std::ostringstream given;
    compare({.a = imported + ":1", .b = imported + ":2", .format = "json", .runToRun = "0.3%"}, given);
    EXPECT_EQ(gemm(json::parse(given.str()))["verdict"], "slower");
}

TEST_F(Compare, ARecordingThatTakesThreeTimesAsLongAStepIsSlower)
{
    const std::string path = (folder_ / "recorded.tscope").string();
    {
        StringTable strings;
        store::RunWriter writer(path, strings);
        for (const std::int64_t wall : {50'000'000, 150'000'000}) {
            FakeTrace trace(strings);
            for (int step = 0; step < 10; ++step) {
                const std::int64_t begin = 200'000'000 * (step + 1);
                trace.step(step, begin, begin + wall + 100'000 * (step % 3));
                trace.kernel("alpha()", begin + 10, begin + 1000).at("step/forward");
            }
            writer.beginRun({"recorded", std::string(kTraceWorkload.name), "{}", "hash", "Tilescope test"});
            writer.write(trace.batch());
            writer.endRun({});
        }
    }
    const json slower = comparedFiles(path + ":1", path + ":2");
    EXPECT_EQ(slower["verdict"], "slower") << slower["sentence"];
    EXPECT_NEAR(slower["ratio"]["value"].get<double>(), 3, 0.01);
    EXPECT_EQ(comparedFiles(path + ":2", path + ":1")["verdict"], "faster");
}

TEST_F(Compare, AllocatedMemoryIsComparedByCategoryAndRequester)
{
    const std::string path = (folder_ / "memory.tscope").string();
    {
        StringTable strings;
        store::RunWriter writer(path, strings);
        // B has a second mask, needs twice the scores, and has no dropout.
        const auto write = [&](bool isB) {
            FakeTrace trace(strings);
            trace.alreadyAllocated(1000).step(0, 1000, 2000);
            trace.alloc(0x1000, isB ? 800 : 400, 1001).category("activations").at("step/forward/attention");
            trace.alloc(0x2000, 50, 1002).category("temporaries").at("step/forward/attention");
            if (isB)
                trace.alloc(0x3000, 50, 1003).category("temporaries").at("step/forward/attention");
            else
                trace.alloc(0x4000, 70, 1003).category("temporaries").at("step/forward/dropout");
            trace.free(0x1000, isB ? 800 : 400, 1500);
            writer.beginRun({isB ? "b" : "a", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
            writer.write(trace.batch());
            RunResult result;
            result.device = "cuda:0";
            writer.endRun(result);
        };
        write(false);
        write(true);
    }
    const auto compareAt = [&](const std::string& at) {
        std::ostringstream out;
        compare({.a = path + ":1", .b = path + ":2", .format = "json", .at = at}, out);
        EXPECT_THAT(
            testing::schemaOffences(out.str(), TILESCOPE_SOURCE_DIR "/resources/schema/compare.schema.json"),
            IsEmpty());
        return json::parse(out.str())["held"];
    };
    const json peak = compareAt("auto");
    EXPECT_EQ(peak["a"], json::parse(R"({"moment": "peak", "allocated": 1520, "reserved": 1620})"));
    EXPECT_EQ(peak["b"]["allocated"], 1900);
    for (const char* list : {"categories", "ops", "modules", "ranges", "sizes"}) {
        std::int64_t a = 0;
        std::int64_t b = 0;
        for (const json& each : peak[list]) {
            a += each["a"].get<std::int64_t>();
            b += each["b"].get<std::int64_t>();
            EXPECT_EQ(each["difference"].get<std::int64_t>(),
                      each["b"].get<std::int64_t>() - each["a"].get<std::int64_t>());
        }
        EXPECT_EQ(a, 1520) << list;
        EXPECT_EQ(b, 1900) << list;
    }
    EXPECT_EQ(peak["categories"][0]["key"], "activations") << "the largest change first";
    EXPECT_EQ(peak["categories"][0]["verdict"], "grown");
    EXPECT_EQ(row(peak["categories"], "key", "unattributed")["verdict"], "none");
    EXPECT_EQ(row(peak["modules"], "key", "dropout")["verdict"], "gone");
    EXPECT_EQ(row(peak["ranges"], "key", "step/forward/attention")["blocks_b"], 3);
    EXPECT_EQ(row(peak["sizes"], "key", "800")["verdict"], "new");
    EXPECT_EQ(row(peak["sizes"], "key", "50")["verdict"], "grown");
    const json end = compareAt("end");
    EXPECT_EQ(end["a"]["moment"], "end");
    EXPECT_EQ(end["a"]["allocated"], 1120);
    EXPECT_TRUE(row(end["categories"], "key", "activations").is_null());
    std::ostringstream shown;
    compare({.a = path + ":1", .b = path + ":2", .memoryBy = "module"}, shown);
    EXPECT_THAT(shown.str(), HasSubstr("Memory allocated at A's peak and B's peak, by category"));
    EXPECT_THAT(shown.str(),
                HasSubstr("Together 1.48 KiB in A, 1.86 KiB in B: a change of 380 B (380 bytes)."));
    EXPECT_THAT(shown.str(), HasSubstr("by module"));
    EXPECT_EQ(compared("1", "2")["held"]["a"], nullptr) << "they recorded no memory";
}

TEST_F(Compare, AGivenDeviationHidesSmallerDifferences)
{
    const auto verdict = [this](const std::string& runToRun) {
        std::ostringstream out;
        compare({.a = file() + ":1", .b = file() + ":3", .format = "json", .runToRun = runToRun}, out);
        return json::parse(out.str());
    };
    EXPECT_EQ(verdict("4%")["verdict"], "inconclusive");
    EXPECT_EQ(verdict("4%")["between_runs"]["source"], "given");
    EXPECT_EQ(verdict("1%")["verdict"], "slower");
}

TEST_F(Compare, WithoutARunAllRepeatsOfTheOnlyPointAreUsed)
{
    const std::string a =
        fileOf(folder_ / "a.tscope", "small", {{10.0, 0}, {10.1, 0}, {9.9, 0}, {10.0, 0}, {10.05, 0}});
    const std::string b = fileOf(folder_ / "b.tscope", "large",
                                 {{11.0, 0}, {11.1, 0}, {10.9, 0}, {11.0, 0}, {11.05, 0}}, {}, Order::Second);
    const json slower = comparedFiles(a, b);
    EXPECT_EQ(slower["verdict"], "slower");
    EXPECT_EQ(slower["a"]["runs"].size(), 5U);
    EXPECT_EQ(slower["b"]["runs"].size(), 5U);
    EXPECT_EQ(slower["between_runs"]["in_turn"], true);
    EXPECT_EQ(slower["between_runs"]["degrees"], 4.0) << "of five pairs";
    EXPECT_EQ(slower["times"][0]["n_a"], 50);
    EXPECT_LT(slower["ratio"]["lo"].get<double>(), 1.1);
    EXPECT_GT(slower["ratio"]["hi"].get<double>(), 1.1);
    EXPECT_EQ(comparedFiles(a + ":2", b + ":4")["ratio"], slower["ratio"])
        << "any run of a point selects all of its repeats";
    EXPECT_EQ(comparedFiles(b, a)["verdict"], "faster");
    EXPECT_EQ(comparedFiles(a + ":1,2,5", b + ":1,2,5")["a"]["runs"], json({1, 2, 5}));
}

TEST_F(Compare, SaysWhichRunsASideHasAndComparesSingleRunsIfTold)
{
    const std::vector<std::pair<double, int>> six{{10.0, 0}, {10.1, 0}, {9.9, 0},
                                                  {10.0, 0}, {10.2, 0}, {10.05, 0}};
    const std::string a = fileOf(folder_ / "a.tscope", "small", six);
    const std::string b = fileOf(folder_ / "b.tscope", "large", six, {}, Order::Second);
    const auto text = [](CompareRequest request) {
        std::ostringstream out;
        compare(request, out);
        return out.str();
    };
    EXPECT_THAT(text({.a = a + ":2", .b = b + ":1,3,4"}),
                HasSubstr(", 6 repeats: runs 1, 2, 3 and 3 more\n"));
    EXPECT_THAT(text({.a = a + ":2", .b = b + ":1,3,4"}), HasSubstr(", 3 repeats: runs 1, 3 and 4\n"));
    EXPECT_EQ(comparedFiles(a + ":2", a + ":1,3,4")["a"]["runs"], json({2})) << "B names its repeats";
    EXPECT_THAT(text({.a = a + ":2", .b = b + ":4", .format = "md"}),
                HasSubstr("6 repeats: runs 1, 2, 3 and 3 more"));
    std::ostringstream out;
    compare({.a = a + ":2", .b = b + ":4", .format = "json", .single = true}, out);
    const json single = json::parse(out.str());
    EXPECT_EQ(single["a"]["runs"], json({2}));
    EXPECT_EQ(single["b"]["runs"], json({4}));
    EXPECT_EQ(single["between_runs"]["source"], "steps");
    EXPECT_THAT(text({.a = a + ":2", .b = b + ":4", .single = true}), Not(HasSubstr("repeats:")));
    EXPECT_THROW(text({.a = a, .b = b + ":4", .single = true}), Error);
    EXPECT_THROW(text({.a = a + ":1,2", .b = b + ":4", .single = true}), Error);
}

TEST_F(Compare, TheSameRunsOneCommandAfterTheOtherDoNotDecideTenPerCent)
{
    const std::vector<std::pair<double, int>> quick{{200, 0}, {202, 0}, {198, 0}, {200, 0}, {201, 0}};
    const std::vector<std::pair<double, int>> slow{{220, 0}, {222, 0}, {218, 0}, {220, 0}, {221, 0}};
    const std::string a = fileOf(folder_ / "a.tscope", "small", quick);
    const std::string inTurn = fileOf(folder_ / "b.tscope", "large", slow, {}, Order::Second);
    const std::string after = fileOf(folder_ / "c.tscope", "large", slow, {}, Order::After);
    const auto gated = [&a](const std::string& b) {
        std::ostringstream out;
        const int code = compare({.a = a, .b = b, .gate = "3%"}, out);
        return std::pair(code, out.str());
    };
    EXPECT_EQ(gated(inTurn).first, 1);
    const auto [code, text] = gated(after);
    EXPECT_EQ(code, 5);
    EXPECT_THAT(text,
                HasSubstr("which were not taken in turn. Take them in turn to decide: tilescope compare "
                          "--measure A B --repeat 5."));
    const json widened = comparedFiles(a, after);
    EXPECT_EQ(widened["ratio"]["value"], comparedFiles(a, inTurn)["ratio"]["value"])
        << "the estimate is the same";
    EXPECT_EQ(widened["between_runs"]["shift"], 0.05);
    EXPECT_TRUE(widened["ratio"]["lo"].is_number());
}

TEST_F(Compare, RunsWithOtherSeedsDetermineTheDeviation)
{
    std::vector<std::pair<double, int>> runs{{10.0, 0}};
    for (int seed = 1; seed < 12; ++seed)
        runs.emplace_back(10 + 0.3 * (seed % 3 - 1), seed);
    const std::string path = fileOf(folder_ / "seeds.tscope", "small", runs);
    const json close = comparedFiles(path + ":1", path + ":2");
    EXPECT_EQ(close["verdict"], "inconclusive");
    EXPECT_EQ(close["between_runs"]["source"], "repeats");
    EXPECT_EQ(close["between_runs"]["runs"], 10);
    EXPECT_NEAR(close["between_runs"]["deviation"].get<double>(), 0.025, 0.005);
    EXPECT_EQ(close["ratio"]["confidence"], 0.95);
}

TEST_F(Compare, TheVerdictListsFlagsOfTheRuns)
{
    const std::string a = fileOf(folder_ / "a.tscope", "small", {{200.0, 0}});
    const std::string b = fileOf(folder_ / "b.tscope", "large", {{260.0, 0}}, "busy-host: a thread waited");
    const json compared = comparedFiles(a, b);
    EXPECT_EQ(compared["flags"],
              json::parse(R"([{"side": "B", "run": 1, "flag": "busy-host: a thread waited"}])"));
    EXPECT_EQ(compared["verdict"], "inconclusive") << "30 % longer, but on a busy host";
    std::ostringstream out;
    compare({.a = a, .b = b}, out);
    EXPECT_THAT(out.str(), HasSubstr("flagged  B, run 1: Other programs used the CPU"));
    const std::string quiet = fileOf(folder_ / "c.tscope", "large", {{260.0, 0}}, "debug-build");
    EXPECT_EQ(comparedFiles(a, quiet)["verdict"], "slower") << "flags that do not concern times do not count";
    EXPECT_EQ(comparedFiles(a, quiet)["flags"], json::array());
}

TEST_F(Compare, SaysWhatTheRunsLack)
{
    const std::string lossy = (folder_ / "lossy.tscope").string();
    {
        StringTable strings;
        store::RunWriter writer(lossy, strings);
        for (const bool isLossy : {false, true}) {
            FakeTrace trace(strings);
            tracedSteps(trace, 50'000, "alpha()", 1);
            TraceBatch batch = trace.batch();
            if (isLossy)
                batch.losses = {{strings.intern("buffer_dropped"), LossSeverity::Error, 7,
                                 strings.intern("records that the profiler dropped")}};
            writer.beginRun({"imported", std::string(kTraceWorkload.name), "{}", "hash", "Tilescope test"});
            writer.write(batch);
            writer.endRun({});
        }
    }
    const std::string sentence = "Run 2 is incomplete: 7 records that the profiler dropped.";
    const json compared = comparedFiles(lossy + ":1", lossy + ":2");
    EXPECT_EQ(compared["a"]["losses"], json::array());
    EXPECT_EQ(compared["b"]["losses"], json::array({sentence}));
    for (const std::string format : {"table", "md"}) {
        std::ostringstream out;
        compare({.a = lossy + ":1", .b = lossy + ":2", .format = format}, out);
        EXPECT_THAT(out.str(), HasSubstr("B: " + sentence)) << format;
        EXPECT_THAT(out.str(), ::testing::Not(HasSubstr("A: Run"))) << format;
    }
}

TEST_F(Compare, ErrorsAreOneSentence)
{
    const auto error = [](const CompareRequest& request) {
        std::ostringstream out;
        try {
            compare(request, out);
        } catch (const Error& caught) {
            return caught.sentence();
        }
        return std::string("no error");
    };
    EXPECT_EQ(error({.a = "none.tscope", .b = file()}), "none.tscope: no such file; check the path");
    EXPECT_EQ(error({.a = "none.tscope:2", .b = file()}), "none.tscope: no such file; check the path");
    EXPECT_THAT(error({.a = file() + ":x", .b = file()}), HasSubstr("'x' is not the number of a run"));
    EXPECT_THAT(error({.a = file() + ":77", .b = file()}),
                HasSubstr("there is no run 77; the file has run 1 to 5"));
    EXPECT_THAT(error({.a = file(), .b = file(), .runToRun = "some"}), HasSubstr("is not a fraction"));
    EXPECT_EQ(error({.a = file(), .b = file()}),
              file() + ": holds 4 points; name one of its runs: FILE:RUN; show FILE lists them");
}

TEST_F(Compare, AFileMayHaveAColonInItsName)
{
    std::filesystem::copy_file(file(), folder_ / "odd:1");
    EXPECT_EQ(runAddressOf((folder_ / "odd:1").string()).recording.file, folder_ / "odd:1");
    EXPECT_FALSE(runAddressOf((folder_ / "odd:1").string()).run);
    EXPECT_EQ(runAddressOf(file() + ":3").run, RunId{3});
}

} // namespace tilescope::cli
