#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <ucontext.h>
#include <vector>

/// Runs the threads of one CTA on a CPU in random order, with their shared memory, barriers, and asynchronous
/// copies and products that finish early or late. Kernels are compiled unchanged; headers in this folder
/// stand in for the instructions of kernels/cuda/hopper/common/ptx.h and wgmma.h.
///
/// One host thread runs all threads of the CTA: each is a context that it leaves when it waits. If no thread
/// can continue, run() reports a deadlock and what the threads wait for.
namespace tilescope::kernels::emulator {

constexpr unsigned kWarpSize = 32;
struct ProductQueue; ///< products.cpp

/// An mbarrier: a phase ends when all expected arrivals and bytes have come.
struct Barrier {
    std::int32_t bytes;
    std::uint16_t pending;
    std::uint16_t expected : 15;
    std::uint16_t phase : 1;

    void arrive();
    void addBytes(std::int32_t count);
    bool over(std::uint32_t parity) const { return phase != parity; }

private:
    void endIfComplete();
};
static_assert(sizeof(Barrier) == 8);

/// When products and copies execute: at once, or as late as the program allows.
enum class Pace : unsigned char { Early, Late };

class Machine {
public:
    Machine(unsigned threads, std::size_t sharedBytes, std::uint64_t seed, Pace products);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Runs `program` as every thread.
    /// \throws std::runtime_error  if a thread fails, or none can continue
    void run(const std::function<void()>& program);

    /// The machine whose thread is running.
    static Machine& here();

    unsigned thread() const { return current_; }
    unsigned threads() const { return static_cast<unsigned>(threads_.size()); }
    unsigned lane() const { return current_ % kWarpSize; }
    Pace productPace() const { return productPace_; }

    unsigned char* shared() { return shared_; }
    /// Shared memory begins at 1024, as on the device below other variables.
    std::uint32_t address(const void* pointer) const;
    unsigned char* at(std::uint32_t address);

    /// Suspends the thread until `ready` returns true.
    void waitUntil(const char* what, std::function<bool()> ready);
    /// Exchanges one value per lane: returns the values of all lanes of the warp.
    const std::array<std::uint64_t, kWarpSize>& exchange(std::uint64_t value);
    void namedBarrier(unsigned id, unsigned threads, bool wait);
    /// A thread's asynchronous products, and its number of unfinished stores.
    std::shared_ptr<ProductQueue>& productsOf(unsigned thread) { return threads_[thread].products; }
    int& storesOf(unsigned thread) { return threads_[thread].stores; }
    /// Queues work that is executed asynchronously.
    void later(std::function<void()> work) { engine_.push_back(std::move(work)); }

private:
    struct Thread {
        ucontext_t context{};
        std::unique_ptr<char[]> stack;
        const char* what = "";
        std::function<bool()> ready;
        bool finished = false;
        std::shared_ptr<ProductQueue> products;
        int stores = 0; ///< that have not read shared memory yet
    };
    struct Warp {
        std::array<std::array<std::uint64_t, kWarpSize>, 2> values{};
        unsigned arrived = 0;
        unsigned generation = 0;
    };
    struct NamedBarrier {
        unsigned arrived = 0;
        unsigned generation = 0;
    };

    static void enter(unsigned high, unsigned low);
    bool sweep(bool everyWarp);
    bool resume(unsigned thread);
    std::string describeWaiting() const;

    std::vector<unsigned char> memory_;
    unsigned char* shared_;
    std::vector<Thread> threads_;
    std::vector<Warp> warps_;
    std::array<NamedBarrier, 16> named_{};
    std::vector<std::function<void()>> engine_;
    std::mt19937_64 random_;
    Pace productPace_;
    ucontext_t scheduler_{};
    const std::function<void()>* program_ = nullptr;
    std::string failure_;
    unsigned current_ = 0;
};

} // namespace tilescope::kernels::emulator

// --- built-in variables and functions of device code ---------------------------------------------

struct EmulatedIndex {
    unsigned x;
};
inline EmulatedIndex threadIdx{}, blockIdx{}, gridDim{1};

inline void __syncwarp()
{
    tilescope::kernels::emulator::Machine::here().exchange(0);
}
void __syncthreads();
[[noreturn]] void __trap();
int __shfl_sync(unsigned mask, int value, int lane);
float __shfl_sync(unsigned mask, float value, int lane);
inline unsigned __shfl_sync(unsigned mask, unsigned value, int lane)
{
    return static_cast<unsigned>(__shfl_sync(mask, static_cast<int>(value), lane));
}
float __shfl_xor_sync(unsigned mask, float value, int distance);
int __any_sync(unsigned mask, int predicate);
int __all_sync(unsigned mask, int predicate);
std::uint32_t __float_as_uint(float value);
float __uint_as_float(std::uint32_t bits);
inline void __threadfence() {}
unsigned atomicAdd(unsigned* address, unsigned value);
unsigned atomicInc(unsigned* address, unsigned last);
template <class T> T __ldcg(const T* from)
{
    return *from;
}
template <class T> T __ldg(const T* from)
{
    return *from;
}
float __fdividef(float x, float y);
float __log2f(float x) noexcept; // glibc has one of that name
