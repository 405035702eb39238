#pragma once

#include "core/base/error.h"
#include "core/exchange/import/kineto/inflated_file.h"
#include "core/exchange/import/rules/rules.h"
#include "core/exchange/import/trace_builder.h"
#include "tests/fuzz/fuzz_file.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace tilescope::testing {

/// The bytes of a file, decompressed if it is compressed.
inline std::int64_t textBytes(const std::filesystem::path& file)
{
    exchange::InflatedFile input(file);
    std::string piece(1 << 20, '\0');
    std::int64_t bytes = 0;
    while (const std::size_t got = input.read(piece.data(), piece.size()))
        bytes += static_cast<std::int64_t>(got);
    return bytes;
}

/// Imports the bytes of a fuzz input as an importer meets them: those of another format are not read, those that are
/// damaged end in an Error. One input in 16 becomes a run in a file, whose size must be in proportion to the text.
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
        const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(output));
        std::filesystem::remove(output);
        if (bytes > exchange::kMostOutputPerInput * textBytes(file) + exchange::kMostOutput) {
            std::fprintf(stderr, "%lld bytes from an input of %zu\n", static_cast<long long>(bytes), size);
            std::abort();
        }
    } catch (const Error&) {
        // Most inputs are damaged.
    }
}

} // namespace tilescope::testing
