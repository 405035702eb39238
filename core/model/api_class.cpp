#include "core/model/api_class.h"

#include <algorithm>
#include <array>

namespace tilescope {

namespace {

bool has(std::string_view name, std::string_view part)
{
    return name.find(part) != std::string_view::npos;
}

template <std::size_t N> bool isOneOf(std::string_view name, const std::array<std::string_view, N>& names)
{
    return std::ranges::find(names, name) != names.end();
}

} // namespace

std::string_view functionNameOf(std::string_view callbackName)
{
    // _v7000 is added by CUPTI; _v2 is part of a driver function's name, but not useful to readers.
    const auto dropSuffix = [&](std::string_view mark) {
        const std::size_t at = callbackName.rfind(mark);
        if (at == std::string_view::npos || at == 0)
            return;
        const std::string_view tail = callbackName.substr(at + mark.size());
        if (std::ranges::all_of(tail, [](char c) { return c >= '0' && c <= '9'; }))
            callbackName = callbackName.substr(0, at);
    };
    dropSuffix("_v");
    dropSuffix("_ptsz");
    dropSuffix("_ptds");
    dropSuffix("_v");
    return callbackName;
}

ApiClass classifyApi(std::string_view callbackName)
{
    constexpr std::array<std::string_view, 4> kCountedOnly = {"cudaGetDevice", "cudaGetLastError",
                                                              "cudaPeekAtLastError", "cudaStreamIsCapturing"};
    constexpr std::array<std::string_view, 7> kAllocations = {
        "Malloc", "MemAlloc", "cudaFree", "cuMemFree", "HostAlloc", "cuMemHostAlloc", "hipFree"};
    constexpr std::array<std::string_view, 6> kCopies = {"cudaMemcpy", "cudaMemset", "cuMemcpy",
                                                         "cuMemset",   "hipMemcpy",  "hipMemset"};
    constexpr std::array<std::string_view, 6> kMappings = {
        "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cudaHostRegister", "cudaHostUnregister"};
    const std::string_view name = functionNameOf(callbackName);
    if (isOneOf(name, kCountedOnly))
        return ApiClass::CountedOnly;
    if (name == "cudaGraphLaunch" || name == "cuGraphLaunch" || name == "hipGraphLaunch")
        return ApiClass::Launch;
    // Building a graph runs nothing.
    if (has(name, "Graph") || has(name, "HostFunc") || has(name, "Attribute"))
        return ApiClass::Ignored;
    if (name.starts_with("cudaLaunch") || name.starts_with("__cudaLaunch") || name.starts_with("cuLaunch") ||
        (name.starts_with("hip") && has(name, "Launch")))
        return ApiClass::Launch;
    if (std::ranges::any_of(kCopies, [&](std::string_view start) { return name.starts_with(start); }))
        return ApiClass::Copy;
    if (name.ends_with("Synchronize") || name.ends_with("StreamWaitEvent"))
        return ApiClass::Synchronize;
    if (has(name, "EventRecord"))
        return ApiClass::Event;
    if (isOneOf(name, kMappings) ||
        std::ranges::any_of(kAllocations, [&](std::string_view part) { return has(name, part); }))
        return ApiClass::Memory;
    return ApiClass::Ignored;
}

ApiKind apiKindOf(ApiClass kind)
{
    switch (kind) {
    case ApiClass::Launch:
        return ApiKind::Launch;
    case ApiClass::Copy:
    case ApiClass::Memory:
        return ApiKind::Memory;
    case ApiClass::Synchronize:
        return ApiKind::Synchronize;
    default:
        return ApiKind::Other;
    }
}

} // namespace tilescope
