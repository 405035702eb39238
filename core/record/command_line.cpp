#include "core/record/command_line.h"

#include "core/record/secrets.h"

#include <cstddef>
#include <fstream>
#include <string_view>

namespace tilescope::record {

std::string maskedCommandLine(const std::vector<std::string>& words)
{
    std::string line;
    SecretMask mask;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0)
            line += ' ';
        line +=
            mask.mask(words[i], i + 1 < words.size() ? std::string_view(words[i + 1]) : std::string_view());
    }
    return line;
}

std::vector<std::string> wordsOfFile(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(in, word, '\0');)
        words.push_back(word);
    return words;
}

} // namespace tilescope::record
