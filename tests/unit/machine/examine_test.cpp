#include "core/machine/examine.h"

#include "core/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tilescope::machine {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Verdict = Finding::Verdict;

namespace {

/// The finding about a topic; fails the test if there is none.
Finding about(const char* topic, const std::vector<Finding>& findings)
{
    for (const Finding& finding : findings)
        if (finding.topic == topic)
            return finding;
    ADD_FAILURE() << "nothing was found about " << topic;
    return {};
}

/// Expects `verdict`, a part of the finding and a part of the remedy.
void expect(const Finding& finding, Verdict verdict, const char* words, const char* remedy)
{
    EXPECT_EQ(finding.verdict, verdict) << finding.finding;
    EXPECT_THAT(finding.finding, HasSubstr(words));
    EXPECT_THAT(finding.remedy, HasSubstr(remedy));
    EXPECT_EQ(finding.remedy.empty(), verdict == Verdict::Ok) << finding.topic;
}

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

HostFacts quietHost()
{
    return {.glibc = "2.36", .threads = 8, .load = 0.2, .governor = "performance", .memoryBytes = 64 * kGiB};
}

DiskFacts roomyDisk()
{
    return {.folder = "/data", .freeBytes = 200 * kGiB};
}

ProgramFacts wholeInstallation()
{
    return {.engine = "/opt/tilescope/bin/tilescope-engine",
            .torch = TorchLocation{"/venv/torch", "2.11.0+cu130", "python3"}};
}

GpuFacts h200()
{
    return {.name = "NVIDIA H200",
            .capability = 90,
            .memory = {.total = 141 * kGiB, .free = 140 * kGiB, .used = kGiB},
            .powerLimitWatt = 700};
}

DriverFacts goodDriver()
{
    return {.kernelModule = true,
            .version = "580.95.05",
            .cuda = 13000,
            .countersRestricted = false,
            .gpus = {h200()}};
}

DriverFacts with(GpuFacts gpu)
{
    DriverFacts driver = goodDriver();
    driver.gpus = {std::move(gpu)};
    return driver;
}

DriverFacts without(Nvml::Absence absence, bool kernelModule = false)
{
    return {.absence = absence, .kernelModule = kernelModule};
}

} // namespace

TEST(Examine, EverythingMissingHasARemedyAndNothingElseHas)
{
    const std::vector<Finding> findings = examine();
    std::vector<std::string> topics;
    for (const Finding& finding : findings) {
        topics.push_back(finding.topic);
        EXPECT_FALSE(finding.topic.empty());
        EXPECT_FALSE(finding.finding.empty()) << finding.topic;
        EXPECT_EQ(finding.remedy.empty(), finding.verdict == Verdict::Ok) << finding.topic;
    }
    for (const char* topic : {"C library", "CPU", "governor", "memory", "disk", "window", "profilers"})
        EXPECT_THAT(topics, Contains(topic));
}

TEST(Examine, FindsNoProblemOnAGoodMachine)
{
    for (const std::vector<Finding>& part :
         {findingsOf(quietHost()), findingsOf(roomyDisk()), findingsOf(wholeInstallation()),
          findingsOf(goodDriver()), findingsOfRivals({})})
        for (const Finding& finding : part)
            EXPECT_EQ(finding.verdict, Verdict::Ok) << finding.topic << ": " << finding.finding;
}

TEST(ExamineHost, NamesTheCLibrary)
{
    expect(about("C library", findingsOf(quietHost())), Verdict::Ok, "glibc 2.36", "");
}

TEST(ExamineHost, NotesConditionsThatDisturbMeasurements)
{
    HostFacts host = quietHost();
    host.load = 6;
    host.governor = "powersave";
    host.swappedBytes = kGiB;
    const std::vector<Finding> findings = findingsOf(host);
    expect(about("CPU", findings), Verdict::Note, "8 threads, load 6.0", "taskset");
    expect(about("governor", findings), Verdict::Note, "powersave", "cpupower frequency-set -g performance");
    expect(about("memory", findings), Verdict::Note, "1.00 GiB swapped out",
           "close programs that use memory");
    host.governor = "";
    expect(about("governor", findingsOf(host)), Verdict::Ok, "does not scale", "");
}

