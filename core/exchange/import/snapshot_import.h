#pragma once

#include "core/exchange/import/pickle_reader.h"
#include "core/model/events.h"
#include "core/model/memory.h"
#include "core/model/run.h"
#include "core/query/memory/memory_difference.h"
#include "core/store/run_writer.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::exchange {

/// The largest snapshot file that is read. PyTorch's largest are some hundred megabytes.
inline constexpr Bytes kLargestSnapshot{std::int64_t{2} << 30};

/// A memory snapshot as a run's records.
struct ImportedSnapshot {
    store::RunHeader header = {};
    RunResult result = {};
    std::vector<EnvironmentEntry> environment = {};
    TraceBatch trace = {}; ///< allocation events; an op for each distinct stack
    MemoryFacts facts = {};
    std::int64_t segments = 0; ///< at the end, of all devices
    std::int64_t blocks = 0;   ///< allocated blocks at the end, of all devices
    Bytes allocated{};         ///< requested bytes of these blocks
    Bytes reserved{};
};

/// Reads a file of torch.cuda.memory._dump_snapshot, of PyTorch 2.1 or later (or 2.0), or an exported one.
///
/// The state before the trace follows from the segments at its end and the events between.
/// resources/help/memory.md, PyTorch's snapshots, lists the differences between versions. Stacks become
/// paths: `train.py:96:<module>/…/module.py:1370:convert`, the outermost frame first.
/// \param document  untrusted
/// \param name      of the run
/// \throws Error    it is not such a snapshot, or is damaged; names the device, segment or event
ImportedSnapshot importSnapshot(const PickleDocument& document, const std::string& name,
                                StringTable& strings);

/// Reads a snapshot file.
/// \throws Error  the file is not a regular file, too large, no snapshot or damaged
ImportedSnapshot readSnapshotFile(const std::filesystem::path& file, StringTable& strings);

/// Reads a snapshot file and appends it to `output`, a .tscope file, as a run.
/// \throws Error  the file is not a regular file, too large, no snapshot or damaged, the output cannot be
/// written;
///                then nothing is
RunId importSnapshotFile(const std::filesystem::path& file, const std::filesystem::path& output,
                         ImportedSnapshot* imported = nullptr);

} // namespace tilescope::exchange
