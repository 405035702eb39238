#include "core/hosts/host_check.h"

#include "core/base/number_text.h"
#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/base/version.h"
#include "core/hosts/built_kernels.h"
#include "core/hosts/install.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <sstream>

namespace tilescope::hosts {

namespace {

using machine::Finding;
using Verdict = Finding::Verdict;

constexpr std::int64_t kMiB = 1 << 20;

/// The answers of a host: `key=value` lines; a key that occurs again adds a line to its value.
using Answers = std::map<std::string, std::string, std::less<>>;

/// \param text  untrusted: keys that nothing asked for have no effect, values are cut
Answers answersIn(const std::string& text)
{
    constexpr std::size_t kMostValue = 400;
    Answers answers;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t equals = line.find('=');
        if (equals == std::string::npos || !line.starts_with("tilescope:"))
            continue;
        constexpr std::size_t kMark = 10; // a login script may print lines of its own
        std::string& value = answers[line.substr(kMark, equals - kMark)];
        if (value.size() < kMostValue)
            value += (value.empty() ? "" : "\n") + line.substr(equals + 1, kMostValue);
    }
    return answers;
}

std::string valueOf(const Answers& answers, std::string_view key)
{
    const auto found = answers.find(key);
    return found == answers.end() ? std::string() : found->second;
}

/// What the host is asked, in the environment that its set-up lines make.
/// \param copy  the folder of this build in the cache there
std::string questions(const std::string& copy)
{
    const std::string cache = kHostCache;
    return "p() { printf 'tilescope:%s=%s\\n' \"$1\" \"$2\"; }; "
           "p who \"$(id -un)@$(uname -n)\"; p system \"$(uname -s) $(uname -m)\"; "
           "p glibc \"$(getconf GNU_LIBC_VERSION 2>/dev/null)\"; "
           "for w in tar sha256sum mktemp mv; do command -v $w >/dev/null 2>&1 || p lacks $w; done; "
           "nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv,noheader "
           "2>/dev/null | head "
           "-n 16 | "
           "while read -r l; do p gpu \"$l\"; done; "
           "command -v sbatch >/dev/null 2>&1 && p slurm \"$(sbatch --version 2>/dev/null)\"; "
           "if test -n \"$TILESCOPE_TORCH\"; then p torch_place \"$TILESCOPE_TORCH\"; "
           "p torch \"$(sed -n \"s/^__version__ = '\\(.*\\)'/\\1/p\" \"$TILESCOPE_TORCH/version.py\" "
           "2>/dev/null)\"; "
           "else p torch_place \"the torch of $(command -v python3)\"; p torch \"$(python3 -I -c "
           "'import importlib.metadata as m; print(m.version(\"torch\"))' 2>/dev/null)\"; fi; "
           "f=" +
           cache +
           "; while ! test -d \"$f\"; do f=$(dirname \"$f\"); done; "
           "p inodes \"$(df -Pi \"$f\" 2>/dev/null | tail -n 1)\"; "
           "p options \"$(findmnt -no OPTIONS -T \"$f\" 2>/dev/null)\"; "
           "p free \"$(df -Pk \"$f\" 2>/dev/null | tail -n 1)\"; test -w \"$f\" && p writable yes; "
           "for d in " +
           cache +
           "/[0-9]*; do test -d \"$d\" && p version \"${d##*/}\"; done; "
           "d=" +
           cache + "/" + quotedForHost(copy) +
           "; if test -d \"$d\"; then (cd \"$d\" && LC_ALL=C sha256sum -c manifest 2>/dev/null) | grep -v ': "
           "OK$' | "
           "head -n 1 | "
           "while read -r l; do p damaged \"$l\"; done; fi; true";
}

Finding ofSystem(const Answers& answers)
{
    constexpr int kOldestMajor = 2;
    constexpr int kOldestMinor = 34;
    const std::string system = valueOf(answers, "system");
    const std::string glibc = valueOf(answers, "glibc");
    Finding finding{.topic = "system", .finding = system + (glibc.empty() ? "" : ", " + glibc), .remedy = {}};
    int major = 0;
    int minor = 0;
    const bool hasVersion = std::sscanf(glibc.c_str(), "glibc %d.%d", &major, &minor) == 2;
    if (system != "Linux x86_64") {
        finding.verdict = Verdict::Missing;
        finding.remedy = "Tilescope's programs need Linux on x86-64; use another host";
    } else if (!hasVersion || major != kOldestMajor || minor < kOldestMinor) {
        finding.verdict = Verdict::Missing;
        finding.remedy = "Tilescope's programs need glibc 2.34 or newer: RHEL 9, Debian 12, Ubuntu 22.04";
    } else if (const std::string lacks = valueOf(answers, "lacks"); !lacks.empty()) {
        finding.verdict = Verdict::Missing;
        finding.finding += ", without " + lacks.substr(0, lacks.find('\n'));
        finding.remedy = "install tar and coreutils there";
    }
    return finding;
}

/// The set-up lines that fail.
std::vector<Finding> ofSetUp(const Host& host, const Answers& answers)
{
    std::vector<Finding> findings;
    std::istringstream numbers(valueOf(answers, "setup"));
    std::size_t last = 0;
    for (std::string text; std::getline(numbers, text);) {
        const auto number = parseNumber<std::size_t>(text);
        if (!number || *number <= last || *number > host.setUp.size())
            continue;
        last = *number;
        findings.push_back({.verdict = Verdict::Note,
                            .topic = "set-up",
                            .finding = "line " + text + " fails: " + host.setUp[*number - 1],
                            .remedy = "run it there and mend what it says; if it may fail, add || true"});
    }
    return findings;
}

Finding ofGpus(const Answers& answers)
{
    const std::string gpus = valueOf(answers, "gpu");
    if (gpus.empty())
        return {.verdict = Verdict::Note,
                .topic = "GPU",
                .finding = "nvidia-smi lists none",
                .remedy =
                    "install NVIDIA's driver, or run with device: cpu; nodes of a cluster may have GPUs"};
    Finding finding{.topic = "GPU", .finding = {}, .remedy = {}};
    std::istringstream lines(gpus); // `NVIDIA H200, 580.95.05, 143771 MiB, 9.0`
    std::string why;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t comma = line.rfind(", ");
        if (why.empty() && comma != std::string::npos)
            why = whyKernelsDoNotServe(builtKernels(), line.substr(comma + 2));
        finding.finding += (finding.finding.empty() ? "" : "; ") + line;
    }
    if (!why.empty()) {
        finding.verdict = Verdict::Note;
        finding.finding += "; " + why;
        finding.remedy =
            "packaging/dev bundle makes programs for every GPU; PyTorch's attention runs without them";
    }
    return finding;
}

