#include "app/record/python_calls.h"

#include "app/record/hidden_calls.h"
#include "app/record/module_calls.h"
#include "app/record/phases.h"
#include "app/record/program_optimizer.h"
#include "app/record/python_api.h"
#include "app/record/recorder.h"

#include <pthread.h>

#include <atomic>
#include <string>
#include <utility>

namespace tilescope::record {

namespace {

const PythonApi* api = nullptr;
void* watchedType = nullptr;
std::size_t header = 0;

enum class Kind { None, Phase, Closure, Callbacks, First, After, Save, Hidden };

/// What follows the header of an object.
struct Watched {
    void* function;
    Kind kind;
    const std::string* phase; ///< kept for the process
    void* begin;
    void* end;
    void* weakReferences;
};

Watched& watchedOf(void* object)
{
    return *reinterpret_cast<Watched*>(static_cast<char*>(object) + header);
}

/// The type is the last word of an object's header.
void* typeOf(void* object)
{
    return *reinterpret_cast<void**>(static_cast<char*>(object) + header - sizeof(void*));
}

/// Calls `end` with the token and the result, None after an exception. Functions of the recorder raise only what the program
/// raises in them, by a handler of a signal.
/// \return  the result; null if an exception is pending: that of the call, or of the handler
void* callEnd(void* end, void* token, void* result)
{
    void* type = nullptr;
    void* value = nullptr;
    void* trace = nullptr;
    api->fetchError(&type, &value, &trace);
    if (void* answer = callHidden(end, token ? token : api->none, result ? result : api->none)) {
        api->release(answer);
        api->restoreError(type, value, trace);
        return result;
    }
    for (void* dropped : {type, value, trace, result})
        if (dropped)
            api->release(dropped);
    return nullptr;
}

void* callWithFirst(const Watched& watched, void* arguments, void* named)
{
    void* answer = callHidden(watched.begin, arguments);
    if (!answer)
        return nullptr;
    void* token = api->itemOfTuple(answer, 0);
    void* first = api->itemOfTuple(answer, 1);
    const std::ptrdiff_t count = api->sizeOfTuple(arguments);
    void* all = token && first ? api->newTuple(count + 1) : nullptr;
    void* result = nullptr;
    if (all) {
        api->retain(first);
        api->setItemOfTuple(all, 0, first);
        for (std::ptrdiff_t i = 0; i < count; ++i) {
            void* item = api->itemOfTuple(arguments, i);
            api->retain(item);
            api->setItemOfTuple(all, i + 1, item);
        }
        result = api->call(watched.function, all, named);
        api->release(all);
        result = callEnd(watched.end, token, result);
    }
    api->release(answer);
    return result;
}

void* callWithCallback(const Watched& watched, void* arguments, void* named)
{
    void* answer = callHidden(watched.begin, arguments);
    if (!answer)
        return nullptr; // a handler of a signal has raised an exception
    api->release(answer);
    return api->call(watched.function, arguments, named);
}

void endDueStep() noexcept;

void* callWatched(void* self, void* arguments, void* named)
{
    // A copy: the call may destroy the object.
    const Watched watched = watchedOf(self);
    void* result = nullptr;
    switch (watched.kind) {
    case Kind::None:
        break;
    case Kind::Phase:
        if (!Recorder::isRecording() && !Recorder::startInChild())
            return api->call(watched.function, arguments, named);
        enterPhase(self, *watched.phase);
        result = api->call(watched.function, arguments, named);
        leavePhase(self, *watched.phase);
        endDueStep();
        break;
    case Kind::Closure:
        enterClosure();
        result = api->call(watched.function, arguments, named);
        leaveClosure();
        // The exception ends the optimizer's step, which does not tell its end.
        if (!result)
            abandonOptimizers();
        break;
    case Kind::Callbacks:
        return callWithCallback(watched, arguments, named);
    case Kind::First:
        return callWithFirst(watched, arguments, named);
    case Kind::After:
        result = api->call(watched.function, arguments, named);
        return result ? callEnd(watched.end, arguments, result) : nullptr;
    case Kind::Hidden:
        return callHiddenWith(watched.function, arguments, named);
    case Kind::Save:
        Recorder::save();
        return api->call(watched.function, arguments, named);
    }
    return result;
}

void destroy(void* self)
{
    void* type = typeOf(self);
    const Watched watched = watchedOf(self);
    if (watched.weakReferences)
        api->clearWeakReferences(self);
    for (void* object : {watched.function, watched.begin, watched.end})
        if (object)
            api->release(object);
    reinterpret_cast<void (*)(void*)>(api->slotOfType(type, 74))(self); // Py_tp_free
    api->release(type);
}

void* qualifiedName(void* self, void* /*arguments*/)
{
    // pickle stores a function by its name.
    return api->attributeCalled(watchedOf(self).function, "__qualname__");
}

void* attributeOf(void* self, void* name)
{
    static PythonMethod reduce{"__reduce_ex__", &qualifiedName, kTuple, nullptr};
    if (watchedOf(self).kind != Kind::Closure &&
        (api->compareText(name, "__reduce_ex__") == 0 || api->compareText(name, "__reduce__") == 0))
        return api->newFunction(&reduce, self, nullptr);
    return api->attribute(watchedOf(self).function, name);
}

int setAttributeOf(void* self, void* name, void* value)
{
    return api->setAttribute(watchedOf(self).function, name, value);
}

void* textOf(void* self)
{
    return api->text(watchedOf(self).function);
}

void* bind(void* self, void* object, void* /*type*/)
{
    if (object && object != api->none)
        return api->newMethod(self, object);
    api->retain(self);
    return self;
}

void* refuse(void* /*type*/, void* /*arguments*/, void* /*named*/)
{
    api->setError(*api->typeError, "objects of this type cannot be made");
    return nullptr;
}

void* makeType()
{
    // A member of this name tells where an object keeps its weak references.
    static PythonMember members[] = {{"__weaklistoffset__", 19,
                                      static_cast<std::ptrdiff_t>(header + offsetof(Watched, weakReferences)),
                                      1, nullptr},
                                     {nullptr, 0, 0, 0, nullptr}};
    const auto slot = [](auto* function) { return reinterpret_cast<void*>(function); };
    static PythonSlot slots[] = {{50, slot(&callWatched)}, // Py_tp_call and so on: numbers of the stable ABI
                                 {52, slot(&destroy)},
                                 {54, slot(&bind)},
                                 {58, slot(&attributeOf)},
                                 {65, slot(&refuse)},
                                 {66, slot(&textOf)},
                                 {69, slot(&setAttributeOf)},
                                 {72, members},
                                 {0, nullptr}};
    constexpr unsigned kHasVersion = 1U << 18;
    constexpr unsigned kIsMethod = 1U << 17;
    static PythonTypeSpec spec{.name = "builtins.function",
                               .bytes = static_cast<int>(header + sizeof(Watched)),
                               .itemBytes = 0,
                               .flags = kHasVersion | kIsMethod,
                               .slots = slots};
    return api->typeFromSpec(&spec);
}

void* makeWatched(Kind kind, void* function, const std::string* phase, void* begin, void* end)
{
    void* object = api->allocate(watchedType, 0);
    if (!object)
        return nullptr;
    for (void* kept : {function, begin, end})
        if (kept)
            api->retain(kept);
    watchedOf(object) = {.function = function,
                         .kind = kind,
                         .phase = phase,
                         .begin = begin,
                         .end = end,
                         .weakReferences = nullptr};
    return object;
}

// --- optimizers ---

std::atomic<void*> stepCode{nullptr}; ///< of the function around each optimizer's step
std::atomic<bool> ownSteps{false};    ///< the program tells its steps

/// PyTorch's function calls the hooks.
/// \param hasFrame  the hook is a function of Python that runs
void rememberStep(bool hasFrame) noexcept
{
    if (!api->codeOfFrame || !api->outerFrame || stepCode.load(std::memory_order_relaxed))
        return;
    void* frame = api->frame();
    if (!frame)
        return;
    if (hasFrame)
        frame = api->outerFrame(frame);
    else
        api->retain(frame);
    if (!frame)
        return;
    stepCode.store(api->codeOfFrame(frame)); // kept for the process
    api->release(frame);
}

bool isInOptimizerStep() noexcept
{
    void* frame = api->frame();
    void* const wanted = stepCode.load(std::memory_order_relaxed);
    if (!frame || !wanted)
        return true;
    api->retain(frame);
    bool found = false;
    while (frame && !found) {
        void* code = api->codeOfFrame(frame);
        found = code == wanted;
        api->release(code);
        void* outer = api->outerFrame(frame);
        api->release(frame);
        frame = outer;
    }
    if (frame)
        api->release(frame);
    return found;
}

/// A copy of a tuple with another item in one place; takes the item. Null if there is no memory.
void* tupleWith(void* tuple, std::ptrdiff_t place, void* item)
{
    const std::ptrdiff_t count = api->sizeOfTuple(tuple);
    void* copy = api->newTuple(count);
    if (!copy) {
        api->release(item);
        return nullptr;
    }
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        void* each = i == place ? item : api->itemOfTuple(tuple, i);
        if (i != place)
            api->retain(each);
        api->setItemOfTuple(copy, i, each);
    }
    return copy;
}

/// A copy of a dict with another value of one key; takes the value. Null if there is no memory.
void* dictWith(void* dict, const char* key, void* value)
{
    void* copy = api->copyOfDict(dict);
    if (copy && api->setItemOfDict(copy, key, value) != 0) {
        api->release(copy);
        copy = nullptr;
    }
    api->release(value);
    return copy;
}

/// \return  (arguments, named) with a closure that suspends the optimizer's phase; null: there is no closure, or no memory
void* withWatchedClosure(void* arguments, void* named)
{
    const auto isClosure = [](void* object) {
        return object && object != api->none && typeOf(object) != watchedType && api->isCallable(object);
    };
    void* closure = api->sizeOfTuple(arguments) > 1 ? api->itemOfTuple(arguments, 1) : nullptr;
    const bool isNamed = !isClosure(closure);
    if (isNamed)
        closure = api->itemOfDict(named, "closure");
    if (!isClosure(closure))
        return nullptr;
    void* watched = makeWatched(Kind::Closure, closure, nullptr, nullptr, nullptr);
    if (!watched)
        return nullptr;
    void* changed = isNamed ? dictWith(named, "closure", watched) : tupleWith(arguments, 1, watched);
    void* both = changed ? api->newTuple(2) : nullptr;
    if (!both) {
        if (changed)
            api->release(changed);
        return nullptr;
    }
    void* same = isNamed ? arguments : named;
    api->retain(same);
    api->setItemOfTuple(both, 0, isNamed ? same : changed);
    api->setItemOfTuple(both, 1, isNamed ? changed : same);
    return both;
}

std::atomic<bool> isStepDue{false}; ///< it ends with the backward pass

/// The optimizer that counts has made a step. One that a hook of the backward pass calls ends the step with that pass.
void endOptimizersStep() noexcept
{
    if (isInBackward()) {
        isStepDue.store(true);
        return;
    }
    const bool isRecorded = Recorder::isRecording(); // modules are only seen then
    Recorder::endStep();
    if (!isRecorded)
        return;
    // Said until a module is called.
    static std::atomic<bool> isSaid{false};
    const bool lacks = watchesCalls() && !hasSeenModules();
    if (lacks != isSaid.exchange(lacks))
        Recorder::noteFact("modules",
                           lacks ? "optimizers made steps, but none of torch.nn's modules was called: the "
                                   "steps have no forward phase and no modules"
                                 : "");
}

void endDueStep() noexcept
{
    if (isStepDue.load(std::memory_order_relaxed) && !isInBackward() && isStepDue.exchange(false))
        endOptimizersStep();
}

/// A forked child makes steps of its own.
void forgetSteps()
{
    isStepDue.store(false);
    forgetProgramsOptimizers();
}

void* beginStep(void* optimizer, void* arguments, void* named, bool hasFrame) noexcept
{
    if (!Recorder::isStarted())
        return api->newNone();
    rememberStep(hasFrame);
    void* changed = withWatchedClosure(arguments, named);
    enterOptimizer(optimizer, changed != nullptr);
    if (changed)
        return changed;
    api->clearError();
    return api->newNone();
}

void* endStep(void* optimizer) noexcept
{
    if (leaveOptimizer(optimizer) && Recorder::isStarted() && !ownSteps.load(std::memory_order_relaxed) &&
        isProgramsOptimizer(*api, optimizer))
        endOptimizersStep();
    return api->newNone();
}

/// What PyTorch passes to its hooks: optimizer, arguments, named arguments.
constexpr std::size_t kHookArguments = 3;

void* callBeginHook(void* function, void* const* arguments, std::size_t count, void* names)
{
    if ((count & kCallCountMask) != kHookArguments)
        return callReplaced(function, arguments, count, names);
    return beginStep(arguments[0], arguments[1], arguments[2], false);
}

void* callEndHook(void* function, void* const* arguments, std::size_t count, void* names)
{
    if ((count & kCallCountMask) != kHookArguments)
        return callReplaced(function, arguments, count, names);
    return endStep(arguments[0]);
}

} // namespace

