#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cli {

/// The arguments of one verb: declares options and positionals, parses them and reports errors.
///
/// Options are allowed anywhere, as `--name VALUE`, `--name=VALUE`, `-n VALUE` or `-nVALUE`; `-` and `_` in
/// long names are equivalent. `--` ends the options. A value that begins with a dash requires `=`, unless it
/// is a number. Variables passed to this class must outlive parse().
///
/// Every verb has --color auto|always|never, -q and --help: parse() applies them to the process. Help, man pages and the
/// completions of shells come from these declarations.
class Arguments {
public:
    /// A word that a positional argument may be, as --help lists it.
    struct Topic {
        std::string name;
        std::string help;
        std::vector<std::string> examples = {};
    };
    using Suggestions = std::function<std::vector<std::string>()>;

    /// \param usage    follows `tilescope`: "run WORKLOAD [--key value …]"
    /// \param example  a command; empty: the topics have examples
    Arguments(std::string usage, std::string purpose, std::string example);
    ~Arguments();
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;

    void positional(const std::string& name, std::string& into, const std::string& help);
    void positionals(const std::string& name, std::vector<std::string>& into, const std::string& help);
    /// \param names  "-o,--output", or with what --help calls the value: "--run N"
    void option(const std::string& names, std::string& into, const std::string& help);
    /// An option that names an output file or folder.
    /// \param toStandardOutput  whether `-`, for standard output, is allowed
    void output(const std::string& names, std::string& into, const std::string& help,
                bool toStandardOutput = false);
    void repeated(const std::string& names, std::vector<std::string>& into, const std::string& help);
    void flag(const std::string& names, bool& into, const std::string& help);
    /// A flag that may have a value, which can only be attached to it: `--name=VALUE`.
    /// \param value  names the value in --help
    /// \param into   stays as it is without a value
    void attached(const std::string& names, const std::string& value, bool& isGiven, std::string& into,
                  const std::string& help);
    /// A command with options of its own: the words from the first on that is no option of this verb, or from `--` on.
    void command(std::vector<std::string>& into);
    /// An option whose value is one of `words`.
    void choice(const std::string& names, std::string& into, std::vector<std::string> words,
                const std::string& help);
    /// A key of a spec, described by the appendix. `into` stays empty unless the key is given.
    /// \param boolean  without a value the key is `true`
    void key(const std::string& name, std::string& into, bool boolean);
    /// Text between the options and the example in --help.
    void appendix(std::string text);
    /// The words of a positional argument: listed in --help before the options, and suggested. The verb checks them.
    void topics(const std::string& positional, std::string heading, std::vector<Topic> topics);
    /// Words that a shell suggests for an option or a positional argument, asked for when a shell completes it. Arguments
    /// before it have their values then, if they are valid.
    /// \param name  "--on", or "NAME" as declared
    void suggest(const std::string& name, Suggestions words);

    /// The first word of a verb that is asked for suggestions: the words that follow were typed, the last one is not whole.
    /// parse() prints which files fit (`none`, or `files` and a pattern), then a line for each word, with its help
    /// behind a tab.
    static constexpr std::string_view kComplete = "--complete";

    /// \return        false if --help or suggestions were asked for and have been printed
    /// \throws Error  Usage: names the argument and, for an unknown one, the most similar option
    bool parse(int argc, char** argv);
    /// Parses words that do not include the verb; prints help to `out`.
    bool parse(const std::vector<std::string>& words, std::ostream& out);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// The whole number that an argument gives.
/// \param argument  names it in the message: "--limit"
/// \throws Error  Usage: the text is not a whole number from `least` to `most`
std::int64_t wholeNumber(std::string_view text, std::string_view argument, std::int64_t least = 0,
                         std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// The number of a run, from 1.
/// \throws Error  Usage: the text is something else
RunId runNumber(std::string_view text, std::string_view argument);

} // namespace tilescope::cli
