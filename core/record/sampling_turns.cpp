#include "core/record/sampling_turns.h"

#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/base/plural.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <system_error>

namespace tilescope::record {

namespace fs = std::filesystem;

struct TurnPage {
    std::atomic<std::uint32_t> isOfInstructions;
    std::atomic<std::uint32_t> steps; ///< that have ended, of all processes
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

namespace {

constexpr const char* kFile = "turns";
constexpr std::size_t kPageBytes = 4096;

/// \return  null: it cannot be mapped
TurnPage* mapped(const fs::path& folder, int flags) noexcept
{
    const std::string path = (folder / kFile).string();
    const FileDescriptor descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0600));
    if (!descriptor || ((flags & O_CREAT) != 0 && ftruncate(descriptor.get(), kPageBytes) != 0))
        return nullptr;
    void* const page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
    return page == MAP_FAILED ? nullptr : static_cast<TurnPage*>(page);
}

} // namespace

std::unique_ptr<InstructionTurn> InstructionTurn::open(const fs::path& folder) noexcept
{
    TurnPage* const page = mapped(folder, 0);
    return page ? std::unique_ptr<InstructionTurn>(new InstructionTurn(page)) : nullptr;
}

InstructionTurn::~InstructionTurn()
{
    munmap(page_, kPageBytes);
}

bool InstructionTurn::hasBegun() const noexcept
{
    return page_->isOfInstructions.load() != 0;
}

void InstructionTurn::noteStep() noexcept
{
    page_->steps.fetch_add(1, std::memory_order_relaxed);
}

MetricTurn::MetricTurn(const fs::path& folder, Lengths lengths)
    : lengths_(lengths), page_(mapped(folder, O_CREAT | O_EXCL))
{
    if (!page_)
        throw Error{.what = "the file by which two kinds of sampling take turns cannot be created: " +
                            std::generic_category().message(errno),
                    .where = (folder / kFile).string(),
                    .remedy = "give --inside or --metrics alone",
                    .kind = ErrorKind::Environment};
}

MetricTurn::~MetricTurn()
{
    munmap(page_, kPageBytes);
}

bool MetricTurn::isDue(std::chrono::nanoseconds busy)
{
    const Clock::time_point now = Clock::now();
    if (!began_)
        began_ = now;
    const std::uint32_t steps = page_->steps.load(std::memory_order_relaxed);
    const bool hasEnded = steps != steps_;
    steps_ = steps;
    if (steps == 0)
        return busy >= lengths_.busy;
    if (!firstStep_) {
        firstStep_ = now;
        stepsThen_ = steps;
    }
    const bool isEnough = steps - stepsThen_ >= lengths_.steps && now - *firstStep_ >= lengths_.ofSteps;
    // Where steps have ended for good, such as before an evaluation, the GPU's time counts.
    return (isEnough && hasEnded) ||
           (!hasEnded && busy >= lengths_.busy && now - *firstStep_ >= 2 * lengths_.busy);
}

bool MetricTurn::goesOn(std::chrono::nanoseconds busy)
{
    if (ended_ || isDue(busy)) {
        if (!ended_)
            ended_ = Clock::now();
        return false;
    }
    return true;
}

void MetricTurn::giveTurn()
{
    page_->isOfInstructions.store(1);
}

std::string MetricTurn::sentence() const
{
    if (!began_)
        return {};
    const Clock::time_point now = Clock::now();
    const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
    std::array<char, 64> metrics{};
    std::snprintf(metrics.data(), metrics.size(), "metrics were sampled first, for %.1f s",
                  seconds(ended_.value_or(now) - *began_));
    std::string text = metrics.data();
    if (steps_ > 0)
        text += " and until " + counted(static_cast<std::int64_t>(steps_), "step") + " had ended";
    if (!ended_)
        return text + ", and instructions (--inside) not at all, because the program ended before";
    std::array<char, 64> instructions{};
    std::snprintf(instructions.data(), instructions.size(), ", then instructions (--inside), for %.1f s",
                  seconds(now - *ended_));
    return text + instructions.data();
}

} // namespace tilescope::record
