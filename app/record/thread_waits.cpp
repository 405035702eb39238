#include "app/record/thread_waits.h"

#include "core/base/number_text.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace tilescope::record {

namespace {

int openFile(std::uint32_t thread, const char* name) noexcept
{
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/self/task/%u/%s", thread, name);
    return ::open(path.data(), O_RDONLY | O_CLOEXEC);
}

/// The beginning of a file; empty if it cannot be read.
template <std::size_t kBytes> std::string_view beginningOf(int file, std::array<char, kBytes>& bytes) noexcept
{
    const ssize_t read = file >= 0 ? pread(file, bytes.data(), bytes.size() - 1, 0) : -1;
    return read > 0 ? std::string_view(bytes.data(), static_cast<std::size_t>(read)) : std::string_view();
}

/// The word that follows `text`'s first space.
std::string_view secondWord(std::string_view text) noexcept
{
    const std::size_t first = text.find(' ');
    if (first == std::string_view::npos)
        return {};
    text.remove_prefix(first + 1);
    return text.substr(0, text.find_first_of(" \n"));
}

} // namespace

void ThreadWaits::open(std::uint32_t thread) noexcept
{
    close();
    scheduling_ = openFile(thread, "schedstat");
    call_ = openFile(thread, "syscall");
}

void ThreadWaits::close() noexcept
{
    for (int* file : {&scheduling_, &call_}) {
        if (*file >= 0)
            ::close(*file);
        *file = -1;
    }
}

std::optional<std::int64_t> ThreadWaits::withoutCore() const noexcept
{
    std::array<char, 96> bytes{};
    return parseNumber<std::int64_t>(secondWord(beginningOf(scheduling_, bytes)));
}

std::optional<bool> ThreadWaits::isRunnable() const noexcept
{
    std::array<char, 192> bytes{};
    const std::string_view text = beginningOf(call_, bytes);
    return text.empty() ? std::nullopt : std::optional(text.starts_with("running"));
}

std::uintptr_t ThreadWaits::awaitedWord() const noexcept
{
    // "202 0x7f12a8 0x189 …": the number of the call and its arguments; "running" of a thread that runs.
    std::array<char, 192> bytes{};
    const std::string_view text = beginningOf(call_, bytes);
    const auto call = parseNumber<std::int64_t>(text.substr(0, text.find(' ')));
    if (call != SYS_futex)
        return 0;
    const std::string_view word = secondWord(text);
    std::uintptr_t address = 0;
    if (word.starts_with("0x"))
        std::from_chars(word.data() + 2, word.data() + word.size(), address, 16);
    return address;
}

} // namespace tilescope::record
