#include "core/base/named_output.h"

#include "core/base/error.h"

#include <string>

namespace tilescope {

namespace {

std::string replaced(std::string text, const std::string& part, const std::string& by)
{
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + by.size()))
        text.replace(at, part.size(), by);
    return text;
}

} // namespace

void namingOutput(const std::filesystem::path& temporary, const std::filesystem::path& output,
                  const std::function<void()>& work)
{
    try {
        work();
    } catch (Error& error) {
        for (std::string* text : {&error.what, &error.where, &error.remedy})
            *text = replaced(std::move(*text), temporary.string(), output.string());
        throw;
    }
}

} // namespace tilescope
