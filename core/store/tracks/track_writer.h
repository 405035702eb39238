#pragma once

#include "core/store/rows/event_rows.h"
#include "core/store/rows/lanes.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/rows/writable_file.h"
#include "core/store/tracks/totals_writer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace tilescope::store {

/// Writes the tracks of a run: its boxes by lane and row, packed (`track`, `track_data`); and its totals.
///
/// It reads the run's events from the file that is being written, in start order, table by table; memory does not
/// grow with their number. If the caller adds the events instead, the packed boxes wait in memory, about six bytes
/// each. Part of the transaction in which the run is sealed.
class TrackWriter final : RowResolver {
public:
    /// Runs of fewer events get no tracks: a reader makes them as fast as it would read them.
    static constexpr std::int64_t kFewestEvents = 50'000;
    /// A run of more tracks than one for so many boxes gets none either: each would cost more than its boxes.
    static constexpr std::int64_t kFewestPerTrack = 4;

    /// \pre the file's appenders are flushed
    static bool hasEnough(WritableFile& target, std::int64_t run);

    /// \pre the run's processes, devices, streams and threads are in the file
    TrackWriter(WritableFile& target, std::int64_t run);
    ~TrackWriter();

    /// Reads the run's events and writes tracks and totals.
    /// \pre the file's appenders are flushed, and hasEnough()
    void write();

    /// Takes an event that has boxes. Ranges arrive in start order, ops and calls together, and device events
    /// together, after all others. Uses neither the file nor its connection, so that any one thread may call it.
    void add(const EventRow& row);
    /// Writes tracks and totals of what was added. Only allocations are read from the file.
    void writeAdded();

private:
    /// Boxes packed together.
    static constexpr std::size_t kPacked = 4096;

    struct Track;
    struct Lane;
    /// Packed boxes or points of a track, to be written.
    struct Piece {
        Track* track = nullptr;
        std::int64_t first = 0;
        std::int64_t events = 0;
        std::int64_t start = 0;
        std::int64_t end = 0;
        std::string bytes;
    };
    using LaneKey = std::tuple<LaneKind, DeviceIndex, StreamId, ThreadId>;

    void read(EventKind kind);
    void read(EventKind first, EventKind second);
    void take(const EventRow& row);
    void readMemory();

    /// \param isLaunched  its launch was recorded; the time of the launch may be 0
    void add(const DeviceEvent& event, bool isLaunched);
    void endDevices();
    /// Neither tracks nor totals depend on it.
    const LaunchConfig& launch(std::int64_t id) override;
    int value(WordSet set, std::int64_t id) override;

    Lane& lane(const TrackInfo& info);
    Track& track(Lane& lane, std::size_t row);
    void add(const LaneBox& event);
    void pack(Track& track);
    void packPointsOf(Track& track);
    void keep(Track& track, std::int64_t events, std::int64_t start, std::string&& bytes);
    void writePieces();
    std::vector<Track*> allTracks() const;
    void finish();

    WritableFile& target_;
    const std::int64_t run_;
    const StringId stepPath_; ///< string.id of `step`
    const RowFrame frame_;    ///< times count from the run's start
    RowInserter tracks_;
    RowInserter data_;
    TotalsWriter totals_;
    std::map<LaneKey, std::unique_ptr<Lane>> lanes_;
    Lane* lastLane_ = nullptr;
    LaneKey lastKey_;
    std::vector<Piece> pieces_;
};

} // namespace tilescope::store
