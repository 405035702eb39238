#pragma once

#include "core/store/file/database.h"
#include "core/store/rows/chunk_directory.h"
#include "core/store/rows/chunks.h"
#include "core/store/rows/event_cursor.h"
#include "core/store/rows/event_rows.h"
#include "core/store/rows/lanes.h"
#include "core/store/rows/read_connection.h"
#include "core/store/rows/read_count.h"
#include "core/store/rows/run_record.h"

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::store {

/// The rows of a file, compared with the checksums of their chunks when read. The implementation of RunReader, and the source
/// for merging and compacting.
///
/// One thread. Only use() and knownText() may be called outside a use().
class StoredRows : public RowResolver {
public:
    template <class Event> using Take = std::function<bool(const Event&)>;

    explicit StoredRows(std::filesystem::path path) : connection(std::move(path)) {}
    virtual ~StoredRows() = default;
    StoredRows(const StoredRows&) = delete;
    StoredRows& operator=(const StoredRows&) = delete;

    /// Runs `work` on one snapshot of the file.
    template <class Work> decltype(auto) use(Work&& work)
    {
        return translating(file(), [&]() -> decltype(auto) {
            const ReadConnection::Use using_(connection);
            return work();
        });
    }

    /// The numbers of all runs, ascending.
    /// \throws Error  not all that were written are there
    std::vector<RunId> runIds();
    std::vector<RunRecord> runs(std::optional<std::int64_t> only);
    /// From one number to another; ends early where `take` returns false.
    void eachRun(std::int64_t first, std::int64_t last, const std::function<bool(RunRecord&&)>& take);
    RowFrame frameOf(RunId run);
    const ChunkDirectory& directory(RunId run, std::string_view table);
    /// The tables that have rows of the run, sorted.
    std::vector<std::string> tablesOf(RunId run);
    /// Rows of a table other than an event table.
    template <class TakeRow> void eachRow(RunId run, std::string_view table, TakeRow&& take);
    /// Reads the rows of several runs, one run after the other.
    template <class TakeRow>
    void eachRow(std::span<const RunId> runs, std::string_view table, TakeRow&& take);
    /// Rows of a small table that belongs to no run.
    template <class TakeRow> void eachSharedRow(std::string_view table, TakeRow&& take);
    EventCursor cursor(EventKind kind, const EventWindow& window, const RowFrame& frame);
    /// All rows of one event table.
    EventCursor allOf(EventKind kind, RunId run);
    template <class Event, class From>
    void eachEvent(EventKind kind, const EventWindow& window, From&& from, const Take<Event>& take);
    void eachDeviceEvent(const EventWindow& window, const Take<DeviceEvent>& take);

    TraceBatch newEvents(RunId run, EventMark& mark, std::size_t most);
    /// The pieces of a track, in order. `take` gets the bytes of a piece and returns the number of its boxes
    /// or points; none ends the reading.
    /// \throws Error  pieces are missing
    template <class TakePiece> void eachPiece(RunId run, const TrackInfo& track, TakePiece&& take);
    /// The packed boxes or points of a track.
    /// \throws Error  some are missing
    template <class Item, class Unpack, class TakeItems>
    void eachPacked(RunId run, const TrackInfo& track, Unpack&& unpack, TakeItems&& take);

    const LaunchConfig& launch(std::int64_t id) override;
    int value(WordSet set, std::int64_t id) override;
    std::string_view text(std::int64_t id);
    /// Where it was read before; may be called outside a use().
    std::optional<std::string_view> knownText(std::int64_t id) const
    {
        const auto known = texts_.find(id);
        return known == texts_.end() ? std::nullopt : std::optional<std::string_view>(known->second);
    }

    SQLite::Database& database() { return connection.database(); }
    const std::filesystem::path& file() const { return connection.file(); }
    [[noreturn]] void damaged(const std::string& what) const
    {
        throw Error{.what = "the file is damaged: " + what,
                    .where = file().string(),
                    .remedy = "use a copy of it, or run `tilescope verify` to see what is intact"};
    }

    ReadConnection connection;

private:
    struct Directories {
        std::uint64_t generation = 0; ///< of the connection when it was last looked at
        std::map<std::string, ChunkDirectory, std::less<>> byTable;
    };
    void refresh(std::int64_t run, Directories& directories);
    void requireRuns(std::int64_t first, std::int64_t last, std::int64_t found);
    void requireTexts(std::int64_t id);
    /// The ids of rows, from a query of kChunkColumns.
    static std::vector<IdInterval> intervalsOf(SQLite::Statement& chunk);
    void readNew(EventKind kind, const IdInterval& ids, const RowFrame& frame, EventMark& mark,
                 TraceBatch& batch);

    std::unordered_map<std::int64_t, std::string> texts_;
    ChunkDirectory textChunks_;
    std::map<std::int64_t, std::int64_t>
        checkedTexts_; ///< first and last id of the texts that agree with their chunk
    std::unordered_map<std::int64_t, LaunchConfig> launches_;
    const std::pair<const std::int64_t, LaunchConfig>* lastLaunch_ = nullptr;
    std::array<std::vector<std::pair<std::int64_t, int>>, kWordSets> values_; ///< by id
    std::unordered_map<std::int64_t, Directories> directories_;               ///< by run
    std::int64_t edition_ = -1;
};

template <class TakeRow> void StoredRows::eachRow(RunId run, std::string_view table, TakeRow&& take)
{
    eachRow(std::span(&run, 1), table, [&take](RunId, SQLite::Statement& row) { take(row); });
}

template <class TakeRow>
void StoredRows::eachRow(std::span<const RunId> runs, std::string_view table, TakeRow&& take)
{
    const std::string name(table);
    const StatementCache::Handle chunk =
        connection.query(std::string("select ") + kChunkColumns + " from chunk where run = ? and source = ?");
    chunk->bind(2, name);
    const StatementCache::Handle query =
        connection.query("select * from " + name + " where id between ? and ? and run = ? order by id");
    SQLite::Statement& row = *query;
    const int columns = row.getColumnCount();
    const int idColumn = row.getColumnIndex("id");
    for (const RunId run : runs) {
        chunk->bind(1, run.value);
        for (const IdInterval& ids : intervalsOf(*chunk)) {
            row.bind(1, ids.first);
            row.bind(2, ids.last);
            row.bind(3, run.value);
            std::int64_t rows = 0;
            std::uint64_t sum = 0;
            std::int64_t before = ids.first - 1;
            bool isInOrder = true; // not on pages in each other's place
            for (; isInOrder && row.executeStep(); ++rows) {
                const std::int64_t id = row.getColumn(idColumn).getInt64();
                isInOrder = id > before;
                before = id;
                sum += digestOf(row, columns).value();
                if (isInOrder)
                    take(run, row);
            }
            row.reset();
            if (!isInOrder || rows != ids.rows || (sum != ids.sum && connection.hasChecksums()))
                damaged("in the table " + name + " the rows of run " + std::to_string(run.value) +
                        " are not as they were written");
        }
    }
}

template <class TakeRow> void StoredRows::eachSharedRow(std::string_view table, TakeRow&& take)
{
    const std::string name(table);
    SQLite::Statement chunk(database(),
                            std::string("select ") + kChunkColumns + " from chunk where source = ?");
    chunk.bind(1, name);
    std::int64_t rows = 0;
    std::uint64_t sum = 0;
    while (chunk.executeStep()) {
        const Chunk written = chunkAt(chunk);
        rows += written.rows;
        sum += written.sum;
    }
    SQLite::Statement row(database(), "select * from " + name + " order by id");
    const int columns = row.getColumnCount();
    const int idColumn = row.getColumnIndex("id");
    std::int64_t before = std::numeric_limits<std::int64_t>::min();
    bool isInOrder = true;
    for (; isInOrder && row.executeStep(); --rows) {
        const std::int64_t id = row.getColumn(idColumn).getInt64();
        isInOrder = id > before;
        before = id;
        sum -= digestOf(row, columns).value();
        if (isInOrder)
            take(row);
    }
    if (!isInOrder || rows != 0 || (sum != 0 && connection.hasChecksums()))
        damaged("the rows of the table " + name + " are not as they were written");
}

template <class TakePiece> void StoredRows::eachPiece(RunId run, const TrackInfo& track, TakePiece&& take)
{
    SQLite::Statement row(database(),
                          "select data from track_data where track = ? and run = ? order by first");
    row.bind(1, track.id);
    row.bind(2, run.value);
    std::int64_t count = 0;
    while (row.executeStep()) {
        const SQLite::Column data = row.getColumn(0);
        const std::optional<std::size_t> items = take(std::string_view(
            static_cast<const char*>(data.getBlob()), static_cast<std::size_t>(data.getBytes())));
        if (!items)
            return;
        count += static_cast<std::int64_t>(*items);
    }
    if (count != track.events)
        damaged("packed events of run " + std::to_string(run.value) + " are missing");
}

template <class Item, class Unpack, class TakeItems>
void StoredRows::eachPacked(RunId run, const TrackInfo& track, Unpack&& unpack, TakeItems&& take)
{
    std::vector<Item> items;
    eachPiece(run, track, [&](std::string_view bytes) {
        items.clear();
        unpack(bytes, items);
        ReadCount::add(static_cast<std::int64_t>(items.size()));
        return take(items) ? std::optional(items.size()) : std::nullopt;
    });
}

template <class Event, class From>
void StoredRows::eachEvent(EventKind kind, const EventWindow& window, From&& from, const Take<Event>& take)
{
    const RowFrame frame = frameOf(window.run);
    EventCursor rows = cursor(kind, window, frame);
    while (const std::int64_t* row = rows.next())
        if (!take(from(row, frame, *this)))
            return;
}

} // namespace tilescope::store
