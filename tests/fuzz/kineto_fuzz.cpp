// Traces of PyTorch's profiler: any bytes end in records of the builder or an Error.

#include "core/exchange/import/kineto/kineto_importer.h"
#include "tests/fuzz/fuzz_file.h"
#include "tests/fuzz/fuzz_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const tilescope::testing::FuzzFile file(data, size);
    tilescope::testing::importBytes<tilescope::exchange::KinetoImporter>(data, size, file.path());
    return 0;
}
