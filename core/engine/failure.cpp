#include "core/engine/failure.h"

#include "core/base/error.h"
#include "core/engine/device.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <charconv>
#include <iomanip>
#include <sstream>

namespace tilescope::engine {
namespace {

constexpr std::size_t kLongestReason = 240;

std::string sizeText(Bytes bytes)
{
    std::ostringstream text;
    text << std::fixed;
    const double mebibytes = static_cast<double>(bytes.count) / (1 << 20);
    if (mebibytes < 1024)
        text << std::setprecision(1) << mebibytes << " MiB";
    else
        text << std::setprecision(2) << mebibytes / 1024 << " GiB";
    return text.str();
}

// "… you tried to allocate 123 bytes …", as LibTorch's CPU allocator words it.
std::optional<Bytes> cpuRefusal(std::string_view message)
{
    constexpr std::string_view kMarker = "you tried to allocate ";
    const auto at = message.find(kMarker);
    if (message.find("DefaultCPUAllocator") == std::string_view::npos || at == std::string_view::npos)
        return {};
    std::int64_t bytes = 0;
    const char* begin = message.data() + at + kMarker.size();
    const auto [end, error] = std::from_chars(begin, message.data() + message.size(), bytes);
    if (error != std::errc{} || end == begin)
        return {};
    return Bytes{bytes};
}

void recordOutOfMemory(RunResult& result, std::string_view phase, const RefusedAllocation& refused)
{
    result.status = RunStatus::Oom;
    result.oom = OomInfo{refused.requested, refused.allocated, refused.reserved, std::string(phase)};
    result.reason =
        c10::str("out of memory in ", phase, ": asked for ", sizeText(refused.requested), " with ",
                 sizeText(refused.allocated), " allocated and ", sizeText(refused.reserved), " reserved");
}

void recordTorchError(RunResult& result, std::string_view phase, const c10::Error& error,
                      const Device& device)
{
    const std::string_view message = error.what_without_backtrace();
    if (const auto requested = cpuRefusal(message)) {
        const Bytes inUse = device.memory().allocated.value_or(Bytes{});
        recordOutOfMemory(result, phase, {*requested, inUse, inUse});
        return;
    }
    result.status = RunStatus::Error;
    result.reason = c10::str(phase, " failed: ", condensed(message));
}

} // namespace

std::string condensed(std::string_view message)
{
    // The first line that says something; LibTorch appends hints, stacks and links after it.
    const auto start = message.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos)
        return "no reason given";
    message.remove_prefix(start);
    std::string_view line = message.substr(0, message.find('\n'));
    if (const auto sentence = line.find(". "); sentence != std::string_view::npos)
        line = line.substr(0, sentence);
    while (!line.empty() && (line.back() == '.' || line.back() == ' ' || line.back() == '\r'))
        line.remove_suffix(1);
    std::string reason(line.substr(0, kLongestReason));
    if (reason.size() < line.size())
        reason.append("…");
    return reason;
}

void recordFailure(RunResult& result, std::string_view phase, const Device& device)
{
    try {
        throw;
    } catch (const Unsupported& unsupported) {
        result.status = RunStatus::Skipped;
        result.reason = unsupported.reason;
    } catch (const Error& error) {
        result.status = RunStatus::Error;
        result.reason = error.sentence();
    } catch (const c10::OutOfMemoryError& error) {
        if (const auto refused = takeRefusedAllocation()) {
            recordOutOfMemory(result, phase, *refused);
            return;
        }
        result.status = RunStatus::Oom;
        result.oom = OomInfo{.phase = std::string(phase)};
        result.reason = c10::str("out of memory in ", phase, ": ", condensed(error.what_without_backtrace()));
    } catch (const c10::Error& error) {
        recordTorchError(result, phase, error, device);
    } catch (const std::bad_alloc&) {
        result.status = RunStatus::Oom;
        result.oom = OomInfo{.phase = std::string(phase)};
        result.reason = c10::str("out of host memory in ", phase);
    } catch (...) {
        result.status = RunStatus::Error;
        result.reason = c10::str(phase, " failed: ", condensed(currentExceptionSentence()));
    }
}

} // namespace tilescope::engine
