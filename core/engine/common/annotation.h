#pragma once

#include "core/trace/host/range.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <optional>
#include <source_location>
#include <string_view>

namespace tilescope::engine {

/// A range that is recorded only if the spec requests it (annotate_attention).
class Annotation {
public:
    Annotation(bool wanted, std::string_view component,
               std::source_location where = std::source_location::current())
    {
        if (wanted)
            range_.emplace(component, where);
    }

private:
    std::optional<trace::ScopedRange> range_;
};

/// Reports a custom autograd function to observers of ops, under its own name and with the sequence number of
/// its future backward node. Required to attribute that node: autograd does not record ops within a custom
/// function, so they have no number.
class NamedOp {
public:
    /// \param name  a literal
    explicit NamedOp(const char* name)
    {
        if (record_.isActive())
            record_.before(name, static_cast<std::int64_t>(at::sequence_number::peek()));
    }

private:
    at::RecordFunction record_{at::RecordScope::FUNCTION};
};

} // namespace tilescope::engine
