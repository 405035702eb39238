// Hard traces take work and space in proportion to their size.

#include "tests/unit/exchange/worst_cases.h"

#include "core/exchange/import/kineto/kineto_importer.h"
#include "core/exchange/import/rules/rules.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tilescope::exchange {
namespace {

struct Cost {
    std::int64_t work = 0;
    std::int64_t pages = 0; ///< of the recording that were looked at
    std::int64_t in = 0;    ///< bytes of text
    std::int64_t out = 0;
};

Cost costOf(const std::string& text, const std::filesystem::path& folder)
{
    const std::filesystem::path file = folder / "trace.json";
    const std::filesystem::path output = folder / "out.tscope";
    std::filesystem::remove(output);
    std::ofstream(file, std::ios::binary) << text;
    TraceBuilder builder;
    KinetoImporter().read(file, builder, {});
    builder.finish({.name = "trace.json", .format = "test"}, output, {});
    return {builder.work().sum(), builder.work().pages, static_cast<std::int64_t>(text.size()),
            static_cast<std::int64_t>(std::filesystem::file_size(output))};
}

TEST(WorstCases, TakeWorkAndSpaceInProportion)
{
    const testing::TemporaryFolder folder;
    for (const WorstCase& each : worstCases()) {
        const Cost small = costOf(each.text(each.events), folder / "");
        const Cost large = costOf(each.text(10 * each.events), folder / "");
        EXPECT_GT(small.work, 0) << each.name;
        EXPECT_LE(large.work, 12 * small.work) << each.name;
        EXPECT_GT(small.pages, 0) << each.name;
        EXPECT_LE(large.pages, 12 * small.pages) << each.name;
        for (const Cost& cost : {small, large})
            EXPECT_LE(cost.out, kMostOutputPerInput * cost.in + kMostOutput) << each.name << ", " << cost.in;
    }
}

} // namespace
} // namespace tilescope::exchange
