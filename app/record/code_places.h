#pragma once

#include "app/record/python_layout.h"
#include "app/record/stack_teller.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <sys/types.h>
#include <sys/uio.h>

namespace tilescope::record {

/// The memory of the calling thread's own stack: its frames and their code stay while it reads.
struct OwnStackMemory {
    static bool read(void* to, std::uintptr_t from, std::size_t bytes) noexcept
    {
        std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
        return true;
    }
};

/// Memory of a process that others may free meanwhile: an address without memory is an error, not a signal.
class GuardedMemory {
public:
    GuardedMemory();
    /// That of another process, which is a fork of this one.
    explicit GuardedMemory(pid_t process) : process_(process) {}
    bool read(void* to, std::uintptr_t from, std::size_t bytes) const noexcept
    {
        const iovec piece{reinterpret_cast<void*>(from), bytes};
        return gather(to, bytes, &piece, 1) == static_cast<ssize_t>(bytes);
    }
    /// Reads pieces one after the other, up to the first without memory.
    /// \return  bytes; -1: an error
    ssize_t gather(void* to, std::size_t bytes, const iovec* pieces, std::size_t count) const noexcept;

private:
    pid_t process_;
};

/// The code objects that ended. Their addresses are used again, so what is known of an address ends with them.
struct CodeDeaths {
    /// Watches them from now on. The caller holds the interpreter's lock.
    /// \return  whether this Python can, from 3.12 on
    static bool watch();
    static bool isWatched() noexcept { return watched.load(std::memory_order_relaxed); }
    /// Changes when a code object at this address ends.
    static std::uint32_t at(std::uintptr_t code) noexcept
    {
        return places[slotOf(code)].load(std::memory_order_acquire);
    }
    static std::uint32_t count() noexcept { return counter.load(std::memory_order_acquire); }
    /// Whether the code object at this address may have ended since count() was `since`.
    static bool mayHaveEnded(std::uintptr_t code, std::uint32_t since) noexcept;

private:
    static constexpr std::size_t kPlaces = 4096;
    static constexpr std::size_t kLatest = 1024;
    static std::size_t slotOf(std::uintptr_t code) noexcept { return code / 32 * 0x9e3779b1U % kPlaces; }
    static int note(int event, void* code) noexcept;
    static inline std::atomic<bool> watched{false};
    static inline std::atomic<std::uint32_t> counter{0};
    static inline std::array<std::atomic<std::uint32_t>, kPlaces> places{};
    static inline std::array<std::atomic<std::uintptr_t>, kLatest> latest{};
};

/// Names and lines of instructions. One thread.
template <class Memory> class CodePlaces {
public:
    /// \param isOfThisProcess  otherwise CodeDeaths knows nothing of its code objects
    explicit CodePlaces(const PythonLayout& layout, bool isOfThisProcess = true)
        : layout_(layout), isOfThisProcess_(isOfThisProcess)
    {
    }

    /// \param instruction  as the frame has it
    /// \return             false: there is no code object
    bool find(const Memory& memory, std::uintptr_t code, std::uintptr_t instruction,
              StackTeller::Frame& frame);

private:
    /// What tells a code object from a later one at its address, where their ends cannot be watched.
    struct Identity {
        std::uintptr_t name = 0;
        std::uintptr_t file = 0;
        std::uintptr_t lines = 0;
        std::int64_t hash = 0; ///< of the name
        std::uint32_t firstLine = 0;

        bool operator==(const Identity&) const = default;
    };
    struct Code {
        std::uintptr_t address = 0;
        std::uint32_t deaths = 0;
        std::uint32_t name = 0; ///< PathNode::id
        Identity identity = {};
    };
    struct Place {
        std::uintptr_t code = 0;
        std::uintptr_t instruction = 0;
        std::uint32_t deaths = 0;
        std::uint32_t name = 0;
        std::uint32_t line = 0;
        Identity identity = {};
    };
    static constexpr std::size_t kCodes = 512;
    static constexpr std::size_t kPlaces = 1024;

    Code* known(const Memory& memory, std::uintptr_t address);
    bool identify(const Memory& memory, std::uintptr_t address, Identity& identity) const;
    std::string text(const Memory& memory, std::uintptr_t string) const;
    std::uint32_t line(const Memory& memory, const Code& code, std::uintptr_t instruction);

    const PythonLayout& layout_;
    bool isOfThisProcess_;
    std::array<Code, kCodes> codes_{};
    std::array<Place, kPlaces> places_{};
    std::vector<unsigned char> table_;
};

extern template class CodePlaces<OwnStackMemory>;
extern template class CodePlaces<GuardedMemory>;

} // namespace tilescope::record
