#include "app/cli/print_findings.h"

#include "core/exchange/tables/table.h"
#include "core/exchange/tables/text.h"

#include <algorithm>
#include <iostream>
#include <string>

namespace tilescope::cli {

using machine::Finding;
using Verdict = Finding::Verdict;

namespace {

constexpr std::size_t kVerdictWidth = 9; // of "missing" and two spaces

std::string_view word(Verdict verdict)
{
    return verdict == Verdict::Ok ? "ok" : verdict == Verdict::Note ? "note" : "missing";
}

std::string_view colour(Verdict verdict)
{
    return verdict == Verdict::Ok ? "\033[32m" : verdict == Verdict::Note ? "\033[33m" : "\033[31m";
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

} // namespace

void printFinding(const Finding& finding, std::size_t topicWidth)
{
    const bool colours = exchange::styleOfStandardOutput().colour;
    std::string verdict(word(finding.verdict));
    verdict.resize(kVerdictWidth, ' ');
    std::string topic = finding.topic;
    topic.resize(topicWidth, ' ');
    std::cout << (colours ? colour(finding.verdict) : "") << verdict << (colours ? "\033[0m" : "") << topic
              << exchange::escapeForTerminal(finding.finding) << std::endl;
    if (!finding.remedy.empty())
        std::cout << std::string(kVerdictWidth + topicWidth, ' ') << "-> "
                  << exchange::escapeForTerminal(finding.remedy) << std::endl;
}

void printFindings(const std::vector<Finding>& findings, std::string_view format)
{
    if (format == "json")
        return printJson(findings);
    std::size_t width = 0;
    for (const Finding& finding : findings)
        width = std::max(width, finding.topic.size() + 2);
    for (const Finding& finding : findings)
        printFinding(finding, width);
}

int exitCodeOf(const std::vector<Finding>& findings)
{
    constexpr int kSomethingIsMissing = 4;
    const bool missing = std::ranges::any_of(
        findings, [](const Finding& finding) { return finding.verdict == Verdict::Missing; });
    return missing ? kSomethingIsMissing : 0;
}

} // namespace tilescope::cli
