#pragma once

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/events.h"
#include "core/model/run.h"
#include "core/model/strings.h"
#include "core/store/file/new_file.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tilescope {
struct CounterTrack;
struct HostSamples;
struct KernelSamples;
struct MemoryFacts;
struct RunTopology;
} // namespace tilescope

namespace tilescope::store {

/// Facts of a run that are known before it starts.
struct RunHeader {
    std::string name;
    std::string workload;
    std::string specJson;                   ///< config::toJson
    std::string specHash;                   ///< config::specHash
    std::string program;                    ///< "Tilescope 0.1.0 (commit)"
    std::optional<std::int64_t> point = {}; ///< position in its sweep, from 0; keeps merged shards in order
    /// When an imported recording began (0: unknown), and its clock at that moment; none: now.
    std::optional<std::int64_t> startedUnixNs = {};
    std::optional<Timestamp> clockOrigin = {};
    /// Events beyond this number are not stored; they are counted as the loss `event_cap`.
    std::int64_t eventCap = 50'000'000;
    /// Declares that the events of each kind arrive in start order, device events last, all after the run's
    /// topology and threads. Tracks are then made while events are written.
    bool isInOrder = false;
    /// beginRun() refuses to start with less free space than this on the file's disk.
    Bytes freeBytesNeeded{64LL << 20};
};

/// The only write connection to a .tscope file; appends runs, never overwrites one.
///
/// One thread at a time may call it (the engine's writer thread). It opens or creates the file, takes the
/// writer lock and holds it until destroyed; destroying it seals the file (checkpointed, one plain file), unless
/// it is a new one that appears when sealed: seal() does that.
/// \throws Error  from any member: not ours, newer, damaged, read-only, locked by another writer, disk full
class RunWriter {
public:
    RunWriter(const std::filesystem::path& file, const StringTable& strings,
              NewFile newFile = NewFile::AtOnce);
    ~RunWriter();
    RunWriter(const RunWriter&) = delete;
    RunWriter& operator=(const RunWriter&) = delete;

    /// Starts a run with status `running` and returns its number. One run is open at a time.
    RunId beginRun(const RunHeader& header);
    /// Reopens a run whose writing process ended first, so that endRun() can end it.
    /// \throws Error  there is no interrupted run with that number
    void reopenRun(RunId run);
    void writeEnvironment(std::span<const EnvironmentEntry> entries);
    void writeSamples(std::span<const Sample> samples);
    /// Hardware counters of its ranges.
    void writeCounters(std::span<const CounterValue> counters);
    /// Adds the counters read while the run was traced; each counter once.
    void writeCounterTracks(std::span<const CounterTrack> tracks);
    /// The Python stacks of its threads, one element for each process; once a run at most. The samples of a thread are by
    /// time.
    void writeHostSamples(std::span<const HostSamples> samples);
    /// What the warps of its kernels did at sampled instants; once a run at most.
    void writeKernelSamples(const KernelSamples& samples);
    void writeMemory(const MemoryFacts& facts);
    /// Processes, devices, streams and clocks; once a run at most.
    void writeTopology(const RunTopology& topology);
    /// Belong to the file, not to a run: none need be open.
    void writeCeilings(std::span<const Ceiling> ceilings);
    /// Events, threads and losses. Each call is part of the current transaction.
    void write(const TraceBatch& batch);
    /// Makes everything so far durable and visible to readers; also renews the heartbeat.
    void commit();
    /// Ends the run: result, indexes of its events, counts and checksums; commits.
    void endRun(const RunResult& result);
    /// Seals the file. Call it last, when no run is open.
    void seal();

    /// Events of the run last begun that the cap kept out; also stored as its loss `event_cap`.
    std::int64_t eventsOverCap() const;
    std::string uid() const; ///< UUID of the open run
    /// Pages that SQLite looked at so far, each as often as it did: work that grows with the size of what it compares.
    std::int64_t pagesLookedAt() const;
    RunId run() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::store
