#include "core/session/protocol/maker.h"

#include "core/base/error.h"
#include "core/model/environment_facts.h"

namespace tilescope::session {

namespace {

bool differ(const std::string& before, const std::string& here)
{
    return !before.empty() && !here.empty() && before != here;
}

} // namespace

Maker makerOf(std::string_view device, std::span<const EnvironmentEntry> environment)
{
    constexpr std::string_view kGpu = "cuda:";
    Maker maker{.torch = factOf(environment, "libtorch"), .processor = {}};
    maker.processor = device.starts_with(kGpu)
                          ? factOf(environment, "gpu." + std::string(device.substr(kGpu.size())) + ".name")
                          : factOf(environment, "cpu.model");
    return maker;
}

void requireSameMakers(const Makers& before, const Makers& here, const std::filesystem::path& file)
{
    constexpr const char* kRemedy = ", or mix them on purpose with --force";
    for (const auto& [device, maker] : before) {
        const auto found = here.find(device);
        if (found == here.end())
            continue;
        if (differ(maker.torch, found->second.torch))
            throw Error{.what = "holds points of this sweep that were made with torch " + maker.torch +
                                "; here it is torch " + found->second.torch,
                        .where = file.string(),
                        .remedy = std::string("resume with that torch") + kRemedy};
        if (differ(maker.processor, found->second.processor))
            throw Error{.what = "holds points of this sweep that ran on " + maker.processor + "; device " +
                                device + " is " + found->second.processor + " here",
                        .where = file.string(),
                        .remedy = std::string("resume on such a machine") + kRemedy};
    }
}

} // namespace tilescope::session
