// Recordings of rocmProfileData: any bytes end in records of the builder or an Error.

#include "core/exchange/import/rpd/rpd_importer.h"
#include "tests/fuzz/fuzz_import.h"
#include "tests/fuzz/sqlite_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static SqliteInput input;
    tilescope::testing::importBytes<tilescope::exchange::RpdImporter>(data, size, input.holding(data, size));
    return 0;
}
