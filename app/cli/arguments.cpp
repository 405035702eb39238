#include "app/cli/arguments.h"

#include "core/base/error.h"
#include "core/base/spelling.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <iostream>
#include <set>

namespace tilescope::cli {

class Arguments::Impl {
public:
    struct Choice {
        std::string name;
        const std::string* value;
        std::vector<std::string> words;
    };

    /// Every long option as it is shown: what a wrong one is compared with.
    std::vector<std::string> longNames() const;
    void requireKnown(const std::vector<std::string>& remaining) const;
    void requireChoices() const;
    void print() const;

    std::string usage;
    std::string purpose;
    std::string example;
    std::string appendix;
    std::vector<std::pair<std::string, std::string>> optionHelp; ///< left and right column
    std::vector<Choice> choices;
    std::set<std::string> booleans;
    CLI::App app;
    bool help = false;
};

namespace {

/// The same name with its other spelling: `--d_head` and `--d-head`.
std::string bothSpellings(const std::string& name)
{
    std::string dashed = name;
    std::string underscored = name;
    std::ranges::replace(dashed, '_', '-');
    std::ranges::replace(underscored, '-', '_');
    return dashed == underscored ? "--" + dashed : "--" + dashed + ",--" + underscored;
}

std::string shown(const std::string& names, const std::string& argument)
{
    std::string text = names;
    if (const std::size_t comma = text.find(','); comma != std::string::npos)
        text.insert(comma + 1, " ");
    return argument.empty() ? text : text + " " + argument;
}

} // namespace

Arguments::Arguments(std::string usage, std::string purpose, std::string example)
    : impl_(std::make_unique<Impl>())
{
    impl_->usage = std::move(usage);
    impl_->purpose = std::move(purpose);
    impl_->example = std::move(example);
    impl_->app.allow_extras();
    impl_->app.set_help_flag();
    impl_->app.add_flag("-h,--help", impl_->help);
}

Arguments::~Arguments() = default;

void Arguments::positional(const std::string& name, std::string& into, const std::string& help)
{
    impl_->app.add_option(name, into);
    impl_->optionHelp.emplace_back(name, help);
}

void Arguments::positionals(const std::string& name, std::vector<std::string>& into, const std::string& help)
{
    impl_->app.add_option(name, into);
    impl_->optionHelp.emplace_back(name + "…", help);
}

void Arguments::option(const std::string& names, std::string& into, const std::string& help)
{
    impl_->app.add_option(names, into);
    impl_->optionHelp.emplace_back(shown(names, "VALUE"), help);
}

void Arguments::repeated(const std::string& names, std::vector<std::string>& into, const std::string& help)
{
    // One value each time it stands there, or it would swallow the positionals that follow.
    impl_->app.add_option(names, into)->allow_extra_args(false);
    impl_->optionHelp.emplace_back(shown(names, "VALUE"), help);
}

void Arguments::flag(const std::string& names, bool& into, const std::string& help)
{
    impl_->app.add_flag(names, into);
    impl_->optionHelp.emplace_back(shown(names, ""), help);
}

void Arguments::choice(const std::string& names, std::string& into, std::vector<std::string> words,
                       const std::string& help)
{
    impl_->app.add_option(names, into);
    std::string alternatives;
    for (const std::string& word : words)
        alternatives += (alternatives.empty() ? "" : "|") + word;
    impl_->optionHelp.emplace_back(shown(names, alternatives), help);
    impl_->choices.push_back({names, &into, std::move(words)});
}

void Arguments::key(const std::string& name, std::string& into, bool boolean)
{
    impl_->app.add_option(bothSpellings(name), into);
    if (boolean)
        for (const std::string& spelling : CLI::detail::split(bothSpellings(name), ','))
            impl_->booleans.insert(spelling);
}

void Arguments::appendix(std::string text)
{
    impl_->appendix = std::move(text);
}

std::vector<std::string> Arguments::Impl::longNames() const
{
    std::vector<std::string> names;
    for (const CLI::Option* known : app.get_options())
        for (const std::string& name : known->get_lnames())
            names.push_back("--" + name);
    return names;
}

void Arguments::Impl::requireKnown(const std::vector<std::string>& remaining) const
{
    if (remaining.empty())
        return;
    const std::string& first = remaining.front();
    if (!first.starts_with("-"))
        throw Error{.what = "unexpected argument", .where = first, .mend = "usage: tilescope " + usage};
    const std::string name = first.substr(0, first.find('='));
    const std::vector<std::string> names = longNames();
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view near = nearestWord(name, views);
    throw Error{.what = "unknown option",
                .where = name,
                .mend = near.empty() ? "tilescope " + usage.substr(0, usage.find(' ')) + " --help lists all"
                                     : "did you mean '" + std::string(near) + "'?"};
}

void Arguments::Impl::requireChoices() const
{
    for (const Choice& choice : choices)
        if (std::ranges::find(choice.words, *choice.value) == choice.words.end())
            throw Error{.what = "unknown value '" + *choice.value + "'",
                        .where = choice.name,
                        .mend = didYouMean(*choice.value, std::vector<std::string_view>(choice.words.begin(),
                                                                                        choice.words.end()))};
}

void Arguments::Impl::print() const
{
    std::size_t width = 0;
    for (const auto& [left, right] : optionHelp)
        width = std::max(width, left.size());
    std::cout << "usage: tilescope " << usage << '\n' << purpose << "\n\n";
    for (const auto& [left, right] : optionHelp)
        std::cout << "  " << left << std::string(width - left.size() + 2, ' ') << right << '\n';
    if (!appendix.empty())
        std::cout << '\n' << appendix;
    std::cout << "\nexample: " << example << '\n';
}

bool Arguments::parse(int argc, char** argv)
{
    std::vector<std::string> words;
    for (int i = 1; i < argc; ++i) {
        words.emplace_back(argv[i]);
        const bool last = i + 1 == argc || std::string_view(argv[i + 1]).starts_with("--");
        if (last && impl_->booleans.contains(words.back()))
            words.emplace_back("true");
    }
    std::ranges::reverse(words); // as CLI11 takes them
    try {
        impl_->app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
        throw Error{.what = error.what(),
                    .where = "tilescope " + impl_->usage.substr(0, impl_->usage.find(' ')),
                    .mend = "--help shows what may stand there"};
    }
    if (impl_->help) {
        impl_->print();
        return false;
    }
    impl_->requireKnown(impl_->app.remaining());
    impl_->requireChoices();
    return true;
}

} // namespace tilescope::cli