bool prepareWatchedCalls(std::size_t headerBytes) noexcept
{
    if (watchedType)
        return true;
    api = PythonApi::ofThisProcess();
    header = headerBytes;
    if (!api || header < 2 * sizeof(void*) || header % sizeof(void*) != 0)
        return false;
    watchedType = makeType();
    if (!watchedType) {
        api->clearError();
        return false;
    }
    if (api->outerFrame && api->codeOfFrame)
        setOptimizerProbe(&isInOptimizerStep);
    pthread_atfork(nullptr, nullptr, &forgetSteps);
    return true;
}

void* watchedPhase(void* /*self*/, void* tuple) noexcept
{
    void* function = nullptr;
    const char* name = nullptr;
    if (!api->parse(tuple, "Os", &function, &name))
        return nullptr;
    try {
        return makeWatched(Kind::Phase, function, new std::string(name), nullptr, nullptr);
    } catch (...) {
        api->retain(function); // no memory: its calls are missing
        return function;
    }
}

void* watchedCall(void* /*self*/, void* tuple) noexcept
{
    void* function = nullptr;
    void* begin = nullptr;
    void* end = nullptr;
    if (!api->parse(tuple, "O|OO", &function, &begin, &end))
        return nullptr;
    if (begin == api->none)
        begin = nullptr;
    const Kind kind = begin && end ? Kind::First : end ? Kind::After : begin ? Kind::Callbacks : Kind::Save;
    return makeWatched(kind, function, nullptr, begin, end);
}

