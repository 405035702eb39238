// Working files of the recorder: any bytes end in records of the builder or an Error. Random bytes rarely have a right
// checksum, so an input is the blocks without their heads: kind (1 byte), length (2 bytes), payload.

#include "core/exchange/import/recording/working_importer.h"
#include "core/record/working_file.h"
#include "tests/fuzz/fuzz_file.h"
#include "tests/fuzz/fuzz_import.h"

#include <algorithm>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace tilescope;
    std::string_view input(reinterpret_cast<const char*>(data), size);
    std::string file(record::kWorkingFileLine);
    while (input.size() >= 3) {
        const auto kind = static_cast<unsigned char>(input[0]);
        const std::size_t length = static_cast<unsigned char>(input[1]) | static_cast<unsigned char>(input[2])
                                                                              << 8;
        input.remove_prefix(3);
        const std::string_view payload = input.substr(0, length);
        input.remove_prefix(payload.size());
        file += record::workingBlockHead(kind, payload);
        file += payload;
    }
    file += input; // a cut end
    const testing::FuzzFile stored(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
    testing::importBytes<exchange::WorkingImporter>(reinterpret_cast<const std::uint8_t*>(file.data()),
                                                    file.size(), stored.path());
    return 0;
}
