#pragma once

namespace tilescope::cli {

/// One function a verb. `argv[0]` is the verb itself (`show`), so that messages and --help can name it; the
/// rest are its arguments. Returns the process exit code. Errors leave as tilescope::Error and are printed by
/// main, which is the edge. Only the verbs that main links need to exist.

int showCommand(int argc, char** argv);    ///< tables of a file
int runCommand(int argc, char** argv);     ///< one experiment from flags
int batchCommand(int argc, char** argv);   ///< a spec file or a study; `--batch` comes here as argv[0]
int presetsCommand(int argc, char** argv); ///< model sizes
int studiesCommand(int argc, char** argv); ///< ready-made sweeps
int doctorCommand(int argc, char** argv);  ///< what this machine can do
int compareCommand(int argc, char** argv); ///< two runs side by side
int reportCommand(int argc, char** argv);  ///< charts and tables for a writeup
int mergeCommand(int argc, char** argv);   ///< several files into one
int verifyCommand(int argc, char** argv);  ///< every count and checksum of a file
int exportCommand(int argc, char** argv);  ///< to formats of other tools
int importCommand(int argc, char** argv);  ///< from formats of other tools
int noteCommand(int argc, char** argv);    ///< a sentence kept with a run
int tagCommand(int argc, char** argv);     ///< a word kept with a run
int deleteCommand(int argc, char** argv);  ///< runs out of a file
int compactCommand(int argc, char** argv); ///< give back the space of deleted runs

} // namespace tilescope::cli
