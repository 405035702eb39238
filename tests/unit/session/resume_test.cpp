#include "core/session/supervisor/resume.h"

#include "core/base/error.h"
#include "core/base/version.h"
#include "core/model/strings.h"
#include "core/session/protocol/run_header.h"
#include "core/store/run_writer.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::session {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

class Resume : public ::testing::Test {
protected:
    /// A sweep over seeds.
    static std::vector<SweepPoint> sweep(int count)
    {
        std::vector<ExperimentSpec> specs(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < specs.size(); ++i) {
            specs[i].name = "sweep";
            specs[i].seed = static_cast<std::int64_t>(i);
        }
        return numbered(std::move(specs));
    }

    void hold(const SweepPoint& point, RunStatus status, const std::string& program = programBanner())
    {
        store::RunHeader header = runHeader(point.spec, point.index);
        header.program = program;
        hold(header, status);
    }

    void hold(const store::RunHeader& header, RunStatus status)
    {
        store::RunWriter writer(file, strings);
        writer.beginRun(header);
        writer.writeEnvironment(
            std::vector<EnvironmentEntry>{{"libtorch", "2.11.0"}, {"cpu.model", "A CPU"}});
        RunResult result;
        result.status = status;
        result.device = "cpu";
        writer.endRun(result);
    }

    std::vector<std::int64_t> indicesLeft(const std::vector<SweepPoint>& points, bool force = false) const
    {
        std::vector<std::int64_t> indices;
        for (const SweepPoint& point : remainderOf(points, file, force).points)
            indices.push_back(point.index);
        return indices;
    }

    std::string refusal(const std::vector<SweepPoint>& points) const
    {
        try {
            remainderOf(points, file, false);
        } catch (const Error& error) {
            EXPECT_EQ(error.exitCode(), 2);
            return error.sentence();
        }
        return "not refused";
    }

    testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "a.tscope";
    const StringTable strings{};
};

} // namespace

TEST_F(Resume, LeavesWhatIsNotOkOomOrSkipped)
{
    const auto points = sweep(6);
    EXPECT_EQ(indicesLeft(points).size(), 6U) << "there is no file yet";
    hold(points[0], RunStatus::Ok);
    hold(points[1], RunStatus::Error);
    hold(points[2], RunStatus::Oom);
    hold(points[3], RunStatus::Cancelled);
    hold(points[4], RunStatus::Skipped);
    EXPECT_THAT(indicesLeft(points), ElementsAre(1, 3, 5));
    const Makers before = remainderOf(points, file, false).before;
    EXPECT_EQ(before.at("auto").torch, "2.11.0");
    EXPECT_EQ(before.at("auto").processor, "A CPU");
}

TEST_F(Resume, ASpecThatStandsTwiceNeedsTwoRuns)
{
    auto points = sweep(2);
    points[1].spec.seed = 0;
    hold(points[0], RunStatus::Ok);
    EXPECT_THAT(indicesLeft(points), ElementsAre(1));
    hold(points[0], RunStatus::Ok);
    EXPECT_THAT(indicesLeft(points), ElementsAre());
}

TEST_F(Resume, APointIsDoneWhenItHasAsManyRunsAsItIsRepeated)
{
    auto points = sweep(2);
    hold(points[0], RunStatus::Ok);
    std::vector<ExperimentSpec> specs{points[0].spec, points[1].spec};
    for (ExperimentSpec& spec : specs)
        spec.repeat = 3;
    const auto repeated = numbered(specs);
    EXPECT_THAT(indicesLeft(repeated), ElementsAre(1, 2, 3, 4, 5)) << "the run before was not repeated";
    hold(repeated[3], RunStatus::Ok);
    hold(repeated[2], RunStatus::Ok);
    hold(repeated[4], RunStatus::Error);
    EXPECT_THAT(indicesLeft(repeated), ElementsAre(3, 4, 5)) << "one more of the first, two of the second";
}

