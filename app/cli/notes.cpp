#include "app/cli/notes.h"

#include <iostream>
#include <streambuf>

namespace tilescope::cli {

namespace {

/// Takes everything and keeps nothing.
class NoBuffer : public std::streambuf {
protected:
    int overflow(int character) override { return traits_type::not_eof(character); }
    std::streamsize xsputn(const char* /*text*/, std::streamsize count) override { return count; }
};

bool quiet = false;

} // namespace

void setQuiet(bool wanted)
{
    quiet = wanted;
}

bool isQuiet()
{
    return quiet;
}

std::ostream& notes()
{
    static NoBuffer buffer;
    static std::ostream nowhere(&buffer);
    return quiet ? nowhere : std::cout;
}

} // namespace tilescope::cli
