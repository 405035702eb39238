#include "app/record/nvtx_collectives.h"

#include "app/record/recorder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace tilescope::record {

namespace {

/// NVTX_PAYLOAD_TYPE_EXT and nvtxPayloadData_t of nvToolsExtPayload.h.
constexpr auto kExtendedPayload = static_cast<std::int32_t>(0xDFBD0009);
struct Payload {
    std::uint64_t schema;
    std::size_t bytes;
    const void* data;
};

/// Calls that are collectives, with the bytes of their arguments as NCCL 2.26 and later attach them: first the
/// communicator, then the bytes of the message. Earlier versions leave out the communicator.
struct NcclCall {
    std::string_view name;
    std::size_t bytes;
    bool hasPeer = false; ///< the third argument is the peer
};
constexpr std::array kCalls{
    NcclCall{"ncclAllReduce", 24}, NcclCall{"ncclAllGather", 16},  NcclCall{"ncclReduceScatter", 24},
    NcclCall{"ncclBroadcast", 24}, NcclCall{"ncclBcast", 24},      NcclCall{"ncclReduce", 24},
    NcclCall{"ncclAlltoAll", 16},  NcclCall{"ncclAllToAll", 16},   NcclCall{"ncclGather", 24},
    NcclCall{"ncclScatter", 24},   NcclCall{"ncclSend", 24, true}, NcclCall{"ncclRecv", 24, true}};

thread_local std::uint64_t openCall = 0;

std::string hexadecimal(std::uint64_t number)
{
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4)
        digits += "0123456789abcdef"[number >> shift & 15];
    return "0x" + digits;
}

/// Adds what NCCL attached to a call; nothing if the layout is unknown.
void addArguments(const NcclCall& call, const Payload& payload, StartedCollective& collective,
                  std::string& group)
{
    std::uint64_t words[3]{};
    // ncclReduce has two arguments more, a root and an operation; 4 bytes each.
    const std::size_t least = call.bytes - sizeof(std::uint64_t);
    if (!payload.data || payload.bytes < least || payload.bytes > call.bytes + sizeof(std::uint64_t))
        return;
    const bool hasCommunicator = payload.bytes >= call.bytes;
    std::memcpy(hasCommunicator ? words : words + 1, payload.data,
                std::min(payload.bytes, sizeof(words) - (hasCommunicator ? 0 : sizeof(words[0]))));
    if (hasCommunicator)
        collective.group = group = hexadecimal(words[0]);
    collective.bytes = static_cast<std::int64_t>(words[1]);
    if (call.hasPeer)
        collective.peer = static_cast<std::int32_t>(words[2]);
}

} // namespace

void startNcclCall(std::string_view name, const nvtxEventAttributes_t* event) noexcept
{
    const auto* call = std::ranges::find(kCalls, name, &NcclCall::name);
    if (call == kCalls.end() || !Recorder::isRecording())
        return;
    try {
        StartedCollective collective{.op = name, .isOfNccl = true};
        std::string group;
        if (event && event->payloadType == kExtendedPayload && event->reserved0 == 1)
            if (const auto* payload = reinterpret_cast<const Payload*>(event->payload.ullValue))
                addArguments(*call, *payload, collective, group);
        openCall = Recorder::startCollective(collective);
    } catch (...) {
        return; // no memory: this call is missing
    }
}

void endNcclCall() noexcept
{
    if (openCall != 0)
        Recorder::endCollective(openCall);
    openCall = 0;
}

} // namespace tilescope::record
