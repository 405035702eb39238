#include "core/exchange/export/stack_formats.h"

#include "core/base/error.h"
#include "tests/unit/exchange/export_fixture.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <zlib.h>

#include <numeric>
#include <sstream>

namespace tilescope::exchange {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

/// The stacks with their nanoseconds, `a | b | c 12`.
std::vector<std::string> linesOf(const query::CallTree& tree)
{
    std::vector<std::string> lines;
    for (query::CallTree::Node node = 0; node < tree.entries().size(); ++node) {
        if (tree.entries()[node].count == 0)
            continue;
        std::string line;
        for (const std::uint32_t name : tree.stackOf(node))
            line += (line.empty() ? "" : " | ") + tree.names()[name];
        lines.push_back(line + " " + std::to_string(tree.entries()[node].amount));
    }
    return lines;
}

std::string unzipped(const std::string& zipped)
{
    z_stream zip{};
    EXPECT_EQ(inflateInit2(&zip, MAX_WBITS + 16), Z_OK);
    zip.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zipped.data()));
    zip.avail_in = static_cast<uInt>(zipped.size());
    std::string text(1 << 20, '\0');
    zip.next_out = reinterpret_cast<Bytef*>(text.data());
    zip.avail_out = static_cast<uInt>(text.size());
    EXPECT_EQ(inflate(&zip, Z_FINISH), Z_STREAM_END);
    text.resize(text.size() - zip.avail_out);
    inflateEnd(&zip);
    return text;
}

class ExportedStacks : public Exporting {
protected:
    ExportedTree stacksOf(const fs::path& file, const ExportOptions& options = {})
    {
        const store::RunReader reader(file);
        return exportedStacks(reader, runOf(reader), options);
    }

    std::int64_t gpuNs(const fs::path& file) const
    {
        std::int64_t sum = 0;
        for (const DeviceEvent& event : store::RunReader(file).deviceEvents({.run = RunId{1}}))
            sum += (event.end - event.start).count();
        return sum;
    }
};

TEST_F(ExportedStacks, LeadFromThePathOverTheOpToTheKernel)
{
    const fs::path file = ownRun();
    const query::CallTree tree = stacksOf(file).tree;
    EXPECT_THAT(linesOf(tree),
                UnorderedElementsAre("step | forward | aten::mm | gemm 200",
                                     "step | forward | aten::mm | overlapping 50", "Memset (Device) 10"));
    EXPECT_EQ(tree.totalAmount(), gpuNs(file));
    EXPECT_EQ(tree.totalCount(), 3);
}

TEST_F(ExportedStacks, BeginWithTheRankAndTheFramesOfTheLaunch)
{
    const fs::path file = twoRanks();
    const query::CallTree tree = stacksOf(file).tree;
    const std::string frame(kHomeNameWritten);
    const std::string kernel(kHostileNameWritten);
    EXPECT_THAT(
        linesOf(tree),
        UnorderedElementsAre("rank 0 | " + frame + " | step | aten::mm | " + kernel + " 277",
                             "rank 0 | " + frame + " | step | aten::mm | Memcpy HtoD (Pinned -> Device) 1",
                             "rank 1 | " + frame + " | step | aten::mm | " + kernel + " 277",
                             "rank 1 | " + frame + " | step | aten::mm | Memcpy HtoD (Pinned -> Device) 1"));
    EXPECT_EQ(tree.totalAmount(), gpuNs(file));
    EXPECT_THAT(linesOf(stacksOf(file, {.withIdentity = true}).tree).front(), HasSubstr(kHomeName));
}

TEST_F(ExportedStacks, FoldedLinesAddUpToTheGpuTime)
{
    const fs::path file = twoRanks();
    std::ostringstream out;
    writeFolded(out, stacksOf(file));
    std::istringstream lines(out.str());
    std::int64_t sum = 0;
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        EXPECT_EQ(std::ranges::count(line, ';'), 4) << line;
        sum += std::stoll(line.substr(line.rfind(' ') + 1));
    }
    EXPECT_EQ(count, 4U) << "no name breaks a line";
    EXPECT_EQ(sum, gpuNs(file));
    EXPECT_THAT(out.str(), HasSubstr("<b>:%s"));
}

