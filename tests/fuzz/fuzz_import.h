#pragma once

#include "core/base/error.h"
#include "core/exchange/import/trace_builder.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace tilescope::testing {

/// Imports the bytes of a fuzz input as an importer meets them: those of another format are not read, those that are
/// damaged end in an Error.
/// \param file  holds the same bytes
template <class Importer>
void importBytes(const std::uint8_t* data, std::size_t size, const std::filesystem::path& file)
{
    const Importer importer;
    exchange::TraceBuilder builder;
    try {
        if (importer.matches({reinterpret_cast<const char*>(data), size}, file))
            importer.read(file, builder, {});
    } catch (const Error&) {
        // Most inputs are damaged.
    }
}

} // namespace tilescope::testing
