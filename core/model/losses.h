#pragma once

#include "core/model/events.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilescope {

class StringTable;

/// A kind of record that a recording lacks or has changed. Stored by name, with a count and a sentence.
enum class RecordLoss : std::uint8_t {
    AllocationRingOverflow,
    AllocationTotalDrift,
    ApiCallsNotStored,
    BeginEndEvents,
    CallerAmbiguous,
    ClampedTime,
    CollectivesUnmatched,
    CuptiDropped,
    CuptiNotFlushed,
    DeviceNotRead,
    DeviceNotSynchronized,
    DuplicateActivity,
    DuplicateCall,
    EndedAfterWait,
    EventCap,
    GraphLaunchesWhole,
    LaunchWithoutActivity,
    MemoryUnmatched,
    MetricSamplesDropped,
    MetricSamplesLost,
    NamesMerged,
    NegativeDuration,
    NestedTooDeep,
    NoTimestamp,
    OpenRange,
    OutlastsSuccessor,
    PathsShortened,
    PcBufferFull,
    PcSamplesDropped,
    RingOverflow,
    SnapshotAction,
    SnapshotOrder,
    SnapshotOverflow,
    SnapshotNotFollowed,
    SnapshotRequestsSkipped,
    SnapshotCompletionsSkipped,
    SnapshotTurnedBack,
    SnapshotUntimed,
    SourceCut,
    SourceDropped,
    SourceNotJson,
    SourceNotStored,
    SourceRepeated,
    SourceText,
    SourceUnreadable,
    SourceValue,
    StacksMerged,
    StartsBeforeLaunch,
    StepsCut,
    ThreadsRefused,
    TimeOutOfRange,
    TruncatedRecord,
    UnknownKind,
    UnlaunchedActivity,
    UnmatchedCorrelation,
    UnmatchedGraphNode,
    UnmatchedShapes,
    UnreadableBuffer,
};

struct LossInfo {
    RecordLoss kind;
    std::string_view name; ///< in files; never changes
    LossSeverity
        severity; ///< Info: the figures are valid; Warning: they are doubtful; Error: records are missing
    std::string_view sentence; ///< what is counted, without the full stop
};

