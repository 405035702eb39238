#include "core/session/supervisor/ceilings.h"

#include "core/base/error.h"
#include "core/session/protocol/point_line.h"
#include "core/session/supervisor/engine_keeper.h"

namespace tilescope::session {

namespace {

/// A CPU without half-precision vector instructions takes long for matrix products.
constexpr std::chrono::minutes kLongest{5};

} // namespace

bool measureCeilings(const std::filesystem::path& file, const std::string& device,
                     const std::string& commandLine, std::stop_token stop)
{
    deviceFrom(device); // reports an invalid device before an engine is started
    SweepOptions options;
    options.file = file;
    options.commandLine = commandLine;
    bool measured = false;
    EngineKeeper keeper(options, {device}, std::move(stop), [&measured](Event&& event) {
        measured = measured || std::holds_alternative<CeilingsEvent>(event);
    });
    const auto failed = [&keeper] {
        return Error{.what = "the ceilings could not be measured: " + keeper.howItDied(),
                     .kind = ErrorKind::Failure};
    };
    if (!keeper.start()) {
        if (keeper.cancelled())
            return false;
        throw failed();
    }
    keeper.send(ceilingsLine(device));
    keeper.pumpUntil([&measured] { return measured; }, SteadyTime::clock::now() + kLongest,
                     "it did not end in five minutes");
    if (!measured) {
        if (keeper.cancelled())
            return false;
        throw failed();
    }
    if (const auto died = keeper.finish())
        throw Error{.what = "the ceilings could not be kept: " + *died, .kind = ErrorKind::Failure};
    return true;
}

} // namespace tilescope::session
