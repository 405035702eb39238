#pragma once

#include "core/base/quantity.h"

namespace tilescope::exchange {

// Tables and reports write numbers as the window does.
using quantity::Scale;
using quantity::scaleFor;
using quantity::Unit;
using quantity::withUnit;

} // namespace tilescope::exchange
