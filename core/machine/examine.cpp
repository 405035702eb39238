#include "core/machine/examine.h"

#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/machine/filesystem_kind.h"
#include "core/machine/small_file.h"
#include "core/machine/torch_location.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace tilescope::machine {

namespace fs = std::filesystem;
using Verdict = Finding::Verdict;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string gib(std::uint64_t bytes)
{
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

void examineGovernor(std::vector<Finding>& findings)
{
    const std::string governor = readFirstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if (governor.empty())
        findings.push_back({Verdict::Ok, "governor", "the kernel does not scale this machine's clocks", ""});
    else if (governor == "performance")
        findings.push_back({Verdict::Ok, "governor", governor, ""});
    else
        findings.push_back({Verdict::Note, "governor",
                            governor + ": the CPU's clock follows the load, and so do its figures",
                            "sudo cpupower frequency-set -g performance"});
}

/// What `command` prints, standard error too, and its exit code.
struct Output {
    std::string text;
    int code = -1;
};
Output outputOf(const std::string& command)
{
    FILE* pipe = popen((command + " 2>&1").c_str(), "re");
    if (!pipe)
        return {};
    Output output;
    output.text.resize(4096);
    output.text.resize(std::fread(output.text.data(), 1, output.text.size(), pipe));
    const int status = pclose(pipe);
    output.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    output.text.erase(output.text.find_last_not_of(" \n") + 1);
    return output;
}

std::string quoted(const std::string& word)
{
    std::string text = "'";
    for (const char c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

void examineEngine(std::vector<Finding>& findings)
{
    const fs::path engine = siblingProgram("TILESCOPE_ENGINE", "tilescope-engine");
    if (access(engine.c_str(), X_OK) != 0) {
        findings.push_back({Verdict::Missing, "engine", engine.string() + " is not there: nothing can be run",
                            "install tilescope-engine beside this program, or name it in TILESCOPE_ENGINE"});
        return;
    }
    const std::string ask = quoted(engine.string()) + " --version";
    try {
        std::optional<TorchLocation> torch = torchFromEnvironment();
        Output output =
            outputOf(torch ? "LD_LIBRARY_PATH=" + quoted(libraryPathWith(*torch)) + " " + ask : ask);
        if (output.code != 0 && !torch && (torch = findTorch()))
            output = outputOf("LD_LIBRARY_PATH=" + quoted(libraryPathWith(*torch)) + " " + ask);
        if (output.code != 0)
            findings.push_back(
                {Verdict::Missing, "LibTorch", "the engine does not load: " + output.text,
                 fmt::format("pip install torch=={}.*, or name the torch folder of such a wheel in "
                             "TILESCOPE_TORCH",
                             kTorchVersion)});
        else
            findings.push_back({Verdict::Ok, "LibTorch",
                                torch ? fmt::format("{} in {} (found by {})", torch->version,
                                                    torch->folder.string(), torch->foundBy)
                                      : std::string("where the engine's own run path says"),
                                ""});
    } catch (const Error& error) {
        findings.push_back({Verdict::Missing, "LibTorch", error.where + " " + error.what, error.mend});
    }
}

void examineWindow(std::vector<Finding>& findings)
{
    const fs::path window = siblingProgram("TILESCOPE_GUI", "tilescope-gui");
    if (access(window.c_str(), X_OK) != 0)
        findings.push_back({Verdict::Note, "window", "tilescope-gui is not beside this program",
                            "install it for the window and for charts; all else works without"});
    else if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY"))
        findings.push_back({Verdict::Note, "window", "installed; this session has no display",
                            "open the file on a machine with one, or connect by ssh -X"});
    else
        findings.push_back({Verdict::Ok, "window", "installed", ""});
}

} // namespace

void examineHost(std::vector<Finding>& findings)
{
    findings.push_back({Verdict::Ok, "C library", std::string("glibc ") + gnu_get_libc_version(), ""});
    const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
    double load = 0;
    getloadavg(&load, 1);
    const std::string busy = fmt::format("{} threads, load {:.1f}", threads, load);
    if (load > 0.5 * threads)
        findings.push_back({Verdict::Note, "CPU", busy + ": other work disturbs timings",
                            "wait for a quiet machine, or keep some CPUs free: taskset -c"});
    else
        findings.push_back({Verdict::Ok, "CPU", busy, ""});
    examineGovernor(findings);
    struct sysinfo memory {};
    if (sysinfo(&memory) != 0)
        return;
    const std::uint64_t unit = memory.mem_unit;
    const std::string text = gib(memory.totalram * unit) + " of memory, " +
                             gib((memory.totalswap - memory.freeswap) * unit) + " swapped out";
    if ((memory.totalswap - memory.freeswap) * unit > 256 * kMiB)
        findings.push_back({Verdict::Note, "memory", text,
                            "close what fills it: a run beside a swapping machine measures the disk"});
    else
        findings.push_back({Verdict::Ok, "memory", text, ""});
}

void examineDisk(std::vector<Finding>& findings)
{
    std::error_code error;
    const fs::path here = fs::current_path(error);
    const fs::space_info space = fs::space(here, error);
    if (error) {
        findings.push_back({Verdict::Note, "disk",
                            "the current folder cannot be looked at: " + error.message(),
                            "change to a folder that you may read"});
        return;
    }
    const std::string network = networkFilesystem(here).value_or("");
    const std::string text = fmt::format("{} free in {}{}", gib(space.available), here.string(),
                                         network.empty() ? "" : " (" + network + ")");
    if (access(here.c_str(), W_OK) != 0)
        findings.push_back({Verdict::Note, "disk", here.string() + " may not be written by you",
                            "name a file elsewhere with -o"});
    else if (space.available < kGiB)
        findings.push_back({Verdict::Note, "disk", text + ": a long traced sweep may need more",
                            "free some, or name a file on another disk with -o"});
    else
        findings.push_back({Verdict::Ok, "disk", text, ""});
}

void examinePrograms(std::vector<Finding>& findings)
{
    examineEngine(findings);
    examineWindow(findings);
}

std::vector<Finding> examine()
{
    std::vector<Finding> findings;
    examineHost(findings);
    examineDisk(findings);
    examinePrograms(findings);
    examineGpu(findings);
    return findings;
}

} // namespace tilescope::machine
