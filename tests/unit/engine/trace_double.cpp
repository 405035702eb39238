// Stands in for core/trace: notes the ranges that were opened while a tracer recorded.
#include "tests/unit/engine/trace_double.h"

#include "core/trace/range.h"
#include "core/trace/tracer.h"

namespace tilescope::trace {
namespace {

std::vector<std::string> open;

} // namespace

TraceNotes& traceNotes()
{
    static TraceNotes notes;
    return notes;
}

namespace detail {
std::atomic<bool> recording{false};

std::uint32_t openRange(std::string_view /*name*/, std::string_view component)
{
    open.push_back(open.empty() ? std::string(component) : open.back() + "/" + std::string(component));
    traceNotes().paths.push_back(open.back());
    return 0;
}

void closeRange(std::uint32_t /*token*/) noexcept
{
    open.pop_back();
}
} // namespace detail

class Tracer::Impl {
public:
    std::string untraced;
};

Tracer::Tracer(const TracerOptions&, StringTable&, TraceSink&) : impl_(std::make_unique<Impl>()) {}
Tracer::~Tracer() = default;

void Tracer::start()
{
    traceNotes() = {};
    detail::recording = true;
}

void Tracer::setStep(std::int32_t step)
{
    traceNotes().steps.push_back(step);
}

void Tracer::stop()
{
    detail::recording = false;
}

const std::string& Tracer::untracedReason() const
{
    return impl_->untraced;
}

} // namespace tilescope::trace
