#include "app/cli/arguments.h"
#include "app/cli/ceilings.h"
#include "app/cli/commands.h"
#include "app/cli/file_cache.h"
#include "app/cli/sweep_command.h"
#include "core/base/plural.h"
#include "core/exchange/import/import_cache.h"
#include "core/exchange/number.h"
#include "core/exchange/table.h"
#include "core/exchange/text.h"
#include "core/machine/machine.h"

#include <algorithm>
#include <iostream>

namespace tilescope::cli {

namespace {

using machine::Finding;
using Verdict = Finding::Verdict;

/// The exit code of a run on a machine that lacks something requested.
constexpr int kSomethingIsMissing = 4;

std::string_view word(Verdict verdict)
{
    return verdict == Verdict::Ok ? "ok" : verdict == Verdict::Note ? "note" : "missing";
}

std::string_view colour(Verdict verdict)
{
    return verdict == Verdict::Ok ? "\033[32m" : verdict == Verdict::Note ? "\033[33m" : "\033[31m";
}

void printText(const std::vector<Finding>& findings)
{
    constexpr std::size_t kVerdictWidth = 9; // of "missing" and two spaces
    std::size_t width = 0;
    for (const Finding& finding : findings)
        width = std::max(width, finding.topic.size() + 2);
    const bool colours = exchange::styleOfStandardOutput().colour;
    for (const Finding& finding : findings) {
        std::string verdict(word(finding.verdict));
        verdict.resize(kVerdictWidth, ' ');
        std::string topic = finding.topic;
        topic.resize(width, ' ');
        std::cout << (colours ? colour(finding.verdict) : "") << verdict << (colours ? "\033[0m" : "")
                  << topic << exchange::escapeForTerminal(finding.finding) << '\n';
        if (!finding.remedy.empty())
            std::cout << std::string(kVerdictWidth + width, ' ') << "-> "
                      << exchange::escapeForTerminal(finding.remedy) << '\n';
    }
}

void printJson(const std::vector<Finding>& findings)
{
    const char* separator = "[";
    for (const Finding& finding : findings) {
        std::cout << separator << "{\"topic\": " << exchange::jsonString(finding.topic)
                  << ", \"verdict\": " << exchange::jsonString(word(finding.verdict))
                  << ", \"finding\": " << exchange::jsonString(finding.finding)
                  << ", \"remedy\": " << exchange::jsonString(finding.remedy) << "}";
        separator = ",\n ";
    }
    std::cout << "]\n";
}

/// The size of the import cache.
Finding importCache()
{
    const auto cache = exchange::ImportCache::ofUser();
    const auto entries = cache.entries();
    Bytes total;
    for (const auto& entry : entries)
        total += entry.size;
    return {.verdict = Verdict::Ok,
            .topic = "import cache",
            .finding = entries.empty()
                           ? "empty"
                           : counted(std::ssize(entries), "recording") + ", " + exchange::sizeText(total) +
                                 " of at most " + exchange::sizeText(cache.limit()) + ", in " +
                                 cache.folder().string(),
            .remedy = {}};
}

/// The plug-ins that `tilescope record` has for other versions of PyTorch than that of this build.
Finding plugins()
{
    const FileCache cache = FileCache::ofPlugins();
    std::string names;
    for (const auto& file : cache.files)
        names += (names.empty() ? "" : ", ") + file.filename().string();
    return {.verdict = Verdict::Ok,
            .topic = "plug-ins of record",
            .finding = cache.files.empty()
                           ? "none besides the one for PyTorch 2.11"
                           : names + ", " + exchange::sizeText(cache.size) + ", in " + cache.folder.string(),
            .remedy = {}};
}

/// The models of compile: inductor.
Finding compiledModels()
{
    const FileCache cache = FileCache::ofCompiledModels();
    return {.verdict = Verdict::Ok,
            .topic = "compiled models",
            .finding = cache.files.empty()
                           ? "none"
                           : counted(cache.count, "model") + ", " + exchange::sizeText(cache.size) + ", in " +
                                 cache.folder.string(),
            .remedy = {}};
}

} // namespace

int doctorCommand(int argc, char** argv)
{
    std::string format = "text";
    CeilingsRequest ceilings;
    Arguments arguments("doctor [--format text|json] [--ceilings [-o FILE] [--device DEVICE] [--force]]",
                        "Checks what this machine supports and prints a remedy for everything that is "
                        "missing.\nExit code 0: nothing is missing; 4: something is missing.",
                        "tilescope doctor");
    arguments.choice("--format", format, {"text", "json"}, "output format");
    arguments.flag("--ceilings", ceilings.asked, "instead measure the ceilings of a device; takes seconds");
    arguments.output("-o,--output", ceilings.file,
                     "save the ceilings in this file, for the rooflines of its runs");
    arguments.option("--device", ceilings.device, "auto, cpu or cuda:N (auto)");
    arguments.flag("--force", ceilings.force, "save a calibration although the host was busy");
    if (!arguments.parse(argc, argv))
        return 0;
    ceilings.format = format;
    ceilings.commandLine = commandLineOf(argc, argv);
    if (ceilings.asked || !ceilings.file.empty() || !ceilings.device.empty() || ceilings.force)
        return measureCeilings(ceilings, std::cout);
    std::vector<Finding> findings = machine::examine();
    findings.push_back(importCache());
    findings.push_back(plugins());
    findings.push_back(compiledModels());
    format == "json" ? printJson(findings) : printText(findings);
    const bool missing = std::ranges::any_of(
        findings, [](const Finding& finding) { return finding.verdict == Verdict::Missing; });
    return missing ? kSomethingIsMissing : 0;
}

} // namespace tilescope::cli