Finding ofScheduler(const Host& host, const Answers& answers)
{
    const std::string slurm = valueOf(answers, "slurm");
    if (host.kind == HostKind::Slurm && slurm.empty())
        return {.verdict = Verdict::Missing,
                .topic = "scheduler",
                .finding = "sbatch is not found",
                .remedy = "add a set-up line that loads Slurm, or add the host with --kind ssh"};
    if (host.kind == HostKind::Slurm)
        return {.topic = "scheduler", .finding = slurm, .remedy = {}};
    return {
        .verdict = slurm.empty() ? Verdict::Ok : Verdict::Note,
        .topic = "scheduler",
        .finding = slurm.empty() ? "none: work starts at once" : slurm + " is there, but work starts at once",
        .remedy = slurm.empty() ? "" : "add the host with --kind slurm if nothing may run on it directly"};
}

Finding ofTorch(const Answers& answers)
{
    const std::string torch = valueOf(answers, "torch");
    const std::string place = valueOf(answers, "torch_place");
    const bool suits = torch.starts_with("2.11");
    return {.verdict = suits ? Verdict::Ok : Verdict::Missing,
            .topic = "LibTorch",
            .finding = torch.empty() ? "not found" : torch + ", " + place,
            .remedy = suits
                          ? ""
                          : "install torch 2.11 there (pip install torch==2.11.0), or add a set-up line that "
                            "activates its environment or sets TILESCOPE_TORCH; record and show need none"};
}

/// How many files the disk of the cache folder can still hold; -1: not known, or not limited.
std::int64_t freeFiles(const Answers& answers)
{
    std::istringstream fields(valueOf(answers, "inodes")); // device, inodes, used, free, …
    std::string device;
    std::int64_t all = 0;
    std::int64_t used = 0;
    std::int64_t left = -1;
    fields >> device >> all >> used >> left;
    return fields && all > 0 ? left : -1;
}

