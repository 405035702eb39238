#include "core/analysis/stats/random.h"

#include <bit>
#include <cmath>

namespace tilescope::analysis {

Random::Random(std::uint64_t seed)
{
    for (std::uint64_t& word : state_) {
        seed += 0x9e3779b97f4a7c15ULL;
        std::uint64_t mixed = seed;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
        word = mixed ^ (mixed >> 31);
    }
}

std::uint64_t Random::next()
{
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

double Random::uniform()
{
    return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53;
}

std::uint64_t Random::below(std::uint64_t bound)
{
    // Lemire's multiplication. Its bias, at most bound / 2^64, is negligible here.
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
}

double Random::normal()
{
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform());
}

} // namespace tilescope::analysis
