#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/sweep_command.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/config/schema.h"
#include "core/config/spec_file.h"
#include "core/model/text.h"

#include <deque>
#include <optional>

namespace tilescope::cli {

namespace {

std::vector<std::string_view> workloadWords()
{
    std::vector<std::string_view> words;
    for (const EnumWord<Workload>& entry : enumWords<Workload>())
        words.push_back(entry.word);
    return words;
}

Workload workloadFrom(const std::string& word)
{
    if (const auto workload = fromWord<Workload>(word))
        return *workload;
    throw Error{.what = word.empty() ? "no workload was named" : "unknown workload '" + word + "'",
                .where = "tilescope run",
                .mend = didYouMean(word, workloadWords())};
}

} // namespace

int runCommand(int argc, char** argv)
{
    std::string workload;
    std::string file;
    std::string format = "text";
    Arguments arguments(
        "run WORKLOAD [--key value …] [-o FILE]",
        "Runs one experiment: attention or lm. Every key of a spec is an option; [a, b] sweeps it.",
        "tilescope run lm --size tiny --mode train --device cpu -o a.tscope");
    arguments.positional("WORKLOAD", workload, "attention or lm");
    arguments.option("-o,--output", file, "the file to append to; without it tilescope-DATE-TIME.tscope");
    arguments.choice("--format", format, {"text", "json"}, "text, or one JSON event a line for programs");
    std::deque<std::pair<std::string, std::string>> values; // a deque: options keep references into it
    for (const config::KeyInfo& key : config::keys()) {
        if (key.name == "workload")
            continue;
        auto& [name, value] = values.emplace_back(key.name, "");
        arguments.key(name, value, key.type == config::ValueType::Boolean);
    }
    // Help is of the workload that stands there; attention where none does.
    const std::optional<Workload> named = argc > 1 ? fromWord<Workload>(argv[1]) : std::nullopt;
    arguments.appendix("keys of " + std::string(wordOf(named.value_or(Workload::Attention))) + "\n" +
                       config::keysHelp(named.value_or(Workload::Attention)));
    if (!arguments.parse(argc, argv))
        return 0;
    config::Overrides overrides;
    for (const auto& [name, value] : values)
        if (!value.empty())
            overrides.emplace_back(name, value);
    const auto points = session::numbered(config::specFromOverrides(workloadFrom(workload), overrides));
    session::SweepOptions options;
    options.file = file;
    options.commandLine = commandLineOf(argc, argv);
    return runPoints(points, std::move(options), format == "json" ? Format::Json : Format::Text);
}

} // namespace tilescope::cli
