#include "app/cli/arguments.h"

#include "app/cli/notes.h"
#include "core/base/colour_choice.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/spelling.h"
#include "core/base/terminal_columns.h"
#include "core/hosts/remote_file.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <ranges>
#include <sstream>

namespace tilescope::cli {

namespace {

struct Option {
    std::vector<std::string> names = {}; ///< including their dashes
    std::string* value = nullptr;
    std::vector<std::string>* values = nullptr; ///< of an option that may be repeated
    bool* flag = nullptr;                       ///< with `value` too: the value can only be attached
    std::vector<std::string> words = {};        ///< allowed values; empty: any
    bool isKey = false;                         ///< a key of a spec: a list sweeps it
    bool isBoolean = false;                     ///< without a value it is `true`
    bool isWritten = false;                     ///< names an output
    bool isOutput = false;                      ///< names an output that has a name
    bool isGiven = false;
    std::string valueName = {}; ///< in --help; empty: of a flag
    std::string help = {};
    Arguments::Suggestions suggestions = {};

    const std::string& longName() const { return names.back(); }
};

struct Positional {
    std::string name;
    std::string* value = nullptr;
    std::vector<std::string>* values = nullptr; ///< receives all remaining positionals
    Arguments::Suggestions suggestions = {};
};

/// An option as typed: `--name=value` or `-nvalue`.
struct Typed {
    std::string name;
    std::optional<std::string> value;
};

/// Options look like `-x…` or `--x…`; a single dash and a negative number are values.
bool looksLikeOption(std::string_view word)
{
    if (word.size() < 2 || word[0] != '-')
        return false;
    const char first = word[1] == '-' && word.size() > 2 ? word[2] : word[1];
    return std::isalpha(static_cast<unsigned char>(first)) != 0;
}

Typed typedFrom(const std::string& word)
{
    constexpr std::size_t kShort = 2;
    if (!word.starts_with("--"))
        return {word.substr(0, kShort),
                word.size() > kShort ? std::optional(word.substr(kShort)) : std::nullopt};
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
        return {word, {}};
    return {word.substr(0, equals), word.substr(equals + 1)};
}

std::string dashed(std::string name)
{
    std::ranges::replace(name, '_', '-');
    return name;
}

/// What --help calls the value in "--run N".
std::string valueNameFrom(const std::string& text, const std::string& usual)
{
    const std::size_t space = text.find(' ');
    return space == std::string::npos ? usual : text.substr(space + 1);
}

/// Splits "-o,--output", without the name of a value.
std::vector<std::string> namesFrom(const std::string& text)
{
    std::vector<std::string> names;
    std::istringstream parts(text.substr(0, text.find(' ')));
    for (std::string name; std::getline(parts, name, ',');)
        names.push_back(name);
    return names;
}

std::string shown(const Option& option)
{
    std::string text;
    for (const std::string& name : option.names)
        text += (text.empty() ? "" : ", ") + name;
    // The value of --inside[=GLOB] can only be attached.
    return text + (option.valueName.empty() || option.valueName.front() == '[' ? "" : " ") + option.valueName;
}

/// The files that a shell suggests for an argument with this name in --help.
std::string filesFor(std::string_view name)
{
    if (name == "FILE" || name == "A" || name == "B")
        return "*.tscope";
    if (name == "SPEC")
        return "*.yaml";
    const auto names = {"OUT", "DIR", "FOLDER", "PATH", "TRACE"};
    return std::ranges::find(names, name) != names.end() ? "*" : "";
}

void printSuggestion(std::ostream& out, const std::string& typed, const std::string& word,
                     const std::string& help)
{
    if (word.starts_with(typed))
        out << word << (help.empty() ? "" : "\t" + help.substr(0, help.find_first_of(";:\n"))) << '\n';
}

} // namespace

class Arguments::Impl {
public:
    std::string verb() const { return "tilescope " + usage.substr(0, usage.find(' ')); }
    void place(const std::string& word);
    /// \param next  the word after the option; advanced if the option consumes it
    void take(const Typed& typed, std::vector<std::string>::const_iterator& next,
              std::vector<std::string>::const_iterator end);
    void print(std::ostream& out) const;
    /// Prints suggestions for the last of the words.
    void complete(std::vector<std::string> words, std::ostream& out);
    Option* known(const std::string& name);
    Option& add(Option option, const std::string& names, const std::string& valueName,
                const std::string& help);

