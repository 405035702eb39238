#include "core/query/runs/both_sides.h"

#include "core/base/error.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/query/random_run.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tilescope::query {

TEST(BothSides, OfOneReaderGetOneEach)
{
    const testing::TemporaryFolder folder;
    writeRandomRun(folder / "a.tscope", 1);
    const store::RunReader reader(folder / "a.tscope");
    const auto [a, b] = onBothSides(reader, reader, [](const store::RunReader& own, std::size_t side) {
        return std::pair(&own, own.counts(kOnlyRun).ops + static_cast<std::int64_t>(side));
    });
    EXPECT_EQ(a.first, &reader);
    EXPECT_NE(b.first, &reader);
    EXPECT_GT(a.second, 0);
    EXPECT_EQ(b.second, a.second + 1);
}

TEST(BothSides, ReportTheErrorOfTheFirstSide)
{
    const testing::TemporaryFolder folder;
    writeRandomRun(folder / "a.tscope", 1);
    const store::RunReader reader(folder / "a.tscope");
    const auto failing = [&](std::size_t from) {
        return [from](const store::RunReader&, std::size_t side) {
            if (side >= from)
                throw Error{.what = "side " + std::to_string(side)};
            return side;
        };
    };
    const auto messageOf = [&](std::size_t from) {
        try {
            onBothSides(reader, reader, failing(from));
        } catch (const Error& error) {
            return error.what;
        }
        return std::string("none");
    };
    EXPECT_EQ(messageOf(0), "side 0");
    EXPECT_EQ(messageOf(1), "side 1");
    EXPECT_EQ(messageOf(2), "none");
}

} // namespace tilescope::query
