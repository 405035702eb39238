#pragma once

#include "core/base/ids.h"
#include "core/model/events.h"
#include "core/model/losses.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The working file of a recorded process: what the recorder writes while the program runs.
///
/// Append only: a first line with the version, then blocks, each with its length and checksum. Blocks of a killed
/// process are complete but possibly the last, which readers drop. Numbers have the byte order of the machine.
/// Strings are numbered from 0 in the order of the file; kNoString stands for none.
namespace tilescope::record {

inline constexpr std::string_view kWorkingFileLine = "tilescope working file 6\n";
inline constexpr std::uint32_t kNoString = ~0U;

/// A host range. Times are nanoseconds of the process' steady clock, here and below.
struct RangeRow {
    std::int64_t start, end;
    std::uint32_t thread;       ///< of the operating system
    std::uint32_t name;         ///< string
    std::uint32_t step;         ///< number of the step that it is, counted from 1; 0: none
    std::uint32_t backwardPath; ///< string: its path if it is known to be part of the backward pass
};

/// A kernel, copy or memset with its launch.
struct ActivityRow {
    std::int64_t start, end;
    std::int64_t launched; ///< 0: unknown
    std::int64_t bytes;
    std::uint64_t graphNode;
    std::uint32_t name;
    std::uint32_t path; ///< string: of the backward work or the graph node that it is part of, if it is known
    std::uint32_t correlation;
    std::uint32_t launchThread;
    std::uint32_t stream; ///< CUPTI's number
    std::uint32_t launch; ///< index of a LaunchConfig, numbered in the order of the file
    std::int32_t device;  ///< CUDA's number
    std::uint8_t kind;    ///< DeviceEventKind
    std::uint8_t copy;    ///< CopyKind
    std::uint16_t unused;
};

/// A call that waits for the device (kind Synchronize), or time that tracing took (kind Overhead).
struct CallRow {
    std::int64_t start, end;
    std::uint32_t name;
    std::uint32_t correlation;
    std::uint32_t thread;
    std::uint32_t kind; ///< ApiKind
};

/// An operator of PyTorch.
struct OpRow {
    std::int64_t start, end;
    std::int64_t sequence; ///< autograd's number; -1: none
    std::uint32_t thread;
    std::uint32_t name;
    std::uint32_t shapes;     ///< string; kNoString: not recorded
    std::uint32_t isBackward; ///< 1: a node of the backward pass
};

/// A call of a Python function.
struct FrameRow {
    std::int64_t start, end;
    std::uint32_t thread;
    std::uint32_t name; ///< "train.py(12): step"
};

/// An event of an allocator.
struct AllocRow {
    std::int64_t time;
    std::uint64_t address;
    std::int64_t bytes;     ///< 0: a free whose size the reader finds
    std::int64_t allocated; ///< on the device after it; CPU: 0, the reader counts
    std::int64_t reserved;
    std::uint32_t thread;
    std::uint32_t backwardPath; ///< string: path of the backward work that asked for it, if it is known
    std::uint32_t pool;
    std::int32_t device;  ///< CUDA's number; -1: the CPU
    std::uint32_t action; ///< AllocAction
    std::uint32_t unused;
};

/// Memory that the program is known to hold at an instant (HeldStorage).
struct HeldRow {
    std::int64_t time;
    std::uint64_t address;
    std::int64_t bytes;
    std::uint32_t category; ///< string: word of a MemoryCategory
    std::uint32_t name;     ///< string, and so the next two
    std::uint32_t shape;
    std::uint32_t dtype;
    std::int32_t device;
    std::uint32_t unused;
};

/// A collective or point-to-point operation, as the program called it. What it does on a device is the kernel that
/// the call launches.
struct CollectiveRow {
    std::int64_t start;    ///< of the call
    std::int64_t end;      ///< of the operation on the CPU, otherwise of the call
    std::int64_t sequence; ///< number within the group; -1: unknown
    std::int64_t bytes;    ///< message of one rank; -1: unknown
    std::uint32_t thread;
    std::uint32_t op;    ///< string: all_reduce
    std::uint32_t group; ///< string, and so the next two; kNoString: unknown
    std::uint32_t ranks; ///< "0,1,2,3"
    std::uint32_t dtype;
    std::int32_t groupSize; ///< 0: unknown
    std::int32_t peer;      ///< rank, of point-to-point operations; -1: none
    std::uint32_t isOfNccl; ///< 1: a call of NCCL itself, perhaps within a row that the framework noted
};

/// A stack of the host: its last call. Numbered from 0 in the order of the file.
struct StackRow {
    std::uint32_t caller; ///< an earlier one; kNoString: it is outermost
    std::uint32_t name;   ///< string, as of a FrameRow
    std::uint32_t line;   ///< that runs; 0: unknown
    std::uint32_t unused;
};

/// An instant at which a thread had a stack: a launch, with the time of the ActivityRow's `launched`, or a sample.
struct SampleRow {
    std::int64_t time;
    std::uint32_t thread;
    std::uint32_t stack;
    std::uint32_t state; ///< SampleState
    std::uint32_t unused;
};

/// A kernel with samples of program counters. Numbered from 0 in the order of the file.
struct SampledKernelRow {
    std::uint64_t cubin;  ///< CUPTI's checksum of its machine code
    std::int32_t device;  ///< CUDA's number
    std::uint32_t symbol; ///< string: its name in the machine code
    std::uint32_t name;   ///< string, as in an ActivityRow
    std::uint32_t unused;
};

/// Samples of an instruction with one stall reason, read from the GPU in some time. Rows of the same instruction and reason
/// add up.
struct PcSampleRow {
    std::int64_t start, end;
    std::uint64_t offset; ///< bytes from the beginning of the kernel
    std::int64_t samples;
    std::int64_t unissued; ///< those at which the scheduler issued nothing
    std::uint32_t kernel;
    std::uint32_t reason; ///< string: long_scoreboard
};

/// The machine code of a module, as it was loaded.
struct Cubin {
    std::uint64_t checksum = 0;
    std::string code;
};

struct ThreadRow {
    std::uint32_t thread;
    std::uint32_t name;
};

struct DeviceRow {
    std::int32_t ordinal;
    std::uint32_t uuid;
    std::uint32_t name;
    std::uint32_t unused;
};

struct LossRow {
    std::uint32_t name; ///< LossInfo::name
    std::uint32_t detail;
    std::int64_t count;
};

/// One block of events. Counts of losses and records are totals since the start, so the last block holds.
struct WorkingBlock {
    std::vector<std::string> strings;   ///< those that no earlier block has
    std::vector<LaunchConfig> launches; ///< likewise
    std::vector<ThreadRow> threads;
    std::vector<DeviceRow> devices;
    std::vector<RangeRow> ranges;
    std::vector<ActivityRow> activities;
    std::vector<CallRow> calls;
    std::vector<OpRow> ops;
    std::vector<FrameRow> frames;
    std::vector<AllocRow> allocations;
    std::vector<HeldRow> held;
    std::vector<CollectiveRow> collectives;
    std::vector<StackRow> stacks; ///< those that no earlier block has
    std::vector<SampleRow> samples;
    std::vector<SampledKernelRow> sampledKernels; ///< those that no earlier block has
    std::vector<PcSampleRow> pcSamples;
    std::vector<Cubin> cubins; ///< those that no earlier block has
    std::vector<LossRow> losses;
    std::int64_t recordsChecked = 0;

