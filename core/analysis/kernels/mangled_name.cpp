#include "core/analysis/kernels/mangled_name.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilescope::analysis {

namespace {

constexpr std::size_t kLongest = 4096; ///< characters of input and, approximately, of output
constexpr int kDeepest = 64;           ///< nested template arguments and types

bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}

struct Code {
    std::string_view code;
    std::string_view text;
};

constexpr std::array kBuiltins{Code{"DF16b", "__bf16"},
                               Code{"DF16_", "half"},
                               Code{"Dh", "half"},
                               Code{"Df", "decimal32"},
                               Code{"Dd", "decimal64"},
                               Code{"Dn", "nullptr_t"},
                               Code{"Da", "auto"},
                               Code{"Di", "char32_t"},
                               Code{"Ds", "char16_t"},
                               Code{"v", "void"},
                               Code{"w", "wchar_t"},
                               Code{"b", "bool"},
                               Code{"c", "char"},
                               Code{"a", "signed char"},
                               Code{"h", "unsigned char"},
                               Code{"s", "short"},
                               Code{"t", "unsigned short"},
                               Code{"i", "int"},
                               Code{"j", "unsigned int"},
                               Code{"l", "long"},
                               Code{"m", "unsigned long"},
                               Code{"x", "long long"},
                               Code{"y", "unsigned long long"},
                               Code{"n", "__int128"},
                               Code{"o", "unsigned __int128"},
                               Code{"f", "float"},
                               Code{"d", "double"},
                               Code{"e", "long double"},
                               Code{"g", "__float128"},
                               Code{"z", "..."}};

constexpr std::array kStandard{Code{"Sa", "std::allocator"},    Code{"Ss", "std::string"},
                               Code{"Sb", "std::basic_string"}, Code{"Si", "std::istream"},
                               Code{"So", "std::ostream"},      Code{"Sd", "std::iostream"}};

/// A parser by recursive descent. Each function appends what it read and returns false at what it does not
/// know or at the end of the text; callers then close their brackets and stop.
class Demangler {
public:
    explicit Demangler(std::string_view text) : rest_(text.substr(0, kLongest)) {}

    std::string name()
    {
        take("_Z");
        encodedName();
        return std::move(out_);
    }

private:
    bool take(std::string_view prefix)
    {
        if (!rest_.starts_with(prefix))
            return false;
        rest_.remove_prefix(prefix.size());
        return true;
    }

    char peek() const { return rest_.empty() ? '\0' : rest_.front(); }

    bool isFull() const { return out_.size() > kLongest; }

    bool encodedName()
    {
        take("L"); // internal linkage
        if (take("N"))
            return nestedName();
        if (take("Z")) // local to a function: Z <function> E <name>
            return encodedName() && skipTo('E') && entityInFunction();
        take("St");
        if (!component())
            return false;
        return peek() != 'I' || templateArguments();
    }

    bool entityInFunction()
    {
        if (peek() != '_' && !isDigit(peek()) && peek() != 'N')
            return true;
        out_ += "::";
        return encodedName();
    }

    /// Skips the parameters of an enclosing function.
    bool skipTo(char end)
    {
        const std::size_t at = rest_.find(end);
        if (at == std::string_view::npos)
            return false;
        rest_.remove_prefix(at + 1);
        return true;
    }

    bool nestedName()
    {
        while (take("r") || take("V") || take("K") || take("R") || take("O")) {
        }
        bool isFirst = true;
        while (!rest_.empty() && !isFull()) {
            if (take("E"))
                return true;
            if (peek() == 'I') {
                if (!templateArguments())
                    return false;
                continue;
            }
            const std::size_t before = out_.size();
            if (!isFirst)
                out_ += "::";
            const std::size_t separated = out_.size();
            const bool known = component();
            if (out_.size() == separated)
                out_.resize(before);
            if (!known)
                return false;
            isFirst = isFirst && out_.size() == before;
        }
        return false;
    }

    /// A source name, substitution, operator, constructor, lambda or unnamed type.
    bool component()
    {
        take("L");
        if (isDigit(peek()))
            return sourceName();
        if (peek() == 'S')
            return substitution();
        if (peek() == 'T')
            return templateParameter();
        if (take("Ul")) {
            out_ += "{lambda}";
            return skipTo('E') && skipTo('_');
        }
        if (take("Ut")) {
            out_ += "{unnamed}";
            return skipTo('_');
        }
        if (rest_.size() > 1 && (peek() == 'C' || peek() == 'D') && isDigit(rest_[1])) {
            rest_.remove_prefix(2);
            return true;
        }
        if (take("cl")) {
            out_ += "operator()";
            return true;
        }
        return false;
    }

