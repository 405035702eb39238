#include "app/record/python_frames.h"

#include "app/record/find_function.h"
#include "core/base/units.h"
#include "core/trace/host/host_log.h"
#include "core/trace/host/path_tree.h"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::record {

namespace {

// PyObject* is void* here.
using Profiler = int (*)(void* self, void* frame, int what, void* argument);
constexpr int kCall = 0;   // PyTrace_CALL
constexpr int kReturn = 3; // PyTrace_RETURN, also after an exception

constexpr std::int64_t kShortest = 1000; // ns

/// The functions of Python's C API that are used.
struct Api {
    void (*setProfile)(Profiler, void* self) = nullptr;
    void* (*codeOf)(void* frame) = nullptr;
    void* (*attribute)(void* object, const char* name) = nullptr;
    const char* (*text)(void* string, std::ptrdiff_t* bytes) = nullptr;
    long (*number)(void* integer) = nullptr;
    void (*release)(void* object) = nullptr;
    void (*clearError)() = nullptr;

    bool load()
    {
        return findFunction(setProfile, "PyEval_SetProfile") && findFunction(codeOf, "PyFrame_GetCode") &&
               findFunction(attribute, "PyObject_GetAttrString") &&
               findFunction(text, "PyUnicode_AsUTF8AndSize") && findFunction(number, "PyLong_AsLong") &&
               findFunction(release, "Py_DecRef") && findFunction(clearError, "PyErr_Clear");
    }
};
Api api;

std::int64_t now() noexcept
{
    return nanosecondsOf(TraceClock::now());
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

/// A file of PyTorch as PyTorch's profiler names it, torch/nn/modules/module.py; of another package with the folder of
/// packages, by which readers know that it is not the program's own: site-packages/einops/einops.py.
std::string_view shortFile(std::string_view file)
{
    for (const std::string_view folder : {"/site-packages/", "/dist-packages/"})
        if (const std::size_t at = file.rfind(folder); at != std::string_view::npos) {
            const std::string_view rest = file.substr(at + folder.size());
            return rest.starts_with("torch/") ? rest : file.substr(at + 1);
        }
    static const std::string here = [] {
        std::array<char, 4096> folder{};
        return getcwd(folder.data(), folder.size()) ? std::string(folder.data()) + '/' : std::string();
    }();
    return !here.empty() && file.starts_with(here) ? file.substr(here.size()) : file;
}

/// PathNode::id of a function's name by its code. The interpreter's lock guards it; the code objects stay alive.
std::uint32_t nameOf(void* frame)
{
    static auto* const known = new std::unordered_map<const void*, std::uint32_t>;
    void* code = api.codeOf(frame);
    const auto [place, isNew] = known->try_emplace(code, trace::kNone);
    if (!isNew) {
        api.release(code);
        return place->second;
    }
    long line = 0;
    if (void* first = api.attribute(code, "co_firstlineno")) {
        line = api.number(first);
        api.release(first);
    }
    const std::string file = textOf(code, "co_filename");
    const std::string function = textOf(code, "co_name");
    api.clearError();
    trace::PathTree& tree = trace::PathTree::instance();
    return place->second = tree.child(tree.names(), frameName(file, line, function))->id;
}

struct OpenCall {
    std::uint32_t name;
    std::int64_t start;
};
thread_local std::vector<OpenCall> calls;

int note(void* /*self*/, void* frame, int what, void* /*argument*/) noexcept
{
    try {
        if (what == kCall) {
            calls.push_back({nameOf(frame), now()});
        } else if (what == kReturn && !calls.empty()) {
            const OpenCall call = calls.back();
            calls.pop_back();
            trace::ThreadLog* log = now() - call.start >= kShortest ? trace::HostLogs::mine() : nullptr;
            if (log)
                log->noteFrame(call.name, call.start);
        }
    } catch (...) {
        return 0; // no memory: this call is missing
    }
    return 0;
}

} // namespace

std::string frameName(std::string_view file, long line, std::string_view function)
{
    return std::string(shortFile(file))
        .append("(")
        .append(std::to_string(line))
        .append("): ")
        .append(function);
}

bool recordFrames() noexcept
{
    if (!api.load())
        return false;
    api.setProfile(&note, nullptr);
    return true;
}

} // namespace tilescope::record
