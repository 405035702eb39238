#pragma once

#include "app/record/find_function.h"

#include <cstddef>
#include <cstdint>

namespace tilescope::record {

// Python's C API as far as the recorder uses it. The library does not link Python: it finds the functions by name in the
// process, and declares the structures that belong to Python's stable ABI. PyObject* is void* here.

/// PyMethodDef.
struct PythonMethod {
    const char* name;
    void* (*function)(void* self, void* argument);
    int flags;
    const char* documentation;
};
inline constexpr int kTuple = 1;       // METH_VARARGS
inline constexpr int kNamed = 2;       // METH_KEYWORDS
inline constexpr int kOneArgument = 8; // METH_O
inline constexpr int kFastCall = 0x80; // METH_FASTCALL

/// PyType_Slot, PyType_Spec and PyMemberDef.
struct PythonSlot {
    int slot;
    void* value;
};
struct PythonTypeSpec {
    const char* name;
    int bytes;
    int itemBytes;
    unsigned flags;
    PythonSlot* slots;
};
struct PythonMember {
    const char* name;
    int type;
    std::ptrdiff_t offset;
    int flags;
    const char* documentation;
};

struct PythonApi {
    void* (*newFunction)(PythonMethod*, void* self, void* module) = nullptr;
    void* (*call)(void* callable, void* tuple, void* named) = nullptr;
    void* (*callWith)(void* callable, ...) = nullptr;
    void (*retain)(void* object) = nullptr;
    void (*release)(void* object) = nullptr;
    void* (*newBool)(long value) = nullptr;
    void* (*newTuple)(std::ptrdiff_t size) = nullptr;
    std::ptrdiff_t (*sizeOfTuple)(void* tuple) = nullptr;
    void* (*itemOfTuple)(void* tuple, std::ptrdiff_t index) = nullptr;                ///< borrowed
    int (*setItemOfTuple)(void* tuple, std::ptrdiff_t index, void* object) = nullptr; ///< takes the object
    void* (*itemOfDict)(void* dict, const char* key) = nullptr; ///< borrowed; no error is set
    int (*setItemOfDict)(void* dict, const char* key, void* object) = nullptr;
    void* (*copyOfDict)(void* dict) = nullptr;
    int (*isCallable)(void* object) = nullptr;
    void* (*attribute)(void* object, void* name) = nullptr;
    void* (*attributeCalled)(void* object, const char* name) = nullptr;
    int (*setAttribute)(void* object, void* name, void* value) = nullptr;
    void* (*text)(void* object) = nullptr; ///< repr()
    int (*compareText)(void* text, const char* ascii) = nullptr;
    int (*parse)(void* tuple, const char* format, ...) = nullptr;
    void (*fetchError)(void** type, void** value, void** trace) = nullptr;
    void (*restoreError)(void* type, void* value, void* trace) = nullptr;
    void (*clearError)() = nullptr;
    void* (*hasError)() = nullptr; ///< the error that is set; borrowed
    void (*setError)(void* type, const char* text) = nullptr;
    void* (*typeFromSpec)(PythonTypeSpec*) = nullptr;
    void* (*slotOfType)(void* type, int slot) = nullptr;
    void* (*allocate)(void* type, std::ptrdiff_t items) = nullptr;
    void (*clearWeakReferences)(void* object) = nullptr;
    void* (*newMethod)(void* function, void* self) = nullptr;
    void* (*newWeakReference)(void* object, void* callback) = nullptr;
    void* (*frame)() = nullptr;            ///< borrowed
    void* (*outerFrame)(void*) = nullptr;  ///< null before Python 3.9
    void* (*codeOfFrame)(void*) = nullptr; ///< null before Python 3.9
    void* (*functionOf)(void* builtin) = nullptr;
    int (*flagsOf)(void* builtin) = nullptr;
    long (*number)(void* integer) = nullptr;
    void* none = nullptr;
    void** typeError = nullptr;

    /// The functions of this process. The caller holds the interpreter's lock at the first call.
    /// \return  null if one of them is missing
    static const PythonApi* ofThisProcess() noexcept;

    void* newNone() const
    {
        retain(none);
        return none;
    }
};

} // namespace tilescope::record
