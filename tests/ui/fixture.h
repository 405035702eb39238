#pragma once

#include "core/model/events.h"
#include "core/model/strings.h"

#include <filesystem>
#include <string>

namespace tilescope::test {

/// A recording that looks like a small language model's: two layers, forward, backward and optimizer, a few
/// traced steps, with the names that PyTorch and cuBLAS really use. Its figures are made up: for tests, never
/// for a picture of the product.
struct LmFixture {
    std::string backend = "naive"; ///< naive: scores, softmax and output as kernels; flash: one
    int steps = 2;
    int layers = 2;
    int samples = 12;
};

/// The traced events of one run, in start order.
TraceBatch lmTrace(const LmFixture& fixture, StringTable& strings);

/// Writes a file with the runs naive and flash of the same model, and one that ran out of memory.
void writeLmFile(const std::filesystem::path& file, int steps = 2);

/// A trace of `events` kernels spread over `streams` streams, for what must hold with very many.
void writeLargeFile(const std::filesystem::path& file, std::int64_t events, int streams);

} // namespace tilescope::test
