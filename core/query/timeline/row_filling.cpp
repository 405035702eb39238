#include "core/query/timeline/row_filling.h"

#include <utility>

namespace tilescope::query {

void RowFilling::run()
{
    const store::PackedBoxes boxes = std::move(boxes_);
    boxes.each([this](std::int64_t start, std::int64_t length, std::size_t place) {
        const Kind& kind = kinds_[place];
        start += shift_;
        part_.add(start, length, kind.name, kind.hue);
        if (kind.detail != store::CallDetail::Call)
            (kind.detail == store::CallDetail::Waits ? waiting_ : tracing_)
                .emplace_back(start, start + length);
    });
}

} // namespace tilescope::query
