#include "core/config/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilescope::config {

namespace {

constexpr std::array kGroups{KeyGroup::Experiment,  KeyGroup::Attention, KeyGroup::Model,  KeyGroup::Ranks,
                             KeyGroup::Measurement, KeyGroup::Tracing,   KeyGroup::Process};

/// Wraps text at `width` and indents each line.
std::string wrapped(std::string_view text, int indent, int width)
{
    const auto room = static_cast<std::size_t>(std::max(width - indent, 20));
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    std::string result;
    while (!text.empty()) {
        std::size_t end = text.size();
        if (end > room) {
            end = text.rfind(' ', room);
            if (end == std::string_view::npos || end == 0)
                end = std::min(text.find(' '), text.size());
        }
        result += margin + std::string(text.substr(0, end)) + "\n";
        text.remove_prefix(end);
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    return result;
}

std::string inCell(std::string_view text)
{
    std::string cell;
    for (const char c : text)
        cell += c == '|' ? std::string("\\|") : std::string(1, c);
    return cell;
}

std::string workloadsOf(const KeyInfo& key)
{
    if (key.studies)
        return "all";
    std::string workloads;
    const auto add = [&](bool applies, const char* word) {
        if (applies)
            workloads += (workloads.empty() ? "" : ", ") + std::string(word);
    };
    add(key.attention, "attention");
    add(key.lm, "lm");
    add(key.collective, "collective");
    return workloads;
}

} // namespace

std::string keysHelp(Workload workload, int width)
{
    std::string text;
    for (const KeyGroup group : kGroups) {
        std::string section;
        for (const KeyInfo& key : keys()) {
            if (key.group != group || !key.appliesTo(workload) || key.name == "workload")
                continue;
            section += fmt::format("  --{}\n", key.name);
            section +=
                wrapped(fmt::format("{}; {} (default: {})", key.help, key.allowed(workload), key.defaultText),
                        6, width);
        }
        if (!section.empty())
            text += fmt::format("{}:\n{}", title(group), section);
    }
    return text;
}

std::string keysMarkdown()
{
    std::string text;
    for (const KeyGroup group : kGroups) {
        text += fmt::format("### {}\n\n| key | for | values | default | meaning | example |\n"
                            "|---|---|---|---|---|---|\n",
                            title(group));
        for (const KeyInfo& key : keys())
            if (key.group == group)
                text += fmt::format("| `{}` | {} | {} | {} | {}{} | `{}: {}` |\n", key.name, workloadsOf(key),
                                    inCell(key.allowed()), inCell(key.defaultText), inCell(key.help),
                                    key.sweepable ? "" : "; cannot be swept", key.name, key.example);
        text += "\n";
    }
    text.pop_back();
    return text;
}

} // namespace tilescope::config
