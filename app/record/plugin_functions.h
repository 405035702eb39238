#pragma once

#include "core/record/plugin_interface.h"

namespace tilescope::record {

/// The functions that the plug-in for LibTorch calls.
const PluginInterface& pluginFunctions() noexcept;
/// Tells the plug-in that recording starts or stops. Not at the end of the process, where LibTorch may be gone.
void noteRecording(bool isOn) noexcept;

} // namespace tilescope::record
