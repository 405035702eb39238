#pragma once

#include <array>
#include <cstdint>

namespace tilescope::analysis {

/// Random numbers that are identical on every machine for the same seed, unlike the distributions of the
/// standard library. xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64.
class Random {
public:
    explicit Random(std::uint64_t seed);

    std::uint64_t next();
    double uniform();                         ///< in the open interval (0, 1)
    std::uint64_t below(std::uint64_t bound); ///< 0 to bound - 1; bound > 0
    double normal();                          ///< mean 0, standard deviation 1

private:
    std::array<std::uint64_t, 4> state_{};
};

} // namespace tilescope::analysis
