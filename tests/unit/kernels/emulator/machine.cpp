#include "tests/unit/kernels/emulator/machine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace tilescope::kernels::emulator {

namespace {

constexpr std::size_t kStackBytes = 128 << 10;
constexpr std::uint32_t kSharedBegins = 1024;
Machine* machine = nullptr;

} // namespace

void Barrier::arrive()
{
    if (pending == 0) {
        throw std::runtime_error("a barrier has more arrivals than it expects");
    }
    --pending;
    endIfComplete();
}

void Barrier::addBytes(std::int32_t count)
{
    bytes += count;
    endIfComplete();
}

void Barrier::endIfComplete()
{
    if (pending == 0 && bytes == 0) {
        pending = expected;
        phase ^= 1;
    }
}

Machine::Machine(unsigned threads, std::size_t sharedBytes, std::uint64_t seed, Pace products)
    : memory_(sharedBytes + 1024, 0xff), threads_(threads), warps_(threads / kWarpSize), random_(seed),
      productPace_(products)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
    shared_ = memory_.data() + (1024 - begin % 1024) % 1024;
}

Machine::~Machine() = default;

Machine& Machine::here()
{
    return *machine;
}

std::uint32_t Machine::address(const void* pointer) const
{
    return kSharedBegins + static_cast<std::uint32_t>(static_cast<const unsigned char*>(pointer) - shared_);
}

unsigned char* Machine::at(std::uint32_t address)
{
    return shared_ + (address - kSharedBegins);
}

void Machine::enter(unsigned high, unsigned low)
{
    auto& self = *reinterpret_cast<Machine*>(static_cast<std::uintptr_t>(high) << 32 | low);
    Thread& thread = self.threads_[self.current_];
    try {
        (*self.program_)();
    } catch (const std::exception& error) {
        self.failure_ = "thread " + std::to_string(self.current_) + ": " + error.what();
    }
    thread.finished = true;
    swapcontext(&thread.context, &self.scheduler_);
}

void Machine::run(const std::function<void()>& program)
{
    machine = this;
    program_ = &program;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    for (Thread& thread : threads_) {
        thread.stack = std::make_unique<char[]>(kStackBytes);
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.get();
        thread.context.uc_stack.ss_size = kStackBytes;
        thread.context.uc_link = &scheduler_;
        makecontext(&thread.context, reinterpret_cast<void (*)()>(&Machine::enter), 2,
                    static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
    }
    while (true) {
        // Only some warps, so that others fall behind.
        bool moved = sweep(false) || sweep(true);
        if (!engine_.empty() && (!moved || random_() % 4 == 0)) {
            std::swap(engine_[random_() % engine_.size()], engine_.back());
            const std::function<void()> work = std::move(engine_.back());
            engine_.pop_back();
            work();
            moved = true;
        }
        if (!failure_.empty()) {
            throw std::runtime_error(failure_);
        }
        if (!moved) {
            break;
        }
    }
    if (!std::ranges::all_of(threads_, &Thread::finished)) {
        throw std::runtime_error("deadlock: " + describeWaiting());
    }
}

bool Machine::sweep(bool everyWarp)
{
    bool moved = false;
    const auto first = static_cast<unsigned>(random_() % warps_.size());
    for (unsigned i = 0; i < warps_.size(); ++i) {
        if (!everyWarp && random_() % 2 == 0) {
            continue;
        }
        const unsigned warp = (first + i) % warps_.size();
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            moved = resume(warp * kWarpSize + lane) || moved;
        }
    }
    return moved;
}

bool Machine::resume(unsigned index)
{
    Thread& thread = threads_[index];
    if (thread.finished || !failure_.empty() || (thread.ready && !thread.ready())) {
        return false;
    }
    thread.ready = nullptr;
    current_ = threadIdx.x = index;
    swapcontext(&scheduler_, &thread.context);
    return true;
}

std::string Machine::describeWaiting() const
{
    std::map<std::string, std::pair<unsigned, unsigned>> groups; // first thread, count
    for (unsigned i = 0; i < threads_.size(); ++i) {
        if (!threads_[i].finished) {
            ++groups.try_emplace(threads_[i].what, i, 0).first->second.second;
        }
    }
    std::string text;
    for (const auto& [what, who] : groups) {
        text += (text.empty() ? "" : "; ") + std::to_string(who.second) + " threads from " +
                std::to_string(who.first) + " on wait for " + what;
    }
    return text;
}

void Machine::waitUntil(const char* what, std::function<bool()> ready)
{
    Thread& thread = threads_[current_];
    thread.what = what;
    thread.ready = std::move(ready);
    swapcontext(&thread.context, &scheduler_);
}

const std::array<std::uint64_t, kWarpSize>& Machine::exchange(std::uint64_t value)
{
    Warp& warp = warps_[current_ / kWarpSize];
    const unsigned generation = warp.generation;
    auto& values = warp.values[generation % 2];
    values[lane()] = value;
    if (++warp.arrived == kWarpSize) {
        warp.arrived = 0;
        ++warp.generation;
    } else {
        waitUntil("their warp", [&warp, generation] { return warp.generation != generation; });
    }
    return values;
}

void Machine::namedBarrier(unsigned id, unsigned threads, bool wait)
{
    NamedBarrier& barrier = named_.at(id);
    const unsigned generation = barrier.generation;
    if (++barrier.arrived == threads) {
        barrier.arrived = 0;
        ++barrier.generation;
    } else if (wait) {
        waitUntil("a named barrier", [&barrier, generation] { return barrier.generation != generation; });
    }
}

} // namespace tilescope::kernels::emulator

using tilescope::kernels::emulator::Machine;

void __syncthreads()
{
    Machine& here = Machine::here();
    here.namedBarrier(0, here.threads(), true);
}

void __trap()
{
    throw std::runtime_error("trap");
}

int __shfl_sync(unsigned, int value, int lane)
{
    return static_cast<int>(
        Machine::here().exchange(static_cast<unsigned>(value))[static_cast<unsigned>(lane)]);
}

float __shfl_sync(unsigned, float value, int lane)
{
    return __uint_as_float(
        static_cast<unsigned>(Machine::here().exchange(__float_as_uint(value))[static_cast<unsigned>(lane)]));
}

float __shfl_xor_sync(unsigned, float value, int distance)
{
    Machine& here = Machine::here();
    const unsigned from = here.lane() ^ static_cast<unsigned>(distance);
    return std::bit_cast<float>(
        static_cast<std::uint32_t>(here.exchange(std::bit_cast<std::uint32_t>(value))[from]));
}

int __any_sync(unsigned, int predicate)
{
    const auto& all = Machine::here().exchange(predicate != 0);
    return std::ranges::any_of(all, [](std::uint64_t value) { return value != 0; });
}

int __all_sync(unsigned, int predicate)
{
    const auto& all = Machine::here().exchange(predicate != 0);
    return std::ranges::all_of(all, [](std::uint64_t value) { return value != 0; });
}

std::uint32_t __float_as_uint(float value)
{
    return std::bit_cast<std::uint32_t>(value);
}

float __uint_as_float(std::uint32_t bits)
{
    return std::bit_cast<float>(bits);
}

unsigned atomicAdd(unsigned* address, unsigned value)
{
    return std::exchange(*address, *address + value);
}

unsigned atomicInc(unsigned* address, unsigned last)
{
    return std::exchange(*address, *address >= last ? 0 : *address + 1);
}

float __fdividef(float x, float y)
{
    return x / y;
}

float __log2f(float x) noexcept
{
    return std::log2(x);
}
