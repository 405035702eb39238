// The findings about host, disk and programs, derived from facts.

#include "core/machine/examine.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"

#include <fmt/format.h>

namespace tilescope::machine {

using Verdict = Finding::Verdict;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string sizeText(std::uint64_t bytes)
{
    return quantity::withUnit(static_cast<double>(bytes), quantity::Unit::Bytes);
}

Finding ofGovernor(const std::string& governor)
{
    if (governor.empty())
        return {Verdict::Ok, "governor", "the kernel does not scale this machine's clocks", ""};
    if (governor == "performance")
        return {Verdict::Ok, "governor", governor, ""};
    return {Verdict::Note, "governor",
            governor + ": the CPU's clock depends on the load, which affects measurements",
            "sudo cpupower frequency-set -g performance"};
}

Finding ofEngine(const ProgramFacts& programs)
{
    const std::string engine = programs.engine.string();
    if (!programs.engineThere)
        return {Verdict::Missing, "engine", engine + " does not exist: nothing can run",
                "install tilescope-engine beside this program, or set TILESCOPE_ENGINE"};
    if (programs.torchRefused)
        return {Verdict::Missing, "LibTorch",
                (programs.torchRefused->where.empty() ? "" : programs.torchRefused->where + " ") +
                    programs.torchRefused->what,
                programs.torchRefused->remedy};
    if (programs.engineLoads)
        return {Verdict::Ok, "LibTorch",
                programs.torch ? fmt::format("{} in {} (found by {})", programs.torch->version,
                                             programs.torch->folder.string(), programs.torch->foundBy)
                               : std::string("in the engine's run path"),
                ""};
    // A message of the dynamic loader: "…: version `GLIBC_2.36' not found (required by …)".
    if (programs.engineWords.find("version `GLIBC") != std::string::npos)
        return {Verdict::Missing, "LibTorch", "the engine needs a newer system: " + programs.engineWords,
                "build it on this system, or use the container in packaging/containers"};
    return {
        Verdict::Missing, "LibTorch", "the engine does not load: " + programs.engineWords,
        fmt::format("pip install torch=={}.*, or name the torch folder of such a wheel in TILESCOPE_TORCH",
                    kTorchVersion)};
}

Finding ofWindow(const ProgramFacts& programs)
{
    if (programs.isCopied)
        return {Verdict::Ok, "window", "on the machine that copied this program here", ""};
    if (!programs.windowThere)
        return {Verdict::Note, "window", "tilescope-gui is not beside this program",
                "install it for the window and for charts; everything else works without it"};
    if (!programs.display)
        return {Verdict::Note, "window", "installed; this session has no display",
                "open the file on a machine with one, or connect by ssh -X"};
    return {Verdict::Ok, "window", "installed", ""};
}

} // namespace

std::vector<Finding> findingsOf(const HostFacts& host)
{
    std::vector<Finding> findings{{Verdict::Ok, "C library", "glibc " + host.glibc, ""}};
    const std::string busy = fmt::format("{}, load {:.1f}", counted(host.threads, "thread"), host.load);
    if (host.load > 0.5 * host.threads)
        findings.push_back({Verdict::Note, "CPU", busy + ": other work disturbs timings",
                            "wait for a quiet machine, or keep some CPUs free: taskset -c"});
    else
        findings.push_back({Verdict::Ok, "CPU", busy, ""});
    findings.push_back(ofGovernor(host.governor));
    const std::string memory =
        sizeText(host.memoryBytes) + " of memory, " + sizeText(host.swappedBytes) + " swapped out";
    if (host.swappedBytes > 256 * kMiB)
        findings.push_back({Verdict::Note, "memory", memory,
                            "close programs that use memory: runs on a swapping machine measure the disk"});
    else
        findings.push_back({Verdict::Ok, "memory", memory, ""});
    return findings;
}

std::vector<Finding> findingsOf(const DiskFacts& disk)
{
    const std::string folder = disk.folder.string();
    const std::string text = sizeText(disk.freeBytes) + " free in " + folder;
    if (!disk.unreadable.empty())
        return {{Verdict::Note, "disk", "the current folder cannot be examined: " + disk.unreadable,
                 "change to a readable folder"}};
    if (!disk.writable)
        return {{Verdict::Note, "disk", folder + " is not writable", "name a file elsewhere with -o"}};
    if (disk.freeBytes < kGiB)
        return {{Verdict::Note, "disk", text + ": a long traced sweep may need more",
                 "free some space, or name a file on another disk with -o"}};
    if (!disk.network.empty())
        return {{Verdict::Ok, "disk",
                 text + ", over the network (" + disk.network +
                     "): runs write to TMPDIR and copy the file here every ten seconds",
                 ""}};
    return {{Verdict::Ok, "disk", text, ""}};
}

std::vector<Finding> findingsOf(const ProgramFacts& programs)
{
    return {ofEngine(programs), ofWindow(programs)};
}

} // namespace tilescope::machine