Finding ofSpace(const Answers& answers, const Bundle& bundle, bool isInstalled)
{
    std::istringstream fields(valueOf(answers, "free")); // device, blocks, used, available, …
    std::string device;
    std::int64_t blocks = 0;
    std::int64_t used = 0;
    std::int64_t available = -1;
    fields >> device >> blocks >> used >> available;
    Finding finding{.topic = "free space", .finding = "unknown", .remedy = {}};
    if (fields && available >= 0 && available < (std::int64_t{1} << 50))
        finding.finding = std::to_string(available / 1024) + " MiB in the cache folder";
    constexpr std::int64_t kMoreFiles = 50; // folders, and the files of work
    const std::int64_t needed = (isInstalled ? 0 : bundle.size().count) + 64 * kMiB;
    if (valueOf(answers, "writable") != "yes") {
        finding.verdict = Verdict::Missing;
        finding.finding = "the cache folder cannot be written";
        finding.remedy = "make ~/.cache writable there, or add a set-up line that sets XDG_CACHE_HOME";
    } else if (const std::string options = "," + valueOf(answers, "options") + ",";
               options.find(",noexec,") != std::string::npos) {
        finding.verdict = Verdict::Missing;
        finding.finding = "the disk of the cache folder runs no programs (it is mounted noexec)";
        finding.remedy = "set XDG_CACHE_HOME to another disk in ~/.profile there and as a set-up line";
    } else if (available >= 0 && available < needed / 1024) {
        finding.verdict = Verdict::Missing;
        finding.remedy = "make room: Tilescope needs " + std::to_string(needed / kMiB + 1) + " MiB there";
    } else if (const std::int64_t files = freeFiles(answers), copied = std::int64_t(bundle.files.size());
               !isInstalled && files >= 0 && files < copied + kMoreFiles) {
        finding.verdict = Verdict::Missing;
        finding.finding += ", but only " + counted(files, "more file");
        finding.remedy =
            "remove files there: Tilescope makes " + std::to_string(copied + kMoreFiles) + " and folders";
    }
    return finding;
}

/// \param damaged  what sha256sum says of a file of this build there: `lib/a.so: FAILED`; empty: all are as copied
Finding ofTilescope(const std::vector<std::string>& versions, const Bundle& bundle, bool isInstalled,
                    const std::string& damaged)
{
    if (isInstalled && !damaged.empty())
        return {.verdict = Verdict::Missing,
                .topic = "Tilescope",
                .finding = "its copy there is damaged (" + damaged + ")",
                .remedy = "remove ~/.cache/tilescope/" + bundle.folderName() +
                          " there; the next command copies it again"};
    if (isInstalled)
        return {.topic = "Tilescope", .finding = version() + " of this build is there", .remedy = {}};
    std::string others;
    for (const std::string& each : versions)
        others += (others.empty() ? "; also there: " : ", ") + each;
    return {.verdict = Verdict::Note,
            .topic = "Tilescope",
            .finding = "this build is not there yet" + others,
            .remedy = "the first command copies " + std::to_string(bundle.size().count / kMiB + 1) +
                      " MiB into ~/.cache/tilescope"};
}

} // namespace

void checkHost(SshLink& link, const Bundle& bundle,
               const std::function<void(const machine::Finding&)>& onStep, std::stop_token stop)
{
    using Clock = std::chrono::steady_clock;
    Answers answers;
    double roundTripMs = 0;
    try {
        link.open(stop);
        const auto began = Clock::now();
        link.run("exit 0", {}, stop);
        roundTripMs = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
        const std::string report = "printf 'tilescope:setup=%s\\n'";
        const CommandOutcome outcome =
            link.run(link.withSetUp(questions(bundle.folderName()), report), {}, stop, kMostSilence);
        answers = answersIn(outcome.out);
        if (valueOf(answers, "who").empty())
            throw noShell(link.host(), outcome);
    } catch (const Error& error) {
        onStep({.verdict = Verdict::Missing,
                .topic = "connection",
                .finding = error.what,
                .remedy = error.remedy});
        return;
    }
    onStep({.topic = "connection",
            .finding = "as " + valueOf(answers, "who") + ", round trip " +
                       std::to_string(std::lround(roundTripMs)) + " ms",
            .remedy = {}});
    std::vector<std::string> versions;
    std::istringstream lines(valueOf(answers, "version"));
    for (std::string each; std::getline(lines, each);)
        versions.push_back(each);
    const bool isInstalled = std::ranges::find(versions, bundle.folderName()) != versions.end();
    for (const Finding& failed : ofSetUp(link.host(), answers))
        onStep(failed);
    onStep(ofSystem(answers));
    onStep(ofGpus(answers));
    onStep(ofScheduler(link.host(), answers));
    onStep(ofTorch(answers));
    onStep(ofSpace(answers, bundle, isInstalled));
    onStep(ofTilescope(versions, bundle, isInstalled, valueOf(answers, "damaged")));
}

} // namespace tilescope::hosts
