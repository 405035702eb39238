// Memory snapshots of PyTorch: any bytes end in a snapshot or an Error.

#include "core/base/error.h"
#include "core/exchange/import/pickle_reader.h"
#include "core/exchange/import/snapshot_import.h"
#include "core/model/strings.h"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace tilescope;
    try {
        StringTable strings;
        const std::string bytes(data, data + size);
        exchange::importSnapshot(exchange::PickleDocument(bytes, "input"), "input", strings);
    } catch (const Error&) {
        // Most inputs are damaged.
    }
    return 0;
}
