#include "core/base/shell_word.h"

#include "core/base/error.h"

#include <algorithm>
#include <utility>

namespace tilescope {

namespace {

bool isControl(char character)
{
    const auto byte = static_cast<unsigned char>(character);
    return byte < 0x20 || byte == 0x7f;
}

char octal(unsigned digit)
{
    return static_cast<char>('0' + digit);
}

/// $'…' can express every byte.
std::string spelled(std::string_view text)
{
    std::string word = "$'";
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        // Always three octal digits, so that a following digit is not read as part of the number.
        if (isControl(character) || byte >= 0x80)
            word.append({'\\', octal(byte >> 6U), octal(byte >> 3U & 7U), octal(byte & 7U)});
        else if (character == '\'' || character == '\\')
            word.append("\\").append(1, character);
        else
            word += character;
    }
    return word + "'";
}

} // namespace

std::string shellWord(std::string_view text)
{
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%";
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos)
        return std::string(text);
    if (std::ranges::any_of(text, isControl))
        return spelled(text);
    std::string word = "'";
    for (const char character : text)
        word += character == '\'' ? std::string("'\\''") : std::string(1, character);
    return word + "'";
}

namespace {

/// Takes the words of a line apart, from left to right.
class ShellLine {
public:
    explicit ShellLine(std::string_view text) : text_(text) {}

    std::vector<std::string> split()
    {
        while (at_ < text_.size())
            take(text_[at_++]);
        if (isWord_)
            words_.push_back(word_);
        return std::move(words_);
    }

private:
    void take(char character)
    {
        constexpr std::string_view kBlanks = " \t\n";
        constexpr std::string_view kOfShells = "|&;<>()$`*?[";
        if (kBlanks.find(character) != std::string_view::npos) {
            if (isWord_)
                words_.push_back(std::exchange(word_, {}));
            isWord_ = false;
            return;
        }
        isWord_ = true;
        if (character == '\'')
            takeUntil('\'', "");
        else if (character == '"')
            takeUntil('"', "\"\\$`");
        else if (character == '$' && at_ < text_.size() && text_[at_] == '\'')
            takeSpelled();
        else if (character == '\\' && at_ < text_.size())
            word_ += text_[at_++];
        else if (kOfShells.find(character) != std::string_view::npos)
            throwOfShell(character);
        else
            word_ += character;
    }

    /// \param escaped  characters that a backslash takes literally
    void takeUntil(char quote, std::string_view escaped)
    {
        for (; at_ < text_.size(); ++at_) {
            const char character = text_[at_];
            if (character == quote) {
                ++at_;
                return;
            }
            if (quote == '"' && (character == '$' || character == '`'))
                throwOfShell(character);
            const bool isEscape = character == '\\' && at_ + 1 < text_.size() &&
                                  escaped.find(text_[at_ + 1]) != std::string_view::npos;
            word_ += isEscape ? text_[++at_] : character;
        }
        throwOpen(quote);
    }

    /// What spelled() has written.
    void takeSpelled()
    {
        for (++at_; at_ < text_.size(); ++at_) {
            if (text_[at_] == '\'') {
                ++at_;
                return;
            }
            if (text_[at_] != '\\' || at_ + 1 == text_.size()) {
                word_ += text_[at_];
                continue;
            }
            unsigned byte = 0;
            std::size_t digits = 0;
            for (; digits < 3 && at_ + 1 < text_.size() && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '7';
                 ++digits)
                byte = byte * 8 + static_cast<unsigned>(text_[++at_] - '0');
            word_ += digits > 0 ? static_cast<char>(byte) : text_[++at_];
        }
        throwOpen('\'');
    }

    [[noreturn]] static void throwOfShell(char character)
    {
        throw Error{.what = "only a shell knows the meaning of " + std::string(1, character),
                    .where = "command",
                    .remedy = "put it in single quotes, or let a shell run the command: sh -c '…'"};
    }

    [[noreturn]] static void throwOpen(char quote)
    {
        throw Error{
            .what = "a quote is not closed", .where = "command", .remedy = std::string("add ") + quote};
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<std::string> words_;
    std::string word_;
    bool isWord_ = false;
};

} // namespace

std::vector<std::string> splitShellWords(std::string_view line)
{
    return ShellLine(line).split();
}

std::string shellPath(const std::filesystem::path& path)
{
    const std::string text = path.string();
    return shellWord(text.starts_with('-') ? "./" + text : text);
}

} // namespace tilescope
