#include "app/record/python_stacks.h"

#include "app/record/code_places.h"
#include "app/record/find_function.h"
#include "app/record/python_frames.h"
#include "app/record/stack_walk.h"
#include "core/base/units.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/path_tree.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace tilescope::record {

constinit PythonLayout PythonStacks::layout;
constinit InterpreterState PythonStacks::interpreter;
constinit std::atomic<bool> PythonStacks::on{false};
int (*PythonStacks::isInitialized)() = nullptr;
constinit std::array<SampledThread, kMostSampledThreads> PythonStacks::threads{};
constinit Loading PythonStacks::loading;

namespace {

constexpr std::uint32_t kCoreEvery = 64; // launches
constexpr auto kLongestStop = std::chrono::milliseconds(100);

/// The functions of Python's C API that are used. PyObject* is void* here.
struct Api {
    void* (*threadState)() = nullptr;
    void* (*frame)() = nullptr;
    void* (*outerFrame)(void* frame) = nullptr;
    void* (*codeOf)(void* frame) = nullptr;
    int (*lineOf)(void* frame) = nullptr;
    void* (*attribute)(void* object, const char* name) = nullptr;
    const char* (*text)(void* string, std::ptrdiff_t* bytes) = nullptr;
    long (*number)(void* integer) = nullptr;
    void (*retain)(void* object) = nullptr;
    void (*release)(void* object) = nullptr;
    void (*clearError)() = nullptr;
    void* codeType = nullptr;

    bool load()
    {
        return findFunction(threadState, "PyGILState_GetThisThreadState") &&
               findFunction(frame, "PyEval_GetFrame") && findFunction(outerFrame, "PyFrame_GetBack") &&
               findFunction(codeOf, "PyFrame_GetCode") && findFunction(lineOf, "PyFrame_GetLineNumber") &&
               findFunction(attribute, "PyObject_GetAttrString") &&
               findFunction(text, "PyUnicode_AsUTF8AndSize") && findFunction(number, "PyLong_AsLong") &&
               findFunction(retain, "Py_IncRef") && findFunction(release, "Py_DecRef") &&
               findFunction(clearError, "PyErr_Clear") && findFunction(codeType, "PyCode_Type");
    }
};
Api api;

/// Threads that read their own stack now. Those of stop() wait for them: the interpreter frees stacks when it ends.
std::atomic<int> readers{0};

class Reading {
public:
    Reading() noexcept { readers.fetch_add(1); }
    ~Reading() { readers.fetch_sub(1); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
};

/// What a thread that launches remembers of its stack.
class LaunchStack {
public:
    LaunchStack() : places_(PythonStacks::layout) {}

    bool tell(trace::ThreadLog& log, std::uintptr_t state);

private:
    bool walk(std::uintptr_t state);
    void beSampled(const trace::ThreadLog& log, std::uintptr_t state);

