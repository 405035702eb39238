#pragma once

#include "core/query/work/work_tables.h"
#include "core/store/run_reader.h"

#include <optional>
#include <string>

namespace tilescope::query {

/// An op of a recording, with what its like took there.
struct ReplayOp {
    store::RunRecord run = {};
    std::string op = {};
    std::string shapes = {};             ///< its arguments as recorded
    std::optional<RooflineRow> row = {}; ///< of the table by shape; none: an op above it counts
    DeviceCeilings ceilings = {};        ///< of the recording's device
};

/// \param op  number of an op in the run, or the name of an op: then with the arguments that took most time
/// \throws Error  no such run or op; its arguments were not recorded; it cannot be measured alone
ReplayOp replayOp(const store::RunReader& reader, std::optional<RunId> run, const std::string& op);

} // namespace tilescope::query
