#include "core/model/text.h"

#include "core/model/attention_backend.h"

#include <gtest/gtest.h>

namespace tilescope {

TEST(EnumWords, RoundTrip)
{
    for (const auto& entry : enumWords<Backend>())
        EXPECT_EQ(fromWord<Backend>(wordOf(entry.value)), entry.value);
    EXPECT_EQ(wordOf(Backend::FlashTorch), "flash-torch");
    EXPECT_EQ(enumWords<Backend>().size(), kBackendTraits.size());
    EXPECT_EQ(fromWord<Precision>("fp4"), std::nullopt);
}

TEST(ToText, SpellsCompoundValuesAsTheSpecDoes)
{
    EXPECT_EQ(toText(DeviceRequest{DeviceRequest::Kind::Cuda, 1}), "cuda:1");
    EXPECT_EQ(toText(Checkpointing{Checkpointing::Kind::Block, 3}), "block:3");
    EXPECT_EQ(toText(Checkpointing{Checkpointing::Kind::Block, 1, 12}), "block:1+12");
    EXPECT_EQ(toText(Checkpointing{Checkpointing::Kind::Nested, 2}), "nested");
    EXPECT_EQ(toText(Checkpointing{Checkpointing::Kind::Nested, 3}), "nested:3");
    EXPECT_EQ(toText(CompileRequest{CompileRequest::Kind::Package, "a.pt2"}), "package:a.pt2");
}

} // namespace tilescope
