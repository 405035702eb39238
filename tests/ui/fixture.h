#pragma once

#include "core/model/events.h"
#include "core/model/strings.h"

#include <filesystem>
#include <string>

namespace tilescope::test {

/// A recording that looks like a small language model's: two layers, forward, backward and optimizer, a few
/// traced steps, with the names that PyTorch and cuBLAS really use. Its figures are made up, but fit together:
/// kernels take as long as their FLOPs need on an H200, and a timed step is 5 % shorter than a traced one.
struct LmFixture {
    std::string backend = "naive"; ///< naive: scores, softmax and output as kernels; flash: one
    int steps = 2;
    int layers = 2;
    int samples = 12;
    int batch = 4;            ///< of the timed steps
    bool isTraced = true;     ///< else only its samples are written
    bool hasCounters = false; ///< of clocks, power, temperature, utilisation and traffic
    bool hasMetrics = false;  ///< how busy the GPU is inside
};

/// The traced events of one run, in start order.
TraceBatch lmTrace(const LmFixture& fixture, StringTable& strings);

/// Writes a file with the runs naive and flash of the same model, and one that ran out of memory.
void writeLmFile(const std::filesystem::path& file, int steps = 2);

/// Writes a file of nine runs on a GPU: naive and flash, traced; both with three larger batches, not traced;
/// and one that ran out of memory.
void writeGpuFile(const std::filesystem::path& file);

/// A trace of `events` kernels spread over `streams` streams, for what must hold with very many.
void writeLargeFile(const std::filesystem::path& file, std::int64_t events, int streams);

/// An imported run of two ranks with a GPU each, which do the same one after the other; the stacks of Python lie over
/// the ranges of rank 0. Rank 1 allocates 64 MiB more.
void writeRanksFile(const std::filesystem::path& file);

/// A study on a CPU of nine runs: two are traced, one with 11 133 ops, of which a column of numbers is wide;
/// six are not; the last ran out of memory. Two lengths are there with one and with two heads.
void writeStudyFile(const std::filesystem::path& file);

} // namespace tilescope::test