TEST(Numbered, InterleavesTheRepeatsOfPoints)
{
    std::vector<ExperimentSpec> specs(3);
    for (std::size_t i = 0; i < specs.size(); ++i) {
        specs[i].seed = static_cast<std::int64_t>(i);
        specs[i].repeat = i == 1 ? 3 : 2;
    }
    std::vector<std::int64_t> seeds;
    std::vector<std::int64_t> indices;
    for (const SweepPoint& point : numbered(specs)) {
        seeds.push_back(point.spec.seed);
        indices.push_back(point.index);
        EXPECT_EQ(point.of, 7);
        EXPECT_EQ(point.point, point.spec.seed);
    }
    EXPECT_THAT(seeds, ElementsAre(0, 1, 2, 0, 1, 2, 1));
    EXPECT_THAT(indices, ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(Numbered, KeepsTheRepeatsOfAPointInOneShard)
{
    std::vector<ExperimentSpec> specs(3);
    for (std::size_t i = 0; i < specs.size(); ++i) {
        specs[i].seed = static_cast<std::int64_t>(i);
        specs[i].repeat = 2;
    }
    std::vector<std::int64_t> seeds;
    for (const SweepPoint& point : pointsOf({1, 2}, numbered(specs)))
        seeds.push_back(point.spec.seed);
    EXPECT_THAT(seeds, ElementsAre(1, 1));
}

TEST_F(Resume, NameAndTimeoutMakeNoOtherPoint)
{
    auto points = sweep(2);
    hold(points[0], RunStatus::Ok);
    points[0].spec.name = "renamed";
    points[0].spec.timeoutSeconds = 7;
    EXPECT_THAT(indicesLeft(points), ElementsAre(1));
}

TEST_F(Resume, AnotherProgramIsRefusedInOneSentence)
{
    const auto points = sweep(2);
    hold(points[0], RunStatus::Ok, "Tilescope 0.0.1");
    EXPECT_EQ(refusal(points),
              file.string() + ": holds points of this sweep that Tilescope 0.0.1 ran; this is " +
                  programBanner() + "; resume with that version, or mix them on purpose with --force");
    EXPECT_THAT(indicesLeft(points, true), ElementsAre(1));
    EXPECT_TRUE(remainderOf(points, file, true).before.empty()) << "forced: any maker will do";
}

TEST_F(Resume, AnOlderProgramThatLackedAKeyIsRefusedToo)
{
    const auto points = sweep(2);
    store::RunHeader header = runHeader(points[0].spec, 0);
    header.program = "Tilescope 0.0.1";
    header.specHash = "of the keys it had";
    header.specJson = R"({"name":"sweep","workload":"attention","seed":0})";
    hold(header, RunStatus::Ok);
    EXPECT_THAT(refusal(points), HasSubstr("that Tilescope 0.0.1 ran"));
}

TEST_F(Resume, RunsThatThisProgramDoesNotUnderstandDoNotMatter)
{
    store::RunHeader header = runHeader(sweep(1)[0].spec, 0);
    header.specHash = "of an import";
    header.specJson = R"({"a key of next year":1})";
    hold(header, RunStatus::Ok);
    EXPECT_THAT(indicesLeft(sweep(2)), ElementsAre(0, 1));
}

TEST_F(Resume, RunsOfOtherSweepsDoNotMatter)
{
    auto other = sweep(1);
    other[0].spec.batch = 3;
    hold(other[0], RunStatus::Ok, "Tilescope 0.0.1");
    EXPECT_THAT(indicesLeft(sweep(2)), ElementsAre(0, 1));
}

TEST_F(Resume, TheSameSweepOnAnotherDeviceIsRefused)
{
    auto points = sweep(2);
    points[0].spec.device = {DeviceRequest::Kind::Cpu};
    hold(points[0], RunStatus::Ok);
    EXPECT_THAT(refusal(sweep(2)),
                HasSubstr("holds points of this sweep on device cpu; it now asks for device auto"));
    // A sweep over devices that was stopped in its first half is the same sweep.
    points[1] = points[0];
    points[1].spec.device = {DeviceRequest::Kind::Cuda, 0};
    EXPECT_THAT(indicesLeft(points), ElementsAre(points[1].index));
}

TEST(Makers, DifferOnlyInWhatBothKnow)
{
    const Makers before{{"auto", {"2.11.0", "NVIDIA H200"}}};
    const auto here = [](const char* torch, const char* processor) {
        return Makers{{"auto", {torch, processor}}};
    };
    EXPECT_NO_THROW(requireSameMakers(before, here("2.11.0", "NVIDIA H200"), "a"));
    EXPECT_NO_THROW(requireSameMakers(before, here("", ""), "a"));
    EXPECT_NO_THROW(requireSameMakers(before, {{"cpu", {"2.9.0", "A CPU"}}}, "a"));
    EXPECT_THROW(requireSameMakers(before, here("2.11.1", "NVIDIA H200"), "a"), Error);
    EXPECT_THROW(requireSameMakers(before, here("2.11.0", "NVIDIA A100"), "a"), Error);
}

TEST(Makers, AreNamedByTheDeviceThatRan)
{
    const std::vector<EnvironmentEntry> environment{{"libtorch", "2.11.0"},
                                                    {"gpu.0.name", "NVIDIA T4"},
                                                    {"gpu.1.name", "NVIDIA H200"},
                                                    {"cpu.model", "A CPU"}};
    EXPECT_EQ(makerOf("cpu", environment).processor, "A CPU");
    EXPECT_EQ(makerOf("cuda:1", environment).processor, "NVIDIA H200");
    EXPECT_EQ(makerOf("cuda:2", environment).processor, "");
    EXPECT_EQ(makerOf("cuda:0", environment).torch, "2.11.0");
}

} // namespace tilescope::session
