#pragma once

#include "core/exchange/import/trace_builder.h"
#include "core/store/run_reader.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace tilescope::exchange {

/// Builds a trace of a few events, and reads the file that comes of it.
class TraceBuilding : public ::testing::Test {
protected:
    static Timestamp at(std::int64_t ns) { return timestampAt(ns); }

    ForeignActivity kernel(ProcessIndex process, std::string_view name, std::uint32_t correlation,
                           std::int64_t start, std::int64_t end, std::int32_t ordinal = 0)
    {
        const DeviceIndex device = builder.device(process, ordinal);
        return {.name = name,
                .device = device,
                .stream = builder.stream(process, device, 7),
                .correlation = correlation,
                .start = at(start),
                .end = at(end)};
    }

    store::RunReader finished()
    {
        run = builder.finish({.name = "x.json", .format = "test"}, file, {});
        return store::RunReader(file);
    }

    std::map<std::string, std::int64_t> losses(const store::RunReader& reader) const
    {
        std::map<std::string, std::int64_t> counts;
        for (const auto& loss : reader.losses(run))
            counts[loss.kind] += loss.count;
        return counts;
    }

    tilescope::testing::TemporaryFolder folder;
    std::filesystem::path file = folder / "x.tscope";
    TraceBuilder builder;
    RunId run;
};

} // namespace tilescope::exchange
