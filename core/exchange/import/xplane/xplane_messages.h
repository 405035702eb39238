#pragma once

// The messages of xplane.proto (openxla/xla, third_party/tsl/tsl/profiler/protobuf). Names and texts are views
// into the file's bytes.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

/// The bytes are not the message. Caught where the file's name is known.
struct XplaneDamage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct XStat {
    std::int64_t key = 0; ///< of the plane's stat_metadata
    std::optional<std::int64_t> number;
    std::string_view text; ///< a string, or the name that a reference stands for
};

struct XEvent {
    std::int64_t key = 0; ///< of the plane's event_metadata
    std::int64_t offsetPs = 0;
    std::int64_t durationPs = 0;
    bool isSum = false; ///< stands for several events
    std::vector<XStat> stats;
};

struct XLine {
    std::int64_t id = 0;
    std::string_view name;
    std::int64_t timestampNs = 0;
    std::string_view bytes; ///< of the line; events are read from them as needed
    const std::map<std::int64_t, std::string_view>* statNames = nullptr;

    std::int64_t countEvents() const;
    /// Reads the events in turn; the event is reused.
    /// \throws XplaneDamage
    void eachEvent(const std::function<void(const XEvent&)>& take) const;
};

struct XPlane {
    std::string_view name;
    std::vector<XLine> lines;
    std::vector<XStat> stats;
    std::map<std::int64_t, std::string_view> eventNames;
    std::map<std::int64_t, std::string_view> statNames;

    std::string_view nameOf(const XEvent& event) const;
    /// A stat by its name; null if there is none.
    const XStat* stat(std::string_view name) const;
    const XStat* stat(const XEvent& event, std::string_view name) const;
};

struct XSpace {
    /// \param bytes  of a whole file; must outlive this
    /// \throws XplaneDamage
    explicit XSpace(std::string_view bytes);
    XSpace(const XSpace&) = delete;
    XSpace& operator=(const XSpace&) = delete;

    std::deque<XPlane> planes; ///< never moved: their lines refer to them
    std::string host;
};

/// The name of the first plane, from the first bytes of a file; empty if they are not of such a file.
std::string_view firstPlaneName(std::string_view head);

} // namespace tilescope::exchange