TEST(ExamineDisk, NotesFoldersInWhichAFileCannotGrow)
{
    DiskFacts disk = roomyDisk();
    expect(about("disk", findingsOf(disk)), Verdict::Ok, "200 GiB free in /data", "");
    disk.network = "Lustre";
    expect(about("disk", findingsOf(disk)), Verdict::Ok, "(Lustre): runs write to TMPDIR", "");
    disk.freeBytes = kGiB / 2;
    expect(about("disk", findingsOf(disk)), Verdict::Note, "512 MiB free", "another disk");
    disk.writable = false;
    expect(about("disk", findingsOf(disk)), Verdict::Note, "is not writable", "-o");
    disk.unreadable = "Stale file handle";
    expect(about("disk", findingsOf(disk)), Verdict::Note, "Stale file handle",
           "change to a readable folder");
}

TEST(ExaminePrograms, NameTheLibTorchInUse)
{
    ProgramFacts programs = wholeInstallation();
    expect(about("LibTorch", findingsOf(programs)), Verdict::Ok,
           "2.11.0+cu130 in /venv/torch (found by python3)", "");
    programs.torch.reset();
    expect(about("LibTorch", findingsOf(programs)), Verdict::Ok, "the engine's run path", "");
}

TEST(ExaminePrograms, GiveTheReasonIfNothingCanRun)
{
    ProgramFacts programs = wholeInstallation();
    programs.torch.reset();
    programs.engineLoads = false;
    programs.engineWords = "libtorch_cpu.so: cannot open shared object file";
    expect(about("LibTorch", findingsOf(programs)), Verdict::Missing, "libtorch_cpu.so: cannot open",
           "TILESCOPE_TORCH");
    programs.engineWords = "/lib/libc.so.6: version `GLIBC_2.38' not found (required by libtorch_cpu.so)";
    expect(about("LibTorch", findingsOf(programs)), Verdict::Missing, "newer system", "container");
    programs.torchRefused = Error{.what = "has torch 2.10.0; Tilescope needs 2.11",
                                  .where = "TILESCOPE_TORCH=/old",
                                  .remedy = "unset it"};
    expect(about("LibTorch", findingsOf(programs)), Verdict::Missing, "TILESCOPE_TORCH=/old has torch 2.10.0",
           "unset it");
    programs.engineThere = false;
    expect(about("engine", findingsOf(programs)), Verdict::Missing, "tilescope-engine does not exist",
           "TILESCOPE_ENGINE");
}

TEST(ExaminePrograms, NoteAWindowThatCannotOpen)
{
    ProgramFacts programs = wholeInstallation();
    programs.display = false;
    expect(about("window", findingsOf(programs)), Verdict::Note, "no display", "ssh -X");
    programs.windowThere = false;
    expect(about("window", findingsOf(programs)), Verdict::Note, "not beside", "install it");
    programs.isCopied = true;
    expect(about("window", findingsOf(programs)), Verdict::Ok, "on the machine that copied", "");
}

TEST(ExamineDriver, GivesTheReasonForAMissingDriver)
{
    using Absence = Nvml::Absence;
    expect(about("GPU", findingsOf(without(Absence::NoLibrary))), Verdict::Note, "runs use the CPU", "580");
    expect(about("GPU", findingsOf(without(Absence::NoLibrary, true))), Verdict::Missing, "not visible",
           "--gpus all");
    expect(about("GPU", findingsOf(without(Absence::NoAnswer))), Verdict::Note, "no NVIDIA driver", "580");
    expect(about("driver", findingsOf(without(Absence::Mismatch, true))), Verdict::Missing,
           "different versions", "reboot");
    expect(about("driver", findingsOf(without(Absence::NoPermission, true))), Verdict::Missing,
           "has no access", "/dev/nvidia");
}

TEST(ExamineDriver, MustSupportTheCudaOfLibTorch)
{
    DriverFacts driver = goodDriver();
    expect(about("driver", findingsOf(driver)), Verdict::Ok, "580.95.05, supports CUDA 13.0", "");
    driver.version = "570.10";
    driver.cuda = 12080;
    expect(about("driver", findingsOf(driver)), Verdict::Missing, "CUDA 12.8; LibTorch needs 13.0", "580");
}

TEST(ExamineDriver, DescribesEachGpu)
{
    expect(about("GPU 0", findingsOf(goodDriver())), Verdict::Ok,
           "NVIDIA H200, 143360 of 144384 MiB free, power limit 700 W", "");
    expect(about("GPU 0", findingsOf(with({.opens = false}))), Verdict::Missing, "does not open",
           "nvidia-smi");
    expect(about("GPU", findingsOf(DriverFacts{.version = "580", .cuda = 13000})), Verdict::Missing,
           "lists none", "--gres=gpu:1");
}

