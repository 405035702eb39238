#include "app/record/phases.h"

#include "app/record/nested_ranges.h"
#include "app/record/recorder.h"
#include "core/base/units.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/path_tree.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tilescope::record {

namespace {

// The common domain of these ranges, so that they nest among themselves.
constexpr char kDomain = 0;
// Keys of ranges that no object has.
constexpr char kForward = 0;
constexpr char kOptimizer = 0;
constexpr char kClosure = 0;

constexpr std::size_t kMostOptimizers = 8;

struct Phases {
    int open = 0;                    ///< ranges of objects and phases, without optimizers
    const void* forwardOf = nullptr; ///< the object around which a range `forward` is open
    bool hasForward = false;         ///< there was one
    std::array<const void*, kMostOptimizers> optimizers{};
    std::size_t depth = 0;             ///< of optimizers
    const void* suspendedBy = nullptr; ///< what the optimizer's step calls meanwhile
    int closures = 0;                  ///< open ones
    std::int64_t waitsSince = 0;       ///< the optimizer has not called its closure yet; 0: it has none
    int backwards = 0;                 ///< open ones of this thread
    bool hasCalledBackward = false;    ///< so that it is none of PyTorch's threads
};
thread_local Phases phases;

std::atomic<IsInStep> isInStep{nullptr};
std::atomic<bool> moduleSeen{false};
std::atomic<int> openBackwards{0}; ///< of all threads
constexpr std::string_view kBackward = "backward";

/// Whether the calling thread is in a step, and in no range of the program within it.
bool isDirectlyInStep() noexcept
{
    try {
        static const trace::PathNode* const step =
            trace::PathTree::instance().child(trace::PathTree::instance().root(), "step");
        return trace::HostLogs::here().path == step->id;
    } catch (...) {
        return false; // no memory
    }
}

void suspendOptimizer(const void* by) noexcept
{
    if (phases.depth == 0 || phases.open > 0 || phases.suspendedBy)
        return;
    const IsInStep probe = isInStep.load(std::memory_order_relaxed);
    if (by != &kClosure && probe && !probe()) {
        abandonOptimizers();
        return;
    }
    closeNested(&kDomain, &kOptimizer);
    phases.suspendedBy = by;
}

void resumeOptimizer(const void* by) noexcept
{
    if (phases.suspendedBy != by)
        return;
    phases.suspendedBy = nullptr;
    phases.waitsSince = 0;
    openNested(&kDomain, &kOptimizer, "optimizer");
}

void leaveOptimizersFrom(std::size_t first) noexcept
{
    phases.depth = first;
    if (first > 0)
        return;
    phases.suspendedBy = nullptr;
    closeNested(&kDomain, &kOptimizer);
    // It has not called its closure.
    if (const std::int64_t start = std::exchange(phases.waitsSince, 0); start > 0)
        Recorder::noteRange("optimizer", static_cast<std::uint32_t>(gettid()), start,
                            nanosecondsOf(TraceClock::now()));
}

/// phases.depth if its step is not open.
std::size_t placeOf(const void* optimizer) noexcept
{
    std::size_t place = 0;
    while (place < phases.depth && phases.optimizers[place] != optimizer)
        ++place;
    return place;
}

} // namespace

void enterRange(const void* object, const std::string& name, bool isModule) noexcept
{
    if (isModule && !moduleSeen.load(std::memory_order_relaxed))
        moduleSeen.store(true, std::memory_order_relaxed);
    if (isModule && phases.open == 0) {
        suspendOptimizer(object);
        if (isDirectlyInStep() && openNested(&kDomain, &kForward, "forward") >= 0)
            phases.forwardOf = object;
        phases.hasForward = phases.hasForward || phases.forwardOf == object;
    }
    if (openNested(&kDomain, object, name) >= 0)
        ++phases.open;
}

bool leaveRange(const void* object) noexcept
{
    if (phases.open > 0 && closeNested(&kDomain, object) >= 0)
        --phases.open;
    if (phases.open > 0)
        return false;
    if (phases.forwardOf == object) {
        closeNested(&kDomain, &kForward);
        phases.forwardOf = nullptr;
    }
    if (phases.suspendedBy)
        resumeOptimizer(object);
    return true;
}

void enterPhase(const void* key, std::string_view name) noexcept
{
    suspendOptimizer(key);
    if (openNested(&kDomain, key, name) >= 0)
        ++phases.open;
    if (name == kBackward) {
        phases.hasCalledBackward = true;
        ++phases.backwards;
        openBackwards.fetch_add(1);
    }
}

void leavePhase(const void* key, std::string_view name) noexcept
{
    leaveRange(key);
    if (name == kBackward && phases.backwards > 0) {
        --phases.backwards;
        openBackwards.fetch_sub(1);
    }
}

bool isInBackward() noexcept
{
    return phases.backwards > 0 || (!phases.hasCalledBackward && openBackwards.load() > 0);
}

void enterOptimizer(const void* optimizer, bool hasClosure) noexcept
{
    // Its last step raised an exception if it is in one already.
    if (const std::size_t place = placeOf(optimizer); place < phases.depth)
        leaveOptimizersFrom(place);
    if (phases.depth == kMostOptimizers)
        return;
    phases.optimizers[phases.depth] = optimizer;
    if (phases.depth++ > 0)
        return;
    if (hasClosure) {
        phases.suspendedBy = &kClosure;
        phases.waitsSince = nanosecondsOf(TraceClock::now());
    } else {
        openNested(&kDomain, &kOptimizer, "optimizer");
    }
}

bool leaveOptimizer(const void* optimizer) noexcept
{
    if (const std::size_t place = placeOf(optimizer); place < phases.depth)
        leaveOptimizersFrom(place);
    return phases.depth == 0;
}

void abandonOptimizers() noexcept
{
    if (phases.depth > 0)
        leaveOptimizersFrom(0);
}

void enterClosure() noexcept
{
    phases.waitsSince = 0;
    if (phases.closures++ == 0)
        suspendOptimizer(&kClosure);
}

void leaveClosure() noexcept
{
    if (--phases.closures == 0)
        resumeOptimizer(&kClosure);
}

void forgetPhases() noexcept
{
    phases = {};
    moduleSeen.store(false);
    openBackwards.store(0);
}

void setOptimizerProbe(IsInStep probe) noexcept
{
    isInStep.store(probe);
}

bool hasSeenModules() noexcept
{
    return moduleSeen.load(std::memory_order_relaxed);
}

bool hasSeenForward() noexcept
{
    return phases.hasForward;
}

} // namespace tilescope::record