/// Every loss that there is, in the order of RecordLoss, which is that of the names. Nothing else is stored.
inline constexpr LossInfo kLosses[] = {
    {RecordLoss::AllocationRingOverflow, "allocation_ring_overflow", LossSeverity::Error,
     "allocator events that arrived faster than they were read"},
    {RecordLoss::AllocationTotalDrift, "allocation_total_drift", LossSeverity::Warning,
     "bytes by which the sum of the events differs from the allocator's own count"},
    {RecordLoss::ApiCallsNotStored, "api_calls_not_stored", LossSeverity::Info,
     "cudaGetDevice, cudaGetLastError and similar calls in one step: counted only"},
    {RecordLoss::BeginEndEvents, "begin_end_events", LossSeverity::Error,
     "begin and end events (phases B and E) beside complete ones (X); they are not read"},
    {RecordLoss::CallerAmbiguous, "caller_ambiguous", LossSeverity::Warning,
     "device activities that calls of several processes of a joined file may have launched; import the files "
     "of the "
     "ranks instead"},
    {RecordLoss::ClampedTime, "clamped_time", LossSeverity::Warning,
     "device activities that started before their launch; moved to it"},
    {RecordLoss::CollectivesUnmatched, "collectives_unmatched", LossSeverity::Warning,
     "collectives whose kernel is not in the recording; they are not stored"},
    {RecordLoss::CuptiDropped, "cupti_dropped", LossSeverity::Error,
     "activity records that found no free buffer"},
    {RecordLoss::CuptiNotFlushed, "cupti_not_flushed", LossSeverity::Error,
     "CUPTI did not deliver its last records"},
    {RecordLoss::DeviceNotRead, "device_not_read", LossSeverity::Error,
     "events of devices that Tilescope does not read; no figure contains them"},
    {RecordLoss::DeviceNotSynchronized, "device_not_synchronized", LossSeverity::Error,
     "the device failed before its last activities were complete"},
    {RecordLoss::DuplicateActivity, "duplicate_activity", LossSeverity::Warning,
     "device activities that the source holds twice; stored once"},
    {RecordLoss::DuplicateCall, "duplicate_call", LossSeverity::Warning,
     "ops and calls that the source holds twice; stored once"},
    {RecordLoss::EndedAfterWait, "ended_after_wait", LossSeverity::Warning,
     "device activities that ended, by their clock, after the host had waited for them: the clocks drifted "
     "apart"},
    {RecordLoss::EventCap, "event_cap", LossSeverity::Warning,
     "events beyond the run's cap; they were not stored"},
    {RecordLoss::GraphLaunchesWhole, "graph_launches_whole", LossSeverity::Info,
     "launches of CUDA graphs that the source holds as one activity each, without their kernels"},
    {RecordLoss::LaunchWithoutActivity, "launch_without_activity", LossSeverity::Warning,
     "launches whose kernels are not in the recording"},
    {RecordLoss::MemoryUnmatched, "memory_unmatched", LossSeverity::Info,
     "allocations that the reference step did not make; they count as temporary"},
    {RecordLoss::MetricSamplesDropped, "metric_samples_dropped", LossSeverity::Info,
     "samples of metrics that cannot be true: above 100 %, or shorter than the interval"},
    {RecordLoss::MetricSamplesLost, "metric_samples_lost", LossSeverity::Warning,
     "samples of metrics for which there was no room: the lanes have holes there"},
    {RecordLoss::NamesMerged, "names_merged", LossSeverity::Warning,
     "ranges and ops that share a name without its number, as there were too many different names"},
    {RecordLoss::NegativeDuration, "negative_duration", LossSeverity::Warning,
     "activities that ended before they started; their duration is set to 0"},
    {RecordLoss::NestedTooDeep, "nested_too_deep", LossSeverity::Error,
     "ranges or ops nested too deep to be recorded"},
    {RecordLoss::NoTimestamp, "no_timestamp", LossSeverity::Error,
     "device activities and other events without a usable time; they are not stored"},
    {RecordLoss::OpenRange, "open_range", LossSeverity::Warning,
     "ranges that were open when the source's recording ended; they end with it"},
    {RecordLoss::OutlastsSuccessor, "outlasts_successor", LossSeverity::Warning,
     "kernels that end after the next kernel of their stream has ended: a time is wrong; their steps get no "
     "verdict"},
    {RecordLoss::PathsShortened, "paths_shortened", LossSeverity::Warning,
     "ranges that have the path of the range around them, as the text of all paths would exceed its limit"},
    {RecordLoss::PcBufferFull, "pc_buffer_full", LossSeverity::Warning,
     "times that the GPU's buffer of kernel samples was full: the samples until it was emptied are missing"},
    {RecordLoss::PcSamplesDropped, "pc_samples_dropped", LossSeverity::Warning,
     "samples of kernels that the GPU dropped; shares of instructions may be off by as much"},
    {RecordLoss::RingOverflow, "ring_overflow", LossSeverity::Error,
     "host records that arrived faster than they were read"},
    {RecordLoss::SnapshotAction, "snapshot_action", LossSeverity::Warning, "events with an unknown action"},
    {RecordLoss::SnapshotOrder, "snapshot_order", LossSeverity::Warning,
     "events or blocks that do not fit the segments at the end: the trace may be incomplete"},
    {RecordLoss::SnapshotOverflow, "snapshot_overflow", LossSeverity::Error,
     "snapshots whose trace reached its maximum length: earlier events are missing"},
    {RecordLoss::SnapshotNotFollowed, "snapshot_skipped", LossSeverity::Error,
     "events of a trace without any alloc: only the allocations at its end are shown"},
    {RecordLoss::SnapshotRequestsSkipped, "snapshot_skipped", LossSeverity::Info,
     "free_requested events were not recorded: each is placed right before its free_completed, or at the "
     "end"},
    {RecordLoss::SnapshotCompletionsSkipped, "snapshot_skipped", LossSeverity::Info,
     "free_completed events were not recorded: each is placed right after its free_requested"},
    {RecordLoss::SnapshotTurnedBack, "snapshot_time", LossSeverity::Warning,
     "events with a time before that of the previous event"},
    {RecordLoss::SnapshotUntimed, "snapshot_time", LossSeverity::Info,
     "the snapshot has no times: only the order of events is known"},
    {RecordLoss::SourceCut, "source_cut", LossSeverity::Error,
     "sources that end early: the events after their end are missing"},
    {RecordLoss::SourceDropped, "source_dropped", LossSeverity::Error,
     "messages in which the program that recorded the source reports dropped records"},
    {RecordLoss::SourceNotJson, "source_not_json", LossSeverity::Error,
     "events of the source that are not valid JSON, as PyTorch before 2026 writes for names with quotation "
     "marks; they are not stored"},
    {RecordLoss::SourceNotStored, "source_not_stored", LossSeverity::Info,
     "records of the source of kinds that a recording does not hold"},
    {RecordLoss::SourceRepeated, "source_repeated", LossSeverity::Info,
     "files that hold the same recording as another file of the import; they were left out"},
    {RecordLoss::SourceText, "source_text", LossSeverity::Info,
     "events of the source whose text was repaired: bytes that are not UTF-8 became question marks, control "
     "characters "
     "and single backslashes are kept"},
    {RecordLoss::SourceUnreadable, "source_unreadable", LossSeverity::Error,
     "records of the source with missing, misplaced or impossible values; they are not stored"},
    {RecordLoss::SourceValue, "source_value", LossSeverity::Warning,
     "numbers of the source that are out of range; they count as not recorded"},
    {RecordLoss::StacksMerged, "stacks_merged", LossSeverity::Warning,
     "calls in stacks of Python that count as their caller, as there were too many different stacks"},
    {RecordLoss::StartsBeforeLaunch, "starts_before_launch", LossSeverity::Warning,
     "device activities that start before they are launched: the clocks of host and device differ, or a time "
     "is "
     "wrong; their steps get no verdict"},
    {RecordLoss::StepsCut, "steps_cut", LossSeverity::Info,
     "steps that end where the next one begins, as they overlap"},
    {RecordLoss::ThreadsRefused, "threads_refused", LossSeverity::Error,
     "threads beyond the maximum number of recorded threads"},
    {RecordLoss::TimeOutOfRange, "time_out_of_range", LossSeverity::Error,
     "events whose time stamp is out of range; they are not stored"},
    {RecordLoss::TruncatedRecord, "truncated_record", LossSeverity::Error,
     "activity records cut off by the end of their buffer"},
    {RecordLoss::UnknownKind, "unknown_kind", LossSeverity::Warning,
     "activity records of a kind that was not requested"},
    {RecordLoss::UnlaunchedActivity, "unlaunched_activity", LossSeverity::Info,
     "device activities whose launch is not in the recording; their step follows from their time"},
    {RecordLoss::UnmatchedCorrelation, "unmatched_correlation", LossSeverity::Warning,
     "device activities without a recorded launch; they belong to no step"},
    {RecordLoss::UnmatchedGraphNode, "unmatched_graph_node", LossSeverity::Info,
     "activities of a CUDA graph without a recorded capture; they belong to the phase that replayed it"},
    {RecordLoss::UnmatchedShapes, "unmatched_shapes", LossSeverity::Info,
     "ops and launches in another order than in the step that recorded the shapes"},
    {RecordLoss::UnreadableBuffer, "unreadable_buffer", LossSeverity::Error,
     "the rest of an activity buffer that could not be read"},
};

const LossInfo& infoOf(RecordLoss kind);

/// Whether a loss of this severity counts as lost records. Records left out on purpose have the severity `info`.
inline bool isLost(std::string_view severity)
{
    return severity != "info";
}

/// The sentence of a kind; `addition` follows in parentheses.
std::string lossDetail(RecordLoss kind, std::string_view addition = {});

Loss lossOf(StringTable& strings, RecordLoss kind, std::int64_t count, std::string_view addition = {});

} // namespace tilescope