    bool hasEvents() const
    {
        return !ranges.empty() || !activities.empty() || !calls.empty() || !ops.empty() || !frames.empty() ||
               !allocations.empty() || !held.empty() || !collectives.empty() || !samples.empty() ||
               !pcSamples.empty();
    }
};

/// Facts about the process: pid, host, rank, … as pairs of key and text.
using ProcessFacts = std::vector<std::pair<std::string, std::string>>;

/// Writes a working file; one thread. Creates it with mode 0600 at the first append. A thread of a program that is
/// recorded must have file descriptors of its own: the program may close or replace any of the process'.
class WorkingFileWriter {
public:
    /// Calls a function in which the thread has file descriptors of its own.
    /// \return  whether it could
    using DescriptorScope = std::function<bool(const std::function<void()>&)>;

    /// Opens the file where this process cannot.
    /// \return  for reading and writing; -1: neither can that
    using Request = std::function<int(const std::filesystem::path& file)>;

    /// \param facts  written before the first block
    /// \param scope  for a thread without descriptors of its own: the file is opened in one call of it, and written by a
    ///               shared mapping
    /// \param request  for a thread with descriptors of its own
    WorkingFileWriter(std::filesystem::path file, ProcessFacts facts, DescriptorScope scope = {},
                      Request request = {});
    ~WorkingFileWriter() { close(); }
    WorkingFileWriter(const WorkingFileWriter&) = delete;
    WorkingFileWriter& operator=(const WorkingFileWriter&) = delete;

