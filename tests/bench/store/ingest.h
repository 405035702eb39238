#pragma once

#include <cstdint>
#include <filesystem>

namespace tilescope::bench {

/// One way of getting events into a file, from filled CUPTI buffers to the last commit.
struct Ingest {
    std::int64_t events = 0;
    double seconds = 0;        ///< wall
    double writerSeconds = 0;  ///< processor time of all threads but the decoding one
    double decoderSeconds = 0; ///< processor time of the thread that plays the program and decodes
    double sealSeconds = 0;
    double sealCpuSeconds = 0;
    std::int64_t fileBytes = 0;
    std::int64_t memoryGrowth = 0; ///< bytes of resident memory, from a fifth of the way to the end
};

/// Like the engine: decodes on one thread and writes on the recorder's thread.
Ingest ingestByStore(const std::filesystem::path& file, std::int64_t batches);
/// The same events from the same decoder as rows by plain SQLite: see RawSqlite.
Ingest ingestByRawSqlite(const std::filesystem::path& file, std::int64_t batches);

void removeDatabase(const std::filesystem::path& file);

/// Processor time of the calling thread: what a shared machine's neighbours do not change.
double threadSeconds();
double processSeconds();

} // namespace tilescope::bench
