#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tilescope::testing {

/// Output and exit status of a program.
struct ProgramResult {
    int code = -1; ///< exit code, or -signal
    std::string out;
    std::string err;
};

/// A running program. Its output goes to files, so that it never blocks.
class Program {
public:
    /// \param folder       working directory
    /// \param environment  variables to set in addition
    Program(const std::vector<std::string>& command, const std::filesystem::path& folder,
            const std::map<std::string, std::string>& environment = {});
    ~Program(); ///< kills it if it is still running
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    int pid() const { return pid_; }
    /// The standard output so far.
    std::string outputSoFar() const;
    /// Waits until standard output contains `text`; false if the program ended or a minute and a half passed.
    bool waitFor(const std::string& text);
    /// Waits until a signal that the program blocks and reads is no longer pending; false as above.
    bool takes(int signal);
    bool hasEnded();
    ProgramResult wait();

private:
    int pid_ = -1;
    int status_ = 0;
    bool reaped_ = false;
    std::filesystem::path out_;
    std::filesystem::path err_;
};

/// Runs a program and waits for its end.
ProgramResult runProgram(const std::vector<std::string>& command, const std::filesystem::path& folder,
                         const std::map<std::string, std::string>& environment = {});

} // namespace tilescope::testing
