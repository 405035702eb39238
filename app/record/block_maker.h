#pragma once

#include "app/record/host_sampler.h"
#include "app/record/loaded_cupti.h"
#include "app/record/stack_tree.h"
#include "core/base/mutex.h"
#include "core/model/strings.h"
#include "core/record/working_file.h"
#include "core/trace/assembly/assembler.h"
#include "core/trace/cupti/activity_decoder.h"
#include "core/trace/cupti/cupti_session.h"
#include "core/trace/host/host_log.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilescope::record {

/// Collects what the threads of this process and CUPTI noted, and makes blocks of the working file from it.
///
/// Functions are for the thread that writes the file, unless stated otherwise.
class BlockMaker {
public:
    /// \param facts  those of a device, by its ordinal; may ask the driver
    explicit BlockMaker(std::function<DeviceFacts(int)> facts);

    /// Names and paths in the rows of the file. Any thread.
    StringTable& strings() { return strings_; }

    /// From now on DeviceAllocLog records the allocators of this many devices, which are empty now. Any thread.
    void startDeviceMemory(int devices);
    /// Ends that. Any thread, before the last drain().
    void stopDeviceMemory();
    /// CUPTI was taken out of the process and comes back, so its correlation ids begin anew. Any thread.
    void noteCuptiReturns() { cuptiReturns_.store(true); }

    /// From now on nothing opens a file: threads but the first have no names.
    void openNoFiles() { mayOpenFiles_ = false; }
    /// Takes over every record that was noted so far.
    /// \param session  null: the device is not recorded
    /// \param sampler  null: stacks are not sampled
    void drain(trace::CuptiSession* session, HostSampler* sampler);
    /// Whether some buffer has less room than is good, so that it should be drained soon.
    bool pressed() const;
    /// Facts of the process that were found since the last call.
    ProcessFacts takeFacts() { return std::exchange(facts_, {}); }
    /// Number of events that wait for take().
    std::size_t pending() const { return assembler_.pending() + allocations_.size() + samples_.size(); }

    /// The next block of the file: what was drained since the last one, and the strings that no earlier block has.
    /// \param block   rows of the caller, whose strings are in strings()
    /// \param losses  further losses, totals so far
    /// \return        none if there are neither rows nor new losses
    std::optional<WorkingBlock> take(WorkingBlock block, const trace::Losses& losses);

private:
    void drainHost();
    void drainSamples(HostSampler& sampler);
    void describe(const trace::CuptiSession::MadeGraph& graph);
    void drainDeviceMemory();
    void addCpuAllocation(std::uint32_t thread, const trace::HostRecord& record);
    void addLosses(WorkingBlock& block, const trace::Losses& further);
    ActivityRow rowOf(const DeviceEvent& event, WorkingBlock& block);
    /// The path of backward work; kNoString for other work. Autograd's threads have no open ranges that name the module.
    std::uint32_t backwardPathOf(StringId path);
    std::uint32_t backwardPathOf(const trace::HostContext& context);

    const std::function<DeviceFacts(int)> factsOf_;
    StringTable strings_;
    trace::Assembler assembler_{strings_, trace::HostLogs::instance().nextRange(),
                                trace::HostLogs::instance().nextOp()};
    std::unique_ptr<trace::ActivityDecoder> decoder_;
    const trace::HostLogs::Counters before_ = trace::HostLogs::instance().counters();
    std::atomic<int> memoryDevices_{0};
    std::atomic<bool> cuptiReturns_{false};

    bool mayOpenFiles_ = true;
    std::uint32_t lastThread_ = 0;
    std::unordered_set<std::uint32_t> named_; ///< threads
    std::unordered_set<std::int32_t> devices_;
    ProcessFacts facts_;
    std::vector<AllocRow> allocations_;
    StackTree stacks_;
    std::unordered_map<std::uint32_t, ToldStack> launchStacks_; ///< by thread
    std::unordered_map<std::uint32_t, ToldStack> sampledStacks_;
    std::vector<SampleRow> samples_;
    std::uint64_t samplesDropped_ = 0;
    std::vector<std::uint32_t> backwardNodes_; ///< results of backwardPathOf(), by path and by string
    std::vector<std::uint32_t> backwardStrings_;
    std::map<LaunchConfig, std::uint32_t> launches_;
    std::size_t written_ = 0; ///< strings in earlier blocks
    std::int64_t lost_ = 0;   ///< records, as the last block states
};

} // namespace tilescope::record
