#pragma once

#include "core/record/working_file.h"

#include <string>

namespace tilescope::testing {

/// A block of a working file: a step of a recorded program with one kernel, which it launches.
/// \param isFirst  of its file, which describes the thread, the device and the launch once
inline record::WorkingBlock workingStep(bool isFirst, std::int64_t start, std::int64_t length = 1'000'000)
{
    record::WorkingBlock block;
    if (isFirst) {
        block.strings = {"gemm", "train", "main", "NVIDIA H200"};
        block.launches.push_back({.grid = {4, 1, 1}, .block = {128, 1, 1}});
        block.threads.push_back({.thread = 7, .name = 2});
        block.devices.push_back({.ordinal = 0, .uuid = record::kNoString, .name = 3, .unused = 0});
    }
    block.ranges.push_back({.start = start,
                            .end = start + length,
                            .thread = 7,
                            .name = 1,
                            .step = isFirst ? 1U : 2U,
                            .backwardPath = record::kNoString});
    block.activities.push_back({.start = start + length / 2,
                                .end = start + length / 2 + 1000,
                                .launched = start + length / 4,
                                .bytes = 0,
                                .graphNode = 0,
                                .name = 0,
                                .path = record::kNoString,
                                .correlation = static_cast<std::uint32_t>(start / 1000 + 1),
                                .launchThread = 7,
                                .stream = 7,
                                .launch = 0,
                                .device = 0,
                                .kind = 0,
                                .copy = 0,
                                .unused = 0});
    block.recordsChecked = 2;
    return block;
}

} // namespace tilescope::testing
