// Recordings of rocmProfileData: any bytes end in records of the builder or an Error.

#include "core/base/error.h"
#include "core/exchange/import/rpd/rpd_importer.h"
#include "tests/fuzz/sqlite_input.h"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace tilescope;
    static SqliteInput input;
    const std::filesystem::path& file = input.holding(data, size);
    const exchange::RpdImporter importer;
    try {
        const std::string_view head(reinterpret_cast<const char*>(data), size);
        exchange::TraceBuilder builder;
        if (importer.matches(head, file))
            importer.read(file, builder, {});
    } catch (const Error&) {
        // Most inputs are damaged.
    }
    return 0;
}
