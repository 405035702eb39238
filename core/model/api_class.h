#pragma once

#include "core/model/events.h"

#include <cstdint>
#include <string_view>

namespace tilescope {

/// What a function of the runtime or driver of CUDA or HIP means for tracing.
enum class ApiClass : std::uint8_t {
    Ignored,     ///< irrelevant for time and memory
    Launch,      ///< puts kernels on the device
    Copy,        ///< puts copies or memsets on the device
    Memory,      ///< allocates, frees or maps memory
    Synchronize, ///< makes the host, or a stream, wait
    Event,       ///< records an event
    CountedOnly, ///< asked before every launch: counted, not stored
};

/// The class of a function by the name CUPTI gives its callback: `cudaLaunchKernel_v7000`, `cuMemcpyHtoD_v2`.
ApiClass classifyApi(std::string_view callbackName);

/// Whether device activities refer to calls of this class by correlation id.
constexpr bool causesActivity(ApiClass kind)
{
    return kind == ApiClass::Launch || kind == ApiClass::Copy;
}

ApiKind apiKindOf(ApiClass kind);

/// The function's own name: without CUPTI's version and per-thread-stream suffixes.
std::string_view functionNameOf(std::string_view callbackName);

} // namespace tilescope
