#include "core/base/sha256.h"

#include "core/base/portable_sha256.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>

namespace tilescope {

namespace {

// First 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// First 32 bits of the fractional parts of the square roots of the first 8 primes.
constexpr std::array<std::uint32_t, 8> kInitial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

void compress(std::array<std::uint32_t, 8>& state, const char* block)
{
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) {
        w[i] = 0;
        for (std::size_t byte = 0; byte < 4; ++byte)
            w[i] = w[i] << 8 | static_cast<unsigned char>(block[4 * i + byte]);
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
        const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i)
        state[i] += mixed[i];
}

#if defined(__x86_64__)

/// The same with the processor's SHA instructions, several times as fast. They keep the state as ABEF and CDGH.
__attribute__((target("sha,sse4.1"))) void compressBySha(std::array<std::uint32_t, 8>& state,
                                                         const char* block)
{
    const auto load = [](const void* from) __attribute__((target("sha,sse4.1")))
    {
        return _mm_loadu_si128(static_cast<const __m128i*>(from));
    };
    const __m128i dcba = _mm_shuffle_epi32(load(state.data()), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(load(state.data() + 4), 0x1b);
    const __m128i before0 = _mm_alignr_epi8(dcba, hgfe, 8);
    const __m128i before1 = _mm_blend_epi16(hgfe, dcba, 0xf0);
    __m128i abef = before0;
    __m128i cdgh = before1;
    const __m128i bigEndian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i w[4]; // the last 16 words
    for (std::size_t i = 0; i < 16; ++i) {
        __m128i& next = w[i % 4];
        if (i < 4) {
            next = _mm_shuffle_epi8(load(block + 16 * i), bigEndian);
        } else {
            const __m128i previous = w[(i + 3) % 4];
            next = _mm_add_epi32(_mm_sha256msg1_epu32(next, w[(i + 1) % 4]),
                                 _mm_alignr_epi8(previous, w[(i + 2) % 4], 4));
            next = _mm_sha256msg2_epu32(next, previous);
        }
        const __m128i sum = _mm_add_epi32(next, load(kRound.data() + 4 * i));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    const __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(abef, before0), 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(_mm_add_epi32(cdgh, before1), 0xb1);
    const auto store = [](void* to, __m128i value) __attribute__((target("sha,sse4.1")))
    {
        _mm_storeu_si128(static_cast<__m128i*>(to), value);
    };
    store(state.data(), _mm_blend_epi16(feba, dchg, 0xf0));
    store(state.data() + 4, _mm_alignr_epi8(dchg, feba, 8));
}

bool hasShaInstructions()
{
    constexpr unsigned kSha = 1U << 29;   // leaf 7, EBX
    constexpr unsigned kSse41 = 1U << 19; // leaf 1, ECX
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSse41) == 0)
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

#endif

/// Mixes one block into the state.
using Compress = void (*)(std::array<std::uint32_t, 8>& state, const char* block);

Compress fastest()
{
#if defined(__x86_64__)
    static const Compress chosen = hasShaInstructions() ? compressBySha : compress;
    return chosen;
#else
    return compress;
#endif
}

/// What follows the whole blocks: the remaining bytes, a one bit, zeros, and the length in bits in the last eight bytes
/// of a block.
std::string paddedTail(std::string_view rest, std::uint64_t bytes, std::size_t blockBytes)
{
    std::string tail(rest);
    tail.push_back('\x80');
    tail.resize((tail.size() + 8 + blockBytes - 1) / blockBytes * blockBytes, '\0');
    const std::uint64_t bits = bytes * 8;
    for (std::size_t i = 0; i < 8; ++i)
        tail[tail.size() - 1 - i] = static_cast<char>(bits >> (8 * i));
    return tail;
}

std::string hexOf(const std::array<std::uint32_t, 8>& state)
{
    std::string hex;
    for (const std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4)
            hex.push_back("0123456789abcdef"[word >> shift & 15]);
    return hex;
}

} // namespace

Sha256::Sha256() : state_(kInitial) {}

void Sha256::add(std::string_view bytes)
{
    bytes_ += bytes.size();
    if (!pending_.empty()) {
        const std::size_t missing = std::min(kBlock - pending_.size(), bytes.size());
        pending_ += bytes.substr(0, missing);
        bytes.remove_prefix(missing);
        if (pending_.size() < kBlock)
            return;
        fastest()(state_, pending_.data());
        pending_.clear();
    }
    for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock))
        fastest()(state_, bytes.data());
    pending_ = bytes;
}

std::string Sha256::digest()
{
    const std::string tail = paddedTail(pending_, bytes_, kBlock);
    for (std::size_t block = 0; block < tail.size(); block += kBlock)
        fastest()(state_, tail.data() + block);
    return hexOf(state_);
}

std::string sha256(std::string_view bytes)
{
    Sha256 sum;
    sum.add(bytes);
    return sum.digest();
}

std::string portableSha256(std::string_view bytes)
{
    constexpr std::size_t kBlock = 64;
    std::array<std::uint32_t, 8> state = kInitial;
    const std::size_t whole = bytes.size() / kBlock * kBlock;
    const std::string all =
        std::string(bytes.substr(0, whole)) + paddedTail(bytes.substr(whole), bytes.size(), kBlock);
    for (std::size_t block = 0; block < all.size(); block += kBlock)
        compress(state, all.data() + block);
    return hexOf(state);
}

} // namespace tilescope
