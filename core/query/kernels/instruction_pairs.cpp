#include "core/query/kernels/instruction_pairs.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace tilescope::query {

namespace {

constexpr std::size_t kMostOfTable = 4000; ///< instructions of a side

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

/// The first of a shape with the first, and so on, of the places from `begin` to the ends.
void pairByCount(const std::vector<std::string>& a, std::size_t endA, const std::vector<std::string>& b,
                 std::size_t endB, std::size_t begin, Pairs& pairs)
{
    std::map<std::string, std::vector<std::size_t>> places;
    for (std::size_t i = endA; i-- > begin;)
        places[a[i]].push_back(i);
    for (std::size_t k = begin; k < endB; ++k)
        if (const auto found = places.find(b[k]); found != places.end() && !found->second.empty()) {
            pairs.emplace_back(found->second.back(), k);
            found->second.pop_back();
        }
    std::ranges::sort(pairs);
}

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
    Pairs pairs;
    const std::size_t shorter = std::min(a.size(), b.size());
    std::size_t begin = 0;
    while (begin < shorter && a[begin] == b[begin]) {
        pairs.emplace_back(begin, begin);
        ++begin;
    }
    std::size_t tail = 0;
    while (tail < shorter - begin && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
        ++tail;
    const std::size_t endA = a.size() - tail;
    const std::size_t endB = b.size() - tail;
    const std::size_t rows = endA - begin;
    const std::size_t columns = endB - begin;
    if (rows > kMostOfTable || columns > kMostOfTable)
        pairByCount(a, endA, b, endB, begin, pairs);
    else if (rows > 0 && columns > 0) {
        // From the ends, so that the pairs come out in order: whether the best of (i, k) drops a[i].
        std::vector<std::uint16_t> next(columns + 1);
        std::vector<std::uint16_t> now(columns + 1);
        std::vector<std::vector<bool>> dropsA(rows, std::vector<bool>(columns));
        for (std::size_t i = rows; i-- > 0;) {
            for (std::size_t k = columns; k-- > 0;)
                if (a[begin + i] == b[begin + k])
                    now[k] = static_cast<std::uint16_t>(next[k + 1] + 1);
                else {
                    dropsA[i][k] = next[k] >= now[k + 1];
                    now[k] = std::max(next[k], now[k + 1]);
                }
            now.swap(next);
        }
        for (std::size_t i = 0, k = 0; i < rows && k < columns;)
            if (a[begin + i] == b[begin + k]) {
                pairs.emplace_back(begin + i, begin + k);
                ++i;
                ++k;
            } else if (dropsA[i][k])
                ++i;
            else
                ++k;
    }
    for (std::size_t i = 0; i < tail; ++i)
        pairs.emplace_back(endA + i, endB + i);
    return pairs;
}

} // namespace tilescope::query
