#include "core/model/element_type.h"

#include <gtest/gtest.h>

namespace tilescope {
namespace {

TEST(ElementType, IsFoundByEachOfItsNames)
{
    for (const ElementType& type : kElementTypes) {
        SCOPED_TRACE(type.torch);
        EXPECT_EQ(findElementType(&ElementType::cpp, type.cpp), &type);
        EXPECT_EQ(findElementType(&ElementType::torch, type.torch), &type);
        const ElementType* first = findElementType(&ElementType::word, type.word);
        ASSERT_NE(first, nullptr);
        EXPECT_EQ(first->bytes, type.bytes); // both types of 8 bits have one word
        EXPECT_EQ(type.word.data()[type.word.size()], '\0');
        EXPECT_EQ(type.torch.data()[type.torch.size()], '\0');
    }
    EXPECT_EQ(findElementType(&ElementType::word, "fp32"), nullptr);
    EXPECT_EQ(findElementType(&ElementType::word, ""), nullptr);
}

} // namespace
} // namespace tilescope
