#include "app/record/program_optimizer.h"

#include "app/record/phases.h"
#include "app/record/python_api.h"
#include "app/record/recorder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>

namespace tilescope::record {

namespace {

using Reference = std::atomic<void*>; ///< weak; null: none

Reference firstOptimizer{nullptr};                ///< of the process
thread_local Reference threadsOptimizer{nullptr}; ///< of a thread that uses others
thread_local bool usesFirst = false;              ///< this thread has made a step with the first one

// Greenlets and tasks of asyncio that take turns in a thread train like threads.
std::array<void*, 4> taskFunctions{}; ///< tell which one runs; null: none
thread_local const void* firstsTask =
    nullptr; ///< in which the thread made its last step with the first optimizer
struct TaskOptimizer {
    explicit TaskOptimizer(const void* running) : task(running) {}

    const void* task;
    Reference optimizer{nullptr};
};
constexpr std::size_t kMostTasks = 1024;
thread_local std::deque<TaskOptimizer> taskOptimizers;

/// Steps that another optimizer has made since the last step of the first one.
struct Successor {
    Reference optimizer{nullptr}; ///< the one that made a step first
    int steps = 0;                ///< of it
    int most = 0;                 ///< that were made between steps of the first one
    bool knowsMost = false;       ///< the first one has made a second step
    Reference rival{nullptr};     ///< another one than `optimizer`
    int rivalSteps = 0;           ///< of it since the last one of `optimizer`

