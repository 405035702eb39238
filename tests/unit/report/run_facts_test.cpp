#include "core/report/run_facts.h"

#include <gtest/gtest.h>

namespace tilescope::report {

TEST(KeyText, GivesSizesTheUnitOfASpec)
{
    EXPECT_EQ(keyText("bucket", "26214400"), "25 MiB");
    EXPECT_EQ(keyText("bucket", "1048576000"), "1000 MiB");
    EXPECT_EQ(keyText("bytes", "1000000000"), "1 GB");
    EXPECT_EQ(keyText("bytes", "100000000"), "100 MB");
    EXPECT_EQ(keyText("bytes", "64000"), "64 kB");
    EXPECT_EQ(keyText("bytes", "1001"), "1001");
    EXPECT_EQ(keyText("d_head", "1000"), "1000");
    EXPECT_EQ(keyText("parallel", "ddp"), "ddp");
}

} // namespace tilescope::report
