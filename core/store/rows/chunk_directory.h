#pragma once

#include "core/store/rows/chunks.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilescope::store {

/// The ids `first` to `last`, inclusive, which contain `rows` rows with the sum `sum` of their digests.
struct IdInterval {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t rows = 0;
    std::uint64_t sum = 0;
};

/// The ids of one table's rows of a run, and the times of their events. Replaces an index on time.
class ChunkDirectory {
public:
    void add(const Chunk& chunk);
    /// After the last add() and before a question. O(n log n) where something was added.
    void arrange();

    /// Number of the newest chunk it knows.
    std::int64_t newest() const { return newest_; }
    /// Number of rows in all.
    std::int64_t rows() const { return rows_; }

    /// What to read to find every event that may overlap [begin, end); in id order, not overlapping.
    /// O(log n + chunks between), and n where some event lasts for the whole run.
    std::vector<IdInterval> overlapping(std::int64_t begin, std::int64_t end) const;
    std::vector<IdInterval> all() const;
    /// What to read to check the row with that id; none if no chunk has it. O(chunks).
    std::optional<IdInterval> around(std::int64_t id) const;

private:
    struct Entry {
        IdInterval ids;
        std::int64_t start = kNull; ///< of the earliest event; kNull for other rows
        std::int64_t end = kNull;
    };
    static std::int64_t firstId(const Entry& entry) { return entry.ids.first; }

    std::vector<Entry> chunks_; // by first id
    // Chunks with overlapping ids are read together, because only their combined rows and sum are exact.
    std::vector<Entry> groups_;           // by start
    std::vector<std::int64_t> latestEnd_; // of the groups up to each
    std::int64_t newest_ = 0;
    std::int64_t rows_ = 0;
    bool arranged_ = true;
};

} // namespace tilescope::store
