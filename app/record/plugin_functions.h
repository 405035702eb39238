#pragma once

#include "core/record/plugin_interface.h"

namespace tilescope::record {

/// The functions that the plug-in for LibTorch calls.
const PluginInterface& pluginFunctions() noexcept;

} // namespace tilescope::record
