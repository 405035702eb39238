// Traces of PyTorch's profiler: any bytes end in records or an Error. One input in 16 becomes a run in a file.

#include "core/base/error.h"
#include "core/exchange/import/kineto/kineto_importer.h"
#include "core/exchange/import/trace_builder.h"
#include "tests/fuzz/fuzz_file.h"

#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace tilescope;
    if (size == 0)
        return 0;
    try {
        const testing::FuzzFile input(data, size);
        const exchange::KinetoImporter importer;
        importer.matches({reinterpret_cast<const char*>(data), size}, input.path());
        exchange::TraceBuilder builder;
        importer.read(input.path(), builder, {});
        constexpr std::size_t kStored = 16;
        if (size % kStored == 0) {
            const auto output = std::filesystem::temp_directory_path() /
                                ("tilescope-fuzz-" + std::to_string(getpid()) + ".tscope");
            std::filesystem::remove(output);
            builder.finish({.name = "input", .format = "fuzz"}, output, {});
            std::filesystem::remove(output);
        }
    } catch (const Error&) {
        // Most inputs are damaged.
    }
    return 0;
}
