#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::cli {

/// The arguments of one verb: which there are, what was given, and the sentence for what is wrong.
///
/// Options may stand anywhere as `--name VALUE`, `--name=VALUE`, `-n VALUE` or `-nVALUE`; `-` and `_` inside
/// a long name are the same. `--` ends the options. A value that begins with a dash needs the form with `=`,
/// unless it is a number. The variables that are named here must outlive parse().
class Arguments {
public:
    /// \param usage  what follows `tilescope`: "run WORKLOAD [--key value …]"
    Arguments(std::string usage, std::string purpose, std::string example);
    /// For a verb that brings its whole help text, which begins with `usage: tilescope VERB …`.
    explicit Arguments(std::string_view help);
    ~Arguments();
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;

    void positional(const std::string& name, std::string& into, const std::string& help);
    void positionals(const std::string& name, std::vector<std::string>& into, const std::string& help);
    /// \param names  "-o,--output"
    void option(const std::string& names, std::string& into, const std::string& help);
    /// An option that names a file or a folder to write; `-` is refused.
    void output(const std::string& names, std::string& into, const std::string& help);
    void repeated(const std::string& names, std::vector<std::string>& into, const std::string& help);
    void flag(const std::string& names, bool& into, const std::string& help);
    /// An option that takes one of `words`.
    void choice(const std::string& names, std::string& into, std::vector<std::string> words,
                const std::string& help);
    /// A key of a spec, which help text made elsewhere explains; `into` stays empty unless it is given.
    /// \param boolean  without a value it is `true`
    void key(const std::string& name, std::string& into, bool boolean);
    /// Text between the options and the example of --help.
    void appendix(std::string text);

    /// \return        false if --help was given: it has been printed
    /// \throws Error  Usage: names the argument, and the nearest right spelling of an unknown one
    bool parse(int argc, char** argv);
    /// The same for words without the verb; help goes to `out`.
    bool parse(const std::vector<std::string>& words, std::ostream& out);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::cli