    bool sourceName()
    {
        std::size_t length = 0;
        while (isDigit(peek()) && length <= kLongest) {
            length = 10 * length + static_cast<std::size_t>(peek() - '0');
            rest_.remove_prefix(1);
        }
        const bool isWhole = length <= rest_.size();
        const std::string_view word = rest_.substr(0, length);
        rest_.remove_prefix(word.size());
        if (word.starts_with("_GLOBAL__N_"))
            out_ += "(anonymous namespace)";
        else
            out_ += word;
        while (take("B")) // ABI tags
            if (!skipNumberedText())
                return false;
        return isWhole;
    }

    bool skipNumberedText()
    {
        const std::size_t size = out_.size();
        const bool known = isDigit(peek()) && sourceName();
        out_.resize(size);
        return known;
    }

    bool substitution()
    {
        for (const Code& each : kStandard)
            if (take(each.code)) {
                out_ += each.text;
                return true;
            }
        if (take("St")) {
            out_ += "std";
            return true;
        }
        return take("S") && skipTo('_');
    }

    bool templateParameter() { return take("T") && skipTo('_'); }

    bool templateArguments()
    {
        if (!take("I") || ++depth_ > kDeepest)
            return false;
        out_ += '<';
        const bool known = list();
        out_ += '>';
        --depth_;
        return known;
    }

    /// Arguments to the closing E, separated by commas; those without text are omitted.
    bool list()
    {
        bool isFirst = true;
        while (!rest_.empty() && !isFull()) {
            if (take("E"))
                return true;
            const std::size_t before = out_.size();
            if (!isFirst)
                out_ += ", ";
            const std::size_t separated = out_.size();
            const bool known = argument();
            if (out_.size() == separated)
                out_.resize(before);
            else
                isFirst = false;
            if (!known)
                return false;
        }
        return false;
    }

    bool argument()
    {
        if (take("J"))
            return list();
        if (take("L"))
            return literal();
        if (take("X"))
            return false; // an expression
        return type();
    }

    /// Lb1E, Li128E, LNS_4EnumE2E, L_Z3foovE
    bool literal()
    {
        if (take("_Z"))
            return encodedName() && skipTo('E');
        const std::size_t size = out_.size();
        const bool isBoolean = peek() == 'b';
        if (!type())
            return false;
        const std::string kind = out_.substr(size);
        const std::size_t end = rest_.find('E');
        std::string value(rest_.substr(0, end));
        if (end == std::string_view::npos)
            return false;
        rest_.remove_prefix(end + 1);
        out_.resize(size);
        const bool isNumber =
            std::ranges::all_of(value, [](char c) { return isDigit(c) || c == 'n'; }) && !value.empty();
        if (value.starts_with('n'))
            value.front() = '-';
        if (isBoolean)
            out_ += value == "0" ? "false" : "true";
        else if (isNumber)
            out_ += value;
        else
            out_ += kind;
        return true;
    }

    bool type()
    {
        if (++depth_ > kDeepest)
            return false;
        const bool known = unguardedType();
        --depth_;
        return known;
    }

    bool unguardedType()
    {
        while (take("P") || take("R") || take("O") || take("K") || take("V") || take("r")) {
        }
        if (isDigit(peek()) || peek() == 'N' || peek() == 'Z')
            return encodedName();
        if (peek() == 'S' || peek() == 'T') {
            const bool isStandard = take("St");
            if (isStandard)
                out_ += "std::";
            if (!component())
                return false;
            return peek() != 'I' || templateArguments();
        }
        if (take("u"))
            return sourceName();
        if (take("Dp"))
            return type();
        if (take("F")) { // a function type: its result, then its parameters
            const std::size_t size = out_.size();
            const bool known = list();
            out_.resize(size);
            return known;
        }
        if (take("A"))
            return skipTo('_') && type();
        for (const Code& each : kBuiltins)
            if (take(each.code)) {
                out_ += each.text;
                return true;
            }
        return false;
    }

    std::string_view rest_;
    std::string out_ = {};
    int depth_ = 0;
};

} // namespace

bool isMangled(std::string_view name)
{
    if (name.starts_with("__Z"))
        name.remove_prefix(1);
    return name.size() > 3 && name.starts_with("_Z") &&
           (isDigit(name[2]) || name[2] == 'N' || name[2] == 'L' || name[2] == 'Z' || name[2] == 'S');
}

std::string demangled(std::string_view name)
{
    if (name.starts_with("__Z"))
        name.remove_prefix(1);
    std::string text = Demangler(name).name();
    return text.empty() ? std::string(name.substr(0, kLongest)) : text;
}

} // namespace tilescope::analysis
