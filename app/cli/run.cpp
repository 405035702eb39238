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
#include <utility>

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
    throw Error{.what = word.empty() ? "no workload given" : "unknown workload '" + word + "'",
                .where = "tilescope run",
                .remedy = didYouMean(word, workloadWords())};
}

/// The workloads as a list: `attention, lm, … or dtypes`.
std::string workloadList()
{
    const std::vector<std::string_view> words = workloadWords();
    std::string list;
    for (std::size_t i = 0; i < words.size(); ++i)
        list += std::string(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
    return list;
}

} // namespace

int runCommand(int argc, char** argv)
{
    std::string workload;
    SweepArguments sweep;
    Arguments arguments("run WORKLOAD [--key value …] [-o FILE]",
                        "Runs one experiment: " + workloadList() +
                            ". Every key of a spec is an option; [a, b] sweeps it.",
                        "tilescope run lm --size tiny --mode train --device cpu -o a.tscope");
    arguments.positional("WORKLOAD", workload, workloadList());
    arguments.suggest("WORKLOAD", [] {
        const auto words = workloadWords();
        return std::vector<std::string>(words.begin(), words.end());
    });
    sweep.addTo(arguments);
    std::deque<std::pair<std::string, std::string>> values; // a deque, because options keep references
                                                            // to its elements
    for (const config::KeyInfo& key : config::keys()) {
        if (key.name == "workload")
            continue;
        auto& [name, value] = values.emplace_back(key.name, "");
        arguments.key(name, value, key.type == config::ValueType::Boolean);
        arguments.suggest("--" + name, [&key] { return key.choices; });
    }
    // Shows the keys of the given workload, otherwise those of attention.
    const std::optional<Workload> named = argc > 1 ? fromWord<Workload>(argv[1]) : std::nullopt;
    std::string keys = "keys of " + std::string(wordOf(named.value_or(Workload::Attention))) + "\n" +
                       config::keysHelp(named.value_or(Workload::Attention));
    if (!named)
        keys += "\nkeys of other workloads: for example tilescope run lm --help\n";
    arguments.appendix(std::move(keys));
    if (!arguments.parse(argc, argv))
        return 0;
    sweep.requireUsable();
    config::Overrides overrides;
    for (const auto& [name, value] : values)
        if (!value.empty())
            overrides.emplace_back(name, value);
    auto points = session::numbered(config::specFromOverrides(workloadFrom(workload), overrides));
    session::SweepOptions options;
    options.commandLine = commandLineOf(argc, argv);
    return sweep.carryOut(std::move(points), std::move(options));
}

} // namespace tilescope::cli
