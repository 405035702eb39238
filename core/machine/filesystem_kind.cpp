#include "core/machine/filesystem_kind.h"

#include <sys/vfs.h>

#include <array>
#include <cstdint>
#include <utility>

namespace tilescope::machine {

namespace {

// f_type of statfs(2). Values that linux/magic.h lacks are from the sources of the filesystems.
constexpr std::array<std::pair<std::uint32_t, const char*>, 10> kNetworkKinds{{
    {0x6969, "NFS"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB"},
    {0x517B, "SMB"},
    {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"},
    {0x00C36400, "Ceph"},
    {0x5346414F, "AFS"},
    {0x01021997, "9P"},
}};

} // namespace

std::optional<std::string> networkFilesystem(const std::filesystem::path& path)
{
    struct statfs info {};
    if (statfs(path.c_str(), &info) != 0)
        return {};
    for (const auto& [magic, name] : kNetworkKinds)
        if (static_cast<std::uint32_t>(info.f_type) == magic)
            return name;
    return {};
}

} // namespace tilescope::machine
