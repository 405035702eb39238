// What a host sends: any bytes, in any pieces, end in frames, messages or an Error.

#include "core/base/error.h"
#include "core/hosts/json_fields.h"
#include "core/hosts/sweep_events.h"
#include "core/hosts/sweep_request.h"
#include "core/hosts/wire.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

using namespace tilescope::hosts;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const std::size_t step = data[0] + std::size_t{1};
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    SweepEvents events(
        "here.tscope", [](const tilescope::session::Event&) {}, [](std::string_view) {});
    try {
        FrameReader reader(true);
        for (std::size_t at = 0; at < bytes.size(); at += step)
            reader.feed(bytes.substr(at, step), [&events](const Frame& frame) {
                if (frame.type == FrameType::Output)
                    events.feedOutput(frame.body);
                if (frame.type == FrameType::Errors)
                    events.feedErrors(frame.body);
                const auto message = nlohmann::json::parse(frame.body, nullptr, false);
                if (message.is_object()) {
                    textIn(message, "what", 10);
                    numberIn(message, "size");
                    flagIn(message, "growing");
                }
            });
    } catch (const tilescope::Error&) { // the connection is given up with this sentence
    }
    events.finish();
    try {
        parseSweepLines(bytes); // of a note in the cache
    } catch (const tilescope::Error&) {
    } catch (const nlohmann::json::exception&) { // its callers take any exception as damage
    }
    return 0;
}
