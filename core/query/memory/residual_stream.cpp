#include "core/query/memory/residual_stream.h"

#include "core/config/schema.h"

#include <string_view>

namespace tilescope::query {

namespace {

/// A norm's range: attention_norm, ffn_norm, norm.
bool isNorm(std::string_view path)
{
    const std::size_t slash = path.rfind('/');
    return (slash == std::string_view::npos ? path : path.substr(slash + 1)).ends_with("norm");
}

std::int64_t elementBytesOf(std::string_view dtype)
{
    return dtype == "f64" ? 8 : dtype == "f32" ? 4 : dtype == "bf16" || dtype == "f16" ? 2 : 0;
}

} // namespace

std::optional<ResidualStream> residualStream(const store::RunRecord& run, std::span<const SavedTensor> saved)
{
    const auto spec = config::specOf(run.specJson);
    if (!spec || spec->workload != Workload::Lm)
        return {};
    ResidualStream stream{.batch = spec->batch, .context = spec->context, .dModel = spec->dModel};
    const std::string shape =
        "[" + std::to_string(stream.batch * stream.context) + ", " + std::to_string(stream.dModel) + "]";
    for (const SavedTensor& tensor : saved) {
        // What a norm made itself is scaled already; the stream is what it was given.
        if (!isNorm(tensor.path) || tensor.shape != shape || tensor.tensor == "own output" ||
            tensor.sharedWith || tensor.category != MemoryCategory::Activations)
            continue;
        if (stream.tensors == 0) {
            stream.measured = tensor;
            stream.elementBytes = elementBytesOf(tensor.dtype);
        }
        ++stream.tensors;
        stream.together += Bytes{tensor.bytes};
    }
    return stream.tensors > 0 ? std::optional(stream) : std::nullopt;
}

} // namespace tilescope::query
