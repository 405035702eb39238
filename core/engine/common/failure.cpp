#include "core/engine/common/failure.h"

#include "core/base/error.h"
#include "core/base/quantity.h"
#include "core/engine/common/device.h"
#include "core/model/flags.h"
#include "core/trace/allocators/cpu_allocator.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

namespace tilescope::engine {
namespace {

constexpr std::size_t kLongestReason = 240;

std::string sizeText(Bytes bytes)
{
    return quantity::withUnit(static_cast<double>(bytes.count), quantity::Unit::Bytes);
}

void recordOutOfMemory(RunResult& result, std::string_view phase, Bytes requested, Bytes allocated,
                       std::optional<Bytes> reserved)
{
    result.status = RunStatus::Oom;
    result.oom = OomInfo{requested, allocated, reserved, std::string(phase)};
    result.reason = c10::str("out of memory in ", phase, ": asked for ", sizeText(requested), " with ",
                             sizeText(allocated), " allocated");
    if (reserved)
        result.reason += " and " + sizeText(*reserved) + " reserved";
}

void recordOutOfMemory(RunResult& result, std::string_view phase, const c10::OutOfMemoryError& error)
{
    // A point on a GPU can also run out of host memory; the message identifies the allocator.
    const std::string_view message = error.what_without_backtrace();
    const bool host = message.substr(0, 3) == "CPU";
    if (const auto failure = trace::CpuAllocator::lastFailure(); host && failure)
        return recordOutOfMemory(result, phase, failure->requested, failure->allocated, {});
    if (const auto refused = takeRefusedAllocation())
        return recordOutOfMemory(result, phase, refused->requested, refused->allocated, refused->reserved);
    result.status = RunStatus::Oom;
    result.oom = OomInfo{.phase = std::string(phase)};
    result.reason = c10::str("out of memory in ", phase, ": ", condensed(message));
}

} // namespace

std::string condensed(std::string_view message)
{
    // The first line with content; LibTorch appends hints, stacks and links.
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

void recordFailure(RunResult& result, std::string_view phase)
{
    try {
        throw;
    } catch (const Unsupported& unsupported) {
        result.status = RunStatus::Skipped;
        result.reason = unsupported.reason;
    } catch (const LostRank& lost) {
        result.status = RunStatus::Error;
        result.reason = lost.reason;
        result.flags.push_back(flagText(FlagKind::RankLost));
    } catch (const Error& error) {
        result.status = RunStatus::Error;
        result.reason = error.sentence();
    } catch (const c10::OutOfMemoryError& error) {
        recordOutOfMemory(result, phase, error);
    } catch (const c10::NotImplementedError& error) {
        result.status = RunStatus::Skipped;
        result.reason = c10::str("LibTorch has no kernel for this in ", phase, ": ",
                                 condensed(error.what_without_backtrace()));
    } catch (const c10::Error& error) {
        result.status = RunStatus::Error;
        result.reason = c10::str(phase, " failed: ", condensed(error.what_without_backtrace()));
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
