#pragma once

#include "core/base/error.h"
#include "core/exchange/import/trace_builder.h"
#include "tests/fuzz/fuzz_file.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tilescope::testing {

/// Imports the bytes of a fuzz input as an importer meets them: those of another format are not read, those that are
/// damaged end in an Error. One input in 16 becomes a run in a file.
/// \param file  holds the same bytes
template <class Importer>
void importBytes(const std::uint8_t* data, std::size_t size, const std::filesystem::path& file)
{
    const Importer importer;
    exchange::TraceBuilder builder;
    try {
        if (!importer.matches({reinterpret_cast<const char*>(data), size}, file))
            return;
        importer.read(file, builder, {});
        constexpr std::size_t kStored = 16;
        if (size % kStored != 0)
            return;
        const std::filesystem::path output =
            memoryFolder() / ("tilescope-fuzz-" + std::to_string(getpid()) + ".tscope");
        std::filesystem::remove(output);
        builder.finish({.name = "input", .format = "fuzz"}, output, {});
        std::filesystem::remove(output);
    } catch (const Error&) {
        // Most inputs are damaged.
    }
}

} // namespace tilescope::testing
