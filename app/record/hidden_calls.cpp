#include "app/record/hidden_calls.h"

#include "app/record/find_function.h"
#include "app/record/python_api.h"

#include <atomic>
#include <cstddef>
#include <cstring>

namespace tilescope::record {

namespace {

std::atomic<void*> setObserver{nullptr};

/// Whether Python calls profile and trace functions in a thread: not while it executes one of them, which it counts.
struct Tracing {
    void* (*thread)() = nullptr;
    void (*enter)(void* thread) = nullptr; ///< null before Python 3.11
    void (*leave)(void* thread) = nullptr;
    void* (*frame)() = nullptr;

    Tracing()
    {
        findFunction(thread, "PyThreadState_Get");
        findFunction(enter, "PyThreadState_EnterTracing");
        findFunction(leave, "PyThreadState_LeaveTracing");
        findFunction(frame, "PyEval_GetFrame");
    }
};

const Tracing& tracing()
{
    static const Tracing functions;
    return functions;
}

// PyThreadState of Python 3.8 to 3.10, which will not change any more: three pointers, the frame, three counters of 4 bytes
// in all, and how deep the thread is in profile and trace functions.
constexpr std::size_t kFramePlace = 24;
constexpr std::size_t kDepthPlace = 44;
constexpr int kMostDepth = 1000;

/// How deep the thread is in profile and trace functions; null if its memory is not as expected.
int* depthOf(void* thread)
{
    char* const memory = static_cast<char*>(thread);
    void* frame = nullptr;
    std::memcpy(&frame, memory + kFramePlace, sizeof(frame));
    auto* depth = reinterpret_cast<int*>(memory + kDepthPlace);
    const bool isExpected = frame && frame == tracing().frame() && *depth >= 0 && *depth < kMostDepth;
    return isExpected ? depth : nullptr;
}

/// While it lives, nothing of the program sees what this thread calls.
class Unseen {
public:
    explicit Unseen(const PythonApi& api) noexcept : api_(api)
    {
        if (const Tracing& functions = tracing(); functions.thread && functions.enter && functions.leave) {
            thread_ = functions.thread();
            functions.enter(thread_);
        } else if (functions.thread && functions.frame && (depth_ = depthOf(functions.thread()))) {
            ++*depth_;
        }
        set_ = setObserver.load(std::memory_order_relaxed);
        before_ = set_ ? api.callWith(set_, api.none, nullptr) : nullptr;
        if (set_ && !before_)
            api.clearError();
    }

    ~Unseen()
    {
        if (before_) {
            void* type = nullptr;
            void* value = nullptr;
            void* trace = nullptr;
            api_.fetchError(&type, &value, &trace);
            if (void* none = api_.callWith(set_, before_, nullptr))
                api_.release(none);
            else
                api_.clearError();
            api_.restoreError(type, value, trace);
            api_.release(before_);
        }
        if (thread_)
            tracing().leave(thread_);
        else if (depth_)
            --*depth_;
    }

    Unseen(const Unseen&) = delete;
    Unseen& operator=(const Unseen&) = delete;

private:
    const PythonApi& api_;
    void* thread_ = nullptr;
    int* depth_ = nullptr;
    void* set_ = nullptr;
    void* before_ = nullptr; ///< what saw the calls
};

} // namespace

void* callHidden(void* function, void* first, void* second) noexcept
{
    const PythonApi* api = PythonApi::ofThisProcess();
    const Unseen unseen(*api);
    return api->callWith(function, first, second, nullptr);
}

void* callHiddenWith(void* function, void* tuple, void* named) noexcept
{
    const PythonApi* api = PythonApi::ofThisProcess();
    const Unseen unseen(*api);
    return api->call(function, tuple, named);
}

void* hideCalls(void* /*self*/, void* setter) noexcept
{
    const PythonApi* api = PythonApi::ofThisProcess();
    api->retain(setter);
    setObserver.store(setter); // kept for the process
    return api->newNone();
}

} // namespace tilescope::record
