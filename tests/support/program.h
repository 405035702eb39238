#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tilescope::testing {

/// What a program that has ended printed, and how it ended.
struct ProgramResult {
    int code = -1; ///< exit code; -signal where a signal ended it
    std::string out;
    std::string err;
};

/// A program that is running: its output goes to files, so that it never waits for a reader.
class Program {
public:
    /// \param folder       where it runs
    /// \param environment  variables that are set in addition to ours
    Program(const std::vector<std::string>& command, const std::filesystem::path& folder,
            const std::map<std::string, std::string>& environment = {});
    ~Program(); ///< kills it where it still runs
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    int pid() const { return pid_; }
    /// What it has written to standard output so far.
    std::string outputSoFar() const;
    /// Waits until standard output holds `text`; false where it ended or a minute and a half passed before.
    bool waitFor(const std::string& text);
    /// Waits until a signal sent to it, which it blocks and reads, is no longer pending; false as above.
    bool takes(int signal);
    ProgramResult wait();

private:
    bool ended();

    int pid_ = -1;
    int status_ = 0;
    bool reaped_ = false;
    std::filesystem::path out_;
    std::filesystem::path err_;
};

/// Runs a program to its end.
ProgramResult runProgram(const std::vector<std::string>& command, const std::filesystem::path& folder,
                         const std::map<std::string, std::string>& environment = {});

} // namespace tilescope::testing
