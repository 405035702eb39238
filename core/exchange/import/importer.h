#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/exchange/import/trace_builder.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// What an import added to a recording.
struct ImportResult {
    RunId run;           ///< the run that the files became
    std::string summary; ///< their contents, a line each: `x.pickle: 20 events, 3 segments, …`
};

/// Reads the files of one format.
///
/// To add a format, implement this class in a folder or file of its own and add it to importers(). An
/// importer keeps no state: one object serves all threads.
class Importer {
public:
    virtual ~Importer() = default;

    /// For messages, with the usual endings of its files: `memory snapshot of PyTorch (.pickle)`.
    virtual std::string_view format() const = 0;
    /// Whether a file may be of this format. Decides by content, since names lie.
    /// \param head  the first kHead bytes of the file, or all of a shorter file; untrusted
    /// \param file  for formats that the head does not tell apart
    virtual bool matches(std::string_view head, const std::filesystem::path& file) const = 0;
    /// Reads a file into a run that may take in several.
    /// \param file   a regular file that matches; untrusted
    /// \param watch  see ImportWatch; empty: nobody watches
    /// \return  the file's contents in one line: `x.json.gz: 400 kernels, 2,702 ops, …`
    /// \throws Error  the file is damaged or too large, or the watch cancelled
    virtual std::string read(const std::filesystem::path& file, TraceBuilder& builder,
                             const ImportWatch& watch) const = 0;

    static constexpr Bytes kHead{4096};
};

/// Every format that Tilescope imports.
std::span<const Importer* const> importers();

/// The usual endings of the files of a format, which format() has in parentheses: `.json`, `.json.gz`. Empty if they
/// have none.
std::vector<std::string_view> endingsOf(const Importer& importer);

/// The importer whose format a file has.
/// \throws Error (Usage)  the file cannot be read, is not a regular file, or has no known format; lists the
///                        formats
const Importer& importerFor(const std::filesystem::path& file);

/// Whether a file with this beginning has the format of an importer itself, without being unpacked.
bool isReadableFile(std::string_view head, const std::filesystem::path& file);

/// The files behind what a user names: a folder stands for its regular files of a known format, sorted by name,
/// and the log folder of jax.profiler for its newest profile.
/// \throws Error (Usage)  something named does not exist, or a folder has no such file
std::vector<std::filesystem::path> importableFiles(std::span<const std::filesystem::path> named);

/// Counters and metrics that were read on this host while the programs of working files ran.
struct HostCounters {
    std::vector<CounterTrack> tracks = {}; ///< by the steady clock; devices by CUDA's number
    std::int64_t pid = 0;                  ///< of the process that the host's counters are of
    std::vector<std::string> uuids = {};   ///< of the devices, by their number; empty: unknown
    std::vector<EnvironmentEntry> facts = {};
    std::int64_t metricSamplesDropped = 0; ///< that cannot be true
    std::int64_t metricSamplesLost = 0;    ///< for which there was no room
};

/// Reads files and appends them to a recording as one run: the traces of several ranks, or a trace and the
/// memory snapshot of the same process. A memory snapshot alone becomes a run of the workload `snapshot`.
/// \param output  a .tscope file, created if it does not exist; has no new run after an error
/// \param name    of the run; empty: the names of the files
/// \param counters  counters of this host; counters of devices that no program used are left out
/// \param stepsBy   name of the ranges that are steps, with or without the number at its end; empty: the steps are found
/// \throws Error  a file is of no known format, damaged or too large (names it), the output cannot be written, or
///                the watch cancelled
ImportResult importFiles(std::span<const std::filesystem::path> files, const std::filesystem::path& output,
                         const ImportWatch& watch = {}, const std::string& name = {},
                         const HostCounters& counters = {}, const std::string& stepsBy = {});

} // namespace tilescope::exchange
