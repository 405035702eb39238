#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::exchange {

/// What an import added to a recording.
struct ImportResult {
    RunId run;           ///< the run that the file became
    std::string summary; ///< its contents in one line: `x.pickle: 20 events, 3 segments, …`
};

/// Reads the files of one format and appends each to a recording as a run.
///
/// To add a format, implement this class in a folder or file of its own and add it to importers(). An
/// importer keeps no state: one object serves all threads.
class Importer {
public:
    virtual ~Importer() = default;

    /// For messages: `memory snapshot of PyTorch`.
    virtual std::string_view format() const = 0;
    /// Whether a file may be of this format. Decides by content, since names lie.
    /// \param head  the first kHead bytes of the file, or all of a shorter file; untrusted
    virtual bool matches(std::string_view head) const = 0;
    /// \param file    a regular file that matches; untrusted
    /// \param output  a .tscope file, created if it does not exist
    /// \throws Error  the file is damaged or too large, or the output cannot be written; `output` is
    ///                unchanged then
    virtual ImportResult run(const std::filesystem::path& file,
                             const std::filesystem::path& output) const = 0;

    static constexpr Bytes kHead{4096};
};

/// Every format that Tilescope imports.
std::span<const Importer* const> importers();

/// The importer whose format a file has.
/// \throws Error (Usage)  the file cannot be read, is not a regular file, or has no known format; lists the
///                        formats
const Importer& importerFor(const std::filesystem::path& file);

} // namespace tilescope::exchange
