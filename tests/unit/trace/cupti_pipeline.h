#pragma once

#include "core/trace/host/range.h"
#include "core/trace/tracer.h"
#include "tests/support/fake_cupti.h"
#include "tests/unit/trace/collected_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace tilescope::trace {

/// Fake activities in fake buffers through the real pipeline: callbacks, rings, buffers, decoder, assembler,
/// sink.
class CuptiPipeline : public ::testing::Test {
protected:
    static TracerOptions options(TraceLevel level = TraceLevel::Kernels)
    {
        return {.level = level, .memory = false, .cuda = true, .device = DeviceIndex{0}};
    }
    std::string text(StringId id) const { return std::string(strings.text(id)); }
    std::map<std::string, std::int64_t> losses() const
    {
        std::map<std::string, std::int64_t> losses;
        for (const Loss& loss : sink.all.losses)
            losses[text(loss.kind)] += loss.count;
        return losses;
    }
    const std::vector<DeviceEvent>& events() const { return sink.all.deviceEvents; }
    /// Records one step of one range while `body` runs.
    template <class Body> void record(const TracerOptions& how, Body&& body)
    {
        Tracer tracer(how, strings, sink, cupti);
        tracer.start();
        tracer.setStep(0);
        {
            const ScopedRange step("step", "step_0");
            body();
        }
        tracer.setStep(kNoStep);
        tracer.stop();
    }

    FakeCupti cupti;
    StringTable strings;
    CollectedTrace sink;
};

} // namespace tilescope::trace
