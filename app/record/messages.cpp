#include "app/record/messages.h"

#include "app/record/nvtx_ops.h"
#include "app/record/recorder.h"
#include "app/record/torch_probe.h"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace tilescope::record {

void takeMessage(std::string_view text) noexcept
{
    constexpr std::string_view kNode = "node ";
    if (text == "step") {
        Recorder::endStep();
    } else if (text == "torch") {
        findTorch();
    } else if (text == "yield") {
        Recorder::yieldDevice();
    } else if (text == "flush") {
        Recorder::flush();
    } else if (text == "ops") {
        takeNvtxOps();
    } else if (text == "end") {
        Recorder::end();
    } else if (text == "node") {
        confirmNode();
    } else if (text == "next node") {
        expectNextNode();
    } else if (text.starts_with(kNode)) {
        std::uint64_t sequence = 0;
        text.remove_prefix(kNode.size());
        if (std::from_chars(text.data(), text.data() + text.size(), sequence).ec == std::errc())
            expectNode(sequence);
    }
}

} // namespace tilescope::record
