#include "app/cli/arguments.h"
#include "app/cli/ceilings.h"
#include "app/cli/commands.h"
#include "app/cli/sweep_command.h"
#include "core/exchange/table.h"
#include "core/exchange/text.h"
#include "core/machine/machine.h"

#include <algorithm>
#include <iostream>

namespace tilescope::cli {

namespace {

using Verdict = machine::Finding::Verdict;

std::string_view word(Verdict verdict)
{
    return verdict == Verdict::Ok ? "ok" : verdict == Verdict::Note ? "note" : "missing";
}

std::string_view colour(Verdict verdict)
{
    return verdict == Verdict::Ok ? "\033[32m" : verdict == Verdict::Note ? "\033[33m" : "\033[31m";
}

} // namespace

int doctorCommand(int argc, char** argv)
{
    std::string format = "text";
    CeilingsRequest ceilings;
    Arguments arguments(
        "doctor [--format text|json] [--ceilings [-o FILE] [--device DEVICE]]",
        "Says what this machine offers to Tilescope, and the remedy for each thing that is missing.",
        "tilescope doctor");
    arguments.choice("--format", format, {"text", "json"}, "how to print it");
    arguments.flag("--ceilings", ceilings.asked,
                   "measure what a device reaches at most instead; takes seconds");
    arguments.option("-o,--output", ceilings.file, "file that keeps the ceilings for its runs' rooflines");
    arguments.option("--device", ceilings.device, "which device: auto, cpu, cuda:N (auto)");
    if (!arguments.parse(argc, argv))
        return 0;
    ceilings.format = format;
    ceilings.commandLine = commandLineOf(argc, argv);
    if (ceilings.asked || !ceilings.file.empty() || !ceilings.device.empty())
        return measureCeilings(ceilings, std::cout);
    const std::vector<machine::Finding> findings = machine::examine();
    std::size_t width = 0;
    for (const machine::Finding& finding : findings)
        width = std::max(width, finding.topic.size());
    const bool colours = exchange::styleOfStandardOutput().colour;
    const char* separator = "[";
    for (const machine::Finding& finding : findings) {
        if (format == "json") {
            std::cout << separator << "{\"topic\": " << exchange::jsonString(finding.topic)
                      << ", \"verdict\": " << exchange::jsonString(word(finding.verdict))
                      << ", \"finding\": " << exchange::jsonString(finding.finding)
                      << ", \"remedy\": " << exchange::jsonString(finding.remedy) << "}";
            separator = ",\n ";
            continue;
        }
        std::string verdict(word(finding.verdict));
        verdict.resize(8, ' ');
        std::cout << (colours ? colour(finding.verdict) : "") << verdict << (colours ? "\033[0m" : "")
                  << finding.topic << std::string(width - finding.topic.size() + 2, ' ')
                  << exchange::escapeForTerminal(finding.finding) << '\n';
        if (!finding.remedy.empty())
            std::cout << std::string(8 + width + 2, ' ') << "-> " << finding.remedy << '\n';
    }
    if (format == "json")
        std::cout << "]\n";
    return 0;
}

} // namespace tilescope::cli
