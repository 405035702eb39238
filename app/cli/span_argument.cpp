#include "app/cli/span_argument.h"

#include "app/cli/arguments.h"
#include "core/base/error.h"

namespace tilescope::cli {

std::optional<query::TimeSpan> spanOf(const std::string& from, const std::string& to)
{
    if (from.empty() && to.empty())
        return {};
    query::TimeSpan span;
    if (!from.empty())
        span.from = Nanoseconds(wholeNumber(from, "--from"));
    if (!to.empty())
        span.to = Nanoseconds(wholeNumber(to, "--to"));
    if (span.to <= span.from)
        throw Error{.what = "the time span is empty",
                    .where = "--to",
                    .remedy = "give a time after --from, in ns after the run's first event"};
    return span;
}

std::array<std::optional<query::TimeSpan>, 2> spansOf(const std::string& from, const std::string& to)
{
    const auto part = [](const std::string& text, bool second) {
        const std::size_t comma = text.find(',');
        if (comma == std::string::npos)
            return text;
        return second ? text.substr(comma + 1) : text.substr(0, comma);
    };
    return {spanOf(part(from, false), part(to, false)), spanOf(part(from, true), part(to, true))};
}

} // namespace tilescope::cli
