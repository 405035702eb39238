#include "core/base/error.h"

#include "core/base/current_error.h"
#include "core/base/terminal_text.h"

#include <sys/resource.h>

#include <cctype>
#include <exception>
#include <filesystem>
#include <new>

namespace tilescope {

std::string Error::sentence() const
{
    std::string text = where.empty() ? what : where + ": " + what;
    if (!remedy.empty())
        text += "; " + remedy;
    // File names, arguments and the content of files are untrusted.
    return escapeForTerminal(text);
}

int Error::exitCode() const
{
    switch (kind) {
    case ErrorKind::Usage:
        return 2;
    case ErrorKind::Failure:
        return 3;
    case ErrorKind::Environment:
        return 4;
    }
    return 3;
}

namespace {

/// The system's message in lower case, for the middle of a sentence: `permission denied`.
std::string wordsOf(const std::error_code& code)
{
    std::string text = code.message();
    if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

/// Whether this process may write only files of some size.
bool isLimited()
{
    rlimit size{};
    return getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY;
}

Error errorOf(const std::filesystem::filesystem_error& problem)
{
    const std::error_code& code = problem.code();
    const bool isFull = code == std::errc::no_space_on_device || code == std::errc::io_error ||
                        code == std::errc::file_too_large;
    return {.what = wordsOf(code),
            .where = (problem.path2().empty() ? problem.path1() : problem.path2()).string(),
            .remedy = !isFull       ? "check the path and its permissions"
                      : isLimited() ? "raise the limit of a file's size (ulimit -f), or make room on its disk"
                                    : "make room on its disk and try again",
            .kind = isFull ? ErrorKind::Failure : ErrorKind::Usage};
}

} // namespace

Error currentError()
{
    try {
        throw;
    } catch (const Error& error) {
        return error;
    } catch (const std::filesystem::filesystem_error& problem) {
        return errorOf(problem);
    } catch (const std::bad_alloc&) {
        return {.what = "out of memory, or at the memory limit of this process",
                .remedy = "close other programs, or raise the limit (ulimit -v)",
                .kind = ErrorKind::Failure};
    } catch (const std::exception& error) {
        return {.what = error.what(), .kind = ErrorKind::Failure};
    } catch (...) {
        return {.what = "unknown failure", .kind = ErrorKind::Failure};
    }
}

std::string currentExceptionSentence()
{
    return currentError().sentence();
}

} // namespace tilescope
