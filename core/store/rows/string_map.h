#pragma once

#include "core/base/mutex.h"
#include "core/model/strings.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/rows/text_ids.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::store {

struct LaunchHash {
    std::size_t operator()(const LaunchConfig& launch) const noexcept;
};

/// The writer's map from the strings, enumerations and launches of the process to the ids of the file. Adds
/// those that the file lacks.
class StringMap final : public RowInterner {
public:
    StringMap(SQLite::Database& database, ChunkWriter& chunks, const StringTable& strings);

    std::int64_t text(StringId id) override;
    std::int64_t kernelName(StringId id) override;
    std::int64_t word(WordSet set, std::size_t value) override
    {
        return words_[static_cast<std::size_t>(set)][value];
    }
    std::int64_t launch(const LaunchConfig& launch) override;

    /// The text behind an id of the process.
    std::string_view textOf(StringId id) const { return strings_.text(id); }
    /// The text behind an id of the file that text() or kernelName() gave; none for other ids. Any thread may call it.
    std::optional<std::string_view> givenText(std::int64_t id) const;
    /// The file's id of a text.
    std::int64_t intern(std::string_view text);
    /// Like id(), for a kernel's name; the file also stores its short name.
    std::int64_t internKernel(std::string_view text);

private:
    std::int64_t addText(StringId id);
    void addKernelName(std::int64_t id, std::string_view text);
    void loadLaunches();

    const StringTable& strings_;
    TextIds textIds_;
    SQLite::Statement findKernelName_;
    RowInserter insertText_;
    RowInserter insertKernelName_;
    RowInserter insertLaunch_;
    SQLite::Database& database_;
    std::vector<std::int64_t> ids_;  ///< by the process's id; 0: not looked up yet
    std::vector<bool> hasShortName_; ///< by the process' id
    mutable Mutex givenMutex_;
    std::unordered_map<std::int64_t, StringId> given_ GUARDED_BY(givenMutex_); ///< by the file's id
    std::array<std::array<std::int64_t, kMostWords>, kWordSets> words_{};
    std::unordered_map<LaunchConfig, std::int64_t, LaunchHash> launches_;
};

} // namespace tilescope::store
