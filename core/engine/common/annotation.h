#pragma once

#include "core/trace/host/range.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <optional>
#include <source_location>
#include <string_view>

namespace tilescope::engine {

/// A range that is there only where it was asked for (annotate_attention).
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

/// Shows a custom autograd function to whoever records ops, under its own name and with the sequence number
/// that its backward node is about to get. Without it the node's owner could not be told: ops inside a custom
/// function run unrecorded by autograd and carry no number.
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
