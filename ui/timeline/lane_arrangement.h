#pragma once

#include "ui/timeline/timeline_layout.h"

#include <QString>

#include <functional>
#include <string>
#include <vector>

namespace tilescope::ui {

/// The user's arrangement of the lanes of a file. Lanes are identified by their kind and name (memory,
/// thread `main`, stream 7), so it applies to all runs of the file. Plain data; GUI thread for reading and
/// writing.
struct LaneArrangement {
    struct Entry {
        std::string key;
        bool folded = false;
        bool hidden = false;
        double tall = 1;
        bool pinned = false;

        bool operator==(const Entry&) const = default;
    };
    std::vector<Entry> lanes; ///< from the top

    bool operator==(const LaneArrangement&) const = default;

    /// The arrangement saved for that file; empty if there is none.
    static LaneArrangement read(const QString& file);
    /// Saves it in the settings, which keep the most recent files only.
    void write(const QString& file) const;
};

/// The identity of a lane, without the number of its thread: "thread main", "stream 7", "memory".
std::string laneKey(const query::Timeline& timeline, std::size_t lane);

/// Changes a lane and the same lane of every other run.
/// \pre there is such a lane
void changeLane(std::vector<TimelineSection>& sections, LanePlace place,
                const std::function<void(LaneView&)>& change);
/// Moves a lane to the position of another lane of its section, in every run that has both. False if there is
/// no such position.
bool moveLane(std::vector<TimelineSection>& sections, LanePlace place, std::size_t to);

LaneArrangement arrangementOf(const TimelineSection& section);

/// Arranges a section's lanes. Lanes that are not in the arrangement stay below their predecessor in the
/// natural order.
void arrange(TimelineSection& section, const LaneArrangement& arrangement);

} // namespace tilescope::ui
