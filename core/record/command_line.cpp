#include "core/record/command_line.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>
#include <utility>

namespace tilescope::record {

namespace {

constexpr std::string_view kMask = "***";

bool isSecret(std::string_view name)
{
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    return std::ranges::any_of(std::initializer_list<std::string_view>{"token", "key", "secret", "password"},
                               [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

} // namespace

std::string maskedCommandLine(const std::vector<std::string>& words)
{
    std::string line;
    bool maskNext = false;
    for (const std::string& word : words) {
        if (!line.empty())
            line += ' ';
        const std::size_t equals = word.find('=');
        const bool isOption = word.starts_with('-');
        if (std::exchange(maskNext, false) && !isOption) {
            line += kMask;
        } else if (equals != std::string::npos && isSecret(std::string_view(word).substr(0, equals))) {
            line += word.substr(0, equals + 1);
            line += kMask;
        } else {
            line += word;
            maskNext = isOption && equals == std::string::npos && isSecret(word);
        }
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
