#pragma once

#include "core/base/quantity.h"
#include "core/base/units.h"

#include <string>

namespace tilescope::exchange {

// Tables and reports write numbers as the window does.
using quantity::Scale;
using quantity::scaleFor;
using quantity::Unit;
using quantity::withUnit;

/// `1.50 GiB`.
inline std::string sizeText(Bytes bytes)
{
    return withUnit(static_cast<double>(bytes.count), Unit::Bytes);
}

} // namespace tilescope::exchange
