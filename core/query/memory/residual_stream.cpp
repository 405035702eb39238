#include "core/query/memory/residual_stream.h"

#include "core/analysis/work/tensor_shape.h"
#include "core/config/schema.h"

#include <array>
#include <string_view>

namespace tilescope::query {

namespace {

/// A norm's range: attention_norm, ffn_norm, norm.
bool isNorm(std::string_view path)
{
    const std::size_t slash = path.rfind('/');
    return (slash == std::string_view::npos ? path : path.substr(slash + 1)).ends_with("norm");
}

} // namespace

std::optional<ResidualStream> residualStream(const store::RunRecord& run, std::span<const SavedTensor> saved)
{
    const auto spec = config::specOf(run.specJson);
    if (!spec || spec->workload != Workload::Lm)
        return {};
    ResidualStream stream{.batch = spec->batch, .context = spec->context, .dModel = spec->dModel};
    const std::string shape = analysis::shapeText(std::array{stream.batch * stream.context, stream.dModel});
    for (const SavedTensor& tensor : saved) {
        // The result of a norm is scaled; the stream is its input.
        if (!isNorm(tensor.path) || tensor.shape != shape || tensor.tensor == "own output" ||
            tensor.sharedWith || tensor.category != MemoryCategory::Activations)
            continue;
        if (stream.tensors == 0) {
            stream.measured = tensor;
            stream.elementBytes = analysis::elementBytesOf(tensor.dtype);
        }
        ++stream.tensors;
        stream.together += Bytes{tensor.bytes};
    }
    return stream.tensors > 0 ? std::optional(stream) : std::nullopt;
}

} // namespace tilescope::query