    /// Adds a fact that became known later.
    /// \return  whether it is in the file, or will be once that is created
    bool addFact(std::string key, std::string value);
    /// Appends a block. After a failure (a full disk) the file ends with the block before it, and no more blocks are
    /// written.
    /// \return  whether the block is in the file
    bool append(const WorkingBlock& block);
    /// Creates the file if no append has.
    /// \return  whether it exists
    bool create();
    bool exists() const { return descriptor_ >= 0 || mapping_; }
    bool hasEvents() const { return hasEvents_; }
    /// The errno of a failure.
    int error() const { return error_; }
    /// Whether it has not been writable, or is closed.
    bool hasFailed() const { return failed_; }
    void close() noexcept;

private:
    bool open();
    void map() noexcept;
    bool write(std::uint32_t kind, const std::string& payload);
    bool writeAll(const char* data, std::size_t bytes);
    bool writeMapped(const char* data, std::size_t bytes);
    bool cutTo(std::size_t bytes) noexcept;

    std::filesystem::path file_;
    ProcessFacts facts_;
    DescriptorScope scope_;
    Request request_;
    int descriptor_ = -1;
    char* mapping_ = nullptr; ///< of the file from its beginning, also of parts that it does not have yet
    std::size_t mapped_ = 0;  ///< bytes
    std::size_t size_ = 0;    ///< of the file, in bytes
    bool failed_ = false;
    bool hasEvents_ = false;
    int error_ = 0;
};

/// The header of a payload in a working file: its kind, length and checksum.
std::string workingBlockHead(std::uint32_t kind, std::string_view payload);

/// Whether a file that begins with `head` is a working file of any version.
bool isWorkingFile(std::string_view head);

/// What the blocks of a working file say without its events.
struct WorkingFileSummary {
    ProcessFacts facts;     ///< later ones hold
    bool hasEvents = false; ///< in a whole block: one with names of threads alone has none
    bool isCut = false;     ///< a block before the first events is incomplete or damaged
};
/// The facts before the first block, which identify the process; empty if there are none yet.
ProcessFacts firstFactsOf(const std::filesystem::path& file);
/// Whether the file ends with the fact that the recording is complete.
bool isFinished(const std::filesystem::path& file);
/// \throws Error  as readWorkingFile()
WorkingFileSummary summaryOf(const std::filesystem::path& file);

/// The results of readWorkingFile() besides the blocks.
struct WorkingFileEnd {
    bool isCut = false; ///< the last block is incomplete or damaged
};

/// The fact of a complete recording, which is its last block.
inline const std::pair<std::string, std::string> kFinished{"finished", "yes"};

/// Reads a working file block by block. Checks every count and length; ids are the caller's to check.
/// \param takeFacts  may be called again, with facts that became known later
/// \throws Error  the file cannot be read or has another version
WorkingFileEnd readWorkingFile(const std::filesystem::path& file,
                               const std::function<void(ProcessFacts&&)>& takeFacts,
                               const std::function<void(WorkingBlock&&)>& takeBlock);

} // namespace tilescope::record
