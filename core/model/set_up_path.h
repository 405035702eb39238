#pragma once

#include "core/model/memory_category.h"

#include <optional>
#include <string>
#include <string_view>

namespace tilescope {

// Names of ranges during the set-up of an experiment, from the tensors created in them:
// setup/parameters/layers.3/ffn/down. Before the first step, only these identify the holders of memory.

/// The range in which an experiment is made.
inline constexpr std::string_view kSetUpRange = "setup";

/// A tensor that is made in a range of set-up.
struct SetUpTensor {
    MemoryCategory category = MemoryCategory::Unattributed;
    std::string_view name = {}; ///< layers.3/ffn/down; within the path that was asked about
};

/// The component of a range, below `setup`, in which a tensor is made.
std::string setUpComponent(MemoryCategory category, std::string_view name);

/// The tensor that a range of set-up creates; none if the path is not such a range. O(length).
std::optional<SetUpTensor> setUpTensor(std::string_view path);

} // namespace tilescope
