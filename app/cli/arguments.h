#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tilescope::cli {

/// The arguments of one verb: what may stand there, what stood there, and what is printed where it is wrong.
/// The variables that are named here must outlive parse().
class Arguments {
public:
    /// \param usage  what follows `tilescope`: "run WORKLOAD [--key value …]"
    Arguments(std::string usage, std::string purpose, std::string example);
    ~Arguments();
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;

    void positional(const std::string& name, std::string& into, const std::string& help);
    void positionals(const std::string& name, std::vector<std::string>& into, const std::string& help);
    /// \param names  "-o,--output"; `-` and `_` inside a long name are the same
    void option(const std::string& names, std::string& into, const std::string& help);
    void repeated(const std::string& names, std::vector<std::string>& into, const std::string& help);
    void flag(const std::string& names, bool& into, const std::string& help);
    /// An option that takes one of `words`.
    void choice(const std::string& names, std::string& into, std::vector<std::string> words,
                const std::string& help);
    /// An option that help text made elsewhere explains; `into` stays empty where it did not stand there.
    /// \param boolean  without a value it is `true`
    void key(const std::string& name, std::string& into, bool boolean);
    /// Text between the options and the example of --help.
    void appendix(std::string text);

    /// \return        false where --help was asked for: it has been printed
    /// \throws Error  Usage: names the argument and the nearest right spelling
    bool parse(int argc, char** argv);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::cli
