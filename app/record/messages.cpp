#include "app/record/messages.h"

#include "app/record/nvtx_ops.h"
#include "app/record/recorder.h"
#include "app/record/torch_probe.h"

namespace tilescope::record {

void takeMessage(std::string_view text) noexcept
{
    if (text == "step") {
        Recorder::endStep();
    } else if (text == "torch") {
        findTorch();
    } else if (text == "yield") {
        Recorder::yieldDevice(Profiler::Torch);
    } else if (text == "yield to proton") {
        Recorder::yieldDevice(Profiler::Proton);
    } else if (text == "flush") {
        Recorder::flush();
    } else if (text == "ops") {
        takeNvtxOps();
    } else if (text == "end") {
        Recorder::end();
    }
}

} // namespace tilescope::record
