#include "core/query/timeline/numbers.h"

#include <sys/mman.h>

namespace tilescope::query {

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

// Finding large pages for smaller blocks costs more than it saves.
bool isLarge(std::size_t bytes)
{
    return bytes >= 4 * kLargePage;
}

} // namespace

void* allocateNumbers(std::size_t bytes)
{
    if (!isLarge(bytes))
        return ::operator new(bytes);
    void* const at = ::operator new (bytes, std::align_val_t{kLargePage});
    // The last, partial page is left small. If the system has no large pages, nothing changes.
    madvise(at, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
    return at;
}

void freeNumbers(void* at, std::size_t bytes) noexcept
{
    if (isLarge(bytes))
        ::operator delete (at, std::align_val_t{kLargePage});
    else
        ::operator delete(at);
}

} // namespace tilescope::query