    std::string usage;
    std::string purpose;
    std::string example;
    std::string heading; ///< of the topics
    std::vector<Topic> topics;
    std::string appendix;
    std::vector<std::pair<std::string, std::string>> positionalHelp; ///< left and right column
    std::vector<Option> options;
    std::vector<Positional> positionals;
    std::size_t placed = 0;                      ///< positionals assigned so far
    std::vector<std::string>* command = nullptr; ///< the rest, from the first positional on
    std::string colour;                          ///< of --color
    bool quiet = false;

    /// Where the words of a command with its own options begin.
    std::vector<std::string>::const_iterator endOfOptions(const std::vector<std::string>& words) const;
    /// Declares what every verb has, where the verb does not declare it itself.
    void addCommon();
    void applyCommon() const;

private:
    Option& find(const std::string& name);
    void store(Option& option, const std::string& value);
};

Arguments::Arguments(std::string usage, std::string purpose, std::string example)
    : impl_(std::make_unique<Impl>())
{
    impl_->usage = std::move(usage);
    impl_->purpose = std::move(purpose);
    impl_->example = std::move(example);
}

Arguments::~Arguments() = default;

Option& Arguments::Impl::add(Option option, const std::string& names, const std::string& valueName,
                             const std::string& help)
{
    option.names = namesFrom(names);
    option.valueName = valueNameFrom(names, valueName);
    option.help = help;
    return options.emplace_back(std::move(option));
}

void Arguments::positional(const std::string& name, std::string& into, const std::string& help)
{
    impl_->positionals.push_back({.name = name, .value = &into});
    impl_->positionalHelp.emplace_back(name, help);
}

void Arguments::positionals(const std::string& name, std::vector<std::string>& into, const std::string& help)
{
    impl_->positionals.push_back({.name = name, .values = &into});
    impl_->positionalHelp.emplace_back(name + "…", help);
}

void Arguments::option(const std::string& names, std::string& into, const std::string& help)
{
    impl_->add({.value = &into}, names, "VALUE", help);
}

void Arguments::output(const std::string& names, std::string& into, const std::string& help,
                       bool toStandardOutput)
{
    Option& option = impl_->add({.value = &into}, names, "VALUE", help);
    option.isWritten = true;
    option.isOutput = !toStandardOutput;
}

void Arguments::command(std::vector<std::string>& into)
{
    impl_->command = &into;
}

void Arguments::repeated(const std::string& names, std::vector<std::string>& into, const std::string& help)
{
    impl_->add({.values = &into}, names, "VALUE", help);
}

void Arguments::flag(const std::string& names, bool& into, const std::string& help)
{
    impl_->add({.flag = &into}, names, "", help);
}

void Arguments::attached(const std::string& names, const std::string& value, bool& isGiven, std::string& into,
                         const std::string& help)
{
    Option& option = impl_->add({.value = &into, .flag = &isGiven}, names, "", help);
    option.valueName = "[=" + value + "]";
}

void Arguments::choice(const std::string& names, std::string& into, std::vector<std::string> words,
                       const std::string& help)
{
    std::string alternatives;
    for (const std::string& word : words)
        alternatives += (alternatives.empty() ? "" : "|") + word;
    impl_->add({.value = &into, .words = std::move(words)}, names, alternatives, help);
}

void Arguments::key(const std::string& name, std::string& into, bool boolean)
{
    impl_->options.push_back(
        {.names = {"--" + dashed(name)}, .value = &into, .isKey = true, .isBoolean = boolean});
}

void Arguments::appendix(std::string text)
{
    impl_->appendix = std::move(text);
}

void Arguments::topics(const std::string& positional, std::string heading, std::vector<Topic> topics)
{
    impl_->heading = std::move(heading);
    impl_->topics = std::move(topics);
    suggest(positional, [impl = impl_.get()] {
        std::vector<std::string> words;
        for (const Topic& topic : impl->topics)
            words.push_back(topic.name + "\t" + topic.help.substr(0, topic.help.find_first_of(";:,")));
        return words;
    });
}

void Arguments::suggest(const std::string& name, Suggestions words)
{
    if (Option* option = impl_->known(name)) {
        option->suggestions = std::move(words);
        return;
    }
    const auto positional = std::ranges::find(impl_->positionals, name, &Positional::name);
    if (positional != impl_->positionals.end())
        positional->suggestions = std::move(words);
}

Option* Arguments::Impl::known(const std::string& name)
{
    const std::string wanted = name.starts_with("--") ? dashed(name) : name;
    for (Option& option : options)
        if (std::ranges::any_of(option.names, [&](const std::string& one) { return dashed(one) == wanted; }))
            return &option;
    return nullptr;
}

Option& Arguments::Impl::find(const std::string& name)
{
    if (Option* option = known(name))
        return *option;
    const std::string wanted = name.starts_with("--") ? dashed(name) : name;
    std::vector<std::string_view> longNames{"--help"};
    for (const Option& option : options)
        longNames.push_back(option.longName());
    const bool hasFormat = std::ranges::find(longNames, std::string_view("--format")) != longNames.end();
    for (const std::string_view format : {"json", "csv", "md"})
        if (hasFormat && wanted == "--" + std::string(format))
            throw Error{
                .what = "unknown option", .where = name, .remedy = "write --format " + std::string(format)};
    const std::string_view near = nearestWord(wanted, longNames);
    throw Error{.what = "unknown option",
                .where = name,
                .remedy = near.empty() ? verb() + " --help lists all"
                                       : "did you mean '" + std::string(near) + "'?"};
}

void Arguments::Impl::store(Option& option, const std::string& value)
{
    const std::string& name = option.longName();
    if (value.empty())
        throw Error{.what = "needs a value", .where = name, .remedy = verb() + " --help describes it"};
    if (option.isOutput && value == "-")
        throw Error{.what = "cannot write this to standard output",
                    .where = name + " -",
                    .remedy = "name a file; write ./- for a file named -"};
    if (option.isWritten)
        hosts::requireLocalOutput(value);
    if (!option.words.empty() && std::ranges::find(option.words, value) == option.words.end())
        throw Error{.what = "unknown value '" + value + "'",
                    .where = name,
                    .remedy = didYouMean(
                        value, std::vector<std::string_view>(option.words.begin(), option.words.end()))};
    if (option.values) {
        option.values->push_back(value);
        return;
    }
    if (option.isGiven)
        throw Error{.what = "is given twice",
                    .where = name,
                    .remedy = option.isKey ? "give it once; [a, b] sweeps it" : "give it once"};
    option.isGiven = true;
    *option.value = value;
}

void Arguments::Impl::take(const Typed& typed, std::vector<std::string>::const_iterator& next,
                           std::vector<std::string>::const_iterator end)
{
    Option& option = find(typed.name);
    if (option.flag) {
        if (typed.value && option.value)
            store(option, *typed.value);
        else if (typed.value)
            throw Error{.what = "takes no value",
                        .where = typed.name,
                        .remedy = "write " + option.longName() + " alone"};
        *option.flag = true;
        return;
    }
    if (typed.value)
        return store(option, *typed.value);
    if (next != end && !looksLikeOption(*next) && *next != "--")
        return store(option, *next++);
    if (option.isBoolean)
        return store(option, "true");
    throw Error{.what = "needs a value",
                .where = option.longName(),
                .remedy = next == end ? verb() + " --help describes it"
                                      : "write " + option.longName() + "=" + *next + " if that is the value"};
}

void Arguments::Impl::place(const std::string& word)
{
    if (placed >= positionals.size())
        throw Error{.what = "unexpected argument", .where = word, .remedy = "usage: tilescope " + usage};
    Positional& positional = positionals[placed];
    if (positional.values) {
        positional.values->push_back(word);
        return;
    }
    *positional.value = word;
    ++placed;
}

/// Characters of UTF-8 text, each a column of a terminal: help has no wide ones.
std::size_t charactersIn(std::string_view text)
{
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

/// The columns that help may use: COLUMNS, those of the terminal, or 80.
std::size_t columnsForHelp()
{
    constexpr std::size_t kUsual = 80;
    return columnsOfEnvironment().value_or(columnsOfTerminal(STDOUT_FILENO).value_or(kUsual));
}

/// Writes the words of a text on lines of at most `room` columns, the second and further ones behind `indent` spaces.
void writeWrapped(std::ostream& out, const std::string& text, std::size_t indent, std::size_t room)
{
    std::istringstream words(text);
    std::size_t used = 0;
    for (std::string word; words >> word;) {
        const std::size_t length = charactersIn(word);
        if (used > 0 && used + 1 + length > room) {
            out << '\n' << std::string(indent, ' ');
            used = 0;
        }
        out << (used > 0 ? " " : "") << word;
        used += length + (used > 0 ? 1 : 0);
    }
    out << '\n';
}

void Arguments::Impl::print(std::ostream& out) const
{
    constexpr std::size_t kMostLeft = 26; // a longer name has a line of its own
    constexpr std::size_t kLeastRoom = 30;
    std::vector<std::pair<std::string, std::string>> rows = positionalHelp; // left and right column
    for (const Option& option : options)
        if (!option.isKey)
            rows.emplace_back(shown(option), option.help);
    std::size_t width = 0;
    for (const auto& [left, right] : rows)
        if (const std::size_t length = charactersIn(left); length <= kMostLeft)
            width = std::max(width, length);
    const std::size_t indent = width + 4;
    const std::size_t columns = columnsForHelp();
    const std::size_t room = columns > indent + kLeastRoom ? columns - indent : kLeastRoom;
    out << "usage: tilescope " << usage << '\n' << purpose << "\n\n";
    if (!topics.empty()) {
        constexpr std::size_t kTopicIndent = 16;
        const std::size_t topicRoom =
            columns > kTopicIndent + kLeastRoom ? columns - kTopicIndent : kLeastRoom;
        out << heading << '\n';
        for (const Topic& topic : topics) {
            out << "  " << topic.name << std::string(kTopicIndent - 2 - topic.name.size(), ' ');
            writeWrapped(out, topic.help, kTopicIndent, topicRoom);
            for (const std::string& command : topic.examples)
                out << std::string(kTopicIndent + 4, ' ') << command << '\n';
        }
        out << "\noptions\n";
    }
    for (const auto& [left, right] : rows) {
        const std::size_t length = charactersIn(left);
        out << "  " << left;
        if (length > width)
            out << '\n' << std::string(indent, ' ');
        else
            out << std::string(width - length + 2, ' ');
        writeWrapped(out, right, indent, room);
    }
    if (!appendix.empty())
        out << '\n' << appendix;
    if (!example.empty())
        out << "\nexample: " << example << '\n';
}

std::vector<std::string>::const_iterator
Arguments::Impl::endOfOptions(const std::vector<std::string>& words) const
{
    const auto dashes = std::ranges::find(words, "--");
    if (!command)
        return dashes;
    auto word = words.begin();
    while (word != dashes && looksLikeOption(*word)) {
        const Typed typed = typedFrom(*word++);
        const auto named = [&](const Option& option) {
            return std::ranges::any_of(
                option.names, [&](const std::string& one) { return dashed(one) == dashed(typed.name); });
        };
        const auto option = std::ranges::find_if(options, named);
        if (option != options.end() && !option->flag && !typed.value && word != dashes &&
            !looksLikeOption(*word))
            ++word;
    }
    return word;
}

void Arguments::Impl::complete(std::vector<std::string> words, std::ostream& out)
{
    const std::string last = words.empty() ? std::string() : words.back();
    if (!words.empty())
        words.pop_back();
    const auto end = endOfOptions(words);
    const bool isCommand = command && end != words.end();
    const Option* open = nullptr; // whose value is completed
    for (auto word = words.cbegin(); word != words.cend() && !isCommand;) {
        const std::string& current = *word++;
        try {
            if (!looksLikeOption(current)) {
                if (current != "--")
                    place(current);
                continue;
            }
            const Typed typed = typedFrom(current);
            const Option* option = known(typed.name);
            if (option && !option->flag && !typed.value && word == words.cend())
                open = option;
            else
                take(typed, word, words.cend());
        } catch (const Error&) {
            // What was typed so far need not be valid.
        }
    }
    if (isCommand) {
        out << "files *\n";
        return;
    }
    std::string typed = last;
    if (!open && last.starts_with("--") && last.find('=') != std::string::npos) {
        open = known(typedFrom(last).name);
        if (!open) {
            out << "none\n";
            return;
        }
        typed = *typedFrom(last).value;
    }
    const std::string before = last.substr(0, last.size() - typed.size()); // "--format="
    std::vector<std::string> suggested;
    std::string files;
    if (open) {
        suggested = open->suggestions ? open->suggestions() : open->words;
        if (open->isBoolean && suggested.empty())
            suggested = {"true", "false"};
        files = open->isOutput || open->names.front() == "-o" ? "*" : filesFor(open->valueName);
    } else if (last.starts_with('-')) {
        out << "none\n";
        for (const Option& option : options) {
            std::string name = option.longName();
            // As specs spell a key, unless a dash is typed in it.
            if (option.isKey && last.find('-', 2) == std::string::npos)
                std::replace(name.begin() + 2, name.end(), '-', '_');
            printSuggestion(out, last, name, option.help);
        }
        printSuggestion(out, last, "--help", "print the help");
        return;
    } else if (command) {
        files = "*";
    } else if (placed < positionals.size()) {
        const Positional& positional = positionals[placed];
        suggested = positional.suggestions ? positional.suggestions() : std::vector<std::string>();
        files = filesFor(positional.name);
    }
    out << (files.empty() ? "none" : "files " + files) << '\n';
    for (const std::string& word : suggested) {
        const std::size_t tab = std::min(word.find('\t'), word.size());
        if (word.starts_with(typed))
            out << before << word.substr(0, tab) << word.substr(tab) << '\n';
    }
}

bool Arguments::parse(int argc, char** argv)
{
    return parse(std::vector<std::string>(argv + std::min(argc, 1), argv + argc), std::cout);
}

bool Arguments::parse(const std::vector<std::string>& words, std::ostream& out)
{
    impl_->addCommon();
    if (!words.empty() && words.front() == kComplete) {
        impl_->complete({words.begin() + 1, words.end()}, out);
        return false;
    }
    const auto end = impl_->endOfOptions(words);
    // Print help even if other arguments are invalid.
    if (std::any_of(words.begin(), end, [](const std::string& w) { return w == "--help" || w == "-h"; })) {
        impl_->print(out);
        return false;
    }
    for (auto word = words.begin(); word != words.end();) {
        if (impl_->command && word == end) {
            impl_->command->assign(*word == "--" ? word + 1 : word, words.end());
            break;
        }
        const std::string& current = *word++;
        if (current == "--") {
            std::for_each(word, words.end(), [this](const std::string& rest) { impl_->place(rest); });
            break;
        }
        if (looksLikeOption(current))
            impl_->take(typedFrom(current), word, impl_->command ? end : words.end());
        else
            impl_->place(current);
    }
    impl_->applyCommon();
    return true;
}

void Arguments::Impl::addCommon()
{
    const auto has = [this](const std::string& name) {
        return std::ranges::any_of(options, [&name](const Option& option) {
            return std::ranges::find(option.names, name) != option.names.end();
        });
    };
    if (!has("--color")) {
        add({.value = &colour, .words = {"auto", "always", "never"}}, "--color", "auto|always|never",
            "colours in the output: on a terminal (the default), always or never");
    }
    if (!has("-q")) {
        add({.flag = &quiet}, "-q,--quiet", "", "print only results, warnings and errors");
    }
}

void Arguments::Impl::applyCommon() const
{
    if (!colour.empty())
        setColourChoice(colour == "always"  ? ColourChoice::Always
                        : colour == "never" ? ColourChoice::Never
                                            : ColourChoice::Auto);
    if (quiet)
        setQuiet(true);
}

std::int64_t wholeNumber(std::string_view text, std::string_view argument, std::int64_t least,
                         std::int64_t most)
{
    const auto number = parseNumber<std::int64_t>(text);
    if (number && *number >= least && *number <= most)
        return *number;
    const bool isBounded = most < std::numeric_limits<std::int64_t>::max();
    throw Error{.what = "'" + std::string(text) + "' is not a whole number from " + std::to_string(least) +
                        (isBounded ? " to " + std::to_string(most) : " up"),
                .where = std::string(argument),
                .remedy = "write only digits: " + std::string(argument) + " " + std::to_string(least)};
}

RunId runNumber(std::string_view text, std::string_view argument)
{
    const auto number = parseNumber<std::int64_t>(text);
    if (!number || *number < 1)
        throw Error{.what = "'" + std::string(text) + "' is not the number of a run",
                    .where = std::string(argument),
                    .remedy = "`tilescope show FILE` lists the runs"};
    return RunId{*number};
}

} // namespace tilescope::cli
