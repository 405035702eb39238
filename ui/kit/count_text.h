#pragma once

#include "core/base/plural.h"
#include "ui/kit/number_text.h"

namespace tilescope::ui {

/// "1 run", "0 runs", "12 480 runs": a number with the word that goes with it.
/// \param several  where it is more than the word with an s
inline QString counted(std::int64_t count, const char* one, const char* several = "")
{
    return wholeNumber(count) + QLatin1Char(' ') + QString::fromStdString(plural(count, one, several));
}

} // namespace tilescope::ui
