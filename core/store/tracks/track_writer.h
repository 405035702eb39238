#pragma once

#include "core/store/rows/lanes.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/rows/writable_file.h"
#include "core/store/tracks/totals_writer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace tilescope::store {

/// Writes the tracks of a run: its boxes by lane and row, packed (`track`, `track_data`).
///
/// Passes the rows to a TotalsWriter as it reads them.
///
/// Reads the run's events from the file that is being written, in start order, table by table; memory does
/// not grow with their number. Part of the transaction in which the run is sealed.
class TrackWriter {
public:
    /// Runs of fewer events get no tracks: a reader makes them as fast as it would read them.
    static constexpr std::int64_t kFewestEvents = 50'000;

    /// \pre the file's appenders are flushed
    TrackWriter(WritableFile& target, std::int64_t run);
    ~TrackWriter();

    void write();

private:
    /// Boxes packed together.
    static constexpr std::size_t kPacked = 4096;

    struct Track;
    struct Lane;
    using LaneKey = std::tuple<LaneKind, DeviceIndex, StreamId, ThreadId>;

    std::int64_t events() const;
    std::string select(Source source, const char* columns) const;
    void writeRanges();
    ApiKind callKind(std::int64_t word) const;
    void writeThreads();
    void writeDevices();
    void writeMemory();

    Lane& lane(const TrackInfo& info);
    Track& track(Lane& lane, std::size_t row);
    void add(const LaneBox& event);
    void flush(Track& track);
    void flushPoints(Track& track);
    void finish();

    WritableFile& target_;
    const std::int64_t run_;
    RowInserter tracks_;
    RowInserter data_;
    TotalsWriter totals_;
    std::map<LaneKey, std::unique_ptr<Lane>> lanes_;
    Lane* lastLane_ = nullptr;
    LaneKey lastKey_;
};

} // namespace tilescope::store