void* hiddenCall(void* /*self*/, void* function) noexcept
{
    return makeWatched(Kind::Hidden, function, nullptr, nullptr, nullptr);
}

void* beginOptimizerStep(void* /*self*/, void* tuple) noexcept
{
    void* optimizer = nullptr;
    void* arguments = nullptr;
    void* named = nullptr;
    if (!api->parse(tuple, "OOO", &optimizer, &arguments, &named))
        return nullptr;
    return beginStep(optimizer, arguments, named, true);
}

void* endOptimizerStep(void* /*self*/, void* tuple) noexcept
{
    void* optimizer = nullptr;
    void* arguments = nullptr;
    void* named = nullptr;
    if (!api->parse(tuple, "OOO", &optimizer, &arguments, &named))
        return nullptr;
    return endStep(optimizer);
}

void* stepHooks(void* /*self*/, void* tuple) noexcept
{
    std::ptrdiff_t bytes = 0;
    void* begin = nullptr;
    void* end = nullptr;
    if (!api->parse(tuple, "nOO", &bytes, &begin, &end))
        return nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    const bool both = replaceCall(begin, size, &callBeginHook) && replaceCall(end, size, &callEndHook);
    return api->newBool(both ? 1 : 0);
}

void* askForTasks(void* /*self*/, void* function) noexcept
{
    askForTask(*api, function);
    return api->newNone();
}

void* leaveStepsToProgram(void* /*self*/, void* /*none*/) noexcept
{
    ownSteps.store(true);
    return api->newNone();
}

} // namespace tilescope::record
