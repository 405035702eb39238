#pragma once

#include "core/base/units.h"
#include "core/exchange/import/trace_builder.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilescope::exchange {

/// A recording in the import cache. The cache does not remove it while this object lives, in any process.
struct CachedImport {
    std::filesystem::path file; ///< the recording; treat it as read-only
    std::filesystem::path
        shown; ///< the path that stands for it on screen: the source's, or "FOLDER/a and 1 more"
    std::vector<std::filesystem::path> sources;
    RunId run;              ///< the imported run
    bool isGrowing = false; ///< of a recording that is still written
    bool isNew = false;     ///< imported by this call; false: it was in the cache
    std::int64_t lost = 0;  ///< records of the sources that were lost (isLost)
    std::string cut; ///< where a source ends before its events do: "after 812 bytes of text"; empty: none
    std::string fallback; ///< why the recording lasts only as long as this process; empty: it is kept
    std::shared_ptr<const void> use;

    bool isCut = false; ///< a source ends early: what was behind its end is missing

    /// `Imported from x.json.gz; 12 records were lost (see Losses)`, without a full stop.
    std::string sentence() const;
};

/// Whether `path` is to be imported rather than opened: a folder, or a regular file that is not a recording.
/// Reads the file's first bytes. False for anything that does not exist or cannot be read.
bool isForeign(const std::filesystem::path& path);

/// Keeps recordings of imported files, so that a trace that is opened again is not imported again.
///
/// An entry is named after the SHA-256 of the sources' contents, in their order, and the versions of the
/// importers and the schema. The file `index.json` holds the time of last use of each entry, and the digests of
/// recent files by device, inode, size and times, so that an unchanged file is not read again. An entry is
/// written under a temporary name and then renamed. Damaged entries are imported again. The least recently used
/// entries are removed when all of them take more than the limit, but never one that is open.
///
/// Any thread, and several processes at a time: a lock serialises imports of the same contents.
class ImportCache {
public:
    static constexpr Bytes kDefaultLimit{std::int64_t{10} << 30};
    /// Increase it when an importer reads more than before, or reads it differently.
    static constexpr int kImporterVersion = 3;

    /// \param folder  created with mode 0700 by the first import
    explicit ImportCache(std::filesystem::path folder, Bytes limit = kDefaultLimit);

    /// The user's cache: $XDG_CACHE_HOME/tilescope/imports, otherwise ~/.cache/tilescope/imports. The variable
    /// TILESCOPE_IMPORT_CACHE sets its limit (`20 GiB`); 0: nothing is kept.
    /// \throws Error (Usage)  the variable is not a size
    static ImportCache ofUser();

    /// The recording of files of other programs; imports them if the cache does not have it. Several files,
    /// or the files of a folder, become one run.
    ///
    /// If the cache's folder cannot be written, the recording goes to a temporary folder that the process
    /// removes at its end, and `fallback` says why.
    /// \param watch  may cancel; nothing is left behind then
    /// \throws Error  as importFiles(); a source changed meanwhile; no folder can be written
    std::shared_ptr<const CachedImport> open(std::span<const std::filesystem::path> named,
                                             const ImportWatch& watch = {}) const;

    struct Entry {
        std::filesystem::path file;
        std::string name; ///< of the source; untrusted; empty: unknown
        Bytes size;
        std::int64_t usedUnixNs = 0; ///< last use
        bool isOpen = false;         ///< in some process
    };
    /// The most recently used first. Changes nothing.
    std::vector<Entry> entries() const;

    struct Cleared {
        std::int64_t removed = 0;
        Bytes freed;
        std::int64_t open = 0; ///< entries that stay because they are open
    };
    /// Removes all entries that are not open.
    /// \throws Error  an entry cannot be removed
    Cleared clear() const;

    const std::filesystem::path& folder() const { return folder_; }
    Bytes limit() const { return limit_; }

private:
    void makeRoom(const std::filesystem::path& keep) const;

    std::filesystem::path folder_;
    Bytes limit_;
};

} // namespace tilescope::exchange
