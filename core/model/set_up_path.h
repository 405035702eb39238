#pragma once

#include "core/model/memory_category.h"

#include <optional>
#include <string>
#include <string_view>

namespace tilescope {

// Ranges of an experiment's making are named after the tensors that are made in them:
// setup/parameters/layers.3/ffn/down. Before the first step nobody else can tell who has which memory.

/// The range in which an experiment is made.
inline constexpr std::string_view kSetUpRange = "setup";

/// A tensor that is made in a range of set-up.
struct SetUpTensor {
    MemoryCategory category = MemoryCategory::Unattributed;
    std::string_view name = {}; ///< layers.3/ffn/down; within the path that was asked about
};

/// The component of a range, below `setup`, in which a tensor is made.
std::string setUpComponent(MemoryCategory category, std::string_view name);

/// What a range of set-up makes; none where the path is no such range. O(length).
std::optional<SetUpTensor> setUpTensor(std::string_view path);

} // namespace tilescope