TEST_F(ExportedStacks, SpeedscopeWeightsAddUpToTheGpuTime)
{
    const fs::path file = twoRanks();
    std::ostringstream out;
    writeSpeedscope(out, stacksOf(file), kHostileName);
    const auto profile = nlohmann::json::parse(out.str());
    const auto& sampled = profile.at("profiles").at(0);
    const auto weights = sampled.at("weights").get<std::vector<std::int64_t>>();
    EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}), gpuNs(file));
    EXPECT_EQ(sampled.at("endValue"), gpuNs(file));
    EXPECT_EQ(sampled.at("unit"), "nanoseconds");
    ASSERT_EQ(sampled.at("samples").size(), weights.size());
    const auto& frames = profile.at("shared").at("frames");
    std::vector<std::string> first;
    for (const auto& frame : sampled.at("samples").at(0))
        first.push_back(frames.at(frame.get<std::size_t>()).at("name"));
    EXPECT_THAT(first, ElementsAre("rank 0", kHomeNameWritten, "step", "aten::mm", kHostileNameWritten));
}

TEST_F(ExportedStacks, PprofSamplesAddUpToTheGpuTime)
{
    const fs::path file = twoRanks();
    std::ostringstream out;
    writePprof(out, stacksOf(file), 77);
    const std::string bytes = unzipped(out.str());
    protozero::pbf_reader profile(bytes);
    std::vector<std::string> strings;
    std::map<std::uint64_t, std::int64_t> functions;
    std::map<std::uint64_t, std::uint64_t> locations;
    std::vector<std::vector<std::uint64_t>> stacks;
    std::int64_t ns = 0;
    std::int64_t count = 0;
    while (profile.next())
        switch (profile.tag()) {
        case 2: {
            protozero::pbf_reader sample = profile.get_message();
            sample.next(1);
            const auto ids = sample.get_packed_uint64();
            stacks.emplace_back(ids.begin(), ids.end());
            sample.next(2);
            const auto values = sample.get_packed_int64();
            ns += *values.begin();
            count += *std::next(values.begin());
            break;
        }
        case 4: {
            protozero::pbf_reader location = profile.get_message();
            location.next(1);
            const std::uint64_t id = location.get_uint64();
            location.next(4);
            protozero::pbf_reader line = location.get_message();
            line.next(1);
            locations[id] = line.get_uint64();
            break;
        }
        case 5: {
            protozero::pbf_reader function = profile.get_message();
            function.next(1);
            const std::uint64_t id = function.get_uint64();
            function.next(2);
            functions[id] = function.get_int64();
            break;
        }
        case 6:
            strings.push_back(profile.get_string());
            break;
        case 9:
            EXPECT_EQ(profile.get_int64(), 77);
            break;
        default:
            profile.skip();
        }
    EXPECT_EQ(ns, gpuNs(file));
    EXPECT_EQ(count, 4);
    EXPECT_EQ(strings.at(0), "");
    std::vector<std::string> first;
    for (const std::uint64_t id : stacks.at(0))
        first.push_back(strings.at(static_cast<std::size_t>(functions.at(locations.at(id)))));
    EXPECT_THAT(first, ElementsAre(kHostileNameWritten, "aten::mm", "step", kHomeNameWritten, "rank 0"))
        << "innermost first";
}

TEST_F(ExportedStacks, WithoutAGpuHoldTheSelfTimeOfOps)
{
    const auto cpuRun = [this](const char* name, bool hasOps) {
        const fs::path file = folder / name;
        testing::FakeTrace trace;
        trace.step(0, 0, 100);
        if (hasOps) {
            trace.op("aten::linear", 1, 50).at("step");
            trace.op("aten::mm", 10, 40, trace.lastOp()).at("step");
        }
        store::RunWriter writer(file, trace.strings());
        writer.beginRun({"cpu", "lm", R"({"workload":"lm"})", "h", "Tilescope test"});
        writer.write(trace.batch());
        writer.endRun({});
        return file;
    };
    const fs::path file = cpuRun("cpu.tscope", true);
    const ExportedTree stacks = stacksOf(file);
    EXPECT_FALSE(stacks.onGpu);
    EXPECT_THAT(linesOf(stacks.tree),
                UnorderedElementsAre("step | aten::linear 19", "step | aten::linear | aten::mm 30"));
    std::ostringstream speedscope;
    writeSpeedscope(speedscope, stacks, "cpu");
    EXPECT_EQ(nlohmann::json::parse(speedscope.str())["profiles"][0]["name"], "self time of ops");
    std::ostringstream pprof;
    writePprof(pprof, stacks, 0);
    EXPECT_THAT(unzipped(pprof.str()),
                ::testing::AllOf(HasSubstr("op_time"), ::testing::Not(HasSubstr("gpu_time"))));
    EXPECT_THROW(stacksOf(cpuRun("none.tscope", false)), Error) << "neither ops nor a GPU";
}

} // namespace
} // namespace tilescope::exchange
