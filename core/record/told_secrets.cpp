#include "core/record/told_secrets.h"

#include "core/record/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace tilescope::record {

namespace {

bool isBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool isQuoteMark(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

std::size_t skipBlanks(std::string_view text, std::size_t at)
{
    while (at < text.size() && isBlank(text[at]))
        ++at;
    return at;
}

std::string inLowerCase(std::string_view text)
{
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

/// The word that begins here, up to a blank.
std::string wordAt(std::string_view text, std::size_t at)
{
    std::size_t end = at;
    while (end < text.size() && !isBlank(text[end]))
        ++end;
    return inLowerCase(text.substr(at, end - at));
}

/// The word before a place; moves the place to its beginning. Empty where a quotation or a clause begins.
std::string wordBefore(std::string_view text, std::size_t& at)
{
    std::size_t end = at;
    while (end > 0 && isBlank(text[end - 1]))
        --end;
    std::size_t begin = end;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 ||
                         text[begin - 1] == '_' || text[begin - 1] == '-'))
        --begin;
    at = begin;
    return inLowerCase(text.substr(begin, end - begin));
}

template <std::size_t Count>
bool isAmong(std::string_view word, const std::array<std::string_view, Count>& words)
{
    return std::ranges::find(words, word) != words.end();
}

/// Whether a value has the form of a password rather than that of a word of a language.
bool looksLikePassword(std::string_view text, std::size_t at)
{
    return isQuoteMark(text[at]) ||
           std::ranges::any_of(wordAt(text, at), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Whether a value mixes letters and digits as no word of a language does.
bool hasFormOfPassword(std::string_view text, std::size_t at)
{
    constexpr std::size_t kShortest = 6;
    std::string word = wordAt(text, at);
    while (!word.empty() && (isQuoteMark(word.back()) || word.back() == '.' || word.back() == ','))
        word.pop_back();
    if (!word.empty() && isQuoteMark(word.front()))
        word.erase(0, 1);
    return word.size() >= kShortest &&
           std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c) != 0; }) &&
           std::ranges::any_of(word, [](unsigned char c) { return std::isalpha(c) != 0; }) &&
           std::ranges::none_of(word, [](char c) { return c == '/' || c == '<' || c == '['; });
}

/// Whether a value has small letters, and capital ones behind its first character.
bool mixesCases(std::string_view text, std::size_t at)
{
    constexpr std::size_t kShortest = 8;
    std::size_t end = at;
    bool hasLower = false;
    bool hasUpper = false;
    for (; end < text.size() && !isBlank(text[end]); ++end) {
        hasLower = hasLower || std::islower(static_cast<unsigned char>(text[end])) != 0;
        hasUpper = hasUpper || (end > at && std::isupper(static_cast<unsigned char>(text[end])) != 0);
    }
    return end - at >= kShortest && hasLower && hasUpper;
}

} // namespace

std::size_t toldSecretAfter(std::string_view text, std::size_t begin, std::size_t end)
{
    constexpr std::size_t kNone = std::string_view::npos;
    constexpr std::array<std::string_view, 4> kLinks{"to", "is", "as", "was"};
    constexpr std::array<std::string_view, 2> kWeakNames{"token", "key"};
    constexpr std::array<std::string_view, 3> kOwners{"of", "for", "in"};
    constexpr std::array<std::string_view, 6> kArticles{"the", "a", "my", "our", "your", "this"};
    constexpr int kMostBetween = 4; // set the new database password to X
    std::size_t value = skipBlanks(text, end);
    if (value == end || value == text.size())
        return kNone;
    const std::string name = inLowerCase(text.substr(begin, end - begin));
    std::size_t before = begin;
    std::string word = wordBefore(text, before);
    if (name == "by")
        return word == "identified" || (isQuoteMark(text[value]) &&
                                        inLowerCase(text.substr(0, begin)).find("identified") != kNone)
                   ? value
                   : kNone;
    while (word.starts_with('-')) // git config --global user.password X
        word = wordBefore(text, before);
    const bool isPassword = (name.find("passw") != kNone || name.find("passphr") != kNone ||
                             name.find("secret") != kNone || name.ends_with("pass")) &&
                            isSecret(name, {}); // bypass is none
    const bool hasParts = name.find_first_of("_-./") != kNone;
    const bool isSetHere = word == "set" || (word == "config" && name.find('.') != kNone);
    bool isSet = isSetHere;
    for (int i = 0; i < kMostBetween && !word.empty() && !isSet; ++i) {
        word = wordBefore(text, before);
        isSet = word == "set";
    }
    const auto afterWord = [text](std::size_t at) { return skipBlanks(text, at + wordAt(text, at).size()); };
    std::size_t link = value;
    if (isAmong(wordAt(text, link), kOwners)) { // the password of the root is X
        link = afterWord(link);
        link = afterWord(isAmong(wordAt(text, link), kArticles) ? afterWord(link) : link);
    }
    std::string linking = link < text.size() ? wordAt(text, link) : std::string();
    if (linking.ends_with(':')) // the password is: X
        linking.pop_back();
    const bool isLinked = isAmong(linking, kLinks);
    if (isLinked)
        value = afterWord(link);
    if (!isLinked && value < text.size() && isAmong(name, kWeakNames))
        return hasFormOfPassword(text, value) &&
                       (isQuoteMark(text[value]) ? name == "token" : mixesCases(text, value))
                   ? value
                   : kNone;
    if (value == text.size() || !(isPassword || (hasParts && isSecret(name, wordAt(text, value)))))
        return kNone;
    const bool isTold = isLinked ? isSet || looksLikePassword(text, value)
                        : isSetHere
                            ? hasParts || name != "password" || looksLikePassword(text, value)
                            : isPassword && (isQuoteMark(text[value]) || hasFormOfPassword(text, value));
    return isTold ? value : kNone;
}

} // namespace tilescope::record
