// Writes a recording of tests/ui/fixture.h or cpu_fixture.h to a file: `ui_fixture lm|gpu|ranks|study|cpu|failed FILE`,
// `ui_fixture group RANKS FILE` (collectives; tests/support/fake_ranks.h), `ui_fixture waiting SOURCES FILE` (the idle time
// of a GPU by stacks of Python; writes the program to the folder SOURCES) or `ui_fixture large EVENTS STREAMS FILE`.

#include "core/base/error.h"
#include "tests/support/fake_ranks.h"
#include "tests/ui/cpu_fixture.h"
#include "tests/ui/fixture.h"
#include "tests/ui/waiting_fixture.h"

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
        else if (argc == 4 && std::strcmp(argv[1], "group") == 0)
            tilescope::testing::writeFakeRanks(argv[3], {.ranks = std::atoi(argv[2]), .lateRank = 1});
        else if (argc == 3 && std::strcmp(argv[1], "study") == 0)
            tilescope::test::writeStudyFile(argv[2]);
        else if (argc == 3 && std::strcmp(argv[1], "cpu") == 0)
            tilescope::test::writeCpuFile(argv[2]);
        else if (argc == 4 && std::strcmp(argv[1], "waiting") == 0)
            tilescope::test::writeWaitingFile(argv[3], argv[2]);
        else if (argc == 3 && std::strcmp(argv[1], "failed") == 0)
            tilescope::test::writeFailedFile(argv[2]);
        else if (argc == 5 && std::strcmp(argv[1], "large") == 0)
            tilescope::test::writeLargeFile(argv[4], std::atoll(argv[2]), std::atoi(argv[3]));
        else
            return std::fprintf(stderr, "usage: ui_fixture lm|gpu|ranks|study|cpu|failed FILE | group RANKS "
                                        "FILE | waiting SOURCES FILE | large EVENTS STREAMS FILE\n"),
                   2;
    } catch (...) {
        std::fprintf(stderr, "%s\n", tilescope::currentExceptionSentence().c_str());
        return 1;
    }
    return 0;
}