TEST(ExamineDriver, NotesEveryProblemOfAGpu)
{
    GpuFacts gpu = h200();
    gpu.otherProcesses = 2;
    expect(about("GPU 0", findingsOf(with(gpu))), Verdict::Note, "2 other processes", "CUDA_VISIBLE_DEVICES");
    gpu.mig = true;
    gpu.throttleReasons = 0x40 | 0x1;
    const Finding finding = about("GPU 0", findingsOf(with(gpu)));
    expect(finding, Verdict::Note, "split by MIG, slowed down by: thermal (hardware)", "let it cool");
    EXPECT_THAT(finding.remedy, HasSubstr("measurements need an idle GPU"));
    EXPECT_THAT(finding.remedy, HasSubstr("disable MIG"));
    gpu = h200();
    gpu.throttleReasons = 0x1 | 0x2;
    EXPECT_EQ(about("GPU 0", findingsOf(with(gpu))).verdict, Verdict::Ok);
}

TEST(ExamineDriver, DetectsGpusThatAreTooOld)
{
    GpuFacts gpu = h200();
    gpu.capability = 70;
    expect(about("GPU 0", findingsOf(with(gpu))), Verdict::Missing, "compute capability 7.0", "device: cpu");
    gpu.capability = 75;
    expect(about("GPU 0", findingsOf(with(gpu))), Verdict::Note, "older than compute capability 8.0", "sdpa");
}

TEST(ExamineDriver, NotesThatEveryGpuIsHidden)
{
    DriverFacts driver = goodDriver();
    for (const char* visible : {"", "-1"}) {
        driver.visibleDevices = visible;
        expect(about("GPU", findingsOf(driver)), Verdict::Note, "hides every GPU", "unset it");
    }
    driver.visibleDevices = "0";
    for (const Finding& finding : findingsOf(driver))
        EXPECT_EQ(finding.verdict, Verdict::Ok) << finding.finding;
}

TEST(ExamineDriver, ExplainsHowToPermitCounters)
{
    DriverFacts driver = goodDriver();
    driver.countersRestricted = true;
    expect(about("counters", findingsOf(driver)), Verdict::Note, "administrators",
           "NVreg_RestrictProfilingToAdminUsers=0");
    driver.administrator = true;
    expect(about("counters", findingsOf(driver)), Verdict::Ok, "permitted", "");
    driver.countersRestricted.reset();
    expect(about("counters", findingsOf(driver)), Verdict::Note, "unknown whether", "counters: [");
}

TEST(RivalProfilers, AreNamedByProgramAndByVariable)
{
    const std::map<std::string, std::string> variables{{"CUDA_INJECTION64_PATH", "/opt/nsys/lib.so"},
                                                       {"NSYS_PROFILING_SESSION_ID", "7"},
                                                       {"NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "1"},
                                                       {"UNRELATED", "1"}};
    const auto environment = [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::string() : found->second;
    };
    const std::vector<std::string> rivals =
        rivalProfilers({"bash", "ncu", "nv-hostengine", "ncurses"}, environment);
    EXPECT_THAT(rivals, ElementsAre("ncu", "nv-hostengine", "CUDA_INJECTION64_PATH=/opt/nsys/lib.so",
                                    "NSYS_PROFILING_SESSION_ID=7", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE=1"));
    EXPECT_THAT(rivalProfilers({"bash", "nsysd"}, [](const char*) { return std::string(); }), IsEmpty());
    expect(findingsOfRivals({"ncu"}).front(), Verdict::Note, "ncu may occupy", "dcgmi profile --pause");
}

TEST(CountersAreRestricted, ReadsTheDriversParameters)
{
    EXPECT_EQ(countersAreRestricted("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nFoo: 0\n"), true);
    EXPECT_EQ(countersAreRestricted("RmProfilingAdminOnly: 0\n"), false);
    EXPECT_EQ(countersAreRestricted(""), std::nullopt);
}

TEST(IsAdministrator, IsAMatterOfCapabilitiesNotOfTheUser)
{
    EXPECT_TRUE(isAdministrator("Name:\tx\nUid:\t0\nCapPrm:\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n"));
    // Root in a container of Docker's.
    EXPECT_FALSE(isAdministrator("Name:\tx\nUid:\t0\nCapEff:\t00000000a80425fb\n"));
    EXPECT_FALSE(isAdministrator(""));
}

} // namespace tilescope::machine
