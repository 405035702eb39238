#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilescope::exchange {

// The rules by which events of foreign recordings become a run. Importers translate the words of a format and decide
// nothing: what is impossible, doubtful or ambiguous is decided here, the same way for every format. The page
// resources/help/import.md has the same list.

/// Ranges, ops and Python frames of one thread nest at most this deep, each kind for itself. Perfetto's limit.
inline constexpr std::uint16_t kMostNested = 512;
/// Bytes of paths that every recording may have, and those that each range and each byte of a new name add.
inline constexpr std::int64_t kPathBytes = 64 << 10;
inline constexpr std::int64_t kPathBytesPerRange = 160;
inline constexpr std::int64_t kPathBytesPerNameByte = 2;
/// Bytes of the name of an NVTX domain before the name of its ranges.
inline constexpr std::size_t kMostDomain = 64;
/// Events that lie further from the middle event of their clock, of the host if it has any, have no time.
inline constexpr std::int64_t kFarNs = std::int64_t{7} * 24 * 3600 * 1'000'000'000;
/// A kernel may start this much before its launch: the clocks of host and device are converted.
inline constexpr std::int64_t kEarlyNs = 50'000;
/// What starts this much before its launch has a wrong time.
inline constexpr std::int64_t kBeforeLaunchNs = 1'000'000;
/// The ends of one collective on several devices differ by less than this.
inline constexpr std::int64_t kEndsNs = 20'000;

/// No recording becomes larger than so many times the text it was made from, and so many bytes.
inline constexpr std::int64_t kMostOutputPerInput = 8;
inline constexpr std::int64_t kMostOutput = 1'000'000;

/// A rule: what it decides, in one sentence, and the loss or flag that counts its cases.
struct ImportRule {
    std::string_view name;
    std::string_view sentence;
    std::string_view counted; ///< name of the loss or flag; empty: nothing is lost
};

inline constexpr ImportRule kImportRules[] = {
    {"nesting", "An event belongs to the innermost range and op of its thread that contain it whole.", ""},
    {"overlap",
     "Of events that overlap without nesting, the one that started last contains what both contain.", ""},
    {"depth",
     "Ranges, ops and Python frames of a thread nest at most 512 deep, each kind for itself; deeper ones "
     "are left out.",
     "nested_too_deep"},
    {"equal intervals",
     "Of events of one interval, a step contains a module, that a range, that a frame, that an "
     "op, that a call; equal ones nest in the order of the file or of their External ids.",
     ""},
    {"paths",
     "The text of all paths takes at most 160 bytes for each range, twice the text of their different names "
     "and 64 KiB; further ranges get the path of the range around them.",
     "paths_shortened"},
    {"impossible times",
     "An event that ends before it starts has the duration 0; one whose time cannot be read or "
     "is out of range is left out.",
     "negative_duration, source_unreadable, time_out_of_range"},
    {"missing times",
     "A device activity from 0 to 0, and an event more than seven days from the middle host event of "
     "its clock, or without host events from the middle activity, has no time and is left out.",
     "no_timestamp"},
    {"order of a stream",
     "A kernel that ends after the next kernel of its stream has ended keeps its times; the "
     "steps that it lies in get no verdict.",
     "outlasts_successor"},
    {"causes before effects",
     "A device activity that starts more than a millisecond before its launch keeps its times; the steps "
     "that the two lie "
     "in get no verdict.",
     "starts_before_launch"},
    {"duplicates", "A device activity, op or call that equals another one in all its facts is stored once.",
     "duplicate_activity, duplicate_call"},
    {"launches",
     "A device activity is connected to the call with its correlation id in its process, to the outermost of "
     "nested ones and the last one before it of several, without one by External id to its op, and is "
     "otherwise placed by its time.",
     "unlaunched_activity"},
    {"launches without activities",
     "A launch whose kernel is not in the recording is counted; a step in which more than one launch in "
     "twenty lacks its "
     "kernel, or that has no device activity at all, gets no verdict.",
     "launch_without_activity"},
    {"processes",
     "Each process id, number or text, of a host event is a process; device activities of a file with "
     "several processes go to the one that launched them, by label, device, External id, flow and "
     "time.",
     "caller_ambiguous"},
    {"steps",
     "A step that begins before the previous one ends cuts it there; a step within a step is a range.",
     "steps_cut"},
    {"clocks",
     "Clocks of hosts, and of files that name no host, are moved onto the first one's by the ends of their "
     "common collectives if these differ by more than their uncertainty.",
     ""},
    {"the same recording twice",
     "A file with the same text as another one, and a trace beside the profile that it "
     "was made from, is left out; two files of one rank, or with the same events, are refused.",
     "source_repeated"},
    {"devices that are not read", "Events of devices whose format is not read are left out and named.",
     "device_not_read"},
};

/// What applying the rules took, to check that it grows no faster than the recording.
struct RuleWork {
    std::int64_t rows = 0;        ///< looked at
    std::int64_t comparisons = 0; ///< with other rows
    std::int64_t bytes = 0;       ///< of text that the rules made
    std::int64_t pages = 0;       ///< of the recording that SQLite looked at to write it

    std::int64_t sum() const { return rows + comparisons + bytes; }
};

} // namespace tilescope::exchange
