#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <sys/types.h>

namespace tilescope::machine {

/// A quantity that a CounterSource reads.
struct SourceCounter {
    enum class Kind {
        Level,       ///< the value at this instant
        Total,       ///< grows; its growth per second is the counter
        NarrowTotal, ///< a total modulo 2^32
    };
    const char* name;
    const char* unit;
    Kind kind = Kind::Level;
    double scale = 1; ///< factor from a reading, or its growth per second, to the counter's unit
};

/// Reads several counters together. One thread.
class CounterSource {
public:
    virtual ~CounterSource() = default;
    virtual std::span<const SourceCounter> counters() const = 0;
    /// Fills one value per counter; none where it cannot be read.
    virtual void read(std::span<std::optional<std::uint64_t>> values) = 0;
};

/// CPU time and resident memory of a process, and the clock of the processors that it may use. The clock is
/// left out if Linux does not report it.
/// \param process  another process, with its descendants; 0: this one alone
std::unique_ptr<CounterSource> hostCounters(pid_t process);

/// Processor time of the thread of a process that has most of it, and how long its threads wait for a core, by schedstat.
/// What they did between two readings is known if threads that had a fifth of the time at most came and went meanwhile.
/// \param process  as for hostCounters()
std::unique_ptr<CounterSource> threadCounters(pid_t process);

/// Clocks, power, temperature, utilisation, traffic and slowdowns of a GPU by NVML. Null if there is no NVML or
/// no such GPU.
/// \param cudaIndex  of the device
std::unique_ptr<CounterSource> gpuCounters(int cudaIndex);

} // namespace tilescope::machine
