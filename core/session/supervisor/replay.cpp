#include "core/session/supervisor/replay.h"

#include "core/base/error.h"
#include "core/model/text.h"
#include "core/session/protocol/replay_line.h"
#include "core/session/supervisor/engine_keeper.h"

namespace tilescope::session {

namespace {

constexpr std::chrono::minutes kLongestReplay{5};

} // namespace

std::optional<ReplayResult> replayOp(const ReplayRequest& request, const std::filesystem::path& scratch,
                                     std::stop_token stop)
{
    SweepOptions options;
    options.file = scratch;
    std::optional<ReplayResult> result;
    EngineKeeper keeper(options, {toText(request.device)}, std::move(stop), [&result](Event&& event) {
        if (auto* replayed = std::get_if<ReplayEvent>(&event))
            result = std::move(replayed->result);
    });
    const auto failed = [&keeper] {
        return Error{.what = "the op could not be measured: " + keeper.howItDied(),
                     .kind = ErrorKind::Failure};
    };
    if (!keeper.start()) {
        if (keeper.cancelled())
            return {};
        throw failed();
    }
    keeper.send(replayLine(request));
    keeper.pumpUntil([&result] { return result.has_value(); }, SteadyTime::clock::now() + kLongestReplay,
                     "it did not end in five minutes");
    if (!result) {
        if (keeper.cancelled())
            return {};
        throw failed();
    }
    keeper.finish();
    return result;
}

} // namespace tilescope::session
