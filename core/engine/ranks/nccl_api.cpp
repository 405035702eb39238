#include "core/engine/ranks/nccl_api.h"

#include "core/engine/common/failure.h"

#include <c10/util/StringUtil.h>

#include <dlfcn.h>

namespace tilescope::engine {

namespace {

constexpr const char* kLibrary = "libnccl.so.2";

template <class Function> void find(void* library, const char* name, Function*& function)
{
    void* const symbol = dlsym(library, name);
    if (!symbol)
        throw Unsupported{c10::str("ranks on GPUs need a newer NCCL: ", kLibrary, " has no ", name)};
    function = reinterpret_cast<Function*>(symbol);
}

NcclApi load()
{
    void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        throw Unsupported{c10::str("ranks on GPUs need NCCL, and ", kLibrary, " cannot be loaded")};
    NcclApi api;
    find(library, "ncclGetVersion", api.getVersion);
    find(library, "ncclGetUniqueId", api.getUniqueId);
    find(library, "ncclCommInitRank", api.commInitRank);
    find(library, "ncclCommSplit", api.commSplit);
    find(library, "ncclCommDestroy", api.commDestroy);
    find(library, "ncclCommAbort", api.commAbort);
    find(library, "ncclCommGetAsyncError", api.commGetAsyncError);
    find(library, "ncclGetErrorString", api.getErrorString);
    find(library, "ncclGetLastError", api.getLastError);
    find(library, "ncclGroupStart", api.groupStart);
    find(library, "ncclGroupEnd", api.groupEnd);
    find(library, "ncclAllReduce", api.allReduce);
    find(library, "ncclAllGather", api.allGather);
    find(library, "ncclReduceScatter", api.reduceScatter);
    find(library, "ncclBroadcast", api.broadcast);
    find(library, "ncclSend", api.send);
    find(library, "ncclRecv", api.receive);
    return api;
}

} // namespace

const NcclApi& NcclApi::instance()
{
    static const NcclApi api = load();
    return api;
}

} // namespace tilescope::engine
