#include "core/record/secrets.h"

#include "core/record/secret_options.h"
#include "core/record/told_secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace tilescope::record {

namespace {

using Words = std::initializer_list<std::string_view>;
constexpr std::string_view kMask = "***";

bool isOneOf(std::string_view word, Words words)
{
    return std::ranges::find(words, word) != words.end();
}

bool containsOneOf(std::string_view text, Words words)
{
    return std::ranges::any_of(
        words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool isAlphanumeric(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 0x80;
}

bool isSpace(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string lowerCase(std::string_view text)
{
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

/// The parts of a name in lower case: apiKey, API_KEY and --api-key have the parts api and key.
std::vector<std::string> partsOf(std::string_view name)
{
    std::vector<std::string> parts(1);
    char before = 0;
    for (const char c : name) {
        const bool isUpper = std::isupper(static_cast<unsigned char>(c)) != 0;
        if (!isAlphanumeric(c) || (isUpper && std::islower(static_cast<unsigned char>(before)) != 0))
            parts.emplace_back();
        if (isAlphanumeric(c))
            parts.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        before = c;
    }
    std::erase(parts, std::string());
    return parts;
}

/// The name in lower case without words that merely contain those of secrets.
std::string withoutOrdinaryWords(std::string_view name)
{
    std::string lower = lowerCase(name);
    for (const std::string_view word :
         {"tokeniz",  "tokenis",  "monkey",    "keyboard",  "keyframe",  "keypoint",
          "keyword",  "hotkey",   "turkey",    "bypass",    "compass",   "author",
          "sort-key", "sort_key", "group-key", "group_key", "cache-key", "cache_key",
          "key-norm", "key_norm", "key-value", "key_value", "pass-rate", "pass_rate"})
        for (std::size_t at = 0; (at = lower.find(word, at)) != std::string::npos;) {
            const std::size_t end = at + word.size();
            if (word == "author" && end < lower.size() && lower[end] == 'i')
                at = end; // authorization
            else
                lower.replace(at, word.size(), " ");
        }
    return lower;
}

constexpr std::size_t kLongestCount = 3;

bool isNumber(std::string_view value)
{
    constexpr std::size_t kLongest = 15;
    return !value.empty() && value.size() <= kLongest &&
           std::isdigit(static_cast<unsigned char>(value.front())) != 0 &&
           value.find_first_not_of("0123456789.,_eEkKmMbBgG+-") == std::string_view::npos;
}

/// Whether the name, which contains token or key, counts or measures something.
bool isQuantity(const std::string& name, const std::vector<std::string>& parts)
{
    if (containsOneOf(name, {"tokens", "keys"}))
        return true;
    if (std::ranges::any_of(parts, [](const std::string& part) {
            return isOneOf(part,
                           {"max", "min", "num", "n", "new", "total", "count", "limit", "per", "budget"});
        }))
        return true;
    return !parts.back().ends_with("token") && !parts.back().ends_with("key");
}

bool isOfVocabulary(const std::vector<std::string>& parts)
{
    return parts.size() > 1 && std::ranges::all_of(parts, [](const std::string& part) {
               return isOneOf(
                   part, {"eos", "bos", "pad", "unk", "mask", "sep", "cls", "token", "tokens", "id", "ids"});
           });
}

} // namespace

bool isSecret(std::string_view name, std::string_view value)
{
    const std::string lower = withoutOrdinaryWords(name);
    const std::vector<std::string> parts = partsOf(name);
    if (parts.empty())
        return false;
    // How often something passes, and the number of passes.
    const bool counts = isNumber(value) && value.size() <= kLongestCount;
    const bool isStrong =
        containsOneOf(lower, {"secret", "passw", "passphr", "passcode", "pwd", "auth", "credential", "bearer",
                              "cookie", "jwt", "signature"}) ||
        (lower.ends_with("pass") && !counts) || std::ranges::any_of(parts, [&](const std::string& part) {
            return (part == "pass" && !counts && lower.find("pass") != std::string::npos) ||
                   isOneOf(part, {"pw", "cred", "creds", "pat", "otp", "sas", "sig", "salt"});
        });
    if (!isStrong && !containsOneOf(lower, {"token", "key"}))
        return false;
    if (isOneOf(lowerCase(value), {"true", "false", "none", "null", "yes", "no"}))
        return false;
    if (isOneOf(lower, {"pwd", "oldpwd"}) && value.starts_with('/'))
        return false; // the shell's working folder
    if (isStrong)
        return true;
    return !isOfVocabulary(parts) && !(isNumber(value) && isQuantity(lower, parts));
}

bool looksSecret(std::string_view text)
{
    struct Form {
        std::string_view prefix;
        std::size_t shortest; ///< length with the prefix
    };
    constexpr std::array kForms{
        Form{"hf_", 20},     Form{"sk-", 20},      Form{"ghp_", 20},     Form{"gho_", 20},
        Form{"ghu_", 20},    Form{"ghs_", 20},     Form{"ghr_", 20},     Form{"github_pat_", 20},
        Form{"glpat-", 20},  Form{"xox", 20},      Form{"AKIA", 20},     Form{"ASIA", 20},
        Form{"AIza", 30},    Form{"eyJ", 30},      Form{"npm_", 20},     Form{"pypi-", 20},
        Form{"ya29.", 20},   Form{"SG.", 30},      Form{"nvapi-", 20},   Form{"r8_", 20},
        Form{"dop_v1_", 20}, Form{"gsk_", 20},     Form{"hvs.", 20},     Form{"dckr_pat_", 20},
        Form{"tskey-", 20},  Form{"sk_live_", 20}, Form{"sk_test_", 20}, Form{"rk_live_", 20},
        Form{"whsec_", 20},  Form{"glsa_", 20},    Form{"shpat_", 20},   Form{"ATATT", 20}};
    const bool hasDigit = std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
    return hasDigit && std::ranges::any_of(kForms, [&](const Form& form) {
               return text.size() >= form.shortest && text.starts_with(form.prefix);
           });
}

namespace {

bool isNameCharacter(char c)
{
    return isAlphanumeric(c) || c == '_' || c == '.' || c == '-';
}

bool isUserOption(std::string_view name)
{
    return isOneOf(name, {"-u", "--user", "--proxy-user", "--login"});
}

/// Where the password of `user:password` begins; npos: there is none. Numbers are those of a user and a group.
std::size_t passwordOfLogin(std::string_view login)
{
    const std::size_t colon = login.find(':');
    const bool isNumbers = login.find_first_not_of("0123456789:") == std::string_view::npos;
    return colon == std::string_view::npos || isNumbers ? std::string_view::npos : colon + 1;
}

/// Reads one word from left to right and writes it with masks.
class WordReader {
public:
    /// \param isShell  the word is a command of a shell, in which a blank ends a value
    /// \param program  the program that is called, as far as its options are known; this word may name another one
    WordReader(std::string_view text, bool isShell, std::string& program)
        : text_(text), isShell_(isShell), program_(program)
    {
    }

    /// \param next  the word that follows
    std::string masked(std::string_view next)
    {
        while (at_ < text_.size()) {
            if (isNameCharacter(text_[at_]))
                readName(next);
            else if (text_.substr(at_).starts_with("<<<"))
                maskShellWord(at_ + 3);
            else
                out_ += text_[at_++];
        }
        return out_;
    }

    /// Whether the next word is the value of a name at the end of this one.
    bool wantsNext() const { return wantsNext_; }

private:
    char charAt(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

    std::size_t endOfName(std::size_t at) const
    {
        while (at < text_.size() && isNameCharacter(text_[at]))
            ++at;
        return at;
    }

    std::size_t afterSpaces(std::size_t at) const
    {
        while (at < text_.size() && isSpace(text_[at]))
            ++at;
        return at;
    }

    /// Writes what was read up to `end` as it is.
    void keep(std::size_t end)
    {
        out_ += text_.substr(at_, end - at_);
        at_ = end;
    }

    void maskUntil(std::size_t end)
    {
        out_ += kMask;
        at_ = end;
    }

    /// The word of a shell behind spaces.
    void maskShellWord(std::size_t before)
    {
        keep(afterSpaces(before));
        if (at_ < text_.size())
            maskUntil(endOfShellWord(at_));
    }

    struct Separator {
        std::size_t begin = std::string_view::npos; ///< npos: there is none
        std::size_t end = 0;
        bool isColon = false;
    };

    /// What stands between a name and its value: `=`, `+=`, `: `, `": "`, `'] = '`, `', '`, `%3D`.
    Separator separatorAt(std::size_t at) const
    {
        const bool isQuoted = isQuote(at);
        while (charAt(at) == '\\' || charAt(at) == '"' || charAt(at) == '\'' || charAt(at) == ']')
            ++at;
        at = afterSpaces(at);
        Separator found;
        if (isQuoted && charAt(at) == ',' && isQuote(afterSpaces(at + 1)))
            return {.begin = at, .end = afterSpaces(at + 1), .isColon = false};
        if ((charAt(at) == '+' || charAt(at) == '?') && charAt(at + 1) == '=')
            ++at;
        const std::string encoded = lowerCase(text_.substr(std::min(at, text_.size()), 3));
        if (encoded == "%3d" || encoded == "%3a")
            return {.begin = at, .end = at + 3, .isColon = false};
        if (charAt(at) != '=' && charAt(at) != ':')
            return found;
        found = {.begin = at, .end = at + 1, .isColon = charAt(at) == ':'};
        while (charAt(found.end) == '=' || charAt(found.end) == '>') {
            found.isColon = false;
            ++found.end;
        }
        found.end = afterSpaces(found.end);
        return found;
    }

    bool startsSetting(std::size_t at) const
    {
        at = afterSpaces(at);
        while (charAt(at) == '"' || charAt(at) == '\'' || charAt(at) == '\\')
            ++at;
        const std::size_t end = endOfName(at);
        return end > at && separatorAt(end).begin != std::string_view::npos;
    }

    /// The end of a text in quotes, or in brackets, that begins here.
    std::size_t endOfQuoted(std::size_t at) const
    {
        const bool isEscaped = text_[at] == '\\';
        const char quote = charAt(at + (isEscaped ? 1 : 0));
        for (std::size_t i = at + (isEscaped ? 2 : 1); i < text_.size(); ++i) {
            if (text_[i] == '\\' && !(isEscaped && charAt(i + 1) == quote))
                ++i;
            else if (isEscaped ? text_[i] == '\\' : text_[i] == quote)
                return i + (isEscaped ? 2 : 1);
        }
        return text_.size();
    }

    std::size_t endOfBrackets(std::size_t at) const
    {
        int depth = 0;
        while (at < text_.size()) {
            const char c = text_[at];
            if (isQuote(at)) {
                at = endOfQuoted(at);
                continue;
            }
            depth += c == '{' || c == '[' || c == '(' ? 1 : c == '}' || c == ']' || c == ')' ? -1 : 0;
            ++at;
            if (depth == 0)
                break;
        }
        return at;
    }

    bool isQuote(std::size_t at) const
    {
        const char c = charAt(at) == '\\' ? charAt(at + 1) : charAt(at);
        return c == '"' || c == '\'';
    }

    /// Whether a value may end before this character, which closes something that began before the name.
    bool closesAt(std::size_t at) const
    {
        const char after = charAt(at + 1);
        return after == '\0' || isSpace(after) ||
               std::string_view(",;)}]\"'&|").find(after) != std::string_view::npos;
    }

    /// The end of a header's value: the rest of the line, or of the quotes in which the name begins.
    std::size_t endOfHeader(std::size_t at) const
    {
        const char before = at_ > 0 ? text_[at_ - 1] : '\0';
        const bool isQuoted = before == '"' || before == '\'';
        while (at < text_.size() && text_[at] != '\n' && !(isQuoted && text_[at] == before))
            ++at;
        return at;
    }

    /// \param name  that begins at the current place
    std::size_t endOfValue(std::size_t at, bool isColon, std::string_view name) const
    {
        if (isQuote(at))
            return endOfQuoted(at);
        if (charAt(at) == '{' || charAt(at) == '[' || charAt(at) == '(')
            return endOfBrackets(at);
        if (isColon && containsOneOf(lowerCase(name), {"authorization", "cookie"}))
            return endOfHeader(at);
        // A value that is a word of its own may contain blanks.
        const bool hasBlanks = isColon || (at_ == 0 && !isShell_);
        for (std::size_t i = at; i < text_.size(); ++i) {
            const char c = text_[i];
            if (hasBlanks ? isColon && c == '\n' : isSpace(c))
                return i;
            if (c == '$' && charAt(i + 1) == '(') { // the output of a command
                i = endOfBrackets(i + 1) - 1;
                continue;
            }
            if (c == '\\' && !isColon)
                ++i;
            else if ((c == ',' || c == '&' || c == ';') &&
                     (startsSetting(i + 1) || (!isColon && closesAt(i))))
                return i;
            else if ((c == '"' || c == '\'' || c == ')' || c == '}' || c == ']') && closesAt(i))
                return i;
            else if ((c == '"' || c == '\'') && !isColon)
                i = endOfQuoted(i) - 1;
        }
        return text_.size();
    }

    /// The end of a word of a shell that begins here.
    std::size_t endOfShellWord(std::size_t at) const
    {
        while (at < text_.size() && !isSpace(text_[at]))
            at = text_[at] == '"' || text_[at] == '\'' ? endOfQuoted(at) : at + 1;
        return at;
    }

    /// user:password@ of an address, or the path of a web hook; the name before it is the scheme.
    bool readAddress(std::size_t endOfScheme)
    {
        const std::size_t begin = endOfScheme + 3;
        std::size_t end = begin;
        while (end < text_.size() && !isSpace(text_[end]) && text_[end] != '"' && text_[end] != '\'')
            ++end;
        const std::string_view rest = text_.substr(begin, end - begin);
        const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
        if (containsOneOf(lowerCase(rest), {"hooks.", "/webhook"})) {
            keep(begin + authority.size());
            maskUntil(end);
            return true;
        }
        std::size_t last = authority.rfind('@');
        if (last == std::string_view::npos) {
            // A password with a slash: what follows the colon is no port.
            const std::size_t colon = authority.find(':');
            if (colon == std::string_view::npos ||
                authority.find_first_not_of("0123456789", colon + 1) == std::string_view::npos)
                return false;
            last = rest.rfind('@');
        }
        if (last == std::string_view::npos)
            return false;
        const std::string_view user = rest.substr(0, last);
        const bool isUserOnly =
            text_.substr(at_, endOfScheme - at_).ends_with("ssh") && user.find(':') == std::string_view::npos;
        keep(begin);
        if (isUserOnly)
            keep(begin + last);
        else
            maskUntil(begin + last);
        return true;
    }

    /// user:password@host without a scheme.
    bool readLogin(std::size_t endOfUser)
    {
        std::size_t end = endOfUser + 1;
        while (end < text_.size() && !isSpace(text_[end]) && text_[end] != '@' && text_[end] != '/' &&
               text_[end] != ',')
            ++end;
        if (charAt(end) != '@' || end == endOfUser + 1 || !isAlphanumeric(charAt(end + 1)) ||
            text_.substr(end + 1).starts_with("sha256"))
            return false;
        keep(endOfUser + 1);
        maskUntil(end);
        return true;
    }

    void readName(std::string_view next)
    {
        const std::size_t end = endOfName(at_);
        const std::string_view name = text_.substr(at_, end - at_);
        if (text_.substr(end).starts_with("://") && readAddress(end))
            return;
        if (looksSecret(name)) {
            maskUntil(end);
            return;
        }
        if (readKey() || readElement(name, end) || readCall(name, end) || readProgram(name, end))
            return;
        if (readScheme(lowerCase(name), end))
            return;
        const Separator separator = separatorAt(end);
        if (separator.begin == std::string_view::npos) {
            if (!readTold(end))
                readOption(name, end, next);
            return;
        }
        const std::size_t endOfText = endOfValue(separator.end, separator.isColon, name);
        const std::string_view value = text_.substr(separator.end, endOfText - separator.end);
        const std::size_t password =
            !separator.isColon && isUserOption(name) ? passwordOfLogin(value) : std::string_view::npos;
        if (password != std::string_view::npos) {
            keep(separator.end + password);
            maskUntil(endOfText);
        } else if (isSecret(name, separator.end == text_.size() ? next : unquoted(value))) {
            keep(separator.end);
            if (separator.end == text_.size())
                wantsNext_ = true;
            else
                maskUntil(endOfText);
        } else if (!separator.isColon || !readLogin(end)) {
            keep(separator.end);
        }
    }

    /// A private key in a text, as in a PEM file.
    bool readKey()
    {
        constexpr std::string_view kDashes = "-----";
        const std::string_view rest = text_.substr(at_);
        if (!rest.starts_with("-----BEGIN ") || rest.find("PRIVATE KEY") == std::string_view::npos)
            return false;
        const std::size_t last = rest.find("-----END ");
        const std::size_t end =
            last == std::string_view::npos ? last : rest.find(kDashes, last + kDashes.size());
        maskUntil(end == std::string_view::npos ? text_.size() : at_ + end + kDashes.size());
        return true;
    }

    /// `<password>X</password>`
    bool readElement(std::string_view name, std::size_t end)
    {
        if (at_ == 0 || text_[at_ - 1] != '<' || charAt(end) != '>' || !isSecret(name, {}))
            return false;
        keep(end + 1);
        maskUntil(std::min(text_.find('<', at_), text_.size()));
        return true;
    }

    /// `login("X")`, and `echo X | …` where a program reads a password.
    bool readCall(std::string_view name, std::size_t end)
    {
        if (name.ends_with("login") && charAt(end) == '(' && isQuote(end + 1)) {
            keep(end + 1);
            maskUntil(endOfQuoted(at_));
            return true;
        }
        const std::size_t pipe = text_.find('|', end);
        if (!isOneOf(name, {"echo", "printf"}) || pipe == std::string_view::npos ||
            !containsOneOf(text_.substr(pipe), {"-stdin", "--with-token", "--passphrase-fd", "sudo -S"}))
            return false;
        keep(afterSpaces(end));
        maskUntil(pipe);
        return true;
    }

    /// An option of a program whose name alone does not tell that its value is secret.
    bool readProgram(std::string_view name, std::size_t end)
    {
        if (!name.starts_with('-')) {
            const std::string_view file = name.substr(name.rfind('/') + 1);
            if (isProgramWithSecrets(file))
                program_ = file;
            return false;
        }
        const SecretOption option = secretOption(program_, name);
        if (option == SecretOption::Joined) {
            keep(at_ + 2);
            maskUntil(isShell_ ? endOfShellWord(at_) : text_.size());
        } else if (option == SecretOption::Separate && end < text_.size()) {
            maskShellWord(end);
        } else if (option == SecretOption::Separate) {
            wantsNext_ = true;
            keep(end);
        }
        return option != SecretOption::None;
    }

    static std::string_view unquoted(std::string_view value)
    {
        while (!value.empty() && (value.front() == '"' || value.front() == '\'' || value.front() == '\\'))
            value.remove_prefix(1);
        while (!value.empty() && (value.back() == '"' || value.back() == '\'' || value.back() == '\\'))
            value.remove_suffix(1);
        return value;
    }

    /// `Bearer X`, and `Basic X` where X is encoded.
    bool readScheme(const std::string& name, std::size_t end)
    {
        if (name != "bearer" && name != "basic")
            return false;
        const std::size_t begin = afterSpaces(end);
        if (begin == text_.size()) {
            wantsNext_ = name == "bearer" || wantsNext_;
            return false;
        }
        if (begin == end)
            return false;
        std::size_t last = begin;
        while (last < text_.size() && !isSpace(text_[last]) && text_[last] != '"' && text_[last] != '\'')
            ++last;
        constexpr std::size_t kShortestEncoded = 8;
        const std::string_view value = text_.substr(begin, last - begin);
        const auto isOfCode = [](unsigned char c) {
            return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '=';
        };
        if (name == "basic" &&
            (value.size() < kShortestEncoded || !std::any_of(value.begin() + 1, value.end(), isOfCode)))
            return false;
        keep(begin);
        maskUntil(last);
        return true;
    }

    /// `set password to X`
    bool readTold(std::size_t end)
    {
        const std::size_t begin = toldSecretAfter(text_, at_, end);
        if (begin == std::string_view::npos)
            return false;
        std::size_t last = begin;
        while (last < text_.size() && !isSpace(text_[last]) &&
               (last == begin || std::string_view("\"'`;,)").find(text_[last]) == std::string_view::npos ||
                !closesAt(last)))
            last = last == begin && isQuote(last) ? endOfQuoted(last) : last + 1;
        keep(begin);
        maskUntil(last);
        return true;
    }

    /// A name without a separator: `--api-key X`, within this word or at its end.
    void readOption(std::string_view name, std::size_t end, std::string_view next)
    {
        const bool isOption = name.starts_with('-');
        const std::size_t value = afterSpaces(end);
        if (isOption && end == text_.size()) {
            wantsNext_ = wantsNext_ || isSecret(name, next);
        } else if (isOption && value > end && value < text_.size()) {
            const std::size_t endOfText = endOfShellWord(value);
            const std::size_t password = isUserOption(name)
                                             ? passwordOfLogin(text_.substr(value, endOfText - value))
                                             : std::string_view::npos;
            if (password != std::string_view::npos) {
                keep(value + password);
                maskUntil(endOfText);
                return;
            }
            if (isSecret(name, unquoted(text_.substr(value, endOfText - value)))) {
                keep(value);
                // It may be an option without a value, and the next one is secret as well.
                const std::string_view masked = text_.substr(value, endOfText - value);
                maskUntil(endOfText);
                if (masked.starts_with('-') && isSecret(masked, {}) &&
                    masked.find('=') == std::string_view::npos) {
                    keep(afterSpaces(at_));
                    if (at_ < text_.size())
                        maskUntil(endOfShellWord(at_));
                    else
                        wantsNext_ = true;
                }
                return;
            }
        }
        keep(end);
    }

    std::string_view text_;
    bool isShell_;
    std::string& program_;
    std::size_t at_ = 0;
    std::string out_;
    bool wantsNext_ = false;
};

} // namespace

bool SecretMask::tells(std::string_view word, std::string_view next)
{
    constexpr std::size_t kMost = 8;
    if (std::ranges::any_of(word, isSpace))
        sentence_.clear();
    else
        sentence_.emplace_back(word);
    if (sentence_.size() > kMost)
        sentence_.erase(sentence_.begin());
    std::string text;
    for (const std::string& each : sentence_)
        text += each + ' ';
    const std::size_t value = text.size();
    text += next;
    for (std::size_t begin = 0; begin < value; begin = text.find(' ', begin) + 1)
        if (toldSecretAfter(text, begin, text.find(' ', begin)) == value)
            return true;
    return false;
}

std::string SecretMask::mask(std::string_view word, std::string_view next)
{
    constexpr std::size_t kShortestLogin = 16;
    const bool isPlain = std::ranges::all_of(word, isNameCharacter);
    const std::string lower = lowerCase(word);
    const std::string before = std::exchange(before_, std::string(word));
    const bool wasLogin = std::exchange(afterLogin_, lower == "login");
    const bool wasUser = std::exchange(afterUser_, isUserOption(word));
    if (std::exchange(masksNext_, false)) {
        // `Authorization: Bearer X` as three words; an option in place of a value may have a value of its own.
        masksNext_ =
            isOneOf(lower, {"bearer", "basic", "token", "digest", "negotiate", "apikey", "--"}) ||
            (word.starts_with('-') && word.find('=') == std::string_view::npos && isSecret(word, next));
        return std::string(kMask);
    }
    if (wasLogin && isPlain && word.size() >= kShortestLogin && !word.starts_with('-'))
        return std::string(kMask);
    const std::size_t password = wasUser ? passwordOfLogin(word) : std::string_view::npos;
    if (password != std::string_view::npos)
        return std::string(word.substr(0, password)) + std::string(kMask);
    if (isOneOf(word, {"=", ":", "+=", ":="}) && isSecret(before, next)) { // NAME = X as three words
        masksNext_ = true;
        return std::string(word);
    }
    const bool isTold = tells(word, next);
    WordReader reader(word,
                      std::exchange(isShell_, word.size() > 1 && word.front() == '-' && word.back() == 'c'),
                      program_);
    std::string masked = reader.masked(next);
    masksNext_ = isTold || reader.wantsNext();
    return masked;
}

} // namespace tilescope::record
