#pragma once

#include "core/base/plural.h"
#include "ui/kit/number_text.h"

namespace tilescope::ui {

/// "1 run", "0 runs", "12 480 runs": a number with its noun.
/// \param several  the plural if it is not the noun with an s
inline QString counted(std::int64_t count, const char* one, const char* several = "")
{
    return wholeNumber(count) + QLatin1Char(' ') + QString::fromStdString(plural(count, one, several));
}

} // namespace tilescope::ui
