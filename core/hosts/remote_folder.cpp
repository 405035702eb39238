#include "core/hosts/remote_folder.h"

#include "core/hosts/json_fields.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tilescope::hosts {

using Json = nlohmann::json;

RemoteFolder listFolder(RemoteHost& host, const std::string& path, std::stop_token stop)
{
    constexpr std::size_t kMostName = 4096;
    quotedForHost(path); // refuses control characters
    const std::string answer =
        host.ask(Json{{"op", "list"}, {"path", path}}.dump(-1, ' ', false, Json::error_handler_t::replace),
                 std::move(stop));
    const Json message = Json::parse(answer, nullptr, false);
    RemoteFolder folder{
        .path = textIn(message, "path", kMostName), .entries = {}, .isCut = flagIn(message, "cut")};
    const auto entries = message.find("entries");
    if (entries == message.end() || !entries->is_array())
        return folder;
    for (const Json& entry : *entries) {
        if (!entry.is_object() || folder.entries.size() == RemoteFolder::kMostEntries)
            continue;
        RemoteEntry made{.name = textIn(entry, "name", kMostName),
                         .isFolder = flagIn(entry, "folder"),
                         .isGrowing = flagIn(entry, "growing"),
                         .size = Bytes{std::max<std::int64_t>(numberIn(entry, "size"), 0)},
                         .changedUnixNs = numberIn(entry, "changed")};
        const bool isName = !made.name.empty() && made.name.find('/') == std::string::npos &&
                            made.name != "." && made.name != "..";
        if (isName)
            folder.entries.push_back(std::move(made));
    }
    std::ranges::sort(folder.entries, {},
                      [](const RemoteEntry& each) { return std::tuple(!each.isFolder, each.name); });
    return folder;
}

} // namespace tilescope::hosts
