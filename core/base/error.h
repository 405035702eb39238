#pragma once

#include <string>

namespace tilescope {

/// The kind of a failure. It determines the exit code.
enum class ErrorKind {
    Usage,       ///< unusable arguments, spec or file: exit code 2
    Environment, ///< the machine lacks something that the user requested explicitly: exit code 4
    Failure,     ///< any other failure: exit code 3
};

/// The only exception type of Tilescope: what is wrong, where, and how to fix it.
///
/// Thrown where the cause is known and caught at an edge (main, worker thread, job). A target that uses a
/// library translates that library's exceptions. An aggregate, so that a throw names its members:
///
///     throw Error{.what = "unknown key 'bacth'", .where = "sweep.yaml:12:3",
///                 .remedy = "did you mean 'batch'?"};
struct Error {
    std::string what;
    std::string where = {};  ///< file:line:column, a flag or a path; may be empty
    std::string remedy = {}; ///< what the user can do; may be empty
    ErrorKind kind = ErrorKind::Usage;

    /// Returns `where: what; remedy` without the empty parts. No trailing full stop, no line break.
    std::string sentence() const;

    /// The exit code of the process, as ErrorKind states it.
    int exitCode() const;
};

/// The exception in flight as a sentence. Call it only inside a catch block. Errors yield their sentence,
/// other std::exceptions their what(), anything else "unknown failure".
std::string currentExceptionSentence();

} // namespace tilescope
