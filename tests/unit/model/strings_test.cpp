#include "core/model/strings.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tilescope {

TEST(StringTable, GivesOneIdForOneText)
{
    StringTable table;
    const StringId mm = table.intern("aten::mm");
    EXPECT_EQ(table.intern(std::string("aten::") + "mm"), mm);
    EXPECT_NE(table.intern("aten::add"), mm);
    EXPECT_EQ(table.text(mm), "aten::mm");
    EXPECT_EQ(table.text(StringId::none()), "");
}

TEST(StringTable, KeepsViewsValidWhileOthersIntern)
{
    StringTable table;
    const std::string_view first = table.text(table.intern("first"));
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&table] {
            for (int i = 0; i < 10'000; ++i)
                table.intern("name " + std::to_string(i));
        });
    threads.clear();
    EXPECT_EQ(first, "first");
    EXPECT_EQ(table.size(), 10'001u);
}

} // namespace tilescope
