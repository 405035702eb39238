#pragma once

#include <span>
#include <string_view>

namespace tilescope::cli {

struct Verb {
    std::string_view name;
    int (*command)(int argc, char** argv);
    std::string_view purpose;
    std::string_view example;
};

/// All verbs, in the order of help.
std::span<const Verb> verbs();

/// One function per verb. `argv[0]` is the verb itself (`show`), for messages and --help; the rest are its
/// arguments. Returns the exit code of the process. Throws tilescope::Error, which main prints.

int showCommand(int argc, char** argv);       ///< tables of a file
int runCommand(int argc, char** argv);        ///< one experiment from flags
int compileCommand(int argc, char** argv);    ///< the models of compile: inductor
int recordCommand(int argc, char** argv);     ///< another program
int batchCommand(int argc, char** argv);      ///< a spec file or a study; argv[0] is `--batch`
int presetsCommand(int argc, char** argv);    ///< model sizes
int studiesCommand(int argc, char** argv);    ///< ready-made sweeps
int doctorCommand(int argc, char** argv);     ///< capabilities of this machine
int compareCommand(int argc, char** argv);    ///< a comparison of two runs
int reportCommand(int argc, char** argv);     ///< charts and tables for a writeup
int mergeCommand(int argc, char** argv);      ///< several files into one
int verifyCommand(int argc, char** argv);     ///< every count and checksum of a file
int exportCommand(int argc, char** argv);     ///< to formats of other tools
int shareCommand(int argc, char** argv);      ///< a page that shows runs in a browser
int importCommand(int argc, char** argv);     ///< from formats of other tools
int replayCommand(int argc, char** argv);     ///< measures an op of a file alone
int sqlCommand(int argc, char** argv);        ///< a SELECT statement over a file
int cacheCommand(int argc, char** argv);      ///< recordings of imported files
int hostsCommand(int argc, char** argv);      ///< other machines
int completionCommand(int argc, char** argv); ///< completions of a shell
int serveCommand(int argc, char** argv);      ///< answers to another machine
int noteCommand(int argc, char** argv);       ///< sets the note of a run
int tagCommand(int argc, char** argv);        ///< sets the tag of a run
int deleteCommand(int argc, char** argv);     ///< removes runs from a file
int compactCommand(int argc, char** argv);    ///< reclaims the space of deleted runs

} // namespace tilescope::cli
