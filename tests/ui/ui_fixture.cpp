// Writes the recordings of tests/ui/fixture.h to a file: `ui_fixture lm FILE` or `ui_fixture large EVENTS
// STREAMS FILE`.

#include "core/base/error.h"
#include "tests/ui/fixture.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv)
{
    try {
        if (argc == 3 && std::strcmp(argv[1], "lm") == 0)
            tilescope::test::writeLmFile(argv[2]);
        else if (argc == 5 && std::strcmp(argv[1], "large") == 0)
            tilescope::test::writeLargeFile(argv[4], std::atoll(argv[2]), std::atoi(argv[3]));
        else
            return std::fprintf(stderr, "usage: ui_fixture lm FILE | large EVENTS STREAMS FILE\n"), 2;
    } catch (...) {
        std::fprintf(stderr, "%s\n", tilescope::currentExceptionSentence().c_str());
        return 1;
    }
    return 0;
}
