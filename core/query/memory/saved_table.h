#pragma once

#include "core/model/memory.h"
#include "core/query/memory/residual_stream.h"
#include "core/query/runs/event_query.h"

#include <vector>

namespace tilescope::query {

/// The memory that each part of a model holds for backward; every storage counts once.
struct SavedTotal {
    std::string path = {}; ///< the group's: layers.3
    std::int64_t tensors = 0;
    Bytes activations{}; ///< bytes kept only for backward
    Bytes others{};      ///< parameters and inputs, which are there anyway
};

struct SavedRow {
    std::int64_t number = 0; ///< the number to which sharedWith of other rows refers
    SavedTensor tensor = {};
};

/// The tensors that autograd held for backward in one step.
struct SavedTable {
    store::RunRecord run = {};
    Timestamp origin{}; ///< first event of the run: times are shown from it
    Grouping grouping = Grouping::None;
    std::vector<SavedRow> rows = {};     ///< in the order in which forward saved them
    std::vector<SavedTotal> totals = {}; ///< by range, phase, layer or else module, in that order
    Bytes activations{};                 ///< of the rows, every storage once
    Bytes others{};
    std::optional<ResidualStream> residual = {}; ///< of the whole run
};

/// The sum of the activations equals, to the byte, the activations on the timeline before backward.
/// \throws Error  no such run; the pattern is invalid
SavedTable saved(const store::RunReader& reader, const EventQuery& query);

} // namespace tilescope::query
