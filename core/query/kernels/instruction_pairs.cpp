#include "core/query/kernels/instruction_pairs.h"

#include "core/analysis/kernels/sequence_alignment.h"

#include <cstdint>
#include <map>

namespace tilescope::query {

namespace {

constexpr std::size_t kMostDifferences = 2000; ///< before the rest is aligned by itself

bool isWord(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}
bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

/// R12, UR4, P0, UP1, B3, SB5: the letters; a number: #; all else as it is. RZ, URZ and PT are operands of their own.
std::string shapeOf(std::string_view word)
{
    if (isDigit(word.front()))
        return "#";
    const std::size_t letters = word.find_first_of("0123456789");
    if (letters > 2) // or there is no number
        return std::string(word);
    const std::string_view name = word.substr(0, letters);
    for (const std::string_view bank : {"R", "UR", "P", "UP", "B", "SB"})
        if (name == bank) {
            const std::size_t end = word.find_first_not_of("0123456789", letters);
            return std::string(name) +
                   std::string(end == std::string_view::npos ? std::string_view() : word.substr(end));
        }
    return std::string(word);
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

} // namespace

std::string instructionShape(std::string_view text)
{
    std::string shape;
    bool isOpcode = true; // the first word after a predicate, as its numbers are part of it
    while (!text.empty()) {
        if (!isWord(text.front())) {
            if (text.front() != '!' && text.front() != '-' && text.front() != '|' && text.front() != '~')
                shape += text.front();
            text.remove_prefix(1);
            continue;
        }
        std::size_t length = 0;
        while (length < text.size() && isWord(text[length]))
            ++length;
        const std::string_view word = text.substr(0, length);
        const bool isPredicate = !shape.empty() && shape.back() == '@';
        shape += isOpcode && !isPredicate ? std::string(word) : shapeOf(word);
        isOpcode = isOpcode && isPredicate;
        text.remove_prefix(length);
    }
    return shape;
}

Pairs pairedInstructions(const std::vector<std::string>& a, const std::vector<std::string>& b)
{
    std::map<std::string_view, std::uint32_t> numbers;
    const auto keysOf = [&numbers](const std::vector<std::string>& shapes) {
        std::vector<std::uint32_t> keys;
        for (const std::string& shape : shapes)
            keys.push_back(
                numbers.try_emplace(shape, static_cast<std::uint32_t>(numbers.size())).first->second);
        return keys;
    };
    const std::vector<std::uint32_t> ofA = keysOf(a);
    const std::vector<std::uint32_t> ofB = keysOf(b);
    Pairs pairs;
    for (const analysis::AlignedPair& each : analysis::alignSequences(ofA, ofB, kMostDifferences))
        pairs.emplace_back(each.a, each.b);
    return pairs;
}

} // namespace tilescope::query
