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

/// Runs the threads of one CTA on a CPU, in an order drawn at random, with what they share: shared memory,
/// barriers, and engines (copies, products) that finish their work late or early. Kernels are compiled for it
/// unchanged; the headers beside this one stand in for the instructions of kernels/cuda/hopper/common/ptx.h and
/// wgmma.h.
///
/// One thread of the host is all threads of the CTA in turn: each is a context of its own, left wherever it
/// waits. A CTA in which nobody can go on is found out and described.
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

/// When products and copies do their work: at once, or as late as the program allows.
enum class Pace : unsigned char { Early, Late };

class Machine {
public:
    Machine(unsigned threads, std::size_t sharedBytes, std::uint64_t seed, Pace products);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Runs `program` as every thread.
    /// \throws std::runtime_error  when a thread fails, or none can go on
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

    /// Leaves the thread until `ready` says yes.
    void waitUntil(const char* what, std::function<bool()> ready);
    /// Every lane gives a value and gets all.
    const std::array<std::uint64_t, kWarpSize>& exchange(std::uint64_t value);
    void namedBarrier(unsigned id, unsigned threads, bool wait);
    /// What the engines are doing for a thread.
    std::shared_ptr<ProductQueue>& productsOf(unsigned thread) { return threads_[thread].products; }
    int& storesOf(unsigned thread) { return threads_[thread].stores; }
    /// Hands work to an engine that does it some time later.
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

// --- what device code finds in every scope -------------------------------------------------------

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
float __shfl_xor_sync(unsigned mask, float value, int distance);
int __any_sync(unsigned mask, int predicate);
int __all_sync(unsigned mask, int predicate);
std::uint32_t __float_as_uint(float value);
float __uint_as_float(std::uint32_t bits);
inline void __threadfence() {}
unsigned atomicAdd(unsigned* address, unsigned value);
float __fdividef(float x, float y);
float __log2f(float x) noexcept; // glibc has one of that name
