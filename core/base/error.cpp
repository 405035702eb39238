#include "core/base/error.h"

#include <exception>

namespace tilescope {

std::string Error::sentence() const
{
    std::string text = where.empty() ? what : where + ": " + what;
    if (!mend.empty())
        text += "; " + mend;
    return text;
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

std::string currentExceptionSentence()
{
    try {
        throw;
    } catch (const Error& error) {
        return error.sentence();
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "unknown failure";
    }
}

} // namespace tilescope
