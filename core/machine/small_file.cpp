#include "core/machine/small_file.h"

#include <fstream>

namespace tilescope::machine {

std::string readSmallFile(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    std::string text(std::size_t{1} << 20, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

std::string readFirstLine(const std::filesystem::path& file)
{
    std::string text = readSmallFile(file);
    text.resize(std::min(text.size(), text.find('\n')));
    text.erase(text.find_last_not_of(" \t\r") + 1);
    return text;
}

} // namespace tilescope::machine
