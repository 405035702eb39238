// Profiles of JAX: any bytes end in records of the builder or an Error.

#include "core/base/error.h"
#include "core/exchange/import/xplane/xplane_importer.h"
#include "tests/fuzz/fuzz_file.h"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace tilescope;
    const testing::FuzzFile file(data, size);
    const exchange::XplaneImporter importer;
    try {
        const std::string_view head(reinterpret_cast<const char*>(data), size);
        exchange::TraceBuilder builder;
        if (importer.matches(head, file.path()))
            importer.read(file.path(), builder, {});
    } catch (const Error&) {
        // Most inputs are damaged.
    }
    return 0;
}
