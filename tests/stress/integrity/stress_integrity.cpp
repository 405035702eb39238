// Whether verify accepts what Tilescope writes, in whatever order, and notices what it did not write.
//
//     stress_integrity orders COUNT SEED
//     stress_integrity bytes COUNT SEED [FILE]

#include "stress_integrity.h"

#include "core/base/error.h"
#include "store_fixture.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv)
{
    using namespace tilescope;
    if (argc < 4) {
        std::fprintf(stderr, "usage: %s orders|bytes COUNT SEED [FILE]\n", argv[0]);
        return 1;
    }
    const std::int64_t count = std::atoll(argv[2]);
    const auto seed = static_cast<std::uint64_t>(std::atoll(argv[3]));
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    try {
        if (std::string_view(argv[1]) == "orders")
            return stress::randomOrders(count, seed);
        if (argc > 4)
            return stress::byteChanges(argv[4], count, seed);
        const store::testing::TemporaryFolder folder;
        stress::writeRecording(folder / "random.tscope", seed);
        return stress::byteChanges(folder / "random.tscope", count, seed);
    } catch (const Error& error) {
        std::printf("%s\n", error.sentence().c_str());
        return 1;
    }
}
