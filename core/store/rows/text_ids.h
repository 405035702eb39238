#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace tilescope::store {

/// Finds the id of a text among those of a file.
///
/// The table `string` has no index of its texts: SQLite's would hold each of them a second time, and would read long ones
/// whole whenever it compares them. A writer keeps their hashes in memory instead, about 50 bytes a text.
/// \throws SQLite::Exception  from any member
class TextIds {
public:
    using Hash = std::size_t (*)(std::string_view text);

    /// Reads every text of the file once.
    explicit TextIds(SQLite::Database& database, Hash hash = hashOf);

    /// The id of a text; none if the file lacks it. Reads the text of the file that has the same hash.
    std::optional<std::int64_t> find(std::string_view text);
    /// Adds a text that find() does not find, with the id that it has been inserted with.
    void add(std::string_view text, std::int64_t id);

private:
    static std::size_t hashOf(std::string_view text);
    bool isTextOf(std::int64_t id, std::string_view text);

    const Hash hash_;
    std::unordered_multimap<std::size_t, std::int64_t> ids_; ///< by the hash of the text
    SQLite::Statement textOf_;
};

} // namespace tilescope::store
