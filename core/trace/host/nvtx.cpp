#include "core/trace/host/nvtx.h"

#include <nvtx3/nvToolsExt.h>

#include <cstdlib>

namespace tilescope::trace {

namespace {

nvtxDomainHandle_t domain()
{
    static const nvtxDomainHandle_t handle = nvtxDomainCreateA("tilescope");
    return handle;
}

void push(const char* name)
{
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(domain(), &attributes);
}

void pop()
{
    nvtxDomainRangePop(domain());
}

} // namespace

void installNvtx()
{
    // Tools announce themselves to NVTX by this variable; without one every NVTX call returns at once.
    const bool toolListens = std::getenv("NVTX_INJECTION64_PATH") != nullptr;
    detail::setNvtxHooks({&push, &pop}, toolListens);
}

} // namespace tilescope::trace
