// Ranks of several hosts with known stragglers: what an import of their recordings says about who is late.

#include "core/exchange/import/importer.h"
#include "core/query/ranks/rank_tables.h"
#include "tests/support/simulator/fleet_program.h"
#include "tests/support/simulator/kineto_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

namespace tilescope::exchange {
namespace {

namespace fs = std::filesystem;
using simulator::Fleet;
using Verdict = analysis::StragglerVerdict::Kind;

class FleetImport : public ::testing::Test {
protected:
    /// \param launcher  a recording of a process without a rank, on the first host; empty: none
    query::RanksTable ranksOf(const Fleet& fleet, const std::string& launcher = {})
    {
        const simulator::SimulatedProgram program = fleetProgram(fleet);
        const simulator::Execution execution = execute(program);
        std::vector<fs::path> files;
        for (std::size_t rank = 0; rank < fleet.ranks; ++rank) {
            files.push_back(folder_ / recordingName(fleet, program, rank));
            std::ofstream(files.back()) << kinetoRecording(program, execution, rank);
        }
        if (!launcher.empty()) {
            files.push_back(folder_ / "node0000_999.1700000000000.pt.trace.json");
            std::ofstream(files.back()) << launcher;
        }
        importFiles(files, folder_ / "a.tscope");
        return query::ranks(store::RunReader(folder_ / "a.tscope"), {});
    }

    testing::TemporaryFolder folder_;
};

constexpr Fleet kSmall{.ranks = 12,
                       .ranksPerHost = 4,
                       .steps = 10,
                       .slowRank = 100,
                       .rankDelay = std::chrono::microseconds(400),
                       .slowHost = 100,
                       .hostDelay = std::chrono::microseconds(400)};

TEST_F(FleetImport, NamesHostsByTheNamesOfFiles)
{
    const query::RanksTable table = ranksOf(kSmall);
    EXPECT_EQ(table.rankCount, 12U);
    EXPECT_EQ(table.hostCount, 3U);
    for (const query::RankRow& row : table.rows)
        EXPECT_EQ(row.host, "node000" + std::to_string(*row.rank / 4)) << *row.rank;
    EXPECT_NE(table.straggler.kind, Verdict::Straggler) << table.sentence();
    EXPECT_NE(table.lateHost.kind, Verdict::Straggler) << table.hostSentence();
    EXPECT_TRUE(table.hostSentence().starts_with("No host is late")) << table.hostSentence();
    EXPECT_EQ(table.groupSentence(), "");
}

TEST_F(FleetImport, AProcessWithoutARankMakesNoHostWithSeveralRanks)
{
    Fleet fleet = kSmall;
    fleet.ranks = 4;
    fleet.ranksPerHost = 1;
    const query::RanksTable table = ranksOf(
        fleet, R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::empty",
                   "pid": 999, "tid": 999, "ts": 1000, "dur": 5, "args": {}}]})");
    EXPECT_EQ(table.hostCount, 4U);
    EXPECT_EQ(table.hostSentence(), "") << "each host has one rank: the verdict about ranks says it";
}

TEST_F(FleetImport, FindsARankThatIsLateAndDoesNotBlameItsHost)
{
    Fleet fleet = kSmall;
    fleet.slowRank = 6;
    const query::RanksTable table = ranksOf(fleet);
    EXPECT_EQ(table.straggler.kind, Verdict::Straggler) << table.sentence();
    EXPECT_EQ(table.stragglerName, "rank 6");
    EXPECT_NEAR(static_cast<double>(table.straggler.median.count()), 400e3, 60e3);
    EXPECT_NE(table.lateHost.kind, Verdict::Straggler) << table.hostSentence();
    EXPECT_TRUE(table.hostSentence().starts_with("No host is late")) << table.hostSentence();
}

TEST_F(FleetImport, FindsAHostWhoseRanksAreLateTogether)
{
    Fleet fleet = kSmall;
    fleet.slowHost = 2;
    const query::RanksTable table = ranksOf(fleet);
    EXPECT_EQ(table.lateHost.kind, Verdict::Straggler) << table.hostSentence();
    EXPECT_EQ(table.lateHostName, "node0002");
    EXPECT_NEAR(static_cast<double>(table.lateHost.median.count()), 400e3, 80e3);
    EXPECT_NE(table.hostSentence().find("Late host: node0002, last in 10 of 10 steps"), std::string::npos)
        << table.hostSentence();
}

} // namespace
} // namespace tilescope::exchange
