#pragma once

#include "ui/timeline/timeline_layout.h"

#include <QString>

#include <functional>
#include <string>
#include <vector>

namespace tilescope::ui {

/// How somebody arranged the lanes of a file. Lanes are known by what they are (the memory, the thread
/// `main`, stream 7), so that it holds for all runs of the file. Plain data; GUI thread for reading and
/// writing.
struct LaneArrangement {
    struct Entry {
        std::string key;
        bool folded = false;
        bool hidden = false;
        double tall = 1;

        bool operator==(const Entry&) const = default;
    };
    std::vector<Entry> lanes; ///< from the top

    bool operator==(const LaneArrangement&) const = default;

    /// As it was last left for that file; empty where it was never changed.
    static LaneArrangement read(const QString& file);
    /// Remembers it among the settings; files that were not looked at for long are forgotten.
    void write(const QString& file) const;
};

/// What a lane is, whatever number the system gave its thread: "thread main", "stream 7", "memory".
std::string laneKey(const query::Timeline& timeline, std::size_t lane);

/// Changes a lane and the same lane of every other run. \pre there is such a lane
void changeLane(std::vector<TimelineSection>& sections, LanePlace place,
                const std::function<void(LaneView&)>& change);
/// Moves a lane to where another lane of its section is, in every run that has both. False where there is no
/// such place.
bool moveLane(std::vector<TimelineSection>& sections, LanePlace place, std::size_t to);

LaneArrangement arrangementOf(const TimelineSection& section);

/// Arranges a section's lanes. Those that the arrangement does not know stay below the one that they stand
/// below by nature.
void arrange(TimelineSection& section, const LaneArrangement& arrangement);

} // namespace tilescope::ui
