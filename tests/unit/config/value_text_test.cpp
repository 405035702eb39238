#include "core/config/value_text.h"

#include <gtest/gtest.h>

namespace tilescope::config {

TEST(ValueText, GivesSizesTheUnitOfASpec)
{
    EXPECT_EQ(valueText("bucket", "26214400"), "25 MiB");
    EXPECT_EQ(valueText("bucket", "1048576000"), "1000 MiB");
    EXPECT_EQ(valueText("bytes", "1000000000"), "1 GB");
    EXPECT_EQ(valueText("bytes", "100000000"), "100 MB");
    EXPECT_EQ(valueText("bytes", "64000"), "64 kB");
    EXPECT_EQ(valueText("bytes", "1001"), "1001");
    EXPECT_EQ(valueText("d_head", "1000"), "1000");
    EXPECT_EQ(valueText("parallel", "ddp"), "ddp");
}

} // namespace tilescope::config