    /// Whether, if the first one makes no more steps, these are more than those between its steps.
    bool isBeyondFirst() const { return knowsMost && steps > most; }
};
// The discriminator of a GAN makes about five steps for each of the generator's.
constexpr int kLeastSteps = 8;
thread_local Successor successor;

enum class Referred { Same, Other, Gone };

Referred referred(const PythonApi& api, const Reference& weak, void* optimizer)
{
    void* const reference = weak.load();
    void* object = reference ? api.callWith(reference, nullptr) : nullptr;
    if (!object) {
        if (reference)
            api.clearError();
        return Referred::Gone;
    }
    const Referred what = object == api.none    ? Referred::Gone
                          : object == optimizer ? Referred::Same
                                                : Referred::Other;
    api.release(object);
    return what;
}

/// Lets it refer to another optimizer, or none.
void refer(const PythonApi& api, Reference& reference, void* optimizer)
{
    void* next = optimizer ? api.newWeakReference(optimizer, nullptr) : nullptr;
    if (optimizer && !next)
        api.clearError();
    if (void* former = reference.exchange(next))
        api.release(former);
}

/// The greenlet or task that runs; null: the thread has none.
const void* runningTask(const PythonApi& api)
{
    for (void* function : taskFunctions) {
        if (!function)
            break;
        if (void* task = api.callWith(function, nullptr)) {
            api.release(task);
            if (task != api.none)
                return task;
        } else {
            api.clearError();
        }
    }
    return nullptr;
}

/// Whether the optimizer is the first one of this task, which is none that uses the thread's first one.
bool isFirstOfTask(const PythonApi& api, const void* task, void* optimizer)
{
    for (TaskOptimizer& known : taskOptimizers) {
        if (known.task != task)
            continue;
        const Referred own = referred(api, known.optimizer, optimizer);
        if (own == Referred::Gone)
            refer(api, known.optimizer, optimizer);
        return own != Referred::Other;
    }
    if (taskOptimizers.size() == kMostTasks) {
        refer(api, taskOptimizers.front().optimizer, nullptr);
        taskOptimizers.pop_front();
    }
    try {
        taskOptimizers.emplace_back(task);
    } catch (...) {
        return false; // no memory
    }
    refer(api, taskOptimizers.back().optimizer, optimizer);
    return true;
}

/// The first optimizer has made a step: what another one did since was no stage of its own.
void restartSuccessor(const PythonApi& api)
{
    successor.knowsMost = true;
    if (!successor.optimizer.load())
        return;
    successor.most = std::max(successor.most, successor.steps);
    successor.steps = successor.rivalSteps = 0;
    refer(api, successor.optimizer, nullptr);
    Recorder::decidePossibleSteps(false);
}

/// The optimizer is the first one from now on.
/// \param wereSteps  what other ones did since the last step of the former one
void replaceFirst(const PythonApi& api, Reference& reference, void* optimizer, bool wereSteps)
{
    if (successor.optimizer.load()) {
        Recorder::decidePossibleSteps(wereSteps);
        refer(api, successor.optimizer, nullptr);
    }
    successor.steps = successor.most = successor.rivalSteps = 0;
    successor.knowsMost = false;
    refer(api, reference, optimizer);
}

/// Whether an optimizer has made so many steps without the first one and the successor that it takes the first one's place, as
/// in a third stage after a short second one.
bool outlasts(const PythonApi& api, void* optimizer)
{
    const Referred what = referred(api, successor.rival, optimizer);
    if (what == Referred::Gone || (what == Referred::Other && successor.rivalSteps == 0)) {
        refer(api, successor.rival, optimizer);
        successor.rivalSteps = 0;
    } else if (what == Referred::Other) {
        return false; // only one of several is counted
    }
    return ++successor.rivalSteps >= std::max(kLeastSteps, 2 * successor.most);
}

/// Whether the optimizer, which is not the first one, has made so many steps alone that it takes its place.
bool succeeds(const PythonApi& api, void* optimizer)
{
    switch (referred(api, successor.optimizer, optimizer)) {
    case Referred::Other:
        return outlasts(api, optimizer);
    case Referred::Gone:
        refer(api, successor.optimizer, optimizer);
        successor.steps = 0;
        [[fallthrough]];
    case Referred::Same:
        break;
    }
    successor.rivalSteps = 0;
    if (++successor.steps >= std::max(kLeastSteps, 2 * successor.most))
        return true;
    if (!isInBackward()) // a step that ends with the backward pass
        Recorder::notePossibleStep(successor.isBeyondFirst());
    return false;
}

/// Whether the optimizer is the one that the reference refers to, or takes its place.
bool isFirst(const PythonApi& api, Reference& reference, void* optimizer)
{
    const Referred what = referred(api, reference, optimizer);
    if (what == Referred::Same)
        restartSuccessor(api);
    else if (what == Referred::Gone)
        replaceFirst(api, reference, optimizer, successor.isBeyondFirst());
    else if (succeeds(api, optimizer))
        replaceFirst(api, reference, optimizer, true);
    else
        return false;
    return true;
}

} // namespace

bool isProgramsOptimizer(const PythonApi& api, void* optimizer) noexcept
{
    const Referred what = referred(api, firstOptimizer, optimizer);
    if (what == Referred::Other && !usesFirst)
        return hasSeenForward() && isFirst(api, threadsOptimizer, optimizer);
    const void* const task = runningTask(api);
    if (what == Referred::Other && task && task != firstsTask)
        return isFirstOfTask(api, task, optimizer);
    if (!isFirst(api, firstOptimizer, optimizer))
        return false;
    firstsTask = task;
    return usesFirst = true;
}

void askForTask(const PythonApi& api, void* function) noexcept
{
    const auto place =
        std::ranges::find_if(taskFunctions, [function](void* known) { return !known || known == function; });
    if (place != taskFunctions.end() && !*place) {
        api.retain(function);
        *place = function;
    }
}

void forgetProgramsOptimizers() noexcept
{
    firstOptimizer.store(nullptr);
    threadsOptimizer.store(nullptr);
    usesFirst = false;
    firstsTask = nullptr;
    taskOptimizers.clear();
    successor.optimizer.store(nullptr);
    successor.rival.store(nullptr);
    successor.steps = successor.most = successor.rivalSteps = 0;
    successor.knowsMost = false;
}

} // namespace tilescope::record