    struct Instruction {
        std::uintptr_t code = 0;
        std::uintptr_t instruction = 0;
        bool operator==(const Instruction&) const = default;
    };
    CodePlaces<OwnStackMemory> places_;
    StackTeller teller_;
    // Innermost first, now and at the launch before.
    std::array<Instruction, StackTeller::kDeepest> stack_{};
    std::array<Instruction, StackTeller::kDeepest> before_{};
    std::size_t depth_ = 0;
    std::size_t depthBefore_ = 0;
    std::uint32_t deaths_ = 0;
    bool isTold_ = false; ///< the log knows the stack of the launch before
    // Outermost first; of the stack before as far as it is the same.
    std::array<StackTeller::Frame, StackTeller::kDeepest> frames_{};
    std::uint32_t thread_ = 0;
    std::uint32_t launches_ = 0;
    SampledThread* sampled_ = nullptr;
};

bool LaunchStack::walk(std::uintptr_t state)
{
    const PythonLayout& layout = PythonStacks::layout;
    constexpr OwnStackMemory kMemory;
    std::uintptr_t at = 0;
    depth_ = 0;
    if (!innermostFrame(kMemory, layout, state, at))
        return false;
    while (at != 0) {
        const RawFrame frame = rawFrame(layout, reinterpret_cast<const char*>(at), at);
        if (isOfFunction(frame)) {
            if (depth_ == stack_.size())
                return false; // deeper than is kept
            stack_[depth_++] = {frame.code, frame.instruction};
        }
        at = frame.previous;
    }
    return depth_ > 0;
}

bool LaunchStack::tell(trace::ThreadLog& log, std::uintptr_t state)
{
    if (!walk(state))
        return false;
    if (thread_ != log.thread()) { // also in a forked child
        thread_ = log.thread();
        sampled_ = nullptr;
        depthBefore_ = 0;
        isTold_ = false;
        teller_.forget();
    }
    beSampled(log, state);
    // Counted first: what ends later is not of this stack, which is alive.
    const std::uint32_t deaths = CodeDeaths::count();
    std::size_t same = 0;
    if (CodeDeaths::isWatched() && deaths == deaths_)
        while (same < depth_ && same < depthBefore_ &&
               stack_[depth_ - 1 - same] == before_[depthBefore_ - 1 - same])
            ++same;
    for (std::size_t i = same; i < depth_; ++i) {
        const Instruction& each = stack_[depth_ - 1 - i];
        if (!places_.find({}, each.code, each.instruction, frames_[i])) {
            depthBefore_ = 0;
            return false;
        }
    }
    deaths_ = deaths;
    if (same == depth_ && depth_ == depthBefore_ && isTold_)
        return true;
    if (same < depth_ || depth_ != depthBefore_) {
        std::copy_n(stack_.begin(), depth_, before_.begin());
        depthBefore_ = depth_;
    }
    isTold_ = teller_.tell(std::span(frames_).first(depth_), thread_,
                           [&log](const trace::HostRecord& record) { return log.ring.push(record); });
    return isTold_;
}

void LaunchStack::beSampled(const trace::ThreadLog& log, std::uintptr_t state)
{
    if (!sampled_ || sampled_->thread.load(std::memory_order_relaxed) != thread_) {
        sampled_ = nullptr;
        for (SampledThread& each : PythonStacks::threads) {
            std::uint32_t none = 0;
            if (each.thread.load(std::memory_order_relaxed) == 0 &&
                each.thread.compare_exchange_strong(none, thread_)) {
                sampled_ = &each;
                each.log.store(&log, std::memory_order_relaxed);
                break;
            }
        }
        if (!sampled_)
            return;
        launches_ = 0;
    }
    sampled_->state.store(state, std::memory_order_release);
    if (launches_++ % kCoreEvery == 0)
        sampled_->core.store(sched_getcpu(), std::memory_order_relaxed);
}

thread_local LaunchStack* launchStack = nullptr;
struct LaunchStackOwner {
    ~LaunchStackOwner()
    {
        delete launchStack;
        launchStack = nullptr;
        hasEnded = true;
    }
    bool hasEnded = false;
};
thread_local LaunchStackOwner launchStackOwner;

bool tellStack(trace::ThreadLog& log) noexcept
{
    const Reading reading;
    if (!PythonStacks::isOn())
        return false;
    const auto state = reinterpret_cast<std::uintptr_t>(api.threadState());
    if (state == 0)
        return false;
    try {
        if (!launchStack) {
            if (launchStackOwner.hasEnded)
                return false;
            launchStack = new LaunchStack;
        }
        return launchStack->tell(log, state);
    } catch (...) {
        return false; // no memory: this launch has no stack
    }
}

std::string textOf(void* code, const char* name)
{
    std::string text;
    if (void* value = api.attribute(code, name)) {
        std::ptrdiff_t bytes = 0;
        if (const char* data = api.text(value, &bytes))
            text.assign(data, static_cast<std::size_t>(bytes));
        api.release(value);
    }
    return text;
}

struct KnownFrame {
    std::uintptr_t code = 0;
    std::string name; ///< as frameName()
    std::uint32_t line = 0;
};

/// The stack of the calling thread as Python tells it, innermost first.
std::vector<KnownFrame> toldByPython()
{
    std::vector<KnownFrame> frames;
    void* frame = api.frame();
    if (frame)
        api.retain(frame);
    while (frame) {
        void* code = api.codeOf(frame);
        long first = 0;
        if (void* value = api.attribute(code, "co_firstlineno")) {
            first = api.number(value);
            api.release(value);
        }
        frames.push_back({.code = reinterpret_cast<std::uintptr_t>(code),
                          .name = frameName(textOf(code, "co_filename"), first, textOf(code, "co_name")),
                          .line = static_cast<std::uint32_t>(std::max(api.lineOf(frame), 0))});
        api.release(code);
        void* outer = api.outerFrame(frame);
        api.release(frame);
        frame = outer;
    }
    api.clearError();
    return frames;
}

/// Where the interpreter of a thread says what it does, if it says what is true now: the thread has the lock, and no garbage
/// collection runs.
InterpreterState stateOf(const GuardedMemory& memory, const PythonLayout& layout, std::uintptr_t thread)
{
    InterpreterState found;
    std::uintptr_t interpreter = 0;
    if (layout.collecting < 0 ||
        !memory.read(&interpreter, thread + PythonLayout::kInterpreter, sizeof(interpreter)))
        return {};
    if (layout.lockOfInterpreter >= 0) {
        if (!memory.read(&found.lock, interpreter + static_cast<std::uintptr_t>(layout.lockOfInterpreter),
                         sizeof(found.lock)))
            return {};
    } else if (const void* runtime = dlsym(RTLD_DEFAULT, "_PyRuntime")) {
        found.lock =
            reinterpret_cast<std::uintptr_t>(runtime) + static_cast<std::uintptr_t>(layout.lockOfRuntime);
    }
    found.collecting = interpreter + static_cast<std::uintptr_t>(layout.collecting);
    std::uintptr_t holder = 0;
    int locked = 0;
    int collecting = 1;
    const bool isTrue = memory.read(&holder, found.lock + PythonLayout::kLockHolder, sizeof(holder)) &&
                        memory.read(&locked, found.lock + PythonLayout::kLocked, sizeof(locked)) &&
                        memory.read(&collecting, found.collecting, sizeof(collecting)) && holder == thread &&
                        locked == 1 && collecting == 0;
    return isTrue ? found : InterpreterState{};
}

} // namespace

std::uint32_t LoadingProcess::running() noexcept
{
    std::uint32_t number = process.load(std::memory_order_acquire);
    if (number == 0)
        return 0;
    siginfo_t ended{};
    if (waitid(P_PID, number, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0)
        return number;
    process.compare_exchange_strong(number, 0);
    return 0;
}

std::string PythonStacks::check(int minor)
{
    if (!api.load() || !findFunction(isInitialized, "Py_IsInitialized"))
        return "this Python lacks functions of its C API";
    const std::optional<PythonLayout> found = PythonLayout::of(minor);
    if (!found)
        return "the layout of Python 3." + std::to_string(minor) + " is unknown";
    layout = *found;
    const GuardedMemory memory;
    const auto state = reinterpret_cast<std::uintptr_t>(api.threadState());
    std::uintptr_t at = 0;
    if (!memory.read(&at, state, sizeof(at)))
        return "this system does not let a process read its memory by process_vm_readv";
    if (!innermostFrame(memory, layout, state, at))
        return "the stack of a thread is not where it is in Python 3." + std::to_string(minor);
    const std::vector<KnownFrame> known = toldByPython();
    const auto places = std::make_unique<CodePlaces<GuardedMemory>>(layout);
    std::size_t depth = 0;
    const std::string differs =
        "the stack in memory differs from what Python 3." + std::to_string(minor) + " tells";
    while (at != 0) {
        std::array<char, PythonLayout::kMostFrameBytes> bytes{};
        if (!memory.read(bytes.data(), at, static_cast<std::size_t>(layout.frameBytes)))
            return differs;
        const RawFrame frame = rawFrame(layout, bytes.data(), at);
        at = frame.previous;
        if (!isOfFunction(frame))
            continue;
        StackTeller::Frame place;
        if (depth == known.size() || frame.code != known[depth].code ||
            !places->find(memory, frame.code, frame.instruction, place) || place.line != known[depth].line ||
            trace::PathTree::instance().node(place.name)->component != known[depth].name)
            return differs;
        ++depth;
    }
    if (depth != known.size() || depth == 0)
        return differs;
    interpreter = stateOf(memory, layout, state);
    return {};
}

void PythonStacks::start() noexcept
{
    CodeDeaths::watch();
    on.store(true, std::memory_order_release);
    trace::HostLogs::instance().setStackProbe(&tellStack);
}

void PythonStacks::stop() noexcept
{
    trace::HostLogs::instance().setStackProbe(nullptr);
    if (!on.exchange(false))
        return;
    // A launch that another thread is in must not hold the end of the program up.
    const auto end = std::chrono::steady_clock::now() + kLongestStop;
    while (readers.load() > 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
}

void PythonStacks::addLoading(std::uint32_t process, std::uintptr_t owner, std::uintptr_t waits,
                              std::array<std::uintptr_t, 2> fetches) noexcept
{
    if (!isOn() || process == 0)
        return;
    for (std::size_t i = 0; i < fetches.size(); ++i)
        loading.fetches[i].store(fetches[i], std::memory_order_relaxed);
    loading.waits.store(waits, std::memory_order_relaxed);
    const auto state = reinterpret_cast<std::uintptr_t>(api.threadState());
    for (LoadingProcess& each : loading.processes) {
        if (each.running() != 0)
            continue;
        // Only this thread fills places: it holds the interpreter's lock. The number of the process is last, so that who sees it
        // sees the rest.
        each.owner.store(owner, std::memory_order_relaxed);
        each.state.store(state, std::memory_order_relaxed);
        each.process.store(process, std::memory_order_release);
        return;
    }
}

void PythonStacks::forgetThreads() noexcept
{
    readers.store(0);
    for (LoadingProcess& each : loading.processes) {
        each.state.store(0, std::memory_order_relaxed);
        each.process.store(0, std::memory_order_relaxed);
    }
    for (SampledThread& each : threads) {
        each.state.store(0, std::memory_order_relaxed);
        each.thread.store(0, std::memory_order_relaxed);
    }
}

} // namespace tilescope::record
