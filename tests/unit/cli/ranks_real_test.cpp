// Points with ranks, run by real engines on a CPU: predictions against what they measure, and the sections about ranks.

#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

namespace tilescope {

namespace {

using nlohmann::json;
using testing::ProgramResult;

constexpr const char* kSweep = R"(workload: lm
mode: train
device: cpu
threads: 1
d_model: 64
d_ff: 160
layers: 4
heads: 4
vocab: 300
batch: 2
context: 32
warmup: 1
steps: 2
trace_steps: 1
bucket: 1 MiB
sweep:
  - {parallel: ddp-naive, gpus: 2, precision: fp32, checkpointing: none, compile: none}
  - {parallel: ddp-flat, gpus: 2, precision: fp32, checkpointing: none, compile: none}
  - {parallel: ddp, gpus: 2, precision: fp32, checkpointing: none, compile: none}
  - {parallel: optimizer-sharding, gpus: 2, precision: fp32, checkpointing: none, compile: none}
  - {parallel: zero1, gpus: 2, precision: fp32, checkpointing: none, compile: none}
  - {parallel: zero1, gpus: 3, precision: fp32, checkpointing: none, compile: none}
  - {parallel: fsdp, gpus: 2, precision: fp32, checkpointing: none, compile: none}
  - {parallel: fsdp, gpus: 3, precision: fp32, checkpointing: none, compile: none}
  - {parallel: fsdp, gpus: 2, precision: bf16, checkpointing: none, compile: none}
  - {parallel: fsdp, gpus: 2, precision: fp32, checkpointing: block, compile: none}
  - {parallel: fsdp, gpus: 2, precision: fp32, checkpointing: block:1+2, compile: none}
  - {parallel: fsdp, gpus: 2, precision: fp32, checkpointing: nested, compile: none}
  - {parallel: fsdp, gpus: 2, precision: fp32, checkpointing: none, compile: fused}
  - {parallel: fsdp, gpus: 3, precision: fp32, checkpointing: block, compile: fused}
  - {parallel: fsdp, gpus: 2, precision: bf16, checkpointing: block, compile: fused}
  - {parallel: fsdp, gpus: 2, precision: fp8, checkpointing: block:1+2, compile: fused}
  - {parallel: tp, gpus: 2, precision: fp32, checkpointing: none, compile: none}
  - {parallel: tp, gpus: 2, precision: bf16, checkpointing: block, compile: none}
  - {parallel: fsdp+tp, gpus: 4, precision: fp32, checkpointing: none, compile: none}
)";

class RanksReal : public ::testing::Test {
protected:
    static void SetUpTestSuite()
    {
        folder = std::make_unique<testing::TemporaryFolder>();
        std::ofstream(*folder / "ranks.yaml") << kSweep;
        const ProgramResult result = tilescope({"--batch", "ranks.yaml", "-o", "ranks.tscope"});
        ASSERT_EQ(result.code, 0) << result.out << result.err;
    }
    static void TearDownTestSuite() { folder.reset(); }

    static ProgramResult tilescope(std::vector<std::string> arguments)
    {
        arguments.insert(arguments.begin(), TILESCOPE_PROGRAM);
        return testing::runProgram(arguments, folder->path(), {{"TILESCOPE_ENGINE", ENGINE_PROGRAM}});
    }
    static json show(const std::string& section, const std::string& run = {})
    {
        std::vector<std::string> arguments{"show", "ranks.tscope", section, "--format", "json"};
        if (!run.empty())
            arguments.insert(arguments.end(), {"--run", run});
        const ProgramResult result = tilescope(arguments);
        EXPECT_EQ(result.code, 0) << result.err;
        return json::parse(result.out);
    }

    /// Of each point, by --dry-run.
    static std::vector<json> forecasts()
    {
        const ProgramResult result = tilescope({"--batch", "ranks.yaml", "--dry-run", "--format", "json"});
        EXPECT_EQ(result.code, 0) << result.err;
        std::vector<json> forecasts;
        std::istringstream lines(result.out);
        for (std::string line; std::getline(lines, line);)
            if (const json event = json::parse(line); event.at("event") == "point")
                forecasts.push_back(event.at("forecast"));
        return forecasts;
    }
    static std::string titleOf(const json& run)
    {
        const json& params = run.at("params");
        std::string title;
        for (const char* key : {"parallel", "gpus", "precision", "checkpointing", "compile"})
            title += params.at(key).dump() + " ";
        return title;
    }

    static inline std::unique_ptr<testing::TemporaryFolder> folder;
};

TEST_F(RanksReal, PeaksAreThoseOfThePrediction)
{
    const std::vector<json> predicted = forecasts();
    const json runs = show("runs");
    ASSERT_EQ(runs.size(), predicted.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto measured = runs[i].at("peak_allocated").get<double>();
        // Products in bf16 take scratch memory whose size depends on the processor.
        const double within = runs[i].at("params").at("precision") == "fp32" ? 0.01 : 0.05;
        EXPECT_NEAR(predicted[i].at("memory").at("peak_allocated").get<double>(), measured, within * measured)
            << titleOf(runs[i]);
    }
}

TEST_F(RanksReal, EachRankHasItsPeak)
{
    for (const json& run : show("runs")) {
        std::map<int, std::int64_t> peaks;
        for (const json& row : show("ranks", run.at("run").dump()))
            peaks[row.at("rank").get<int>()] = row.at("peak_allocated").get<std::int64_t>();
        EXPECT_EQ(static_cast<int>(peaks.size()), run.at("params").at("gpus").get<int>());
        std::int64_t largest = 0;
        for (const auto& [rank, peak] : peaks)
            largest = std::max(largest, peak);
        EXPECT_EQ(largest, run.at("peak_allocated").get<std::int64_t>());
    }
}

/// Bytes that a rank sends for a collective among `ranks` of them, by a ring algorithm.
double bytesSent(const std::string& op, double ranks, double bytes)
{
    if (op == "all_reduce")
        return 2 * (ranks - 1) / ranks * bytes;
    if (op == "all_gather")
        return (ranks - 1) * bytes;
    return (ranks - 1) / ranks * bytes; // reduce_scatter; broadcast, in the mean of the ranks
}

TEST_F(RanksReal, SendTheBytesOfTheFormula)
{
    const std::vector<json> predicted = forecasts();
    const json runs = show("runs");
    ASSERT_EQ(runs.size(), predicted.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        double sent = 0; // by all ranks
        for (const json& row : show("collectives", runs[i].at("run").dump())) {
            const auto ranks = row.at("ranks").get<double>();
            sent += ranks * bytesSent(row.at("op"), ranks, row.at("bytes").get<double>());
        }
        const auto ranks = runs[i].at("params").at("gpus").get<double>();
        const auto formula = predicted[i].at("ranks").at("bytes_sent").get<double>();
        // Parts of unequal length are filled up.
        EXPECT_NEAR(sent / ranks, formula, 0.005 * formula) << titleOf(runs[i]);
    }
}

} // namespace

} // namespace tilescope
