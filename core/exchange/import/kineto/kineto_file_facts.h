#pragma once

#include "core/exchange/import/kineto/kineto_topology.h"

#include <string>

namespace tilescope::exchange {

/// Adds what a Kineto trace says of itself in a member of its top-level object: deviceProperties,
/// distributedInfo, baseTimeNanoseconds and versions. Other members are ignored.
/// \param text  JSON
/// \return      false if the value is out of range
bool addFileMember(TraceBuilder& builder, KinetoTopology& topology, const std::string& key,
                   const std::string& text);

} // namespace tilescope::exchange
