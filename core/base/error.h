#pragma once

#include <string>

namespace tilescope {

/// What kind of failure it is; decides the exit code at the edge (see exitCode).
enum class ErrorKind {
    Usage,       ///< unusable arguments, spec or file: 2
    Environment, ///< the machine lacks what was asked outright: 4
    Failure,     ///< something went wrong while doing what was asked: 3
};

/// The one exception of Tilescope: what is wrong, where, and how to mend it.
///
/// Thrown at the depth that knows, caught at an edge (main, worker thread, job). Exceptions of libraries are
/// translated to it at the edge of the target that uses them. An aggregate, so that a throw names its parts:
///
///     throw Error{.what = "unknown key 'bacth'", .where = "sweep.yaml:12:3", .mend = "did you mean
///     'batch'?"};
struct Error {
    std::string what;
    std::string where = {}; ///< file:line:column, a flag, a path; empty where there is none
    std::string mend = {};  ///< what the user can do; empty where nothing sensible can be said
    ErrorKind kind = ErrorKind::Usage;

    /// `where: what; mend`, without the parts that are empty. No trailing full stop, no line break.
    std::string sentence() const;

    /// The process exit code that CONTRACT.md gives this kind.
    int exitCode() const;
};

/// The sentence of whatever exception is being handled; call only inside a catch block.
/// Errors give their sentence, std::exceptions their what(), anything else "unknown failure".
std::string currentExceptionSentence();

} // namespace tilescope
