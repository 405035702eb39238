#include "core/record/options.h"

#include "core/base/environment_variable.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace tilescope::record {

namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

bool isEscaped(char c)
{
    return c == ';' || c == '%' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::string decoded(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const char* const end = text.data() + i + 3;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(text.data() + i + 1, end, byte, 16).ptr == end) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

} // namespace

std::string withOption(std::string options, std::string_view name, std::string_view value)
{
    if (!options.empty())
        options += ';';
    options.append(name) += '=';
    for (const char c : value) {
        if (!isEscaped(c)) {
            options += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        options += '%';
        options += kDigits[byte >> 4];
        options += kDigits[byte & 15];
    }
    return options;
}

std::string optionIn(std::string_view options, std::string_view name)
{
    while (!options.empty()) {
        const std::size_t end = options.find(';');
        const std::string_view setting = options.substr(0, end);
        options.remove_prefix(end == std::string_view::npos ? options.size() : end + 1);
        if (setting.size() > name.size() && setting.starts_with(name) && setting[name.size()] == '=')
            return decoded(setting.substr(name.size() + 1));
    }
    return {};
}

std::string option(std::string_view name)
{
    return optionIn(environmentVariable(kOptionsVariable), name);
}

} // namespace tilescope::record
