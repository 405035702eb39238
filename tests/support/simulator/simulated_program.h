#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Programs that use CUDA, described and executed without CUDA.
///
/// The rules of execution are those of the CUDA programming guide: order on streams, events, launch queues of
/// limited depth, copies of pinned and pageable memory, synchronization, graphs. Nothing here depends on the
/// rest of Tilescope.
namespace tilescope::simulator {

using Duration = std::chrono::nanoseconds; ///< also a point in time, since the start of the program

/// What time is spent on.
enum class Work : std::uint8_t {
    Host,       ///< the program on a thread
    Loading,    ///< the next batch is loaded
    Allocation, ///< the driver allocates or frees memory
    Tracing,    ///< the tracer writes its buffers
    Call,       ///< a CUDA call that starts work on the device
    Latency,    ///< from the call until an idle device begins
    Order,      ///< from the end of work on a device until the work that waited for it begins
    Wait,       ///< a call that waits for the device, after what it waits for has ended
    Matmul,
    Convolution,
    Attention,
    Softmax,
    Norm,
    Elementwise,
    Reduction,
    Embedding,
    Optimizer,
    Copy,
    Memset,
    Communication, ///< a collective, from the arrival of the last rank
};
inline constexpr std::size_t kWorks = 20;

std::string_view wordOf(Work work); ///< host, loading, …
bool isOnDevice(Work work);         ///< Matmul and all that follow it

enum class Action : std::uint8_t {
    Compute,    ///< the thread works for `duration`; `work` says on what
    Range,      ///< the thread executes `body` inside a range
    Launch,     ///< starts a kernel
    Copy,       ///< starts a copy; of pageable memory the call waits (see Execution)
    Fill,       ///< starts a memset
    Replay,     ///< starts a graph, whose nodes are `body`
    Collective, ///< starts a collective of all ranks; `number` is the same in all of them
    Record,     ///< records event `number` on `stream`
    StreamWait, ///< `stream` waits for event `number`
    SyncStream, ///< the thread waits for `stream`
    SyncEvent,  ///< the thread waits for event `number`
    SyncDevice, ///< the thread waits for all streams of its rank
    Allocate,   ///< cudaMalloc, for `duration`
    Free,       ///< cudaFree, which waits for the device and then takes `duration`
    Signal,     ///< sets flag `number` for other threads of the rank
    Await,      ///< the thread waits until flag `number` is set
};

enum class RangeKind : std::uint8_t { Op, Annotation, Step };
enum class CopyKind : std::uint8_t { HostToDevice, DeviceToHost, DeviceToDevice };

struct Instruction {
    Action action = Action::Compute;
    Work work = Work::Host;
    Duration duration{0}; ///< of the work on the thread or the device
    Duration call{0};     ///< of the CUDA call on the thread, without any wait
    Duration latency{0};  ///< from the call until an idle device begins
    Duration gap{0};      ///< from the end of the work that it waits for on the device
    std::int32_t stream = 7;
    std::int64_t number = 0; ///< of an event, a flag, a collective or a step
    std::int64_t bytes = 0;
    CopyKind copy = CopyKind::HostToDevice;
    bool isPageable = false;
    RangeKind range = RangeKind::Op;
    std::string name = {};
    std::vector<Instruction> body = {};
    std::vector<std::size_t> after = {}; ///< of a node of a graph: indices of the nodes that it depends on
};

struct SimulatedThread {
    std::size_t rank = 0;
    std::int64_t number = 0;       ///< as the system numbers it
    bool isInOtherProcess = false; ///< as a worker of a data loader: the tracer does not see it
    std::vector<Instruction> instructions = {};
};

struct SimulatedProgram {
    std::vector<std::string> tags = {};           ///< what the program is an example of
    std::vector<Duration> clocks = {Duration(0)}; ///< by rank: how much its clock is ahead
    std::size_t queueDepth = 1024;                ///< commands that a stream accepts before they have ended
    Duration syncReturn{3'000};                   ///< from the end of awaited work until the call returns
    Duration wakeUp{10'000};                      ///< from a signal until another thread continues
    bool hasSyncRecords = true;                   ///< the tracer records what streams and threads wait for
    std::vector<SimulatedThread> threads = {};
};

/// \throws std::invalid_argument  if the JSON is not a program
SimulatedProgram programOf(const nlohmann::json& json);
nlohmann::json jsonOf(const SimulatedProgram& program);

} // namespace tilescope::simulator
