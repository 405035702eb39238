// Writes a recording of tests/ui/fixture.h or cpu_fixture.h to a file: `ui_fixture lm|gpu|ranks|study|cpu|failed FILE`
// or `ui_fixture large EVENTS STREAMS FILE`.

#include "core/base/error.h"
#include "tests/ui/cpu_fixture.h"
#include "tests/ui/fixture.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv)
{
    try {
        if (argc == 3 && std::strcmp(argv[1], "lm") == 0)
            tilescope::test::writeLmFile(argv[2]);
        else if (argc == 3 && std::strcmp(argv[1], "gpu") == 0)
            tilescope::test::writeGpuFile(argv[2]);
        else if (argc == 3 && std::strcmp(argv[1], "ranks") == 0)
            tilescope::test::writeRanksFile(argv[2]);
        else if (argc == 3 && std::strcmp(argv[1], "study") == 0)
            tilescope::test::writeStudyFile(argv[2]);
        else if (argc == 3 && std::strcmp(argv[1], "cpu") == 0)
            tilescope::test::writeCpuFile(argv[2]);
        else if (argc == 3 && std::strcmp(argv[1], "failed") == 0)
            tilescope::test::writeFailedFile(argv[2]);
        else if (argc == 5 && std::strcmp(argv[1], "large") == 0)
            tilescope::test::writeLargeFile(argv[4], std::atoll(argv[2]), std::atoi(argv[3]));
        else
            return std::fprintf(
                       stderr,
                       "usage: ui_fixture lm|gpu|ranks|study|cpu|failed FILE | large EVENTS STREAMS FILE\n"),
                   2;
    } catch (...) {
        std::fprintf(stderr, "%s\n", tilescope::currentExceptionSentence().c_str());
        return 1;
    }
    return 0;
}
